"""One claim's readings -> its verdict, with notes and the places that decided it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.types import (
    Estimate,
    EvidenceSpan,
    Note,
    PartVerdict,
    Piece,
    Role,
    Status,
    Unmeasured,
    Verdict,
)
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.pipeline.judgement.status import decide

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Binding, Claim, Measurement, Source
    from veridical.pipeline.judgement.aggregation import Reading

_ROLES = {Status.SUPPORTED: Role.SUPPORTS, Status.CONTRADICTED: Role.CONTRADICTS}


def judge(
    claim: Claim, binding: Binding, with_evidence: Reading, without: Reading, policy: Policy
) -> Verdict:
    """Return the verdict on a claim; `evidence` still lacks its text (see `quote`)."""
    p1, p0 = with_evidence.measurement, without.measurement
    decision = decide(claim, binding.citations, p1, p0, policy)
    stated = claim.confidence.value if claim.confidence and claim.confidence.stated else None
    verdict = Verdict(
        claim=claim,
        status=decision.status,
        rule=decision.rule,
        citations=binding.citations,
        p1=p1,
        p0=p0,
        budget=budget(policy.target_confidence if stated is None else stated, p0, p1),
        dependence=dependence(p0, p1),
        windows_scored=_scored(binding),
        windows_total=binding.windows_total,
    )
    return _noted(verdict, policy, partly_scored=with_evidence.unmeasured > 0)


def _scored(binding: Binding) -> tuple[Piece, ...]:
    windows = (
        p for passage in binding.with_evidence if not passage.stitched for p in passage.pieces
    )
    return tuple(sorted(windows, key=lambda piece: (piece.source, piece.span)))


def _noted(verdict: Verdict, policy: Policy, *, partly_scored: bool) -> Verdict:
    notes = tuple(_notes(verdict, policy, partly_scored=partly_scored))
    return replace(verdict, notes=notes)


def _notes(verdict: Verdict, policy: Policy, *, partly_scored: bool) -> Iterator[Note]:
    if not verdict.claim.assertive or isinstance(verdict.p1, Unmeasured):
        return
    if _independent(verdict, policy):
        yield Note.EVIDENCE_INDEPENDENT
    stated = verdict.claim.confidence is not None and verdict.claim.confidence.stated
    if stated and verdict.budget.justified is False:
        yield Note.CONFIDENCE_NOT_JUSTIFIED
    if _misattributed(verdict, policy):
        yield Note.SUPPORTED_BY_UNCITED_SOURCE
    if partly_scored:
        yield Note.PARTLY_SCORED


def _independent(verdict: Verdict, policy: Policy) -> bool:
    """Say whether support is still there once the cited evidence is scrubbed."""
    return (
        verdict.status is Status.SUPPORTED
        and verdict.dependence is not None
        and verdict.dependence < policy.dependence_threshold
    )


def _misattributed(verdict: Verdict, policy: Policy) -> bool:
    """Say whether only sources that the claim does not cite support it; p0 is measured on them."""
    return (
        verdict.status in {Status.UNSUPPORTED, Status.CONTRADICTED}
        and any(citation.resolved for citation in verdict.citations)
        and isinstance(verdict.p0, Estimate)
        and supports(verdict.p0, policy)
    )


def quote(verdict: Verdict, reading: Reading, sources: Mapping[str, Source]) -> Verdict:
    """Return the verdict with the sentences that decided it."""
    if reading.passage is None or not verdict.claim.assertive:
        return verdict
    role = _ROLES.get(verdict.status, Role.NEAREST)
    pieces = reading.passage.focus or reading.passage.pieces
    spans = (
        EvidenceSpan(p.source, p.span, p.span.of(sources[p.source].text), role) for p in pieces
    )
    return replace(verdict, evidence=tuple(spans))


def second_look(
    verdict: Verdict, parts: Sequence[PartVerdict], weaker: Measurement | None, policy: Policy
) -> Verdict:
    """Return the verdict refined by its conjuncts and by its softened form, both measured now."""
    supported = [part for part in parts if part.status is Status.SUPPORTED]
    if parts and len(supported) == len(parts):
        return _all_parts(verdict, parts, policy)
    if supported:
        return replace(
            verdict,
            status=Status.PARTIALLY_SUPPORTED,
            rule="some_parts_supported",
            parts=tuple(parts),
        )
    if isinstance(weaker, Estimate) and supports(weaker, policy):
        return _softened(verdict, weaker)
    return verdict


def _all_parts(verdict: Verdict, parts: Sequence[PartVerdict], policy: Policy) -> Verdict:
    """Each conjunct is supported, so the whole is: as probable as its least probable part."""
    weakest = min((p.p1 for p in parts if isinstance(p.p1, Estimate)), key=lambda p: p.supported)
    refined = replace(
        verdict,
        status=Status.SUPPORTED,
        rule="all_parts_supported",
        p1=weakest,
        budget=budget(verdict.budget.target, verdict.p0, weakest),
        dependence=dependence(verdict.p0, weakest),
        parts=tuple(parts),
    )
    return _noted(refined, policy, partly_scored=Note.PARTLY_SCORED in verdict.notes)


def _softened(verdict: Verdict, weaker: Estimate) -> Verdict:
    claim = verdict.claim
    strong = PartVerdict(claim.text, claim.span, Status.UNSUPPORTED, verdict.p1)
    soft = PartVerdict(claim.weaker or "", claim.span, Status.SUPPORTED, weaker)
    return replace(
        verdict,
        status=Status.PARTIALLY_SUPPORTED,
        rule="only_a_weaker_form_is_supported",
        notes=(*verdict.notes, Note.OVER_EXTRAPOLATION),
        parts=(strong, soft),
    )
