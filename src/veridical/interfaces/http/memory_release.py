"""Return of memory to the system after large requests."""

from __future__ import annotations

import asyncio
import ctypes
from contextlib import suppress
from typing import TYPE_CHECKING

from veridical.verification.preparation import CORPORA

if TYPE_CHECKING:
    from veridical.pipeline.reports import Report

LARGE = 1_000_000
"""Characters from which on a request is large."""

KEPT_S = 30.0
"""Seconds in which the index of a large source waits for another request."""


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
    release_memory()


def release_memory() -> None:
    """Return memory that the C library keeps for later; nothing where it is not glibc."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
