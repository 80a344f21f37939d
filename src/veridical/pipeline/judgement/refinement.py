"""A second look at an unsupported claim: its conjuncts and its softened form, read on their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.verdicts import Note, PartVerdict, Role, Status
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.pipeline.judgement.status import decide
from veridical.pipeline.judgement.verdict import evidence_spans, noted, scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Part, Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.judgement.aggregation import Reading


@dataclass(frozen=True, slots=True)
class Look:
    """The passages read for one fragment of a claim, and what came of it."""

    passages: tuple[Passage, ...]
    reading: Reading


def second_look(
    verdict: Verdict, looks: Sequence[Look], policy: Policy, sources: Mapping[str, Source]
) -> Verdict:
    """Return the verdict refined by one look per `claim.fragments`, in their order."""
    claim = verdict.claim
    for look in looks:
        verdict = scored(verdict, look.passages, look.reading)
    parts = [_part(verdict, *pair, policy) for pair in zip(claim.parts, looks, strict=False)]
    found = [
        look.reading
        for part, look in zip(parts, looks, strict=False)
        if part.status is Status.SUPPORTED
    ]
    if parts and len(found) == len(parts):
        return _quoted(_all_parts(verdict, parts, policy), found, sources)
    if found:
        return _quoted(_some_parts(verdict, parts), found, sources)
    if claim.weaker and looks:
        return _softened(verdict, looks[-1].reading, policy)
    return verdict


def _part(verdict: Verdict, part: Part, look: Look, policy: Policy) -> PartVerdict:
    p1 = look.reading.measurement
    decision = decide(verdict.claim, verdict.citations, p1, verdict.p0, policy)
    return PartVerdict(part.text, part.span, decision.status, p1)


def _quoted(verdict: Verdict, found: Iterable[Reading], sources: Mapping[str, Source]) -> Verdict:
    """Put the sentences that support parts in place of the merely nearest ones."""
    spans = (s for reading in found for s in evidence_spans(reading, Role.SUPPORTS, sources))
    return replace(verdict, evidence=tuple(dict.fromkeys(spans)))


def _some_parts(verdict: Verdict, parts: Sequence[PartVerdict]) -> Verdict:
    return replace(
        verdict,
        status=Status.PARTIALLY_SUPPORTED,
        rule="some_parts_supported",
        parts=tuple(parts),
    )


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
    return noted(refined, policy, partly_scored=Note.PARTLY_SCORED in verdict.notes)


def _softened(verdict: Verdict, reading: Reading, policy: Policy) -> Verdict:
    claim, p1 = verdict.claim, reading.measurement
    if not isinstance(p1, Estimate) or not supports(p1, policy):
        return verdict
    strong = PartVerdict(claim.text, claim.span, Status.UNSUPPORTED, verdict.p1)
    soft = PartVerdict(claim.weaker or "", claim.span, Status.SUPPORTED, p1)
    return replace(
        verdict,
        status=Status.PARTIALLY_SUPPORTED,
        rule="only_a_weaker_form_is_supported",
        notes=(*verdict.notes, Note.OVER_EXTRAPOLATION),
        parts=(strong, soft),
    )
