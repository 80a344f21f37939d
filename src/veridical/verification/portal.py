"""Portal of blocking callers: an event loop in a thread of its own."""

from __future__ import annotations

import atexit
from concurrent.futures import Future, wait
from contextlib import ExitStack
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from anyio.from_thread import BlockingPortal

T = TypeVar("T")

CLOSE_S = 5.0
"""Seconds that a close waits for calls under way, and once more for those that it cancelled."""


class Portal:
    """Runner of coroutines for callers that cannot await, inside a running event loop, too.

    Any thread may call. The thread of the loop starts with the first call and ends with `close`; a
    call after that starts another one. A close waits `CLOSE_S` for calls under way, then cancels
    them: their callers get `concurrent.futures.CancelledError`. One that cannot be cancelled, as it
    blocks the loop, is left behind in its thread, which does not keep the process alive. A portal
    that is open when the process ends is closed then, as on Ctrl-C: calls are not waited for.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._stack = ExitStack()
        self._started: BlockingPortal | None = None
        self._calls: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            stack, self._stack, self._started = self._stack, ExitStack(), None
            _open.discard(self)
            calls = frozenset(self._calls)
        # Without the lock: a call under way may need it. On Ctrl-C nobody waits.
        late = wait(calls, CLOSE_S if kind is None else 0.0).not_done
        if not late:
            stack.__exit__(kind, error, traceback)
            return
        for call in late:
            call.cancel()
        ending = Thread(target=stack.__exit__, args=(kind, error, traceback), daemon=True)
        try:
            ending.start()
        except RuntimeError:  # from Python 3.12 on, no thread starts while the process ends
            stack.__exit__(kind, error, traceback)
            return
        ending.join(CLOSE_S)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what the coroutine returns, and raise what it raises."""
        portal = self._running()
        with self._lock:
            self._calls.add(under_way := portal.start_task_soon(call))
        try:
            return under_way.result()
        finally:
            with self._lock:
                self._calls.discard(under_way)

    def enter(self, manager: AbstractAsyncContextManager[Any]) -> None:
        """Enter a context in the loop; `close` leaves it."""
        entered = self._running().wrap_async_context_manager(manager)
        self._stack.enter_context(entered)

    def close(self) -> None:
        """End the thread, after the calls that are under way and end in time."""
        self.__exit__(None, None, None)

    def _running(self) -> BlockingPortal:
        from anyio.from_thread import start_blocking_portal

        with self._lock:
            if self._started is None:
                self._started = self._stack.enter_context(start_blocking_portal())
                _open.add(self)
            return self._started


_open: WeakSet[Portal] = WeakSet()


@atexit.register
def _leave() -> None:
    """Close the open portals: later the interpreter would wait for threads that run no more."""
    for portal in list(_open):
        portal.__exit__(SystemExit, SystemExit(), None)
