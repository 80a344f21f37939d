"""Verdicts in the vocabulary of SPEC-16: verifications of claims, gaps, reports, audits of steps.

An unknown value is None, never 0. Every type has a JSON form (`to_dict`) and a short text form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from veridical.core.printing import Document, number, one_line, usd
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Certainty

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from veridical.core.assessment import Assessment
    from veridical.core.similarity import Contradictions
    from veridical.core.status_table import GapType, Note, Status
    from veridical.core.verdicts import EvidenceSpan, Verdict

Severity: TypeAlias = Literal["critical", "major", "minor"]
SkipReason: TypeAlias = Literal["no_answer", "too_short", "no_evidence", "disabled"]


@dataclass(frozen=True, slots=True, repr=False)
class ClaimVerification:
    """Result of the verification of one claim: the fields of SPEC-16, then those of SPEC-08.32.

    Specifications name two numbers twice: `evidence_support` is p1, and `evidence_gap_bits` and
    `budget_gap` are `budget_gap_bits` of the verdict's budget. `consistency_score` is
    None unless it was asked for: it takes further readings of the claim. `unmeasured` is the reason
    for a missing p1. `tokens` and `cost_usd` are the usage of the verification, None where unknown.
    `verdict` is the whole record, with intervals, estimator and windows read.

        >>> from veridical.repl import verify_claim
        >>> verify_claim("It opened in 1998.", "Opened in 1998.").status
        <Status.SUPPORTED: 'supported'>
    """

    claim_id: str
    claim_text: str
    evidence_ids: tuple[str, ...]
    evidence_support: float | None
    evidence_dependence: float | None
    consistency_score: float | None
    confidence_justified: bool | None
    evidence_gap_bits: float | None
    is_flagged: bool
    flag_reason: str | None
    status: Status
    rule: str
    target: float
    p0: float | None
    p1: float | None
    required_bits: float | None
    observed_bits: float | None
    budget_gap: float | None
    notes: tuple[Note, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    unmeasured: str | None = None
    certainty: Certainty = Certainty.UNSURE
    tokens: int | None = None
    cost_usd: float | None = None
    verdict: Verdict | None = field(default=None, compare=False)

    def to_dict(self) -> Document:
        """Return the verification as a JSON object of schema `veridical.verification/1`."""
        return {"schema": "veridical.verification/1", **self.body()}

    def body(self) -> Document:
        """Return the JSON object without its schema, as part of another."""
        return {
            "claim_id": self.claim_id,
            "claim_text": self.claim_text,
            "evidence_ids": list(self.evidence_ids),
            "evidence_support": number(self.evidence_support),
            "evidence_dependence": number(self.evidence_dependence),
            "consistency_score": number(self.consistency_score),
            "confidence_justified": self.confidence_justified,
            "evidence_gap_bits": number(self.evidence_gap_bits),
            "is_flagged": self.is_flagged,
            "flag_reason": self.flag_reason,
            "status": self.status.value,
            "rule": self.rule,
            "certainty": self.certainty.value,
            "target": number(self.target),
            "p0": number(self.p0),
            "p1": number(self.p1),
            "required_bits": number(self.required_bits),
            "observed_bits": number(self.observed_bits),
            "budget_gap": number(self.budget_gap),
            "notes": [note.value for note in self.notes],
            "evidence": [span_body(span) for span in self.evidence],
            "unmeasured": self.unmeasured,
            "tokens": self.tokens,
            "cost_usd": usd(self.cost_usd),
        }

    @property
    def please_look(self) -> bool:
        """True if the evidence was read for or against the claim, and the verdict is not sure."""
        return STATUS_TABLE[self.status].by_probability and self.certainty is Certainty.UNSURE

    @property
    def mark(self) -> str:
        """Sign for the status, with a question mark before it if the verdict is not sure."""
        return f"{'?' if self.please_look else ''}{STATUS_TABLE[self.status].mark}"

    @property
    def label(self) -> str:
        """Status in words, with a request for review if it is not sure."""
        unsure = ", unsure, please look" if self.please_look else ""
        return f"{STATUS_TABLE[self.status].label}{unsure}"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.mark} {self.claim_id} {self.label}: {one_line(self.claim_text)}"
        if self.p1 is None:
            yield f"  not measured: {self.unmeasured or 'not asked'}"
        else:
            gap = "unknown" if self.budget_gap is None else f"{self.budget_gap:+.2f} bits"
            without = "not measured" if self.p0 is None else f"{self.p0:.2f}"
            yield f"  p1 {self.p1:.2f}, p0 {without}, gap {gap} at target {self.target:.2f}"
        for span in self.evidence[:1]:
            yield f"  {span.role.value} {one_line(span.source, 80)}: “{one_line(span.text)}”"
        for note in self.notes:
            yield f"  note: {note.value.replace('_', ' ')}"

    def __repr__(self) -> str:
        # No text: a repr ends up in logs and tracebacks.
        return f"ClaimVerification(claim_id={self.claim_id!r}, status={self.status.value!r})"


@dataclass(frozen=True, slots=True, repr=False)
class EpistemicGap:
    """Gap between a claim and its evidence: its kind, size in bits, and the recommended action.

    `gap_bits` is SPEC-16's name of `budget_gap_bits`. `nearest` lists the places that decided it.
    The gap is `critical` if the evidence opposes the claim, if a cited source does not exist or if
    `gap_bits` is above the policy's `gap_threshold_bits`; `minor` if the claim is supported, only
    not by its cited source; else `major`.
    """

    claim_id: str
    claim_text: str
    gap_type: GapType
    gap_bits: float | None
    suggested_action: str
    severity: Severity
    nearest: tuple[EvidenceSpan, ...] = ()

    def to_dict(self) -> Document:
        """Return the gap as a JSON object of schema `veridical.gap/1`."""
        return {"schema": "veridical.gap/1", **self.body()}

    def body(self) -> Document:
        """Return the JSON object without its schema, as part of another."""
        return {
            "claim_id": self.claim_id,
            "claim_text": self.claim_text,
            "gap_type": self.gap_type,
            "gap_bits": number(self.gap_bits),
            "suggested_action": self.suggested_action,
            "severity": self.severity,
            "nearest": [span_body(span) for span in self.nearest],
        }

    def __str__(self) -> str:
        size = "" if self.gap_bits is None else f", {self.gap_bits:+.2f} bits"
        kind = self.gap_type.replace("_", " ")
        head = f"{self.severity} {self.claim_id} {kind}{size}: {one_line(self.claim_text)}"
        return f"{head}\n  {self.suggested_action}"

    def __repr__(self) -> str:
        return (
            f"EpistemicGap(claim_id={self.claim_id!r}, gap_type={self.gap_type!r}, "
            f"severity={self.severity!r})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class HallucinationReport:
    """Findings of the verification of a response.

    `total_claims` counts all assertions, and every phantom citation; each is one of
    `verified_claims` (a verdict was reached, `flagged_claims` of them against it),
    `undetermined_claims` (could not be measured) or left out by the policy, as `left_out` counts by
    reason. `skipped` is the reason if nothing at all was verified. `overall_confidence` is the mean
    p1. `tokens` and `cost_usd` are the usage, including the comparison of claims with each other;
    None where unknown. `report` is the whole record, None if verification was skipped.
    """

    response_id: str
    total_claims: int
    verified_claims: int
    flagged_claims: int
    claims: tuple[ClaimVerification, ...]
    gaps: tuple[EpistemicGap, ...]
    overall_confidence: float | None
    max_gap_bits: float | None
    has_critical_gaps: bool
    should_retry: bool
    retry_guidance: str | None
    undetermined_claims: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    skipped: SkipReason | None = None
    contradictions: Contradictions | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    report: Assessment | None = field(default=None, compare=False)

    @property
    def contradicting_pairs(self) -> int | None:
        """Number of pairs of claims that oppose each other; None if that was not examined."""
        return None if self.contradictions is None else len(self.contradictions.pairs)

    @property
    def flagged(self) -> tuple[ClaimVerification, ...]:
        """Claims that were checked and did not come out as supported."""
        return tuple(claim for claim in self.claims if claim.is_flagged)

    def to_dict(self) -> Document:
        """Return the report as a JSON object of schema `veridical.hallucinations/1`."""
        pairs = self.contradictions
        return {
            "schema": "veridical.hallucinations/1",
            "response_id": self.response_id,
            "total_claims": self.total_claims,
            "verified_claims": self.verified_claims,
            "flagged_claims": self.flagged_claims,
            "undetermined_claims": self.undetermined_claims,
            "left_out": dict(self.left_out),
            "skipped": self.skipped,
            "claims": [claim.body() for claim in self.claims],
            "gaps": [gap.body() for gap in self.gaps],
            "contradictions": None if pairs is None else pairs.body(),
            "contradicting_pairs": self.contradicting_pairs,
            "tokens": self.tokens,
            "cost_usd": usd(self.cost_usd),
            "overall_confidence": number(self.overall_confidence),
            "max_gap_bits": number(self.max_gap_bits),
            "has_critical_gaps": self.has_critical_gaps,
            "should_retry": self.should_retry,
            "retry_guidance": self.retry_guidance,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.skipped is not None:
            yield f"Not verified: {self.skipped.replace('_', ' ')}"
            return
        if not self.total_claims:
            yield "Nothing to check: no checkable claim"
            return
        lost = self.undetermined_claims
        tail = f"; {lost} could not be measured" if lost else ""
        left = "".join(f"; {n} {why.replace('_', ' ')}" for why, n in self.left_out.items())
        flagged, verified = self.flagged_claims, self.verified_claims
        yield f"{flagged} of {verified} verified claims flagged, of {self.total_claims}{tail}{left}"
        yield from map(str, self.claims)
        if self.contradictions is not None and self.contradictions.pairs:
            yield str(self.contradictions)

    def __repr__(self) -> str:
        return (
            f"HallucinationReport(total={self.total_claims}, verified={self.verified_claims}, "
            f"flagged={self.flagged_claims}, skipped={self.skipped!r})"
        )


class Verifications(list[ClaimVerification]):
    """Verifications in order: a list that prints well."""

    def __init__(self, found: Iterable[ClaimVerification] = ()) -> None:
        super().__init__(found)

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "No claim to verify"


def span_body(span: EvidenceSpan) -> Document:
    """Return a place in a source as a JSON object."""
    place = {"source": span.source, "start": span.span.start, "end": span.span.end}
    return {**place, "text": span.text, "role": span.role.value}
