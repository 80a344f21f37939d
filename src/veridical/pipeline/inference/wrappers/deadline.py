"""Bound on the time of a call; results that are back by then are kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    batches_by_context,
    run_bounded,
    safe_estimate,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

_GRACE_S = 0.02
"""Seconds behind a deadline in which work that was cancelled may end in order."""


class Deadline(Wrapper[Q, R, I]):
    """Wrapper that gives each call of `estimate` at most `seconds`.

    A batch is asked in pieces of `batch` queries, `at_once` of them at a time: results that are
    back in time are kept, the rest is `Unmeasured` (timeout). The bound holds for a backend that
    sits in a thread, or ignores its cancellation, too; not for one that blocks the event loop.
    """

    def __init__(
        self, backend: Estimates[Q, R, I], *, seconds: float, batch: int = 1, at_once: int = 8
    ) -> None:
        super().__init__(backend)
        if not seconds > 0 or batch < 1 or at_once < 1:
            msg = "a deadline needs seconds above 0, and batch and at_once of 1 or more"
            raise ConfigurationError(msg, hint="Leave the deadline out to wait without a bound")
        self._seconds = seconds
        self._batch = batch
        self._at_once = at_once

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Return the measurements made in time; the rest is `Unmeasured` (timeout)."""
        late = Unmeasured(UnmeasuredReason.TIMEOUT, f"no answer within {self._seconds:g} s")
        found: list[R | Unmeasured] = [late] * len(queries)

        async def work(piece: list[int]) -> None:
            measured = await safe_estimate(self.wrapped, [queries[i] for i in piece])
            for i, measurement in zip(piece, measured, strict=True):
                found[i] = measurement

        pieces = batches_by_context(queries, self._batch)
        await run_within(self._seconds, run_bounded(pieces, work, at_once=self._at_once))
        return list(found)  # work that goes on may still change its own


async def run_within(seconds: float, work: Coroutine[Any, Any, object]) -> None:
    """Do work for at most so many seconds, and raise what it raises.

    Work that is late is cancelled. One that does not end by that is left to itself: the caller
    does not wait for it.
    """
    due = min(anyio.current_time() + seconds, anyio.current_effective_deadline())
    task = asyncio.ensure_future(_until(due, work))
    try:
        await asyncio.wait({task}, timeout=seconds + _GRACE_S)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if task.done():
        await task


async def _until(due: float, work: Coroutine[Any, Any, object]) -> None:
    """Do work that knows its deadline: a task of its own has none."""
    with anyio.CancelScope(deadline=due):
        await work


def _forget(task: asyncio.Task[None]) -> None:
    """Retrieve a late exception, so that it is not reported as never retrieved."""
    if not task.cancelled():
        task.exception()
