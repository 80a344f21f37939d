from __future__ import annotations

import asyncio
from time import monotonic, sleep

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import StoreError
from veridical.interfaces.http import limits
from veridical.interfaces.http.limits import (
    MOST_RETRY_S,
    Kind,
    OverloadedError,
    RateLimiter,
    RequestQueue,
    SharedRateLimiter,
)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_so_many_run_and_the_next_one_has_its_turn_in_order() -> None:
    async def run() -> list[int]:
        admission, order = RequestQueue(running=2, waiting=10), list[int]()

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
def test_a_check_is_shed_when_the_queue_is_full_output_waits_and_a_gate_never_does() -> None:
    async def run() -> None:
        admission = RequestQueue(running=1, waiting=4)
        await admission.enter(Kind.CHECK)
        waiters = [asyncio.create_task(admission.enter(Kind.CHECK)) for _ in range(4)]
        await settle()
        with pytest.raises(OverloadedError) as full:
            await admission.enter(Kind.CHECK)
        assert int(full.value.headers["retry-after"]) >= 1
        waiters.append(asyncio.create_task(admission.enter(Kind.OUTPUT)))
        await settle()
        for _ in range(20):
            await admission.enter(Kind.GATE)
        assert admission.waiting == 5
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        assert admission.waiting == 0

    anyio.run(run)


def test_who_waits_too_long_is_turned_away_and_takes_no_place() -> None:
    async def run() -> None:
        admission = RequestQueue(running=1, waiting=4)
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
        admission = RequestQueue(running=1, waiting=4)
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
    admission = RequestQueue(running, 10)
    for seconds in took:
        admission.running += 1
        admission.leave(seconds)
    assert 1.0 <= admission.retry_after_s <= MOST_RETRY_S
    assert admission.running == 0


class Clock:
    """Clock of the limits of this process."""

    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(limits, "monotonic", lambda: clock.now)
    return clock


def waits(rates: RateLimiter, key: str, per_minute: int | None, times: int = 1) -> list[int]:
    """Ask so many times; in how many seconds to come again, 0 where there is room."""

    async def ask() -> int:
        try:
            await rates.take(key, per_minute)
        except OverloadedError as refused:
            return int(refused.headers["retry-after"])
        return 0

    async def run() -> list[int]:
        return [await ask() for _ in range(times)]

    return anyio.run(run)


def test_a_key_has_its_requests_a_minute_and_no_other_keys(clock: Clock) -> None:
    rates = RateLimiter()
    assert waits(rates, "a", 3, 4) == [0, 0, 0, 20]
    assert waits(rates, "b", 3) == [0]
    assert waits(rates, "c", None, 50) == [0] * 50
    clock.now += 20.1
    assert waits(rates, "a", 3, 2) == [0, 20]
    clock.now += 3600
    assert waits(rates, "a", 3, 4) == [0, 0, 0, 20]


@given(st.integers(1, 200), st.lists(st.floats(0, 30), max_size=200))
def test_no_minute_has_more_than_twice_what_a_key_may_ask_for(
    per_minute: int, pauses: list[float]
) -> None:
    """A saved-up minute's quota, and the quota of that minute."""
    rates, granted, clock = RateLimiter(), list[float](), Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "monotonic", lambda: clock.now)
        for pause in pauses:
            clock.now += pause
            if not rates._taken("a", 60 / per_minute):
                granted.append(clock.now)
    for start in granted:
        within = [one for one in granted if start <= one < start + 60]
        assert len(within) <= 2 * per_minute


class Table:
    """A table that is there, or fails, or takes too long."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False
        self.takes_s = 0.0
        self.wait_s = 0.0

    def open(self) -> None:
        """Nothing to open."""

    def take(self, key: str, *, turn_s: float, ahead_s: float) -> float:
        del key, turn_s, ahead_s
        self.asked += 1
        sleep(self.takes_s)
        if self.fails:
            msg = "the store cannot be used"
            raise StoreError(msg)
        return self.wait_s


def shared(table: Table) -> tuple[SharedRateLimiter, list[tuple[str, str]]]:
    failures: list[tuple[str, str]] = []
    rates = SharedRateLimiter(
        lambda: table,  # type: ignore[arg-type, return-value]
        lambda where, error: failures.append((where, type(error).__name__)),
    )
    return rates, failures


def test_the_database_decides_while_it_answers(clock: Clock) -> None:
    del clock
    table = Table()
    rates, failures = shared(table)
    assert waits(rates, "a", 2, 3) == [0, 0, 0]
    table.wait_s = 7.0
    assert waits(rates, "a", 2) == [7]
    assert (table.asked, failures) == (4, [])
    assert waits(rates, "a", None) == [0]
    assert table.asked == 4


def test_without_its_database_a_process_counts_by_itself_for_a_while(clock: Clock) -> None:
    table = Table()
    rates, failures = shared(table)
    assert waits(rates, "a", 3, 2) == [0, 0]
    table.fails = True
    assert waits(rates, "a", 3, 3) == [0, 20, 20]
    assert (table.asked, failures) == (3, [("rates", "StoreError")])
    table.fails = False
    clock.now += limits.PAUSE_S + 0.1
    assert waits(rates, "a", 3) == [0]
    assert table.asked == 4


def test_a_database_that_is_slow_holds_no_request_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PATIENCE_S", 0.05)
    table = Table()
    table.takes_s = 10.0
    rates, failures = shared(table)
    started = monotonic()
    assert anyio.run(one_then_many, rates) == [0] * 11
    assert monotonic() - started < 8
    assert failures == [("rates", "TimeoutError")]


async def one_then_many(rates: RateLimiter) -> list[int]:
    found = []
    for _ in range(11):
        await rates.take("a", 60)
        found.append(0)
    return found
