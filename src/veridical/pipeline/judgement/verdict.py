"""Verdict on a claim from its readings, with notes and the places that decided it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Unmeasured
from veridical.core.types import SourceSpan
from veridical.core.verdicts import EvidenceSpan, Note, Role, Status, Verdict
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.pipeline.judgement.status import decide_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Binding, Citation, Claim, Passage, Source
    from veridical.pipeline.judgement.aggregation import PooledEstimate

COMPARED = 4
"""Number of sentences that rules compare with a claim that its evidence does not support."""

BESIDE = 3
"""Number of the nearest sentences that may be among them."""

_ROLES = {Status.SUPPORTED: Role.SUPPORTS, Status.CONTRADICTED: Role.CONTRADICTS}


def judge_claim(
    claim: Claim,
    binding: Binding,
    with_evidence: PooledEstimate,
    without: PooledEstimate,
    policy: Policy,
) -> Verdict:
    """Return the verdict on a claim; `evidence` still lacks its text (see `attach_evidence`)."""
    p1, p0 = with_evidence.measurement, without.measurement
    decision = decide_status(claim, binding.citations, p1, p0, policy)
    stated = claim.confidence.value if claim.confidence and claim.confidence.stated else None
    verdict = Verdict(
        claim=claim,
        status=decision.status,
        rule=decision.rule,
        citations=binding.citations,
        p1=p1,
        p0=p0,
        budget=budget(policy.target_confidence if stated is None else stated, p0, p1),
        evidence_dependence=dependence(p0, p1),
        windows_total=binding.windows_total,
        taken=with_evidence.taken + without.taken,
    )
    verdict = scored(verdict, binding.with_evidence, with_evidence)
    return noted(
        verdict,
        policy,
        partly_scored=with_evidence.unmeasured > 0,
        elsewhere=_is_uncited(without.passage, binding.citations),
    )


def scored(verdict: Verdict, passages: Iterable[Passage], reading: PooledEstimate) -> Verdict:
    """Return the verdict with the passages that were read added to the scored ones."""
    windows, stitched = set(verdict.windows_scored), set(verdict.stitched_scored)
    for passage in passages:
        if passage not in reading.unread:
            (stitched if passage.stitched else windows).update(passage.pieces)
    return replace(verdict, windows_scored=_sorted(windows), stitched_scored=_sorted(stitched))


def merge_scored(verdict: Verdict, other: Verdict) -> Verdict:
    """Return the verdict with the usage and the scored passages of another one of the claim."""
    return replace(
        verdict,
        windows_scored=_sorted({*verdict.windows_scored, *other.windows_scored}),
        stitched_scored=_sorted({*verdict.stitched_scored, *other.stitched_scored}),
        taken=verdict.taken + other.taken,
    )


def _sorted(pieces: Iterable[SourceSpan]) -> tuple[SourceSpan, ...]:
    return tuple(sorted(pieces, key=lambda piece: (piece.source, piece.span)))


def noted(verdict: Verdict, policy: Policy, *, partly_scored: bool, elsewhere: bool) -> Verdict:
    """Return the verdict with the notes that its figures call for.

    `elsewhere` is whether p0 rests on a source that the claim does not cite.
    """
    notes = _notes(verdict, policy, partly_scored=partly_scored, elsewhere=elsewhere)
    return replace(verdict, notes=tuple(notes))


def _is_uncited(passage: Passage | None, citations: Iterable[Citation]) -> bool:
    """Return whether a passage has something of a source that none of the citations names."""
    cited = {citation.source for citation in citations}
    return passage is not None and any(piece.source not in cited for piece in passage.pieces)


def _notes(
    verdict: Verdict, policy: Policy, *, partly_scored: bool, elsewhere: bool
) -> Iterator[Note]:
    if not verdict.claim.verifiable or isinstance(verdict.p1, Unmeasured):
        return
    if _independent(verdict, policy):
        yield Note.EVIDENCE_INDEPENDENT
    stated = verdict.claim.confidence is not None and verdict.claim.confidence.stated
    if stated and verdict.budget.confidence_justified is False:
        yield Note.CONFIDENCE_NOT_JUSTIFIED
    if elsewhere and _misattributed(verdict, policy):
        yield Note.SUPPORTED_BY_UNCITED_SOURCE
    if partly_scored:
        yield Note.PARTLY_SCORED


def _independent(verdict: Verdict, policy: Policy) -> bool:
    """Return whether support is still there once the cited evidence is scrubbed."""
    return (
        verdict.status is Status.SUPPORTED
        and verdict.evidence_dependence is not None
        and verdict.evidence_dependence < policy.dependence_threshold
    )


def _misattributed(verdict: Verdict, policy: Policy) -> bool:
    """Return whether only uncited sources support the claim; p0 is measured on them."""
    return (
        verdict.status in {Status.UNSUPPORTED, Status.CONTRADICTED}
        and any(citation.resolved for citation in verdict.citations)
        and isinstance(verdict.p0, Estimate)
        and supports(verdict.p0, policy)
    )


def supported_by(
    verdict: Verdict,
    reading: PooledEstimate,
    rule: str,
    policy: Policy,
    sources: Mapping[str, Source],
) -> Verdict:
    """Return the verdict as supported by one passage, if its reading supports the claim."""
    p1 = reading.measurement
    if not isinstance(p1, Estimate) or reading.passage is None or not supports(p1, policy):
        return verdict
    found = replace(
        verdict,
        status=Status.SUPPORTED,
        rule=rule,
        p1=p1,
        budget=budget(verdict.budget.target, verdict.p0, p1),
        evidence_dependence=dependence(verdict.p0, p1),
        parts=(),
    )
    found = scored(found, (reading.passage,), reading)
    found = noted(found, policy, partly_scored=Note.PARTLY_SCORED in verdict.notes, elsewhere=False)
    return attach_evidence(found, reading, sources)


def attach_evidence(
    verdict: Verdict,
    reading: PooledEstimate,
    sources: Mapping[str, Source],
    nearest: Sequence[SourceSpan] = (),
) -> Verdict:
    """Return the verdict with the sentences that decided it.

    The `nearest` ones come first. Where none supports the claim, they stand beside the read
    passages: a rule or a reader looks for the statement that stands in its place.
    """
    if not verdict.claim.verifiable:
        return verdict
    known = tuple(_spans(nearest, Role.NEAREST, sources)) or verdict.nearest
    nearest = nearest[:BESIDE]
    role = _ROLES.get(verdict.status, Role.NEAREST)
    shown = list(evidence_spans(reading, role, sources))
    if shown and role is not Role.SUPPORTS:
        pieces = [SourceSpan(each.source, each.span) for each in shown]
        others = [near for near in nearest if not any(near.overlaps(piece) for piece in pieces)]
        shown += _spans(others[: max(COMPARED - len(shown), 0)], Role.NEAREST, sources)
    ordered = tuple(sorted(shown, key=lambda one: _place(one, nearest)))
    return replace(verdict, evidence=ordered, nearest=known)


def _place(shown: EvidenceSpan, nearest: Sequence[SourceSpan]) -> tuple[bool, int]:
    """Return the sort key of evidence: the deciding part before the rest, the nearest first."""
    piece = SourceSpan(shown.source, shown.span)
    ranks = (rank for rank, near in enumerate(nearest) if near.overlaps(piece))
    return shown.role is Role.NEAREST, next(ranks, len(nearest))


def evidence_spans(
    reading: PooledEstimate, role: Role, sources: Mapping[str, Source]
) -> Iterator[EvidenceSpan]:
    """Yield the sentences of the passage that a reading rests on."""
    if reading.passage is None:
        return
    yield from _spans(reading.passage.focus or reading.passage.pieces, role, sources)


def _spans(
    pieces: Iterable[SourceSpan], role: Role, sources: Mapping[str, Source]
) -> Iterator[EvidenceSpan]:
    for piece in pieces:
        text = piece.span.of(sources[piece.source].text)
        yield EvidenceSpan(piece.source, piece.span, text, role)
