"""Calls of coroutines with a hard deadline.

They run in an event loop in a thread of its own. The caller resumes at the deadline, even if the
call blocks that thread; then the next call gets another one.

They cannot use `verification.portal`: closing a portal waits for its thread, and a thread that
hangs never ends. Here `close` only asks the threads to stop.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from veridical.core.projects import project_in_force, within_project

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

MAX_STUCK_THREADS = 8
"""Limit of hanging threads; beyond it no further one is started, and calls time out."""


GRACE_S = 0.05
"""Seconds without an answer after which a thread counts as hanging."""


class DeadlineError(Exception):
    """Raised when a call has not returned by its deadline."""


class DeadlineRunner:
    """Runner of coroutines against a deadline; any thread may call.

    Threads are daemons: one that hangs does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: _Loop | None = None
        self._hanging: list[_Loop] = []

    def run(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Return the result of `call`, or raise its exception; `DeadlineError` after `seconds`."""
        due = perf_counter() + seconds
        loop = self._entered()
        try:
            return _result(call, loop, due)
        finally:
            self._left(loop)

    def close(self) -> None:
        """Stop the threads; running calls are cancelled."""
        with self._lock:
            for loop in (self._current, *self._hanging):
                if loop is not None:
                    loop.stop()
            self._current = None
            self._hanging = []

    def _entered(self) -> _Loop:
        """Return a responsive loop, and count one more caller that waits in it."""
        current = self._current
        if current is not None and current.thread.is_alive():
            current.wait_for_answer()  # without the lock: others need not wait for that
        with self._lock:
            loop = self._responsive()
            loop.waiting += 1
            return loop

    def _left(self, loop: _Loop) -> None:
        with self._lock:
            loop.waiting -= 1
            if loop in self._hanging and not loop.waiting:
                loop.stop()

    def _responsive(self) -> _Loop:
        self._hanging = [loop for loop in self._hanging if loop.thread.is_alive()]
        current = self._current
        # A thread is not alive in a process that was forked, either.
        if current is not None and current.thread.is_alive():
            if not current.hangs or len(self._hanging) >= MAX_STUCK_THREADS:
                return current
            if not current.waiting:  # else the last waiting caller stops it: it may only be slow
                current.stop()
            self._hanging.append(current)
        self._current = _Loop()
        return self._current


def _result(call: Callable[[], Coroutine[Any, Any, T]], loop: _Loop, due: float) -> T:
    project = project_in_force()  # the loop's thread has another context
    future = asyncio.run_coroutine_threadsafe(_within(call, due, project), loop.loop)
    try:
        return future.result(max(due - perf_counter(), 0.0))
    except TimeoutError:
        if future.done() and not future.cancelled():
            return future.result()  # just arrived; or the call itself raised the timeout
        future.cancel()
        loop.ping()
    except CancelledError:
        pass  # the loop was closed meanwhile
    raise DeadlineError


async def _within(call: Callable[[], Coroutine[Any, Any, T]], due: float, project: str | None) -> T:
    """Run the call for a project, with the remaining time as its cancellation scope."""
    with within_project(project), anyio.move_on_after(max(due - perf_counter(), 0.0)):
        return await call()
    raise DeadlineError


class _Loop:
    """Event loop in a thread; `waiting` counts the callers that wait for a result."""

    def __init__(self) -> None:
        self.waiting = 0
        self._started = threading.Event()
        self._answered = threading.Event()
        self._answered.set()
        self._pinged_at = 0.0
        self.loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self.thread = threading.Thread(target=self._run, name="veridical gate", daemon=True)
        self.thread.start()
        self._started.wait()

    @property
    def hangs(self) -> bool:
        """True if it has not answered a ping within the grace period."""
        return not self._answered.is_set() and perf_counter() > self._pinged_at + GRACE_S

    def ping(self) -> None:
        """Ping the loop, unless it still has to answer the last ping."""
        if self._answered.is_set():
            self._pinged_at = perf_counter()
            self._answered.clear()
            self._call(self._answered.set)

    def wait_for_answer(self) -> None:
        """Wait until the loop has answered, or hangs."""
        while not self.hangs:
            if self._answered.wait(max(self._pinged_at + GRACE_S - perf_counter(), 0.0)):
                return

    def stop(self) -> None:
        """Stop the loop as soon as it can; running calls are cancelled."""
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
