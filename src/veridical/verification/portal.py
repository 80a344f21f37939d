"""Portal of blocking callers: an event loop in a thread of its own."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from anyio.from_thread import BlockingPortal

T = TypeVar("T")


class Portal:
    """Runner of coroutines for callers that cannot await, inside a running event loop, too.

    Any thread may call. The thread of the loop starts with the first call and ends with `close`; a
    call after that starts another one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._stack = ExitStack()
        self._started: BlockingPortal | None = None

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
        # Without the lock: a call under way may need it.
        # The exception goes along: on Ctrl-C the loop then cancels what is still running.
        stack.__exit__(kind, error, traceback)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return what the coroutine returns, and raise what it raises."""
        return self._running().call(call)

    def enter(self, manager: AbstractAsyncContextManager[Any]) -> None:
        """Enter a context in the loop; `close` leaves it."""
        entered = self._running().wrap_async_context_manager(manager)
        self._stack.enter_context(entered)

    def close(self) -> None:
        """End the thread, after the calls that are under way."""
        self.__exit__(None, None, None)

    def _running(self) -> BlockingPortal:
        from anyio.from_thread import start_blocking_portal

        with self._lock:
            if self._started is None:
                self._started = self._stack.enter_context(start_blocking_portal())
            return self._started
