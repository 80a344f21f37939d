from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.wrappers.base import PROMPT_TOKENS, estimated_tokens
from veridical.pipeline.inference.wrappers.breaker import OPEN
from veridical.pipeline.inference.wrappers.limits import RateLimited, RateWindow
from veridical.testing import FakeBackend, check_backend, fake_estimate

GOOD = fake_estimate(0.9)
PERIOD = 60.0


def queries(number: int) -> list[Query]:
    return [Query("claim", f"context {i}") for i in range(number)]


@dataclass
class Timed(FakeBackend):
    """Notes when it is called, and how many calls are under way at most."""

    seconds: float = 0.0
    starts: list[float] = field(default_factory=list)
    most: int = 0
    under_way: int = 0

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.starts.append(perf_counter())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await anyio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        return await super().estimate(queries)


def timed(
    answer: Callable[[Query], Measurement] = lambda _: GOOD, *, seconds: float = 0.0
) -> Timed:
    return Timed(answer, seconds=seconds)


# --- the window, which is arithmetic ---------------------------------------------------------

steps = st.lists(
    st.tuples(st.floats(0, 40), st.integers(1, 12), st.none() | st.integers(0, 12)), max_size=40
)


@given(steps, st.integers(1, 20))
def test_no_period_holds_more_than_the_limit(
    asked: list[tuple[float, int, int | None]], limit: int
) -> None:
    window, now, booked = RateWindow(limit, PERIOD), 0.0, []
    for pause, amount, _ in asked:
        now += pause
        start = window.earliest(amount, now)
        assert start >= now
        booked.append(window.book(amount, start))
    starts = [entry.start for entry in booked]
    assert starts == sorted(starts)
    for end in starts:
        within = [e.amount for e in booked if end - PERIOD + 1e-6 < e.start <= end]
        assert sum(within) <= limit


@given(steps, st.integers(1, 20))
def test_nobody_waits_longer_than_it_takes_for_all_before_to_pass(
    asked: list[tuple[float, int, int | None]], limit: int
) -> None:
    window, now = RateWindow(limit, PERIOD), 0.0
    for place, (pause, amount, actual) in enumerate(asked):
        now += pause
        start = window.earliest(amount, now)
        assert start - now <= PERIOD * (place + 1)
        entry = window.book(amount, start)
        if actual is not None:
            window.correct(entry, actual, now)


def test_a_free_window_makes_nobody_wait() -> None:
    window = RateWindow(3, PERIOD)
    for _ in range(3):
        assert window.earliest(1, 100.0) == 100.0
        window.book(1, 100.0)
    assert window.earliest(1, 110.0) == 160.0
    assert window.earliest(1, 161.0) == 161.0


def test_an_amount_above_the_limit_goes_alone() -> None:
    window = RateWindow(10, PERIOD)
    window.book(4, 0.0)
    assert window.earliest(500, 1.0) == 60.0


def test_a_correction_makes_room_or_takes_it() -> None:
    window = RateWindow(10, PERIOD)
    entry = window.book(10, 0.0)
    assert window.earliest(5, 1.0) == 60.0
    window.correct(entry, 5, 1.0)
    assert window.earliest(5, 1.0) == 1.0
    window.correct(entry, 6, 1.0)
    assert window.earliest(5, 1.0) == 60.0


def test_a_correction_that_comes_too_late_changes_nothing() -> None:
    window = RateWindow(10, PERIOD)
    entry = window.book(10, 0.0)
    assert window.earliest(10, 60.0) == 60.0
    window.correct(entry, 100, 60.0)
    assert window.earliest(10, 61.0) == 61.0


def test_a_turn_that_is_given_back_keeps_nobody_waiting() -> None:
    window = RateWindow(10, PERIOD)
    window.book(10, 0.0)
    window.correct(window.book(10, window.earliest(10, 1.0)), 0, 2.0)
    assert window.earliest(1, 61.0) == 61.0
    window.correct(window.book(10, 120.0), 0, 62.0)
    assert window.earliest(1, 62.0) == 62.0


@given(steps, st.integers(1, 20))
def test_the_sum_that_is_kept_is_the_sum_of_what_counts(
    asked: list[tuple[float, int, int | None]], limit: int
) -> None:
    window, now = RateWindow(limit, PERIOD), 0.0
    for pause, amount, actual in asked:
        now += pause
        entry = window.book(amount, window.earliest(amount, now))
        if actual is not None:
            window.correct(entry, actual, now + PERIOD * (actual % 3))
        assert window._used == sum(entry.amount for entry in window._entries)


def test_without_a_limit_nothing_is_booked() -> None:
    window = RateWindow(None)
    for _ in range(1000):
        window.book(10**9, window.earliest(10**9, 5.0))
    assert window.earliest(10**9, 5.0) == 5.0


# --- the wrapper -----------------------------------------------------------------------------


def shortened(limits: RateLimited, period_s: float) -> RateLimited:
    """Make a minute shorter."""
    limits._requests._period_s = limits._tokens._period_s = period_s
    return limits


def test_no_more_requests_are_under_way_than_allowed() -> None:
    backend = timed(seconds=0.002)
    limits = RateLimited(backend, concurrency=3)

    async def three_calls() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(limits.estimate, queries(10))

    anyio.run(three_calls)
    assert len(backend.queries) == 30
    assert backend.most == 3


def test_a_request_carries_a_batch() -> None:
    backend = timed()
    same = [Query(f"claim {i}", "context") for i in range(10)]
    assert anyio.run(RateLimited(backend, concurrency=1, batch=4).estimate, same) == [GOOD] * 10
    assert len(backend.starts) == 3


def test_a_request_carries_one_context() -> None:
    backend = timed()
    limits = RateLimited(backend, concurrency=1, batch=4)
    assert anyio.run(limits.estimate, [*queries(3), *queries(3)]) == [GOOD] * 6
    assert len(backend.starts) == 3


def test_the_wait_for_a_slot_may_have_a_bound_of_its_own() -> None:
    patient = RateLimited(timed(seconds=0.05), concurrency=1, max_wait_s=0.0, slot_wait_s=math.inf)
    assert anyio.run(patient.estimate, queries(4)) == [GOOD] * 4
    found: list[Measurement] = []

    async def several() -> None:
        async def one(number: int) -> None:
            found.extend(await patient.estimate(queries(number)))

        async with anyio.create_task_group() as tasks:
            for number in (1, 2, 3):
                tasks.start_soon(one, number)

    anyio.run(several)
    assert found == [GOOD] * 6


@pytest.mark.spec("SPEC-08.42")
def test_requests_beyond_the_rate_wait_for_their_turn() -> None:
    backend = timed()
    limits = shortened(RateLimited(backend, requests_per_minute=3), 0.1)
    begun = perf_counter()
    assert anyio.run(limits.estimate, queries(7)) == [GOOD] * 7
    waits = sorted(start - begun for start in backend.starts)
    assert waits[3] >= 0.099
    assert waits[6] >= 0.199


@pytest.mark.spec("SPEC-08.42")
def test_who_would_wait_too_long_is_told_at_once_when_to_come_back() -> None:
    backend = timed()
    limits = RateLimited(backend, requests_per_minute=2, max_wait_s=1.0)
    started = perf_counter()
    found = anyio.run(limits.estimate, queries(5))
    assert perf_counter() - started < 20
    assert found[:2] == [GOOD] * 2
    for refused in found[2:]:
        assert isinstance(refused, Unmeasured)
        assert refused.reason is UnmeasuredReason.RATE_LIMITED
        assert refused.retry_after_s == pytest.approx(60, abs=2)
    assert len(backend.queries) == 2


def test_who_finds_no_slot_in_time_is_rate_limited() -> None:
    limits = RateLimited(timed(seconds=0.2), concurrency=1, max_wait_s=0.02)
    found: list[Measurement] = []

    async def one() -> None:
        found.extend(await limits.estimate(queries(1)))

    async def two() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)

    anyio.run(two)
    assert found == [Unmeasured(UnmeasuredReason.RATE_LIMITED, "the queue is too long"), GOOD]


def test_tokens_are_estimated_before_and_corrected_afterwards() -> None:
    one = estimated_tokens(queries(1)[0])
    cheap = timed(lambda _: replace(GOOD, tokens=1))
    limits = RateLimited(cheap, concurrency=1, tokens_per_minute=one + 50, max_wait_s=0.0)
    assert anyio.run(limits.estimate, queries(50)) == [replace(GOOD, tokens=1)] * 50
    silent = RateLimited(timed(), concurrency=1, tokens_per_minute=one + 50, max_wait_s=0.0)
    assert list(anyio.run(silent.estimate, queries(50))).count(GOOD) == 1


def test_what_did_not_go_out_does_not_count() -> None:
    for stopped in (
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, OPEN),
        Unmeasured(UnmeasuredReason.DISABLED),
    ):
        backend = timed(lambda _, stopped=stopped: stopped)  # type: ignore[misc]
        limits = RateLimited(backend, concurrency=1, requests_per_minute=1, max_wait_s=0.0)
        assert anyio.run(limits.estimate, queries(5)) == [stopped] * 5


def test_what_failed_on_the_way_counts() -> None:
    backend = timed(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    limits = RateLimited(backend, concurrency=1, requests_per_minute=1, max_wait_s=0.0)
    anyio.run(limits.estimate, queries(5))
    assert len(backend.queries) == 1


def test_when_the_service_says_when_to_come_back_all_wait_until_then() -> None:
    told = Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=0.1)
    backend = timed(lambda q: told if q.context == "context 0" else GOOD)
    found = anyio.run(RateLimited(backend, concurrency=1).estimate, queries(2))
    assert found == [told, GOOD]
    assert backend.starts[1] - backend.starts[0] >= 0.1


@pytest.mark.parametrize("wait", [math.nan, math.inf, -5.0, None])
def test_a_wait_that_makes_no_sense_closes_nothing(wait: float | None) -> None:
    told = Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=wait)
    backend = timed(lambda q: told if q.context == "context 0" else GOOD)
    limits = RateLimited(backend, concurrency=1, max_wait_s=0.0)
    assert anyio.run(limits.estimate, queries(2))[1] == GOOD


def test_a_caller_that_is_cancelled_gives_its_turn_and_its_slot_back() -> None:
    backend = timed()
    limits = shortened(RateLimited(backend, concurrency=1, requests_per_minute=1), 0.3)

    async def scene() -> Sequence[Measurement]:
        await limits.estimate(queries(1))
        for _ in range(5):
            with anyio.move_on_after(0.01):
                await limits.estimate(queries(1))
        with anyio.fail_after(1.5):
            return await limits.estimate(queries(1))

    assert anyio.run(scene) == [GOOD]
    assert len(backend.queries) == 2


def test_limits_serve_one_event_loop_after_the_other() -> None:
    limits = RateLimited(timed(), concurrency=1)
    for _ in range(3):
        assert anyio.run(limits.estimate, queries(2)) == [GOOD] * 2


def test_a_slot_is_given_back_when_the_backend_cannot_be_used() -> None:
    def broken(_: Query) -> Measurement:
        msg = "no"
        raise BackendError(msg)

    limits = RateLimited(FakeBackend(broken), concurrency=1)

    async def scene() -> int:
        told = 0
        for _ in range(3):
            try:
                await limits.estimate(queries(2))
            except BackendError:
                told += 1
        return told

    assert anyio.run(scene) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"requests_per_minute": -1},
        {"batch": 0},
        {"max_wait_s": -1},
        {"slot_wait_s": -1},
    ],
)
def test_limits_that_make_no_sense_are_a_configuration_error(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="limits must be"):
        RateLimited(timed(), **wrong)  # type: ignore[arg-type]


def test_a_limited_backend_keeps_the_promises_of_the_port() -> None:
    limits = RateLimited(
        timed(), concurrency=4, requests_per_minute=10_000, tokens_per_minute=10**9
    )
    anyio.run(check_backend, limits)


@given(st.text(), st.text(), st.none() | st.text())
def test_tokens_are_estimated_from_the_length_of_all_texts(
    claim: str, context: str, question: str | None
) -> None:
    size = len((claim + context + (question or "")).encode())
    tokens = estimated_tokens(Query(claim, context, question))
    assert size / 4 <= tokens - PROMPT_TOKENS < size / 4 + 1
