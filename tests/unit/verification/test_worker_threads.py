from __future__ import annotations

import asyncio
import threading
import time

import pytest

from veridical.core.cancellation import cancellable, checkpoint
from veridical.errors import TimeLimitError
from veridical.verification import worker_threads
from veridical.verification.worker_threads import LARGE, in_worker_thread


class Endless:
    """Work without end, in units."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.ended = threading.Event()

    def __call__(self) -> None:
        self.started.set()
        try:
            while True:
                checkpoint()
        finally:
            self.ended.set()


def test_work_has_a_thread_of_its_own() -> None:
    assert asyncio.run(in_worker_thread(threading.get_ident)) != threading.get_ident()


def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_worker_thread(lambda: 1 // 0))


def test_work_ends_when_its_caller_is_cancelled() -> None:
    work = Endless()

    async def run() -> None:
        task = asyncio.create_task(in_worker_thread(work))
        await asyncio.to_thread(work.started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(work.ended.wait, 10)

    asyncio.run(run())


def test_work_ends_at_the_deadline_of_its_caller() -> None:
    work = Endless()

    async def run() -> None:
        with cancellable(0.05), pytest.raises(TimeLimitError):
            await in_worker_thread(work)

    asyncio.run(run())
    assert work.ended.wait(10)


def test_nobody_waits_for_a_unit_that_goes_on_beyond_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_threads, "_GRACE_S", 0.05)
    unit = threading.Event()

    async def run() -> float:
        started = time.perf_counter()
        with cancellable(0.05), pytest.raises(TimeLimitError):
            await in_worker_thread(lambda: unit.wait(30))
        unit.set()
        return time.perf_counter() - started

    assert asyncio.run(run()) < 20


def test_large_texts_take_turns_and_small_ones_do_not_wait() -> None:
    works = [Endless() for _ in range(3)]

    async def run() -> None:
        tasks = [asyncio.create_task(in_worker_thread(each, characters=LARGE)) for each in works]
        for each in works[:2]:
            assert await asyncio.to_thread(each.started.wait, 10)
        assert await in_worker_thread(lambda: "small") == "small"
        assert not works[2].started.is_set()
        tasks[0].cancel()
        assert await asyncio.to_thread(works[2].started.wait, 10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
