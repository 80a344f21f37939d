"""Several processes of the service at one address: started, restarted and ended together."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from time import monotonic
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError
from veridical.interfaces.http.watchdog import EXIT_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess

STEADY_S = 60.0
"""A process that ran for so long is restarted at once."""

LONGEST_S = 30.0
"""Maximum seconds between the end of a process and its restart."""

FINAL = frozenset({0, 2, 3})
"""Exit codes after which a restart would end the same: orderly, wrong use, no backend."""

_GRACE_S = 0.5

logger = logging.getLogger(__name__)
_spawn = multiprocessing.get_context("spawn")


def ensure_shareable() -> None:
    """Raise `ConfigurationError` where several processes cannot listen at one address."""
    if not hasattr(socket, "SO_REUSEPORT"):
        msg = "several processes cannot share an address on this system"
        raise ConfigurationError(msg, hint="Set server.workers to 1")


def end_with_parent() -> None:
    """End this process in an orderly way when the supervisor is gone, even if it was killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="veridical parent", daemon=True).start()


@dataclass
class _Place:
    """Place of one process, and when it may be started again."""

    number: int
    process: SpawnProcess
    started: float
    failures: int = 0
    due: float | None = None


@dataclass
class Supervisor:
    """Runs `work(*given, announce)` in `count` processes until SIGTERM or Ctrl-C.

    A process that ends is started again. `patience_s` is how long they get to end themselves. Each
    calls `announce` when it listens.
    """

    count: int
    work: Callable[..., None]
    given: tuple[object, ...]
    patience_s: float
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._heard, self._announce = _spawn.Pipe(duplex=False)
        self._silent = self.count

    def run(self, listening: Callable[[], None] = lambda: None) -> int:
        """Return the exit code; `listening` is called when all processes listen."""
        with self._signals() as woken:
            places = [self._started(number) for number in range(self.count)]
            code = None
            while not self._stopping and code is None:
                ready = wait([woken, self._heard, *_sentinels(places)], timeout=_pause_s(places))
                if self._heard in ready:
                    self._hear(listening)
                code = self._restart(places)
            return max(code or 0, self._end(places))

    def _hear(self, listening: Callable[[], None]) -> None:
        self._heard.recv()
        self._silent -= 1
        if self._silent == 0:
            listening()

    def _started(self, number: int) -> _Place:
        process = _spawn.Process(
            target=self.work, args=(*self.given, self._announce.send), name=f"veridical {number}"
        )
        process.start()
        return _Place(number, process, monotonic())

    def _restart(self, places: list[_Place]) -> int | None:
        """Start again what has ended; return an exit code if that would be in vain."""
        for place in places:
            code = place.process.exitcode
            if code is not None and place.due is None:
                if code in FINAL:
                    return code
                self._note_end(place, code)
            if place.due is not None and place.due <= monotonic():
                again = self._started(place.number)
                again.failures = place.failures
                places[place.number] = again
        return None

    def _note_end(self, place: _Place, code: int) -> None:
        lived = monotonic() - place.started
        place.failures = 0 if lived > STEADY_S else place.failures + 1
        delay = min(LONGEST_S, 2.0**place.failures - 1) if place.failures else 0.0
        place.due = monotonic() + delay
        fields = {"pid": place.process.pid, "exit_code": code, "restart_in_s": delay}
        logger.error("%s", "worker_ended", extra={"event": "worker_ended", "fields": fields})

    def _end(self, places: list[_Place]) -> int:
        """End all processes; return the highest exit code, `EXIT_CODE` of one that was killed."""
        alive = [place.process for place in places if place.process.is_alive()]
        for process in alive:
            process.terminate()
        until = monotonic() + self.patience_s + _GRACE_S
        return max((_ended(process, until - monotonic()) for process in alive), default=0)

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Yield a socket that a signal makes readable."""
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        kept = {one: signal.signal(one, self._stop) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(before)
            for one, handler in kept.items():
                signal.signal(one, handler)
            reader.close()
            writer.close()

    def _stop(self, *_: object) -> None:
        self._stopping = True


def _sentinels(places: list[_Place]) -> list[int]:
    return [place.process.sentinel for place in places if place.due is None]


def _pause_s(places: list[_Place]) -> float | None:
    """Return the seconds until the next restart; None if none is due."""
    due = [place.due for place in places if place.due is not None]
    return max(0.0, min(due) - monotonic()) if due else None


def _ended(process: SpawnProcess, seconds: float) -> int:
    process.join(max(0.0, seconds))
    if process.exitcode is None:
        process.kill()
        process.join()
    code = process.exitcode
    if code == -signal.SIGTERM:  # it had not begun to serve
        return 0
    return EXIT_CODE if code is None or code < 0 else code
