"""Limits: concurrent requests, queue length, and requests per key."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from contextlib import asynccontextmanager, contextmanager
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from veridical.errors import VeridicalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from veridical.store import RateTable, Store

T = TypeVar("T")

MOST_RETRY_S = 60.0
MINUTE_S = 60.0

PATIENCE_S = 1.0
"""Seconds that a request waits for the database to count it."""

PAUSE_S = 10.0
"""Pause in seconds after a failure of a database."""

CONNECT_S = 30.0
_MOST_KEYS = 10_000
_THREADS = 8
_ROUNDING_S = 1e-6


class OverloadedError(Exception):
    """Error for a request without room; `retry_after_s` is the time to wait."""

    def __init__(self, reason: str, retry_after_s: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        """Header with the time to wait, in whole seconds."""
        return {"retry-after": str(max(1, math.ceil(self.retry_after_s)))}


class Kind(StrEnum):
    """Purpose of a request, which decides about its treatment under high load."""

    CHECK = "check"
    """Waits for its turn, and is turned away when the queue is full."""
    OUTPUT = "output"
    """An answer on its way to a user: waits however long the queue is; its proxy has a deadline."""
    GATE = "gate"
    """A fact on its way into memory: never turned away; the gate bounds its own time."""


class RequestQueue:
    """Queue with at most `running` requests at once, `waiting` behind them: FIFO.

    Beside them `passing` requests may be under way that wait for another service.
    """

    def __init__(self, running: int, waiting: int, passing: int = 0) -> None:
        self._most = running
        self._room = waiting
        self._most_passing = passing
        self._queue: deque[asyncio.Future[None]] = deque()
        self._mean_s = 1.0
        self.running = 0
        self.passing = 0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Count a request beside the queue; `OverloadedError` if there are too many."""
        if self.passing >= self._most_passing:
            msg = "too many requests are being passed on"
            raise OverloadedError(msg, self.retry_after_s)
        self.passing += 1
        try:
            yield
        finally:
            self.passing -= 1

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
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
        if kind is Kind.CHECK and len(self._queue) >= self._room:
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
        """Release a place, held for `seconds` if known, to the request that waits longest."""
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
        """Estimate of the seconds that the queue takes."""
        return min(MOST_RETRY_S, max(1.0, self._mean_s * (len(self._queue) + 1) / self._most))


class RateLimiter:
    """Requests per minute and key, counted in this process; a minute's worth may come at once.

    The generic cell rate: each request takes a turn of 60 s / `per_minute`, up to a minute ahead of
    time. The state of a key is the time until which its turns are taken.
    """

    def __init__(self) -> None:
        self._full_until: OrderedDict[str, float] = OrderedDict()

    async def open(self) -> None:
        """Do nothing: a process counts without a database."""

    async def take(self, key: str, per_minute: int | None) -> None:
        """Count a request; `OverloadedError` if the key has used up its minute."""
        if per_minute is not None:
            _refuse(self._taken(key, MINUTE_S / per_minute))

    def _taken(self, key: str, turn_s: float) -> float:
        """Take a turn: return 0.0, or the seconds until the next one."""
        now = monotonic()
        until = max(self._full_until.pop(key, now), now)
        wait = until + turn_s - now - MINUTE_S
        self._full_until[key] = until if wait > _ROUNDING_S else until + turn_s
        if len(self._full_until) > _MOST_KEYS:
            self._full_until.popitem(last=False)
        return wait if wait > _ROUNDING_S else 0.0


class SharedRateLimiter(RateLimiter):
    """Rate limiter for all processes of a service, counted in their database.

    Where that fails, or takes longer than `PATIENCE_S`, `failed` is called and each process counts
    by itself for `PAUSE_S`: limits are looser then, and no request fails for want of a database.
    """

    def __init__(
        self, table: Callable[[], RateTable], failed: Callable[[str, Exception], object]
    ) -> None:
        super().__init__()
        self._table = table
        self._failed = failed
        self._resume = -math.inf
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def open(self) -> None:
        """Open the database, which may take a while, before there is a request to wait for it."""
        await self._asked(lambda: self._table().open(), CONNECT_S)

    async def take(self, key: str, per_minute: int | None) -> None:
        """Count a request; `OverloadedError` if the key has used up its minute."""
        if per_minute is None:
            return
        turn_s = MINUTE_S / per_minute
        wait = await self._asked(
            lambda: self._table().take(key, turn_s=turn_s, ahead_s=MINUTE_S + _ROUNDING_S),
            PATIENCE_S,
        )
        if not wait:  # counted here in any case: a failure begins with requests from before it
            own = self._taken(key, turn_s)
            wait = own if wait is None else 0.0
        _refuse(wait)

    async def _asked(self, ask: Callable[[], T], seconds: float) -> T | None:
        """Return the database's answer; None if there is none in time, or it failed lately."""
        if monotonic() < self._resume:
            return None
        try:
            with anyio.fail_after(seconds):
                return await anyio.to_thread.run_sync(
                    ask, abandon_on_cancel=True, limiter=self._threads
                )
        except (VeridicalError, TimeoutError) as error:
            self._resume = monotonic() + PAUSE_S
            self._failed("rates", error)
            return None


def _refuse(wait_s: float) -> None:
    if wait_s > 0:
        msg = "the key has used up its requests for now"
        raise OverloadedError(msg, wait_s)


def rate_limiter(
    url: str | None, store: Callable[[], Store], failed: Callable[[str, Exception], object]
) -> RateLimiter:
    """Return the rate limiter of keys: in the database, if its `url` is of a shared one."""
    if not (url or "").startswith("postgresql"):
        return RateLimiter()
    from veridical.store import RateTable

    return SharedRateLimiter(lambda: RateTable(store()), failed)
