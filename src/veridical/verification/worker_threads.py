"""Worker threads for work that must not hold up an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from veridical.core.cancellation import cancellable, checkpoint, remaining

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LARGE = 200_000
"""Characters from which on a text is large."""

_LARGE_AT_ONCE = 2
"""Threads with large texts at once: more of them only take turns, and small texts wait longer."""

_GRACE_S = 1.0
"""Seconds behind a deadline in which work may still hand over what it has."""

_limiters: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("veridical_large")


async def in_worker_thread(work: Callable[[], T], *, characters: int = 0) -> T:
    """Return the result of `work`, which ends at its next `checkpoint` if the caller is cancelled.

    `characters` is the length of the texts: work on large ones waits for its turn. The deadline
    around the caller applies to waiting, too; `TimeLimitError` once it has passed.
    """
    limiter = _limiter() if characters >= LARGE else None
    with cancellable() as cancellation:
        # A unit of work may be long: nobody waits for the end of one much beyond the deadline.
        with anyio.move_on_after(remaining() + _GRACE_S):
            try:
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
            finally:
                cancellation.cancel()
        checkpoint()
    raise AssertionError  # the scope ends early at its deadline alone


def _limiter() -> anyio.CapacityLimiter:
    """Return the limiter of this event loop for large texts."""
    found = _limiters.get(None)
    if found is None:
        found = anyio.CapacityLimiter(_LARGE_AT_ONCE)
        _limiters.set(found)
    return found
