"""Bounds on requests at a time, requests a minute and tokens a minute, with a queue.

Starts are booked ahead: a caller learns at once when its turn is, sleeps until then, or is refused
if that is too late. Libraries for rate limits on asyncio wait without telling for how long, know
one event loop, and cannot correct an amount afterwards.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import RunVar

from veridical.core.measurements import Estimate, Generated, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    batches_by_context,
    estimated_tokens,
    run_bounded,
    safe_estimate,
)
from veridical.pipeline.inference.wrappers.breaker import OPEN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

MINUTE_S = 60.0

_QUEUE = 64
_numbers = itertools.count()


@dataclass(slots=True)
class Entry:
    """Amount that counts from `start` on, for as long as the window is."""

    start: float
    amount: int


class RateWindow:
    """No more than `limit` within any `period_s`; starts are given out in order.

    `limit` None bounds nothing. An amount above the limit counts as the limit: it goes alone.
    """

    def __init__(self, limit: int | None, period_s: float = MINUTE_S) -> None:
        self._limit = limit
        self._period_s = period_s
        self._entries: deque[Entry] = deque()
        self._used = 0  # the sum of the entries' amounts: adding up each time would be slow

    def earliest(self, amount: int, now: float) -> float:
        """Return the earliest start at which an amount fits, not before anything that is booked."""
        if self._limit is None:
            return now
        self._forget(now)
        start = max(now, self._entries[-1].start) if self._entries else now
        room = self._limit - min(amount, self._limit)
        used = self._used
        for entry in self._entries:
            if entry.start > start - self._period_s:
                if used <= room:
                    break
                start = max(start, entry.start + self._period_s)
            used -= entry.amount
        return start

    def book(self, amount: int, start: float) -> Entry:
        """Count an amount from `start` on."""
        if self._limit is None:
            return Entry(start, 0)
        entry = Entry(start, min(amount, self._limit))
        self._entries.append(entry)
        self._used += entry.amount
        return entry

    def correct(self, entry: Entry, amount: int, now: float) -> None:
        """Replace the amount of an entry, as far as the entry still counts."""
        if self._limit is not None and entry.start > now - self._period_s:
            self._forget(now)
            self._used += amount - entry.amount
            entry.amount = amount

    def _forget(self, now: float) -> None:
        entries = self._entries
        while entries and entries[0].start <= now - self._period_s:
            self._used -= entries.popleft().amount
        while entries and not entries[-1].amount:  # given back: nobody waits behind it
            entries.pop()


class RateLimited(Wrapper[Q, R, I]):
    """Wrapper that holds requests back until the service's limits allow them.

    A request carries up to `batch` queries. At most `concurrency` are under way in an event loop;
    at most `requests_per_minute` start in any minute, with at most `tokens_per_minute`, estimated
    from the lengths of the texts and corrected by the usage in the estimates. None bounds nothing.
    When the service says when to come back, all wait until then. A query that would wait longer
    than `max_wait_s` is `Unmeasured` (rate limited), with the wait as `retry_after_s` if it can be
    told; `slot_wait_s` bounds the wait for one of the `concurrency` slots instead, if it is given.
    """

    def __init__(  # noqa: PLR0913 -- one option a limit
        self,
        backend: Estimates[Q, R, I],
        *,
        concurrency: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        max_wait_s: float = 60.0,
        slot_wait_s: float | None = None,
        batch: int = 1,
    ) -> None:
        super().__init__(backend)
        bounds = (concurrency, requests_per_minute, tokens_per_minute, batch)
        waits = (max_wait_s, slot_wait_s)
        wrong = any(bound is not None and bound < 1 for bound in bounds)
        if wrong or any(wait is not None and not wait >= 0 for wait in waits):
            msg = "limits must be 1 or more, and the longest wait 0 s or more"
            raise ConfigurationError(msg, hint="Leave a limit out to bound nothing")
        self._concurrency = concurrency
        self._requests = RateWindow(requests_per_minute)
        self._tokens = RateWindow(tokens_per_minute)
        self._max_wait_s = max_wait_s
        self._slot_wait_s = slot_wait_s
        self._batch = batch
        self._lock = threading.Lock()
        self._closed_until = float("-inf")
        # One event loop cannot wait for another's semaphore.
        self._slots: RunVar[anyio.Semaphore] = RunVar(f"veridical-limits-{next(_numbers)}")

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Return one measurement per query, each asked for when its turn has come."""
        found: dict[int, R | Unmeasured] = {}

        async def work(piece: list[int]) -> None:
            measured = await self._request([queries[i] for i in piece])
            found.update(zip(piece, measured, strict=True))

        at_once = self._concurrency or _QUEUE
        await run_bounded(batches_by_context(queries, self._batch), work, at_once=at_once)
        return [found[i] for i in range(len(queries))]

    async def _request(self, queries: Sequence[Q]) -> list[R | Unmeasured]:
        latest = monotonic() + self._max_wait_s
        async with self._slot() as free:
            if not free:
                return [_refused(None)] * len(queries)
            if self._slot_wait_s is not None:  # that wait is over, and was bounded by itself
                latest = monotonic() + self._max_wait_s
            booked = self._book(sum(map(estimated_tokens, queries)), latest)
            if isinstance(booked, Unmeasured):
                return [booked] * len(queries)
            measured: list[R | Unmeasured] | None = None
            try:
                if (wait := booked[0].start - monotonic()) > 0:
                    await anyio.sleep(wait)
                measured = await safe_estimate(self.wrapped, queries)
            finally:
                self._settle(booked, measured)
            return measured

    @asynccontextmanager
    async def _slot(self) -> AsyncGenerator[bool]:
        """Hold one of the slots; False if none was free in time."""
        if self._concurrency is None:
            yield True
            return
        slots = self._slots.get(None)
        if slots is None:
            slots = anyio.Semaphore(self._concurrency)
            self._slots.set(slots)
        if not await self._acquired(slots):
            yield False
            return
        try:
            yield True
        finally:
            slots.release()

    async def _acquired(self, slots: anyio.Semaphore) -> bool:
        with suppress(anyio.WouldBlock):
            slots.acquire_nowait()
            return True
        wait_s = self._max_wait_s if self._slot_wait_s is None else self._slot_wait_s
        with anyio.move_on_after(wait_s):
            await slots.acquire()
            return True
        return False

    def _book(self, tokens: int, latest: float) -> tuple[Entry, Entry] | Unmeasured:
        """Return the entries of a request, or the refusal if it would start after `latest`."""
        with self._lock:
            now = monotonic()
            start = max(
                self._closed_until,
                self._requests.earliest(1, now),
                self._tokens.earliest(tokens, now),
            )
            if start > max(latest, now):
                return _refused(start - now)
            return self._requests.book(1, start), self._tokens.book(tokens, start)

    def _settle(self, booked: tuple[Entry, Entry], measured: list[R | Unmeasured] | None) -> None:
        """Book the actual usage."""
        request, tokens = booked
        with self._lock:
            now = monotonic()
            cancelled = measured is None and request.start > now  # before its turn
            if cancelled or (measured is not None and all(map(_not_sent, measured))):
                self._requests.correct(request, 0, now)
                self._tokens.correct(tokens, 0, now)
            if measured is None:
                return
            known = [m.tokens for m in measured if not isinstance(m, Unmeasured)]
            used = [count for count in known if count is not None]
            if len(used) == len(measured):
                self._tokens.correct(tokens, sum(used), now)
            self._closed_until = max(self._closed_until, now + _asked(measured))


def _refused(wait_s: float | None) -> Unmeasured:
    return Unmeasured(UnmeasuredReason.RATE_LIMITED, "the queue is too long", wait_s)


def _asked(measured: Sequence[Estimate | Generated | Unmeasured]) -> float:
    """Return the seconds that the service asked to be left alone for."""
    waits = [
        m.retry_after_s or 0.0
        for m in measured
        if isinstance(m, Unmeasured) and m.reason is UnmeasuredReason.RATE_LIMITED
    ]
    return max((wait for wait in waits if 0 < wait < math.inf), default=0.0)


def _not_sent(measurement: Estimate | Generated | Unmeasured) -> bool:
    """Return whether a query was stopped on this side, by an open circuit or a spent budget."""
    return isinstance(measurement, Unmeasured) and (
        measurement.reason is UnmeasuredReason.DISABLED or measurement.detail == OPEN
    )
