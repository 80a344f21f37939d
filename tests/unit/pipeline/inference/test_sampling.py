from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.prompts import AnswerWord
from veridical.pipeline.inference.sampling import (
    Plan,
    Tally,
    answer_in,
    sample,
    sample_many,
    wilson,
)

YES, NO, UNSURE = AnswerWord.YES, AnswerWord.NO, AnswerWord.UNSURE
INFO = BackendInfo(name="test", model="m", estimator=Estimator.SAMPLING, fingerprint="f")
LIMITED = Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", 7.0)
BROKEN = Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the reply is not JSON")

counts = st.integers(0, 200)
tallies = st.builds(Tally, counts, counts, counts)
plans = st.builds(
    lambda least, more, threshold: Plan(least, least + more, threshold),
    st.integers(1, 8),
    st.integers(0, 12),
    st.floats(0.05, 0.95),
)


# --- the interval ------------------------------------------------------------------------------


@given(counts, counts)
def test_the_interval_holds_the_raw_share(yes: int, others: int) -> None:
    low, high = wilson(yes, yes + others)
    share = yes / (yes + others) if yes + others else 0.5
    assert 0.0 <= low <= share <= high <= 1.0


@given(counts, counts)
def test_the_interval_of_the_opposite_is_its_mirror_image(yes: int, others: int) -> None:
    low, high = wilson(yes, yes + others)
    assert wilson(others, yes + others) == pytest.approx((1 - high, 1 - low))


@given(st.integers(1, 300), st.data())
def test_more_successes_move_both_bounds_up(trials: int, data: st.DataObject) -> None:
    fewer = data.draw(st.integers(0, trials - 1))
    less, more = wilson(fewer, trials), wilson(fewer + 1, trials)
    assert less[0] < more[0]
    assert less[1] < more[1]


@given(st.integers(0, 30), st.integers(1, 30), st.integers(2, 50))
def test_more_trials_of_the_same_share_narrow_the_interval(
    yes: int, trials: int, factor: int
) -> None:
    assume(yes <= trials)
    few, many = wilson(yes, trials), wilson(yes * factor, trials * factor)
    assert many[1] - many[0] < few[1] - few[0]


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # By the quadratic whose roots the bounds are, in exact arithmetic and to four digits.
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 10, 0.0179, 0.4042),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_known_intervals(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 200), st.data())
def test_the_bounds_are_where_the_share_is_just_as_far_away_as_z_allows(
    trials: int, data: st.DataObject
) -> None:
    successes = data.draw(st.integers(0, trials))
    share = successes / trials
    for bound in wilson(successes, trials):
        distance = (share - bound) ** 2
        assert distance == pytest.approx(1.959964**2 * bound * (1 - bound) / trials, abs=1e-6)


def test_no_trials_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (1, 0)])
def test_an_impossible_share_has_no_interval(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(successes, trials)


# --- the estimate ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.14")
@given(tallies)
def test_a_tally_with_samples_is_an_estimate_of_the_raw_shares(tally: Tally) -> None:
    assume(tally.total)
    estimate = tally.estimate(INFO)
    assert estimate.estimator is Estimator.SAMPLING
    assert estimate.samples == tally.total
    assert estimate.supported == tally.yes / tally.total
    assert estimate.contradicted == tally.no / tally.total
    assert (estimate.low, estimate.high) == tally.interval


def test_what_is_not_known_of_an_estimate_is_none() -> None:
    estimate = Tally(yes=2, no=1).estimate(INFO)
    assert (estimate.latency_ms, estimate.tokens, estimate.cost_usd) == (None, None, None)
    assert (estimate.model, estimate.fingerprint) == ("m", "f")


def test_no_samples_are_no_estimate() -> None:
    with pytest.raises(ValueError, match="no samples"):
        Tally().estimate(INFO)


# --- when to stop ------------------------------------------------------------------------------


@given(tallies, st.floats(0.05, 0.95))
def test_a_decided_claim_is_read_the_same_anywhere_in_its_interval(
    tally: Tally, threshold: float
) -> None:
    low, high = tally.interval
    sides = {p >= threshold for p in (low, (low + high) / 2, high)}
    assert Plan(threshold=threshold).decided(tally) == (len(sides) == 1)


@given(plans, st.lists(st.sampled_from(AnswerWord), min_size=20, max_size=20))
def test_no_sample_is_asked_for_in_vain_and_none_too_few(
    plan: Plan, answers: list[AnswerWord]
) -> None:
    tally = Tally()
    while more := plan.further(tally, tally.total):
        round_ = answers[tally.total : tally.total + more]
        for k in range(len(round_)):
            before = tally.plus(round_[:k])
            # Stopping one by one would not have stopped here either.
            assert before.total < plan.minimum or not plan.decided(before)
        tally = tally.plus(round_)
    assert plan.minimum <= tally.total <= plan.maximum
    assert plan.decided(tally) or tally.total == plan.maximum


@pytest.mark.parametrize(
    ("answer", "samples"), [(YES, 9), (NO, 3), (UNSURE, 3)], ids=["yes", "no", "unsure"]
)
def test_unanimous_answers_end_early(answer: AnswerWord, samples: int) -> None:
    assert sampled(*[answer] * 20) == Tally().plus([answer] * samples)


def test_mixed_answers_go_on_to_the_maximum() -> None:
    assert sampled(*[YES, YES, NO] * 7) == Tally(yes=7, no=3)


def test_a_claim_without_a_readable_answer_is_given_up_after_the_minimum() -> None:
    assert Plan().further(Tally(), asked=1) == 2
    assert Plan().further(Tally(), asked=3) == 0


@pytest.mark.parametrize(
    ("minimum", "maximum", "threshold"),
    [(0, 3, 0.7), (4, 3, 0.7), (1, 3, 0.0), (1, 3, 1.0), (1, 3, float("nan"))],
)
def test_an_impossible_plan_is_a_configuration_error(
    minimum: int, maximum: int, threshold: float
) -> None:
    with pytest.raises(ConfigurationError):
        Plan(minimum, maximum, threshold)


# --- the driver --------------------------------------------------------------------------------


def sampled(*answers: AnswerWord | Unmeasured) -> Tally | Unmeasured:
    async def ask(number: int) -> AnswerWord | Unmeasured:
        return answers[number]

    async def main() -> Tally | Unmeasured:
        return await sample(ask, minimum=3, maximum=10, threshold=0.7)

    return anyio.run(main)


def test_a_malformed_answer_costs_one_sample() -> None:
    assert sampled(BROKEN, *[NO] * 9) == Tally(no=3)


def test_malformed_answers_count_towards_the_maximum() -> None:
    assert sampled(YES, *[BROKEN] * 9) == Tally(yes=1)


def test_nothing_but_malformed_answers_is_a_malformed_reply() -> None:
    assert sampled(*[BROKEN] * 10) == BROKEN


def test_a_failing_service_is_asked_once() -> None:
    numbers: list[int] = []

    async def ask(number: int) -> AnswerWord | Unmeasured:
        numbers.append(number)
        return LIMITED

    async def main() -> Tally | Unmeasured:
        return await sample(ask, minimum=3, maximum=10, threshold=0.7)

    assert anyio.run(main) == LIMITED
    assert numbers == [0]


def test_a_service_that_fails_later_leaves_the_answers_that_suffice() -> None:
    assert sampled(YES, YES, YES, LIMITED, *[YES] * 6) == Tally(yes=3)


def test_a_service_that_fails_before_the_minimum_is_a_failure() -> None:
    assert sampled(YES, *[LIMITED] * 9) == LIMITED


def test_samples_of_one_round_are_asked_at_once() -> None:
    at_once = 0
    most = 0

    async def ask(_: int) -> AnswerWord:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await anyio.sleep(0.001)
        at_once -= 1
        return YES

    async def main() -> Tally | Unmeasured:
        return await sample(ask, minimum=3, maximum=10, threshold=0.7)

    assert anyio.run(main) == Tally(yes=9)
    assert most == 5  # of 1, 3 and 5: with fewer nothing could be decided


@pytest.mark.spec("SPEC-08.29")
@settings(max_examples=30)
@given(plans, st.lists(st.lists(st.sampled_from(AnswerWord), min_size=20, max_size=20), max_size=5))
def test_a_claim_takes_the_same_samples_in_company_as_alone(
    plan: Plan, answers: list[list[AnswerWord]]
) -> None:
    requests: list[list[int]] = []
    seen = [0] * len(answers)

    async def ask(_: int, indices: Sequence[int]) -> Mapping[int, AnswerWord]:
        requests.append(list(indices))
        reply = {}
        for i in indices:
            reply[i] = answers[i][seen[i]]
            seen[i] += 1
        return reply

    async def main() -> list[Tally | Unmeasured]:
        return await sample_many(ask, len(answers), plan)

    found = anyio.run(main)
    for claim, tally in zip(answers, found, strict=True):
        alone = Tally()
        while alone.total < plan.minimum or (
            not plan.decided(alone) and alone.total < plan.maximum
        ):
            alone = alone.plus([claim[alone.total]])
        assert tally == alone
    assert all(requests)
    assert sum(map(len, requests)) == sum(t.total for t in found if isinstance(t, Tally))


def test_a_claim_that_every_reply_misses_is_unmeasured_and_the_others_are_not() -> None:
    async def ask(_: int, indices: Sequence[int]) -> Mapping[int, AnswerWord]:
        return {i: NO for i in indices if i != 1}

    async def main() -> list[Tally | Unmeasured]:
        return await sample_many(ask, 3, Plan())

    first, missed, third = anyio.run(main)
    assert first == third == Tally(no=3)
    assert missed == Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "no readable answer in 3 replies")


def test_cancellation_passes_through() -> None:
    async def ask(_: int) -> AnswerWord:
        await anyio.sleep_forever()
        raise AssertionError

    async def main() -> bool:
        with anyio.move_on_after(0.01) as scope:
            await sample(ask, minimum=3, maximum=10, threshold=0.7)
        return scope.cancelled_caught

    assert anyio.run(main)


def test_an_estimate_of_a_unanimous_sample_is_no_certainty() -> None:
    tally = sampled(*[YES] * 10)
    assert isinstance(tally, Tally)
    estimate: Estimate = tally.estimate(INFO)
    assert estimate.supported == 1.0
    assert 0.70 < estimate.low < 0.71


# --- answers in replies ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("YES", YES),
        (" yes.", YES),
        ("**No**", NO),
        ('"UNSURE"', UNSURE),
        ("Answer: no", NO),
        ("YES, because it says so.", YES),
        ("No - it says 1850.", NO),
        ("Unsure\nThe context does not say.", UNSURE),
        ("<think>YES? NO?</think>\nUNSURE", UNSURE),
        ("", None),
        ("No information is given.", None),
        ("No-one knows.", None),
        ("Yes\tand no", None),
        ("Yesterday", None),
        ("The answer may be YES.", None),
        ("<think>YES", None),
    ],
)
def test_an_answer_is_the_word_that_a_reply_begins_with(
    text: str, answer: AnswerWord | None
) -> None:
    assert answer_in(text) == answer


@given(st.text())
def test_any_text_is_an_answer_or_none(text: str) -> None:
    assert answer_in(text) in {YES, NO, UNSURE, None}
