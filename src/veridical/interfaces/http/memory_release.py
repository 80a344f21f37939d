"""Return of memory to the system, and collections of garbage that hold up no request."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from contextlib import suppress
from typing import TYPE_CHECKING

from veridical.verification.preparation import CORPORA

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.pipeline.reports import Report

LARGE = 1_000_000
"""Characters from which on a request is large."""

KEPT_S = 30.0
"""Seconds in which the index of a large source waits for another request."""


COLLECTION_S = 60.0
"""Seconds between full collections while no request is under way."""

_POSTPONED = 10
"""Number of times that a full collection waits for requests."""

_RARELY = 10_000
"""Collections of younger objects before a full one: requests must not start it."""


class FullCollections:
    """Full collections of garbage by a timer, between requests.

    A full collection stops every thread, for a third of a second beside an answer with 10,000
    claims. For a process of its own: the collector has one setting for all.
    """

    def __init__(self, busy: Callable[[], bool]) -> None:
        self._busy = busy
        self._postponed = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Exempt all objects of now, and start the timer."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], _RARELY)
        self._wait()

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(COLLECTION_S, self._turn)

    def _turn(self) -> None:
        if self._busy() and self._postponed < _POSTPONED:
            self._postponed += 1
        else:
            self._postponed = 0
            gc.collect()
        self._wait()


class MemoryRelease:
    """Timer that drops the index of a large source when nobody has asked for a while."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def checked(self, report: Report) -> None:
        """Note that an answer was checked; after a large one memory is returned."""
        texts = (report.answer, *(source.text for source in report.sources.values()))
        if sum(map(len, texts)) >= LARGE:
            self.stop()
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, release_memory)
            self._timer = loop.call_later(KEPT_S, loop.run_in_executor, None, _forget)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()


def _forget() -> None:
    CORPORA.drop_large()
    gc.collect()
    release_memory()


def release_memory() -> None:
    """Return memory that the C library keeps for later; nothing where it is not glibc."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
