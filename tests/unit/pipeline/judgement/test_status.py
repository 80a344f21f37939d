from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Citation, Claim, Exclusion, Skip, Span
from veridical.core.verdicts import Status
from veridical.pipeline.judgement.status import decide_status
from veridical.testing import fake_estimate

CLAIM = Claim("c1", "The bridge opened in 1998.", Span(0, 26), 0)
PHANTOM = Citation("S9", Span(0, 1), None)
KNOWN = Citation("S1", Span(0, 1), "S1")
UNMEASURED = Unmeasured(UnmeasuredReason.TIMEOUT)
NOTHING = fake_estimate(0.01)


def status(
    policy: Policy,
    p1: Measurement,
    *citations: Citation,
    claim: Claim = CLAIM,
    p0: Measurement = NOTHING,
) -> Status:
    return decide_status(claim, citations, p1, p0, policy).status


@pytest.mark.parametrize(
    ("citation", "p1", "p0", "vague", "rule"),
    [
        (PHANTOM, fake_estimate(0.99), NOTHING, False, "cited_id_does_not_exist"),
        (KNOWN, UNMEASURED, NOTHING, False, "p1_unmeasured:timeout"),
        (KNOWN, fake_estimate(0.99), NOTHING, True, "no_checkable_content"),
        (KNOWN, fake_estimate(0.1, 0.9), NOTHING, False, "p_contradicted_reaches_threshold"),
        (KNOWN, fake_estimate(0.1, None), fake_estimate(0.9, None), False, "p1_low_and_below_p0"),
        (KNOWN, fake_estimate(0.99), NOTHING, False, "p1_reaches_support_threshold"),
        (KNOWN, fake_estimate(0.5), NOTHING, False, "p1_below_support_threshold"),
    ],
)
def test_the_rule_that_decides_is_named(  # noqa: PLR0913 -- a row of the table of rules
    policy: Policy, citation: Citation, p1: Measurement, p0: Measurement, *, vague: bool, rule: str
) -> None:
    decision = decide_status(replace(CLAIM, vague=vague), [citation], p1, p0, policy)
    assert decision.rule == rule


@pytest.mark.parametrize("p1", [UNMEASURED, fake_estimate(0.99)])
@pytest.mark.parametrize("reason", Skip)
def test_what_the_policy_leaves_out_is_undetermined_and_says_why(
    policy: Policy, reason: Skip, p1: Measurement
) -> None:
    decision = decide_status(replace(CLAIM, skipped=reason), (), p1, NOTHING, policy)
    assert (decision.status, decision.rule) == (Status.UNDETERMINED, f"skipped:{reason.value}")


@pytest.mark.parametrize(
    ("p1", "expected"),
    [
        (UNMEASURED, Status.UNDETERMINED),
        (fake_estimate(0.7), Status.SUPPORTED),
        (fake_estimate(0.69), Status.UNSUPPORTED),
        (fake_estimate(0.5, 0.5), Status.CONTRADICTED),
        (fake_estimate(0.5, 0.49), Status.UNSUPPORTED),
        (fake_estimate(0.0, 1.0), Status.CONTRADICTED),
    ],
)
def test_probabilities_decide_at_their_thresholds(
    policy: Policy, p1: Measurement, expected: Status
) -> None:
    assert status(policy, p1, KNOWN) is expected


def test_a_phantom_is_found_while_the_backend_is_down(policy: Policy) -> None:
    assert status(policy, UNMEASURED, KNOWN, PHANTOM) is Status.PHANTOM_CITATION


def test_an_unmeasured_claim_is_undetermined_whatever_else_it_is(policy: Policy) -> None:
    assert status(policy, UNMEASURED, claim=replace(CLAIM, vague=True)) is Status.UNDETERMINED


def test_one_phantom_among_good_citations_is_enough(policy: Policy) -> None:
    assert status(policy, fake_estimate(0.99), KNOWN, PHANTOM) is Status.PHANTOM_CITATION


def test_a_phantom_comes_before_a_contradiction(policy: Policy) -> None:
    assert status(policy, fake_estimate(0.0, 1.0), PHANTOM) is Status.PHANTOM_CITATION


def test_a_vague_claim_is_unverifiable_whatever_its_probability(policy: Policy) -> None:
    assert status(policy, fake_estimate(0.99), claim=replace(CLAIM, vague=True)) is (
        Status.UNVERIFIABLE
    )


@pytest.mark.spec("SPEC-08.09")
@pytest.mark.parametrize("p1", [UNMEASURED, fake_estimate(0.99)])
@pytest.mark.parametrize("reason", Exclusion)
def test_what_asserts_nothing_is_unverifiable_and_says_why(
    policy: Policy, reason: Exclusion, p1: Measurement
) -> None:
    decision = decide_status(replace(CLAIM, excluded=reason), (), p1, UNMEASURED, policy)
    assert decision.status is Status.UNVERIFIABLE
    assert decision.rule == f"not_assertive:{reason.value}"


@pytest.mark.parametrize(
    ("p1", "p0", "expected"),
    [
        (fake_estimate(0.01, None), fake_estimate(0.5, None), Status.CONTRADICTED),
        (fake_estimate(0.31, None), fake_estimate(0.9, None), Status.UNSUPPORTED),
        (fake_estimate(0.2, None), fake_estimate(0.2, None), Status.UNSUPPORTED),
        (fake_estimate(0.2, None), fake_estimate(0.9, None, low=0.1), Status.UNSUPPORTED),
        (fake_estimate(0.2, None), UNMEASURED, Status.UNSUPPORTED),
        (fake_estimate(0.9, None), fake_estimate(0.95, None), Status.SUPPORTED),
    ],
)
def test_a_yes_no_backend_contradicts_when_p1_is_low_and_wholly_below_p0(
    policy: Policy, p1: Measurement, p0: Measurement, expected: Status
) -> None:
    assert status(policy, p1, p0=p0) is expected


def test_p1_is_low_where_p_not_supported_would_reach_the_support_threshold(policy: Policy) -> None:
    strict = replace(policy, support_threshold=0.75)
    before = fake_estimate(0.9, None)
    assert status(strict, fake_estimate(0.25, None), p0=before) is Status.CONTRADICTED
    assert status(strict, fake_estimate(0.26, None), p0=before) is Status.UNSUPPORTED


@pytest.mark.spec("SPEC-08.05")
@pytest.mark.parametrize(
    ("p0", "p1", "expected"),
    [
        (0.50, fake_estimate(0.01, 0.9), Status.CONTRADICTED),
        (0.97, fake_estimate(0.02), Status.UNSUPPORTED),
        (0.99, fake_estimate(0.99), Status.SUPPORTED),
        (0.50, fake_estimate(0.99), Status.SUPPORTED),
    ],
)
def test_the_fixtures_of_the_budget_come_out_as_documented(
    policy: Policy, p0: float, p1: Measurement, expected: Status
) -> None:
    assert status(policy, p1, p0=fake_estimate(p0)) is expected
