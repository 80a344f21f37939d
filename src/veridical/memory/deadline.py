"""Calls that are waited for so long and no longer, whatever they do.

They run in an event loop in a thread of its own. Who waits goes on after the deadline, even if the
call holds up that thread; then the next call gets another one.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

HELD_UP = 8
"""How many threads may hang before no further one is started; calls then just come too late."""


class DeadlineError(Exception):
    """There was no answer in time."""


class Loops:
    """Runs coroutines against a deadline; any thread may call.

    Threads are daemons: one that hangs does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: _Loop | None = None
        self._hanging: list[_Loop] = []

    def run(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Return what `call` returns, and raise what it raises; `DeadlineError` if that is late."""
        loop = self._responsive()
        future = asyncio.run_coroutine_threadsafe(call(), loop.loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()  # came just now; or what is late is the call's own doing
            future.cancel()
            loop.ping()
        except CancelledError:
            pass  # the loop was closed meanwhile
        raise DeadlineError

    def close(self) -> None:
        """Stop the threads; calls under way are cancelled."""
        with self._lock:
            for loop in (self._current, *self._hanging):
                if loop is not None:
                    loop.stop()
            self._current = None
            self._hanging = []

    def _responsive(self) -> _Loop:
        with self._lock:
            self._hanging = [loop for loop in self._hanging if loop.thread.is_alive()]
            current = self._current
            # A thread is not alive in a process that was forked, either.
            if current is not None and current.thread.is_alive():
                if current.answers or len(self._hanging) >= HELD_UP:
                    return current
                current.stop()
                self._hanging.append(current)
            self._current = _Loop()
            return self._current


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._pinged: threading.Event | None = None
        self.loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self.thread = threading.Thread(target=self._run, name="veridical gate", daemon=True)
        self.thread.start()
        self._started.wait()

    @property
    def answers(self) -> bool:
        """Whether it did something since it was last pinged."""
        return self._pinged is None or self._pinged.is_set()

    def ping(self) -> None:
        """Ask it to do something."""
        self._pinged = threading.Event()
        self._call(self._pinged.set)

    def stop(self) -> None:
        """Let it end as soon as it can; what is under way is cancelled."""
        self._call(self._stopped.set)

    def _call(self, function: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # closed already
            self.loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._started.set()
        await self._stopped.wait()
