"""The portal of blocking callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

import anyio

from veridical.verification.portal import Portal


async def own_thread() -> threading.Thread:
    return threading.current_thread()


def test_one_thread_of_its_own_serves_all_calls_of_all_threads() -> None:
    with Portal() as portal, ThreadPoolExecutor() as pool:
        threads = set(pool.map(portal.run, [own_thread] * 8))
    assert len(threads) == 1
    assert threading.current_thread() not in threads


def test_it_works_inside_a_running_loop() -> None:
    async def outer() -> threading.Thread:
        with Portal() as portal:
            return portal.run(own_thread)

    assert asyncio.run(outer()) is not threading.current_thread()


def test_a_call_after_its_close_starts_another_thread() -> None:
    portal = Portal()
    first = portal.run(own_thread)
    portal.close()
    assert not first.is_alive()
    second = portal.run(own_thread)
    assert second is not first
    portal.close()


def test_a_context_is_left_by_its_close() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def context() -> AsyncGenerator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    with Portal() as portal:
        portal.enter(context())
        assert seen == ["entered"]
    assert seen == ["entered", "left"]


def test_an_interrupt_cancels_the_calls_under_way() -> None:
    begun = threading.Event()

    async def forever() -> None:
        begun.set()
        await anyio.sleep_forever()

    def interrupt(pool: ThreadPoolExecutor) -> Future[None]:
        with suppress(KeyboardInterrupt), Portal() as portal:
            under_way = pool.submit(portal.run, forever)
            begun.wait()
            raise KeyboardInterrupt
        return under_way

    with ThreadPoolExecutor() as pool:
        assert isinstance(interrupt(pool).exception(20.0), CancelledError)
