"""Calls of user-supplied functions, sync or async, within a time limit."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")


def is_async(function: Callable[..., object]) -> bool:
    """Return whether a function, or an object that is called like one, is async."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 -- an object whose __call__ is async
    )


async def call(function: Callable[P, T | Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a function; one that is not async runs in a thread."""
    found: Any
    if is_async(function):
        found = function(*args, **kwargs)
    else:
        found = await anyio.to_thread.run_sync(
            partial(function, *args, **kwargs), abandon_on_cancel=True
        )
    if inspect.isawaitable(found):
        found = await found
    result: T = found
    return result


class Allowance:
    """Seconds that verification may add to one answer; every use reduces the rest."""

    def __init__(self, seconds: float) -> None:
        self.left_s = seconds

    async def spend(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine; `TimeoutError` when the allowance is used up."""
        started = perf_counter()
        try:
            return await apart(coroutine, max(self.left_s, 0.0))
        finally:
            self.left_s -= perf_counter() - started


async def apart(coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
    """Return the result of a coroutine in a task of its own; `TimeoutError` after the time.

    It is then cancelled, but not waited for: a coroutine that ignores its cancellation cannot
    delay the answer. A cancellation of its own is an exception, as the caller was not cancelled.
    """
    task = asyncio.ensure_future(coroutine)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not done:
        raise TimeoutError
    if task.cancelled():
        raise _CancelledItselfError
    return task.result()


class _CancelledItselfError(Exception):
    """Raised when a call ended with a cancellation that was not requested."""


def _forget(task: asyncio.Task[Any]) -> None:
    """Retrieve a late exception, so that it is not reported as never retrieved."""
    if not task.cancelled():
        task.exception()
