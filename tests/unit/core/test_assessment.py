"""Assessments: the flagged claims, the failing ones, and the usage of a cascade."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.assessment import Assessment, CascadeUsage, Outcome, Summary
from veridical.core.measurements import CascadeBranch, Unmeasured, UnmeasuredReason
from veridical.core.policy import FAIL_ON, FailOn, Policy
from veridical.core.types import Claim, Span
from veridical.core.verdicts import Budget, Certainty, Status, Verdict
from veridical.testing import FAKE

if TYPE_CHECKING:
    from collections.abc import Iterable

MISSING = Unmeasured(UnmeasuredReason.TIMEOUT)
SUMMARY = Summary(Outcome.FLAGGED, 1, 7, 7, {}, {}, None, None, 0.0)
measured = st.lists(
    st.sampled_from([None, *CascadeBranch]).map(lambda s: replace(MISSING, stage=s))
)


def verdict(status: Status, certainty: Certainty, budget_gap_bits: float | None = None) -> Verdict:
    claim = Claim(f"{status}, {certainty}", "It rains.", Span(0, 9), 0)
    budget = Budget(0.95, budget_gap_bits=budget_gap_bits)
    return Verdict(claim, status, "rule", (), MISSING, MISSING, budget, None, certainty=certainty)


def assessment(policy: Policy, budget_gap_bits: float | None = None) -> Assessment:
    """Return one with a verdict of every status, sure and unsure."""
    verdicts = (
        verdict(status, certainty, budget_gap_bits) for status in Status for certainty in Certainty
    )
    return Assessment("It rains.", {}, tuple(verdicts), SUMMARY, policy, FAKE)


def test_the_flagged_claims_are_those_with_a_flagged_verdict() -> None:
    whole = assessment(Policy())
    assert whole.flagged == tuple(each for each in whole.claims if each.flagged)
    assert {each.status for each in whole.claims} - {each.status for each in whole.flagged} == {
        Status.SUPPORTED,
        Status.UNDETERMINED,
    }


def let_through(verdicts: Iterable[Verdict], fail_on: FailOn | None) -> tuple[Verdict, ...]:
    """Return the verdicts that a gate is for."""
    wanted = {
        "sure": {*product(Status, [Certainty.SURE])},
        "contradicted": {*product([Status.CONTRADICTED], Certainty)},
    }
    any_of_them = {*product(Status, Certainty)}
    pairs = wanted.get(fail_on or "any", any_of_them)
    return tuple(each for each in verdicts if (each.status, each.certainty) in pairs)


@pytest.mark.parametrize("own", [None, *FAIL_ON])
@pytest.mark.parametrize("asked", [None, *FAIL_ON])
def test_the_claims_that_fail_are_the_flagged_ones_that_the_gate_is_for(
    own: FailOn | None, asked: FailOn | None
) -> None:
    whole = assessment(Policy(fail_on=own))
    assert whole.failing == let_through(whole.flagged, own)
    assert whole.failing_on(asked) == let_through(whole.flagged, asked)


@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_a_claim_is_critical_as_far_as_the_gate_is_for_it(fail_on: FailOn) -> None:
    whole = assessment(Policy(fail_on=fail_on, gap_threshold_bits=2.0), budget_gap_bits=2.5)
    critical = [each for each in whole.claims if each.is_critical(2.0)]
    assert whole.critical == let_through(critical, fail_on)


def test_claims_to_correct_fail_or_are_critical_and_claims_to_mark_are_flagged_or_critical() -> (
    None
):
    whole = assessment(Policy(fail_on="sure", gap_threshold_bits=2.0), budget_gap_bits=2.5)
    assert Status.SUPPORTED in {each.status for each in whole.critical}
    to_correct, to_mark = {*whole.failing, *whole.critical}, {*whole.flagged, *whole.critical}
    assert whole.to_correct == tuple(each for each in whole.claims if each in to_correct)
    assert whole.to_mark == tuple(each for each in whole.claims if each in to_mark)


@given(measured, measured)
def test_the_usage_of_two_runs_of_a_cascade_is_that_of_both_together(
    one: list[Unmeasured], other: list[Unmeasured]
) -> None:
    assert CascadeUsage.of(one) + CascadeUsage.of(other) == CascadeUsage.of(one + other)
