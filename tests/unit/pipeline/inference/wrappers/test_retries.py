from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import (
    BilledFailure,
    Estimate,
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.wrappers import wrap_text_model
from veridical.pipeline.inference.wrappers.breaker import OPEN
from veridical.pipeline.inference.wrappers.deadline import Deadline
from veridical.pipeline.inference.wrappers.retries import TRANSIENT, Backoff, Retries
from veridical.testing import FAKE, FakeBackend, FakeTextModel, check_backend, fake_estimate

GOOD = fake_estimate(0.9)
QUERIES = [Query(f"Claim {i}.", "Evidence.") for i in range(4)]
QUICK = Backoff(attempts=4, first_wait_s=0.001, total_wait_s=1.0)


@dataclass
class Scripted:
    """Backend that answers call after call from `replies`; the last one repeats."""

    replies: Sequence[Callable[[Query], Measurement]]
    asked: list[list[Query]] = field(default_factory=list)
    info = FAKE

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(list(queries))
        await anyio.lowlevel.checkpoint()
        return [reply(query) for query in queries]


def failing(
    reason: UnmeasuredReason = UnmeasuredReason.TIMEOUT, *, wait_s: float | None = None
) -> Callable[[Query], Measurement]:
    return lambda _: Unmeasured(reason, retry_after_s=wait_s)


def good(_: Query) -> Measurement:
    return GOOD


def ask(backend: Retries | Deadline, *queries: Query) -> list[Measurement]:
    return list(anyio.run(backend.estimate, queries or QUERIES))


def failures(found: Sequence[Measurement]) -> list[Unmeasured]:
    return [one for one in found if isinstance(one, Unmeasured)]


@pytest.mark.spec("SPEC-08.42")
def test_only_what_failed_is_asked_again() -> None:
    scripted = Scripted([lambda q: GOOD if q is QUERIES[1] else failing()(q), good])
    assert ask(Retries(scripted, QUICK)) == [GOOD] * 4
    assert scripted.asked == [QUERIES, [QUERIES[0], QUERIES[2], QUERIES[3]]]


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.parametrize("reason", UnmeasuredReason)
def test_a_reason_that_stays_is_not_asked_again(reason: UnmeasuredReason) -> None:
    scripted = Scripted([failing(reason), good])
    expected = [GOOD] * 4 if reason in TRANSIENT else [Unmeasured(reason)] * 4
    assert ask(Retries(scripted, QUICK)) == expected


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (404, 1), (500, 4), (503, 4)])
def test_a_refusal_is_not_asked_again_but_a_fault_is(status: int, calls: int) -> None:
    scripted = Scripted([lambda _: Unmeasured(UnmeasuredReason.BACKEND_ERROR, f"HTTP {status}")])
    ask(Retries(scripted, QUICK))
    assert len(scripted.asked) == calls


@pytest.mark.parametrize("wait", [None, 0.001])
def test_an_open_circuit_is_not_waited_for(wait: float | None) -> None:
    refused = Unmeasured(UnmeasuredReason.BACKEND_ERROR, OPEN, wait)
    scripted = Scripted([lambda _: refused, good])
    assert ask(Retries(scripted, QUICK)) == [refused] * 4


def test_the_number_of_attempts_is_bounded() -> None:
    scripted = Scripted([failing()])
    retries = Retries(scripted, QUICK)
    assert [one.reason for one in failures(ask(retries))] == [UnmeasuredReason.TIMEOUT] * 4
    assert len(scripted.asked) == 4
    assert retries.asked_again == 12


def test_the_last_failure_is_the_one_that_is_told() -> None:
    scripted = Scripted([failing(), failing(UnmeasuredReason.CONTEXT_TOO_LONG)])
    found = failures(ask(Retries(scripted, QUICK)))
    assert [one.reason for one in found] == [UnmeasuredReason.CONTEXT_TOO_LONG] * 4


def test_a_failure_carries_what_the_attempts_before_it_took() -> None:
    billed = BilledFailure(UnmeasuredReason.MALFORMED_REPLY, tokens=10, cost_usd=0.5)
    (found,) = failures(ask(Retries(Scripted([lambda _: billed]), QUICK), QUERIES[0]))
    assert isinstance(found, BilledFailure)
    assert (found.tokens, found.cost_usd) == (40, 2.0)


def test_the_wait_that_the_service_asks_for_is_kept() -> None:
    times: list[float] = []

    def noted(query: Query) -> Measurement:
        times.append(anyio.current_time())
        return GOOD if len(times) > 1 else failing(UnmeasuredReason.RATE_LIMITED, wait_s=0.1)(query)

    assert ask(Retries(Scripted([noted]), QUICK), QUERIES[0]) == [GOOD]
    assert times[1] - times[0] >= 0.1


def test_a_service_that_asks_for_too_long_a_wait_is_not_asked_again() -> None:
    def mixed(query: Query) -> Measurement:
        wait = 3600.0 if query is QUERIES[0] else 0.01
        return failing(UnmeasuredReason.RATE_LIMITED, wait_s=wait)(query)

    scripted = Scripted([mixed, good])
    found = ask(Retries(scripted, QUICK))
    assert found == [Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=3600.0), *[GOOD] * 3]
    assert scripted.asked[1] == QUERIES[1:]


def test_a_wait_just_as_long_as_the_patience_is_waited() -> None:
    scripted = Scripted([failing(UnmeasuredReason.RATE_LIMITED, wait_s=0.05), good])
    backoff = Backoff(attempts=2, total_wait_s=0.05)
    assert ask(Retries(scripted, backoff, chance=lambda: 0.99)) == [GOOD] * 4


@pytest.mark.parametrize("wait", [math.nan, math.inf, -1.0])
def test_a_wait_that_makes_no_sense_does_no_harm(wait: float) -> None:
    scripted = Scripted([failing(UnmeasuredReason.RATE_LIMITED, wait_s=wait), good])
    assert len(ask(Retries(scripted, QUICK))) == 4


def test_what_is_measured_is_kept_when_a_deadline_comes_during_the_second_attempt() -> None:
    @dataclass
    class Hanging(Scripted):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            if self.asked:
                await anyio.sleep(60)
            return await super().estimate(queries)

    hanging = Hanging([lambda q: GOOD if q is QUERIES[1] else failing()(q)])
    backend = Deadline(Retries(hanging, QUICK), seconds=0.5, batch=4)
    found = ask(backend)
    assert found[1] == GOOD
    assert found[0] == Unmeasured(UnmeasuredReason.TIMEOUT)


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    scripted = Scripted([lambda q: GOOD if q is QUERIES[1] else failing()(q)])
    slow = Retries(scripted, Backoff(attempts=3, first_wait_s=10.0))
    assert ask(Deadline(slow, seconds=0.5, batch=4))[1] == GOOD


def test_a_wait_ends_before_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def noted(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", noted)
    monkeypatch.setattr(anyio, "current_time", lambda: 1000.0)
    monkeypatch.setattr(anyio, "current_effective_deadline", lambda: 1002.0)
    scripted = Scripted([failing(UnmeasuredReason.RATE_LIMITED, wait_s=1.9), good])
    ask(Retries(scripted, Backoff(attempts=2), chance=lambda: 0.99))
    (wait,) = waits
    assert 1.9 <= wait < 2.0


def test_a_backend_that_breaks_down_later_does_not_take_back_what_it_measured() -> None:
    def broken(_: Query) -> Measurement:
        msg = "it cannot go on"
        raise BackendError(msg)

    scripted = Scripted([lambda q: GOOD if q is QUERIES[1] else failing()(q), broken])
    assert ask(Retries(scripted, QUICK)).count(GOOD) == 1
    with pytest.raises(BackendError):
        ask(Retries(Scripted([broken]), QUICK))


@pytest.mark.parametrize(
    "wrong", [{"attempts": 0}, {"first_wait_s": -1.0}, {"total_wait_s": math.nan}]
)
def test_retries_that_make_no_sense_are_a_configuration_error(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="retries need"):
        Backoff(**wrong)  # type: ignore[arg-type]


@given(st.integers(1, 10_000), st.floats(0, 100), st.floats(0, 1, exclude_max=True))
def test_a_wait_of_ones_own_is_bounded_and_spread(
    attempt: int, first: float, chance: float
) -> None:
    wait = Backoff(first_wait_s=first).wait_s(attempt, None, chance)
    assert 0 <= wait <= 20
    full = min(20.0, first * 2.0 ** min(attempt - 1, 30))
    assert full / 2 <= wait <= full


@given(st.integers(1, 100), st.floats(0, 1e6), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_shorter_than_asked_for_nor_much_longer(
    attempt: int, asked: float, chance: float
) -> None:
    assert asked <= Backoff().wait_s(attempt, asked, chance) <= asked * 1.25


TOOK = replace(GOOD, tokens=100, cost_usd=0.01)
BILLED = BilledFailure(UnmeasuredReason.MALFORMED_REPLY, tokens=20, cost_usd=0.002)


@pytest.mark.parametrize(
    ("failures", "tokens", "cost"),
    [
        ([BILLED], 120, 0.012),
        ([BILLED, BILLED], 140, 0.014),
        ([BILLED, Unmeasured(UnmeasuredReason.RATE_LIMITED), BILLED], 140, 0.014),
        ([replace(BILLED, cost_usd=None)], 120, None),
        ([BILLED, Unmeasured(UnmeasuredReason.MALFORMED_REPLY)], None, None),
        ([Unmeasured(UnmeasuredReason.TIMEOUT)], None, None),
        ([Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 503")], 100, 0.01),
    ],
)
def test_an_estimate_carries_what_the_attempts_before_it_took(
    failures: list[Unmeasured], tokens: int | None, cost: float | None
) -> None:
    def failing_with(failure: Unmeasured) -> Callable[[Query], Measurement]:
        return lambda query: failure if query is QUERIES[0] else TOOK

    scripted = Scripted([*map(failing_with, failures), lambda _: TOOK])
    first, *others = ask(Retries(scripted, QUICK))
    assert isinstance(first, Estimate)
    assert first.tokens == tokens
    assert first.cost_usd == (None if cost is None else pytest.approx(cost))
    assert others == [TOOK] * 3


def test_what_is_free_stays_so_after_a_timeout() -> None:
    free = replace(GOOD, tokens=100, cost_usd=0.0)
    scripted = Scripted([failing(), lambda _: free])
    assert ask(Retries(scripted, QUICK), QUERIES[0]) == [replace(free, tokens=None)]


def test_a_text_after_one_that_may_have_been_billed_is_of_unknown_cost() -> None:
    text = Generated("hello", "m", prompt_tokens=10, output_tokens=5, cost_usd=0.01)
    replies: Iterator[Generated | Unmeasured] = iter(
        [Unmeasured(UnmeasuredReason.MALFORMED_REPLY), text]
    )
    model = wrap_text_model(FakeTextModel(lambda _: next(replies)), attempts=2, retry_wait_s=0.001)
    found = anyio.run(model.generate, TextRequest("Be brief.", "Hello?"))
    assert isinstance(found, Generated)
    assert (found.prompt_tokens, found.output_tokens, found.cost_usd) == (None, None, None)


def test_a_retried_backend_keeps_the_promises_of_the_port() -> None:
    anyio.run(check_backend, Retries(FakeBackend(good)))
    anyio.run(check_backend, Retries(FakeBackend(failing()), QUICK))
