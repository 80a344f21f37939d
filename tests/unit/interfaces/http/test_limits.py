from __future__ import annotations

import asyncio

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.interfaces.http import limits
from veridical.interfaces.http.errors import OverloadedError
from veridical.interfaces.http.limits import MOST_RETRY_S, Admission, Kind, Rates


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_so_many_run_and_the_next_one_has_its_turn_in_order() -> None:
    async def run() -> list[int]:
        admission, order = Admission(running=2, waiting=10), list[int]()

        async def work(number: int) -> None:
            async with admission.slot(Kind.CHECK):
                assert admission.running <= 2
                order.append(number)
                await asyncio.sleep(0.001)

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(work, number)
        assert (admission.running, admission.waiting) == (0, 0)
        return order

    assert anyio.run(run) == list(range(8))


@pytest.mark.spec("SPEC-08.39")
def test_output_is_shed_first_a_check_when_the_queue_is_full_and_a_gate_never() -> None:
    async def run() -> None:
        admission = Admission(running=1, waiting=4)
        await admission.enter(Kind.CHECK)
        waiters = [asyncio.create_task(admission.enter(Kind.CHECK)) for _ in range(2)]
        await settle()
        with pytest.raises(OverloadedError):
            await admission.enter(Kind.OUTPUT)
        waiters += [asyncio.create_task(admission.enter(Kind.CHECK)) for _ in range(2)]
        await settle()
        with pytest.raises(OverloadedError) as full:
            await admission.enter(Kind.CHECK)
        assert int(full.value.headers["retry-after"]) >= 1
        for _ in range(20):
            await admission.enter(Kind.GATE)
        assert admission.waiting == 4
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        assert admission.waiting == 0

    anyio.run(run)


def test_who_waits_too_long_is_turned_away_and_takes_no_place() -> None:
    async def run() -> None:
        admission = Admission(running=1, waiting=4)
        await admission.enter(Kind.CHECK)
        with pytest.raises(OverloadedError, match="in time"):
            await admission.enter(Kind.CHECK, wait_s=0.01)
        assert admission.waiting == 0
        admission.leave(0.1)
        await admission.enter(Kind.CHECK, wait_s=0.01)
        assert admission.running == 1

    anyio.run(run)


def test_a_place_given_to_somebody_who_just_left_goes_on_to_the_next() -> None:
    async def run() -> None:
        admission = Admission(running=1, waiting=4)
        await admission.enter(Kind.CHECK)
        first = asyncio.create_task(admission.enter(Kind.CHECK))
        second = asyncio.create_task(admission.enter(Kind.CHECK))
        await settle()
        admission.leave(0.1)  # the turn of the first has come
        first.cancel()  # in the same moment
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.wait_for(second, 1)
        assert (admission.running, admission.waiting) == (1, 0)

    anyio.run(run)


@given(st.lists(st.floats(0, 1e6), max_size=30), st.integers(1, 64))
def test_when_to_come_again_is_a_time_that_makes_sense(took: list[float], running: int) -> None:
    admission = Admission(running, 10)
    for seconds in took:
        admission.running += 1
        admission.leave(seconds)
    assert 1.0 <= admission.retry_after_s <= MOST_RETRY_S
    assert admission.running == 0


def test_a_key_has_its_requests_a_minute_and_no_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(limits, "monotonic", lambda: now[0])
    rates = Rates()
    for _ in range(3):
        rates.take("a", 3)
    with pytest.raises(OverloadedError) as used_up:
        rates.take("a", 3)
    assert used_up.value.headers == {"retry-after": "20"}
    rates.take("b", 3)
    rates.take("c", None)
    now[0] += 20.1
    rates.take("a", 3)
    with pytest.raises(OverloadedError):
        rates.take("a", 3)
