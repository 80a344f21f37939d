"""Conversion of verdicts to the types of SPEC-16 (`core.epistemic`).

The words come from `core.status_table`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.epistemic import (
    ClaimVerification,
    EpistemicGap,
    HallucinationReport,
    Severity,
    SkipReason,
)
from veridical.core.guidance import guidance
from veridical.core.hashing import short_hash
from veridical.core.measurements import Taken, Unmeasured, supported_probability
from veridical.core.status_table import NOT_CARRIED, STATUS_TABLE
from veridical.core.verdicts import Status, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.assessment import Assessment
    from veridical.core.policy import Policy
    from veridical.core.similarity import Consistency, Contradictions
    from veridical.core.status_table import GapType, StepLabel
    from veridical.core.verdicts import Verdict

_ALWAYS_CRITICAL = {row.gap_type for row in STATUS_TABLE.values() if row.level == "error"}


def verification(verdict: Verdict, consistency: Consistency | None = None) -> ClaimVerification:
    """Return a verdict as a `ClaimVerification`; an unmeasured value is None."""
    budget, claim, took = verdict.budget, verdict.claim, verdict.taken
    if consistency is not None:
        took += consistency.taken
    cited = [cite.source or cite.id for cite in verdict.citations]
    support = supported_probability(verdict.p1)
    return ClaimVerification(
        claim_id=claim.id,
        claim_text=claim.text,
        evidence_ids=tuple(dict.fromkeys(cited or [span.source for span in verdict.evidence])),
        evidence_support=support,
        evidence_dependence=verdict.evidence_dependence,
        consistency_score=None if consistency is None else consistency.value,
        confidence_justified=budget.confidence_justified,
        evidence_gap_bits=budget.budget_gap_bits,
        is_flagged=verdict.flagged,
        flag_reason=_flag_reason(verdict),
        status=verdict.status,
        rule=verdict.rule,
        certainty=verdict.certainty,
        target=budget.target,
        p0=supported_probability(verdict.p0),
        p1=support,
        required_bits=budget.required_bits,
        observed_bits=budget.observed_bits,
        budget_gap=budget.budget_gap_bits,
        notes=verdict.notes,
        evidence=verdict.shown,
        unmeasured=verdict.p1.reason.value if isinstance(verdict.p1, Unmeasured) else None,
        tokens=took.tokens,
        cost_usd=took.cost_usd,
        verdict=verdict,
    )


def _flag_reason(verdict: Verdict) -> str | None:
    """Return the gap type of a flagged claim; one too vague to check has its status."""
    return (row_of(verdict).gap_type or verdict.status.value) if verdict.flagged else None


def gap(verdict: Verdict, policy: Policy) -> EpistemicGap | None:
    """Return the gap between a claim and its evidence; None if it has none of the six kinds.

    A supported claim has one if it is above the policy's `gap_threshold_bits`: its evidence covers
    only a part of its content.
    """
    row, bits = row_of(verdict), verdict.budget.budget_gap_bits
    if row.gap_type is None and verdict.is_critical(policy.gap_threshold_bits):
        row = replace(row, gap_type="partial_support", suggested_action=NOT_CARRIED)
    if row.gap_type is None or row.suggested_action is None:
        return None
    return EpistemicGap(
        claim_id=verdict.claim.id,
        claim_text=verdict.claim.text,
        gap_type=row.gap_type,
        gap_bits=bits,
        suggested_action=row.suggested_action,
        severity=severity(row.gap_type, bits, policy),
        nearest=verdict.shown,
    )


def severity(kind: GapType, bits: float | None, policy: Policy) -> Severity:
    """Return the severity of a gap.

    Critical if the evidence opposes the claim, a citation is a phantom, or the gap is above the
    policy's `gap_threshold_bits`; minor if the claim holds without its cited source; else major.
    """
    above = bits is not None and bits > policy.gap_threshold_bits
    if kind in _ALWAYS_CRITICAL or above:
        return "critical"
    return "minor" if kind == "evidence_independent" else "major"


def step_label(verdict: Verdict) -> StepLabel | None:
    """Return the label of SPEC-08.24 for a verdict; None if it could not be measured."""
    if verdict.claim.excluded is not None and not verdict.checked:
        return "UNVERIFIABLE"
    return row_of(verdict).step_label


# --- the report ------------------------------------------------------------------------------


def hallucinations(
    assessment: Assessment, contradictions: Contradictions | None = None
) -> HallucinationReport:
    """Return an assessment as a `HallucinationReport`; claims left out are counted by reason."""
    checked = [verdict for verdict in assessment.claims if verdict.checked]
    left_out = [
        verdict.claim.skipped
        for verdict in assessment.claims
        if verdict.claim.skipped is not None and not verdict.checked
    ]
    undetermined = sum(verdict.status is Status.UNDETERMINED for verdict in checked)
    found = (gap(verdict, assessment.policy) for verdict in checked)
    gaps = tuple(each for each in found if each is not None)
    critical = {each.claim_id for each in gaps if each.severity == "critical"}
    correct = {verdict.claim.id for verdict in assessment.to_correct}
    again = [verdict for verdict in checked if verdict.claim.id in critical | correct]
    took = Taken(assessment.summary.tokens, assessment.summary.cost_usd)
    if contradictions is not None:
        took += contradictions.taken
    return HallucinationReport(
        response_id=short_hash(assessment.answer),
        total_claims=len(checked) + len(left_out),
        verified_claims=len(checked) - undetermined,
        flagged_claims=len(assessment.flagged),
        claims=tuple(verification(verdict) for verdict in checked),
        gaps=gaps,
        overall_confidence=assessment.summary.overall_confidence,
        max_gap_bits=assessment.summary.max_gap_bits,
        has_critical_gaps=bool(critical),
        should_retry=bool(again),
        retry_guidance=guidance(again),
        undetermined_claims=undetermined,
        left_out={why.value: left_out.count(why) for why in dict.fromkeys(left_out)},
        contradictions=contradictions,
        tokens=took.tokens,
        cost_usd=took.cost_usd,
        report=assessment,
    )


def not_verified(response: str, why: SkipReason) -> HallucinationReport:
    """Return the report on a response that was not verified, with the reason."""
    return HallucinationReport(
        response_id=short_hash(response),
        total_claims=0,
        verified_claims=0,
        flagged_claims=0,
        claims=(),
        gaps=(),
        overall_confidence=None,
        max_gap_bits=None,
        has_critical_gaps=False,
        should_retry=False,
        retry_guidance=None,
        skipped=why,
        tokens=0,
        cost_usd=0.0,
    )


# --- several claims of one step --------------------------------------------------------------


def deciding(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that decides about a step: the worst one of its claims.

    Unverifiable claims decide only if there is nothing else. `ValueError` for no verdicts.
    """
    return min(verdicts, key=_urgency)


def _urgency(verdict: Verdict) -> tuple[bool, int]:
    return verdict.status is Status.UNVERIFIABLE, STATUS_TABLE[verdict.status].urgency
