"""How much is done at once, how much may wait, and how much one key may ask for."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

import anyio

from veridical.interfaces.http.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MOST_RETRY_S = 60.0
_MOST_BUCKETS = 10_000


class Kind(StrEnum):
    """What a request is for, which decides what becomes of it when there is too much to do."""

    CHECK = "check"
    """Waits for its turn, and is turned away when the queue is full."""
    OUTPUT = "output"
    """An answer on its way to a user (SPEC-08.39): left out when half of the queue is full."""
    GATE = "gate"
    """A fact on its way into memory: never turned away; the gate bounds its own time."""


class Admission:
    """At most `running` requests at once, `waiting` in a queue: first come, first served."""

    def __init__(self, running: int, waiting: int) -> None:
        self._most = running
        self._room = waiting
        self._queue: deque[asyncio.Future[None]] = deque()
        self._mean_s = 1.0
        self.running = 0

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._queue)

    @asynccontextmanager
    async def slot(self, kind: Kind, *, wait_s: float = math.inf) -> AsyncGenerator[None]:
        """Hold a place; `OverloadedError` if there is none, or none in time."""
        await self.enter(kind, wait_s=wait_s)
        started = monotonic()
        try:
            yield
        finally:
            self.leave(monotonic() - started)

    async def enter(self, kind: Kind, *, wait_s: float = math.inf) -> None:
        """Take a place, which has to be left again; `OverloadedError` if there is none."""
        if kind is Kind.GATE or (self.running < self._most and not self._queue):
            self.running += 1
            return
        room = self._room // 2 if kind is Kind.OUTPUT else self._room
        if len(self._queue) >= room:
            msg = "the queue is full"
            raise OverloadedError(msg, self.retry_after_s)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        with anyio.move_on_after(wait_s):
            await self._taken(turn)
            return
        msg = "there was no room in time"
        raise OverloadedError(msg, self.retry_after_s)

    async def _taken(self, turn: asyncio.Future[None]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(None)  # its turn came in the moment in which it was given up
            elif turn in self._queue:
                self._queue.remove(turn)
            raise

    def leave(self, seconds: float | None) -> None:
        """Give a place back after so many seconds; who waits longest has it now."""
        self.running -= 1
        if seconds is not None:
            self._mean_s += 0.1 * (seconds - self._mean_s)
        while self._queue and self.running < self._most:
            turn = self._queue.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)

    @property
    def retry_after_s(self) -> float:
        """About how many seconds the queue takes."""
        return min(MOST_RETRY_S, max(1.0, self._mean_s * (len(self._queue) + 1) / self._most))


@dataclass(slots=True)
class _Bucket:
    tokens: float
    since: float


class Rates:
    """Requests per minute and key: a bucket of that many tokens, filled evenly."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str, per_minute: int | None) -> None:
        """Count a request; `OverloadedError` if the key has used up its minute."""
        if per_minute is None:
            return
        now = monotonic()
        bucket = self._buckets.pop(key, None) or _Bucket(float(per_minute), now)
        bucket.tokens += (now - bucket.since) * per_minute / 60
        bucket.tokens, bucket.since = min(bucket.tokens, float(per_minute)), now
        self._buckets[key] = bucket
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            msg = "the key has used up its requests for now"
            raise OverloadedError(msg, (1 - bucket.tokens) * 60 / per_minute)
        bucket.tokens -= 1
