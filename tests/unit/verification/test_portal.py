"""The portal of blocking callers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

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


@pytest.mark.parametrize("calls", ["portal.run(own)", "Thread(target=call, daemon=True).start()"])
def test_a_program_that_leaves_its_portal_open_ends(calls: str) -> None:
    code = (
        "import anyio\n"
        "from concurrent.futures import CancelledError\n"
        "from contextlib import suppress\n"
        "from threading import Event, Thread\n"
        "from veridical.verification.portal import Portal\n"
        "portal, begun = Portal(), Event()\n"
        "async def own():\n"
        "    begun.set()\n"
        "async def forever():\n"
        "    begun.set()\n"
        "    await anyio.sleep_forever()\n"
        "def call():\n"
        "    with suppress(CancelledError):\n"
        "        portal.run(forever)\n"
        f"{calls}\n"
        "begun.wait()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stderr == ""
