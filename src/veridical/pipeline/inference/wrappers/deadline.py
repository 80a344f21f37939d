"""Bound on the time of a call; results that are back by then are kept."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import anyio

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import (
    GRACE_S,
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

        due = anyio.current_time() + self._seconds

        async def work_in_time(piece: list[int]) -> None:
            left = due - anyio.current_time()
            if left > 0:
                await run_within(left, work(piece))

        pieces = batches_by_context(queries, self._batch)
        await run_bounded(pieces, work_in_time, at_once=self._at_once)
        return list(found)  # work that goes on may still change its own


async def run_within(seconds: float, work: Coroutine[Any, Any, object]) -> None:
    """Do work for at most so many seconds, and raise what it raises.

    Work that is late is cancelled, once. One that does not end by that is left to itself: the
    caller does not wait for it.
    """
    now = anyio.current_time()
    due = min(now + seconds, anyio.current_effective_deadline())
    # A scope that is cancelled repeats it without a pause, and holds up every thread of the host
    # while the work ignores it: this one only tells the deadline, and is withdrawn in time.
    scope = anyio.CancelScope(deadline=due + GRACE_S)
    task = asyncio.ensure_future(_in_scope(scope, work))
    try:
        _, late = await asyncio.wait({task}, timeout=max(due - now, 0))
        if late:
            _cancel(task, scope)
            await asyncio.wait(late, timeout=GRACE_S)
    except asyncio.CancelledError:
        _cancel(task, scope)
        raise
    finally:
        if not task.done():
            task.add_done_callback(_forget)
    if task.done() and not task.cancelled():
        await task


async def _in_scope(scope: anyio.CancelScope, work: Coroutine[Any, Any, object]) -> None:
    """Do work that knows its deadline: a task of its own has none."""
    with scope:
        await work


def _cancel(task: asyncio.Task[None], scope: anyio.CancelScope) -> None:
    scope.deadline = math.inf
    task.cancel()


def _forget(task: asyncio.Task[None]) -> None:
    """Retrieve a late exception, so that it is not reported as never retrieved."""
    if not task.cancelled():
        task.exception()
