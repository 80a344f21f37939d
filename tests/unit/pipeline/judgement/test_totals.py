from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.assessment import CascadeUsage, Counts, Outcome
from veridical.core.measurements import (
    BilledFailure,
    CascadeBranch,
    Measurement,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.types import Claim, Exclusion, Span
from veridical.core.verdicts import Budget, Certainty, Status, Verdict
from veridical.pipeline.judgement import summarise
from veridical.testing import fake_estimate

MISSING = Unmeasured(UnmeasuredReason.TIMEOUT)


def verdict(status: Status, p1: Measurement = MISSING, gap: float | None = None) -> Verdict:
    claim = Claim("c1", "It opened in 1998.", Span(0, 18), 0)
    return Verdict(claim, status, "rule", (), p1, MISSING, Budget(0.95, budget_gap_bits=gap), None)


def question() -> Verdict:
    asked = verdict(Status.UNVERIFIABLE)
    return replace(asked, claim=replace(asked.claim, excluded=Exclusion.QUESTION))


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ([], Outcome.NOTHING_TO_CHECK),
        ([Status.SUPPORTED], Outcome.GROUNDED),
        ([Status.SUPPORTED, Status.UNDETERMINED], Outcome.UNDETERMINED),
        ([Status.UNDETERMINED, Status.UNSUPPORTED], Outcome.FLAGGED),
        ([Status.SUPPORTED, Status.PHANTOM_CITATION], Outcome.FLAGGED),
        ([Status.UNVERIFIABLE], Outcome.FLAGGED),
        ([Status.PARTIALLY_SUPPORTED], Outcome.FLAGGED),
    ],
)
def test_the_outcome_follows_from_the_checked_claims(
    statuses: list[Status], outcome: Outcome
) -> None:
    found = summarise([verdict(s) for s in statuses], sentences=1, latency_ms=1.0)
    assert found.outcome is outcome


def test_sure_and_unsure_verdicts_are_counted_apart() -> None:
    def rated(status: Status, certainty: Certainty) -> Verdict:
        found = verdict(status, fake_estimate(0.8))
        return replace(found, certainty=certainty, probability_right=0.9)

    sure, unsure = Certainty.SURE, Certainty.UNSURE
    found = summarise(
        [
            rated(Status.SUPPORTED, sure),
            rated(Status.SUPPORTED, sure),
            rated(Status.SUPPORTED, unsure),
            rated(Status.UNSUPPORTED, sure),
            rated(Status.CONTRADICTED, unsure),
            replace(verdict(Status.UNVERIFIABLE), certainty=unsure),
        ],
        sentences=6,
        latency_ms=1.0,
    )
    assert (found.passed, found.flagged) == (Counts(2, 1), Counts(1, 2))
    assert found.probability_grounded == pytest.approx(0.9**3 * 0.1**2)


def test_an_answer_of_questions_is_nothing_to_check_not_grounded() -> None:
    found = summarise([question(), question()], sentences=2, latency_ms=1.0)
    assert found.outcome is Outcome.NOTHING_TO_CHECK
    assert found.skipped == {"question": 2}
    assert (found.claims_extracted, found.claims_checked) == (2, 0)
    assert found.overall_confidence is None


def hedged() -> Verdict:
    said = verdict(Status.UNVERIFIABLE)
    return replace(said, claim=replace(said.claim, excluded=Exclusion.HEDGED))


@pytest.mark.parametrize(
    ("checked", "left_out", "outcome"),
    [(1, 1, Outcome.GROUNDED), (1, 2, Outcome.UNDETERMINED), (0, 2, Outcome.NOTHING_TO_CHECK)],
)
def test_an_answer_of_which_more_than_half_is_hedged_is_not_grounded(
    checked: int, left_out: int, outcome: Outcome
) -> None:
    verdicts = [verdict(Status.SUPPORTED)] * checked + [hedged()] * left_out
    found = summarise(verdicts, sentences=3, latency_ms=1.0)
    assert (found.outcome, found.skipped) == (outcome, {"hedged": left_out})


def test_a_hedged_answer_with_a_flagged_claim_is_flagged() -> None:
    found = summarise([verdict(Status.UNSUPPORTED), *[hedged()] * 3], sentences=4, latency_ms=1.0)
    assert found.outcome is Outcome.FLAGGED


def test_an_undetermined_claim_counts_neither_as_zero_nor_as_one() -> None:
    measured = verdict(Status.SUPPORTED, fake_estimate(0.8), 1.5)
    found = summarise([measured, verdict(Status.UNDETERMINED)], sentences=2, latency_ms=1.0)
    assert found.overall_confidence == pytest.approx(0.8)
    assert found.max_gap_bits == pytest.approx(1.5)
    assert found.by_status[Status.UNDETERMINED] == 1


def test_the_counts_by_status_add_up_to_the_claims_checked() -> None:
    verdicts = [*(verdict(status) for status in Status), question()]
    found = summarise(verdicts, sentences=8, latency_ms=1.0)
    assert sum(found.by_status.values()) == found.claims_checked == len(Status)


def test_tokens_and_cost_are_sums_over_all_that_was_asked() -> None:
    asked = [replace(fake_estimate(0.9), tokens=10, cost_usd=0.5)] * 3
    free = Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG)
    billed = BilledFailure(UnmeasuredReason.MALFORMED_REPLY, tokens=5, cost_usd=0.25)
    found = summarise([], [*asked, free, billed], sentences=0, latency_ms=1.0)
    assert (found.tokens, found.cost_usd) == (35, 1.75)


def test_what_a_failure_took_that_may_have_been_billed_is_unknown_and_not_0() -> None:
    asked = replace(fake_estimate(0.9), tokens=10, cost_usd=0.5)
    found = summarise([], [asked, MISSING], sentences=0, latency_ms=1.0)
    assert (found.tokens, found.cost_usd) == (None, None)


def test_a_cost_that_is_unknown_in_part_is_unknown() -> None:
    asked = [replace(fake_estimate(0.9), tokens=10, cost_usd=0.5), fake_estimate(0.9)]
    found = summarise([], asked, sentences=0, latency_ms=1.0)
    assert found.tokens is None
    assert found.cost_usd is None


def test_what_a_cascade_saved_is_counted_over_all_that_was_asked() -> None:
    good = fake_estimate(0.9)
    asked = [
        *[replace(good, stage=CascadeBranch.FIRST)] * 6,
        replace(good, stage=CascadeBranch.SECOND, cached=True),
        replace(MISSING, stage=CascadeBranch.SECOND),
        replace(good, stage=CascadeBranch.STOOD_IN),
    ]
    found = summarise([], [*asked, MISSING], sentences=1, latency_ms=1.0)
    assert found.cascade == CascadeUsage(asked_first=9, asked_second=3, stood_in=1)
    assert found.cascade.saved == pytest.approx(6 / 9)


def test_without_a_cascade_there_is_no_saving_rather_than_one_of_zero() -> None:
    assert summarise([], [fake_estimate(0.9)], sentences=1, latency_ms=1.0).cascade is None
