from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.assessment import Assessment
from veridical.core.measurements import (
    UNKNOWN,
    Measurement,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.similarity import Consistency, Contradictions
from veridical.core.status_table import GapType
from veridical.core.types import Binding, Citation, Claim, Exclusion, Skip, Source, Span
from veridical.core.verdicts import EvidenceSpan, Role, Status, Verdict
from veridical.pipeline.judgement import PooledEstimate, judge_claim, summarise
from veridical.pipeline.judgement.epistemic import (
    deciding,
    gap,
    hallucinations,
    not_verified,
    severity,
    step_label,
    verification,
)
from veridical.testing import FAKE, fake_estimate

POLICY = Policy().resolved(FAKE)
BASE = fake_estimate(0.1)
LOST = Unmeasured(UnmeasuredReason.TIMEOUT)
CLAIM = Claim("c1", "It opened in 1998.", Span(0, 18), 0)
S1 = Citation("S1", Span(0, 1), "S1")
PHANTOM = Citation("S9", Span(0, 1), None)
NEAR = EvidenceSpan("S1", Span(0, 20), "It was opened in 2001", Role.CONTRADICTS)


def verdict(
    p1: Measurement,
    p0: Measurement = BASE,
    claim: Claim = CLAIM,
    citations: tuple[Citation, ...] = (S1,),
    policy: Policy = POLICY,
) -> Verdict:
    binding = Binding(citations, (), (), 0)
    found = judge_claim(claim, binding, PooledEstimate(p1), PooledEstimate(p0), policy)
    return replace(found, evidence=(NEAR,)) if claim.verifiable else found


def assessment(verdicts: Sequence[Verdict], answer: str = "An answer.") -> Assessment:
    summary = summarise(verdicts, sentences=len(verdicts), latency_ms=1.0)
    sources = {"S1": Source("S1", "It was opened in 2001")}
    return Assessment(answer, sources, tuple(verdicts), summary, POLICY, FAKE)


SUPPORTED = verdict(fake_estimate(0.97))
CONTRADICTED = verdict(fake_estimate(0.02, 0.95))
UNSUPPORTED = verdict(fake_estimate(0.4))
INDEPENDENT = verdict(fake_estimate(0.97), fake_estimate(0.96))
FAKED = verdict(fake_estimate(0.97), citations=(PHANTOM,))
VAGUE = verdict(fake_estimate(0.5), claim=replace(CLAIM, vague=True))
UNDETERMINED = verdict(LOST)
QUESTION = verdict(LOST, claim=replace(CLAIM, excluded=Exclusion.QUESTION))
LEFT_OUT = verdict(LOST, claim=replace(CLAIM, skipped=Skip.NOT_SAMPLED))
ALL = (
    SUPPORTED,
    CONTRADICTED,
    UNSUPPORTED,
    INDEPENDENT,
    FAKED,
    VAGUE,
    UNDETERMINED,
    QUESTION,
    LEFT_OUT,
)


def test_a_verification_has_the_numbers_of_its_verdict() -> None:
    rewording = Taken(7, 0.25)
    consistency = Consistency(value=0.9, method="rules", taken=rewording)
    measured = replace(SUPPORTED, taken=Taken(10, 0.5))
    found = verification(measured, consistency)
    assert (found.tokens, found.cost_usd) == (17, 0.75)
    assert verification(replace(measured, taken=UNKNOWN)).cost_usd is None
    assert (found.p1, found.p0) == (0.97, 0.1)
    assert found.evidence_support == found.p1
    assert found.budget_gap == found.evidence_gap_bits == SUPPORTED.budget.budget_gap_bits
    assert found.evidence_dependence == SUPPORTED.evidence_dependence
    assert found.consistency_score == 0.9
    assert found.evidence_ids == ("S1",)
    assert not found.is_flagged
    assert found.flag_reason is None
    assert found.verdict is measured


def test_what_could_not_be_measured_is_none_and_says_why() -> None:
    found = verification(UNDETERMINED)
    assert found.unmeasured == "timeout"
    assert (found.p1, found.evidence_support, found.budget_gap) == (None, None, None)
    assert not found.is_flagged


@pytest.mark.parametrize(
    ("found", "reason"),
    [(CONTRADICTED, "contradicted"), (FAKED, "phantom_citation"), (VAGUE, "unverifiable")],
)
def test_a_flagged_claim_says_its_reason(found: Verdict, reason: str) -> None:
    assert verification(found).flag_reason == reason


def test_a_phantom_id_is_among_the_evidence_ids_as_it_is_written() -> None:
    assert verification(FAKED).evidence_ids == ("S9",)


def test_a_claim_that_cites_nothing_has_the_ids_of_what_decided_it() -> None:
    assert verification(verdict(fake_estimate(0.97), citations=())).evidence_ids == ("S1",)


# --- gaps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "kind", "how_bad"),
    [
        (CONTRADICTED, "contradicted", "critical"),
        (FAKED, "phantom_citation", "critical"),
        (UNSUPPORTED, "unsupported", "critical"),
        (verdict(fake_estimate(0.6), fake_estimate(0.55)), "unsupported", "major"),
        (INDEPENDENT, "evidence_independent", "minor"),
    ],
)
def test_a_gap_has_a_kind_a_severity_and_something_to_do(
    found: Verdict, kind: str, how_bad: str
) -> None:
    made = gap(found, POLICY)
    assert made is not None
    assert (made.gap_type, made.severity) == (kind, how_bad)
    assert made.suggested_action
    assert made.nearest == (NEAR,)


@pytest.mark.parametrize("found", [SUPPORTED, UNDETERMINED, QUESTION, VAGUE, LEFT_OUT])
def test_other_claims_have_no_gap(found: Verdict) -> None:
    assert gap(found, POLICY) is None


@given(
    st.sampled_from(get_args(GapType)),
    st.none() | st.floats(-10, 20),
    st.floats(0, 10, allow_nan=False),
)
def test_severity_only_rises_with_the_gap(kind: GapType, bits: float | None, limit: float) -> None:
    policy = replace(POLICY, gap_threshold_bits=limit)
    found = severity(kind, bits, policy)
    order = ("minor", "major", "critical")
    assert order.index(found) >= order.index(severity(kind, None, policy))
    if bits is not None and bits > limit:
        assert found == "critical"


# --- the report ------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(ALL), max_size=12))
def test_every_claim_of_a_report_is_accounted_for(verdicts: list[Verdict]) -> None:
    report = hallucinations(assessment(verdicts))
    left_out = sum(report.left_out.values())
    total = report.verified_claims + report.undetermined_claims + left_out
    assert report.total_claims == total
    assert report.flagged_claims == len(report.flagged) <= report.verified_claims
    assert len(report.claims) == report.total_claims - left_out
    assert report.should_retry == (report.retry_guidance is not None)
    assert report.should_retry >= any(v.flagged and v.sure for v in verdicts)
    assert report.has_critical_gaps == any(each.severity == "critical" for each in report.gaps)
    assert (report.overall_confidence is None) == all(c.p1 is None for c in report.claims)


@pytest.mark.spec("SPEC-16.01")
def test_a_wide_gap_of_a_supported_claim_is_critical_and_calls_for_a_retry() -> None:
    wide = verdict(fake_estimate(0.71), fake_estimate(0.001))
    report = hallucinations(assessment([SUPPORTED, wide]))
    assert (wide.status, report.flagged_claims) == (Status.SUPPORTED, 0)
    assert [(each.gap_type, each.severity) for each in report.gaps] == [
        ("partial_support", "critical")
    ]
    assert (report.has_critical_gaps, report.should_retry) == (True, True)
    assert report.retry_guidance is not None
    assert "less confidence" in report.retry_guidance
    holds = hallucinations(assessment([SUPPORTED]))
    assert (holds.has_critical_gaps, holds.should_retry) == (False, False)


def test_contradictions_between_claims_are_summed_up_and_what_reading_them_took() -> None:
    found = assessment([SUPPORTED])
    found = replace(found, summary=replace(found.summary, tokens=10, cost_usd=0.5))
    pairs = Contradictions((), 2, 2, taken=Taken(4, 0.25))
    report = hallucinations(found, pairs)
    assert (report.contradicting_pairs, report.tokens, report.cost_usd) == (0, 14, 0.75)
    unknown = hallucinations(found, replace(pairs, taken=UNKNOWN))
    assert (unknown.tokens, unknown.cost_usd) == (None, None)
    assert hallucinations(found).contradicting_pairs is None


def test_an_unmeasured_report_has_no_confidence_and_no_gap_rather_than_0() -> None:
    report = hallucinations(assessment([UNDETERMINED]))
    assert report.overall_confidence is None
    assert report.max_gap_bits is None
    assert (report.verified_claims, report.undetermined_claims) == (0, 1)


def test_the_response_id_is_that_of_the_text() -> None:
    first, again = (hallucinations(assessment([], "one")) for _ in range(2))
    assert first.response_id == again.response_id == not_verified("one", "no_evidence").response_id
    assert first.response_id != hallucinations(assessment([], "two")).response_id


def test_a_report_that_was_skipped_says_why_and_counts_nothing() -> None:
    report = not_verified("", "no_answer")
    assert report.skipped == "no_answer"
    assert (report.total_claims, report.overall_confidence, report.should_retry) == (0, None, False)


# --- steps -----------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.24")
@pytest.mark.parametrize(
    ("found", "label"),
    [
        (SUPPORTED, "ENTAILED"),
        (INDEPENDENT, "ENTAILED"),
        (CONTRADICTED, "CONTRADICTED"),
        (UNSUPPORTED, "NOT_IN_CONTEXT"),
        (FAKED, "NOT_IN_CONTEXT"),
        (VAGUE, "UNVERIFIABLE"),
        (QUESTION, "UNVERIFIABLE"),
        (UNDETERMINED, None),
    ],
)
def test_a_step_has_one_of_four_labels_or_none_if_unmeasured(
    found: Verdict, label: str | None
) -> None:
    assert step_label(found) == label


@pytest.mark.parametrize(
    ("one", "other"),
    list(product((SUPPORTED, VAGUE, UNDETERMINED), (UNSUPPORTED, CONTRADICTED, FAKED))),
)
def test_the_worst_claim_decides_about_a_step(one: Verdict, other: Verdict) -> None:
    assert deciding([one, other]) is other
    assert deciding([other, one]) is other


def test_what_cannot_be_verified_decides_alone_and_the_unmeasured_before_the_sound() -> None:
    assert deciding([VAGUE, SUPPORTED]) is SUPPORTED
    assert deciding([VAGUE]) is VAGUE
    assert deciding([SUPPORTED, UNDETERMINED]).status is Status.UNDETERMINED
