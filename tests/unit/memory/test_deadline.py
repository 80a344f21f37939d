"""Calls against a deadline: a late call costs no other call its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from veridical.memory.deadline import DeadlineError, DeadlineRunner


@pytest.fixture
def loops() -> Iterator[DeadlineRunner]:
    made = DeadlineRunner()
    yield made
    made.close()


def late(loops: DeadlineRunner) -> None:
    with pytest.raises(DeadlineError):
        loops.run(anyio.sleep_forever, 0.01)


def thread_of(loops: DeadlineRunner) -> threading.Thread:
    async def own() -> threading.Thread:
        return threading.current_thread()

    return loops.run(own, 20.0)


def test_a_call_that_is_late_costs_no_other_one_its_answer(loops: DeadlineRunner) -> None:
    async def answer() -> str:
        await anyio.sleep(0.5)
        return "answer"

    first = thread_of(loops)
    with ThreadPoolExecutor() as pool:
        healthy = pool.submit(loops.run, answer, 20.0)
        for _ in range(20):
            late(loops)
        assert healthy.result() == "answer"
    assert thread_of(loops) is first


def test_a_loop_that_is_held_up_is_replaced_and_brings_its_calls_to_their_end(
    loops: DeadlineRunner,
) -> None:
    begun = threading.Event()

    async def answer() -> str:
        begun.set()
        time.sleep(0.5)  # noqa: ASYNC251 -- holds up the loop
        await anyio.sleep(0.1)
        return "answer"

    first = thread_of(loops)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(loops.run, answer, 20.0)
        begun.wait()
        late(loops)
        assert thread_of(loops) is not first
        assert slow.result() == "answer"
    first.join(20.0)
    assert not first.is_alive()
