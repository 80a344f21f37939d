"""Deadline and cancellation of work in threads, observed between units of work.

Nothing can interrupt a thread from outside. Work that takes long calls `checkpoint` between its
units: sentences, windows, claims. A `Cancellation` applies to the block of its `cancellable`, in
threads to which the context of the block is copied, too.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

from veridical.errors import TimeLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Cancellation:
    """Deadline of a piece of work: its own, and that of the work which it is part of."""

    def __init__(self, seconds: float = math.inf, parent: Cancellation | None = None) -> None:
        self._deadline = monotonic() + seconds
        self._parent = parent

    @property
    def deadline(self) -> float:
        """Time of the clock `time.monotonic` at which the work ends; infinite if there is none."""
        outer = math.inf if self._parent is None else self._parent.deadline
        return min(self._deadline, outer)

    def hasten(self, seconds: float) -> None:
        """Let the work end in so many seconds, if it does not end before; any thread may call."""
        self._deadline = min(self._deadline, monotonic() + seconds)

    def cancel(self) -> None:
        """Let the work end at its next unit."""
        self._deadline = -math.inf


_current: ContextVar[Cancellation | None] = ContextVar("veridical_cancellation", default=None)


@contextmanager
def cancellable(
    seconds: float = math.inf, *, parent: Cancellation | None = None
) -> Iterator[Cancellation]:
    """Limit the work of this block to so many seconds, and to the deadlines around it.

    A `parent` stands in for the cancellation around the block.
    """
    found = Cancellation(seconds, parent or _current.get())
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def in_pieces(pieces: Iterable[str]) -> str:
    """Return the pieces joined; each is a unit of work."""
    return "".join(_checked(pieces))


def _checked(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        checkpoint()
        yield piece


def deadline() -> float:
    """Return the deadline of the work around the call; see `Cancellation.deadline`."""
    current = _current.get()
    return math.inf if current is None else current.deadline


def remaining() -> float:
    """Return the seconds until the deadline; 0.0 if it has passed."""
    return max(0.0, deadline() - monotonic())


def checkpoint() -> None:
    """Raise `TimeLimitError` if the work around the call has been cancelled, or is late."""
    current = _current.get()
    if current is not None and current.deadline <= monotonic():
        msg = "the work did not end before its deadline, or was cancelled"
        raise TimeLimitError(msg, hint="Allow more time, or give it less to do")
