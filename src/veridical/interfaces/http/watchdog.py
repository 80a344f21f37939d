"""End of the process at a fixed time after the signal, whatever still runs."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_CODE = 4
"""Exit code of a process that did not end in time by itself."""

FLUSH_S = 0.5
"""Seconds of the time that are left for the last line of the log."""

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT})

logger = logging.getLogger(__name__)


class Watchdog:
    """Thread that ends the process `seconds` after a signal, unless it has ended by then.

    It hears of a signal from the interpreter's handler in C, even while the main thread is busy.
    The system's alarm stands behind it, for an interpreter that runs no thread any more.
    """

    def __init__(
        self,
        seconds: float,
        end: Callable[[int], object] = os._exit,
        alarm: Callable[[float], object] | None = None,
    ) -> None:
        self._seconds = seconds
        self._end = end
        self._alarm = alarm or _set_alarm
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._before = -1

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="veridical watchdog", daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            descriptor = self._writer.fileno()
            self._before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave signals to the interpreter; a countdown goes on to the end of the process."""
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(self._before)
        self._writer.close()

    def start(self) -> None:
        """Begin the countdown, if it has not begun; for event loops with handlers of their own."""
        with suppress(OSError):
            self._writer.send(bytes([signal.SIGTERM]))

    def _run(self) -> None:
        with self._reader:
            while received := self._reader.recv(1):
                if received[0] in _ENDING:
                    self._alarm(self._seconds)
                    sleep(max(0.0, self._seconds - FLUSH_S))
                    self._say()
                    self._end(EXIT_CODE)
                    return

    def _say(self) -> None:
        """Log the end and flush, in a thread: a lock that is held must not stop the end."""
        telling = threading.Thread(target=_tell, daemon=True)
        telling.start()
        telling.join(FLUSH_S / 2)


def _set_alarm(seconds: float) -> None:
    """Have the system end the process by SIGALRM, which nobody handles here."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _tell() -> None:
    logger.critical("the process did not end in server.shutdown_s, and is ended")
    for handler in logging.getLogger().handlers:
        handler.flush()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
