"""Second look at a claim: its parts, read on their own.

Parts are the conjuncts of a claim that did not come out as supported, or the sentences of one that
has several. A claim is as probable as the evidence makes it when it is read whole, or part by part,
whichever is more: then the least probable part represents it. It does, too, where a part is more
surely contradicted than the whole is supported. An unsupported claim is read in a softened form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.verdicts import Note, PartVerdict, Role, Status
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.pipeline.judgement.status import decide_status
from veridical.pipeline.judgement.verdict import attach_evidence, evidence_spans, noted, scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.core.measurements import Measurement
    from veridical.core.policy import Policy
    from veridical.core.types import Part, Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.judgement.aggregation import PooledEstimate


@dataclass(frozen=True, slots=True)
class SubclaimScore:
    """Passages read for one fragment of a claim, and the result."""

    passages: tuple[Passage, ...]
    reading: PooledEstimate


def subclaims(verdict: Verdict, *, by_sentence: bool = False) -> tuple[Part, ...]:
    """Return the fragments for a second look; none if the verdict stands as it is.

    A contradicted claim is read in its parts alone: a softened form of it is another claim. Where
    the parts are sentences (`by_sentence`), the parts of a supported claim are read, too: they may
    make it more probable, or oppose it.
    """
    if verdict.status is Status.UNSUPPORTED:
        return verdict.claim.fragments
    again = {Status.CONTRADICTED, Status.SUPPORTED} if by_sentence else {Status.CONTRADICTED}
    return verdict.claim.parts if verdict.status in again else ()


def rescore_subclaims(
    verdict: Verdict, looks: Sequence[SubclaimScore], policy: Policy, sources: Mapping[str, Source]
) -> Verdict:
    """Return the verdict refined by one look for each of its `subclaims`, in their order."""
    for look in looks:
        verdict = scored(verdict, look.passages, look.reading)
        verdict = replace(verdict, taken=verdict.taken + look.reading.taken)
    parts = part_verdicts(verdict, looks, policy)

    def readings(status: Status) -> list[PooledEstimate]:
        pairs = zip(parts, looks, strict=False)
        return [look.reading for part, look in pairs if part.status is status]

    found = readings(Status.SUPPORTED)
    if parts and len(found) == len(parts):
        return _quoted(_all_parts(verdict, parts, policy), found, Role.SUPPORTS, sources)
    verdict = _no_less_than_its_parts(verdict, looks[: len(parts)], policy, sources)
    if verdict.status is not Status.UNSUPPORTED:
        return _listed(verdict, parts, readings(Status.CONTRADICTED), policy, sources)
    if found:
        return _quoted(_some_parts(verdict, parts), found, Role.SUPPORTS, sources)
    if len(looks) > len(parts):
        return _softened(verdict, looks[-1].reading, policy)
    return verdict


def _no_less_than_its_parts(
    verdict: Verdict, looks: Sequence[SubclaimScore], policy: Policy, sources: Mapping[str, Source]
) -> Verdict:
    """Return the verdict by the least probable part if that is more probable than the whole."""
    read = [look.reading.measurement for look in looks]
    measured = [p1 for p1 in read if isinstance(p1, Estimate)]
    if not measured or len(measured) < len(read) or not isinstance(verdict.p1, Estimate):
        return verdict
    weakest = _weakest(measured)
    if weakest.supported <= verdict.p1.supported:
        return verdict
    decision = decide_status(verdict.claim, verdict.citations, weakest, verdict.p0, policy)
    refined = replace(verdict, status=decision.status, rule=decision.rule)
    reading = looks[read.index(weakest)].reading
    return attach_evidence(_measured(refined, weakest, policy), reading, sources)


def part_verdicts(
    verdict: Verdict, looks: Sequence[SubclaimScore], policy: Policy
) -> tuple[PartVerdict, ...]:
    """Return the verdicts on the parts of a claim by the first looks, in their order."""
    pairs = zip(verdict.claim.parts, looks, strict=False)
    return tuple(_part(verdict, *pair, policy) for pair in pairs)


def _part(verdict: Verdict, part: Part, look: SubclaimScore, policy: Policy) -> PartVerdict:
    p1 = look.reading.measurement
    decision = decide_status(verdict.claim, verdict.citations, p1, verdict.p0, policy)
    return PartVerdict(part.text, part.span, decision.status, p1)


def _quoted(
    verdict: Verdict, found: Iterable[PooledEstimate], role: Role, sources: Mapping[str, Source]
) -> Verdict:
    """Replace the sentences nearest to all by the sentences that decide parts, if there are any."""
    spans = (span for reading in found for span in evidence_spans(reading, role, sources))
    return replace(verdict, evidence=tuple(dict.fromkeys(spans)) or verdict.evidence)


def _some_parts(verdict: Verdict, parts: Sequence[PartVerdict]) -> Verdict:
    return replace(
        verdict,
        status=Status.PARTIALLY_SUPPORTED,
        rule="some_parts_supported",
        parts=tuple(parts),
    )


def _listed(
    verdict: Verdict,
    parts: Sequence[PartVerdict],
    opposed: Sequence[PooledEstimate],
    policy: Policy,
    sources: Mapping[str, Source],
) -> Verdict:
    """Return the verdict with the parts that differ from it, supported or contradicted as a whole.

    A part that is contradicted more surely than the whole is supported leaves it supported in part
    only; the least probable part represents it then.
    """
    listed = replace(verdict, parts=tuple(parts))
    if listed.status is Status.SUPPORTED:
        if not _more_surely(opposed, listed):
            return listed
        refined = replace(listed, status=Status.PARTIALLY_SUPPORTED, rule="a_part_is_contradicted")
        listed = _measured(refined, _weakest(part.p1 for part in parts), policy)
    return _quoted(listed, opposed, Role.CONTRADICTS, sources)


def _more_surely(opposed: Iterable[PooledEstimate], verdict: Verdict) -> bool:
    """Return whether a part is read as contradicted more surely than the whole as supported."""
    whole = verdict.p1
    read = (reading.measurement for reading in opposed)
    return isinstance(whole, Estimate) and any(
        isinstance(p1, Estimate)
        and p1.contradicted is not None
        and p1.contradicted > whole.supported
        for p1 in read
    )


def _all_parts(verdict: Verdict, parts: Sequence[PartVerdict], policy: Policy) -> Verdict:
    """Return the verdict if each part is supported: that of the least probable part."""
    weakest, whole = _weakest(part.p1 for part in parts), verdict.p1
    more = isinstance(whole, Estimate) and whole.supported > weakest.supported
    refined = replace(
        verdict, status=Status.SUPPORTED, rule="all_parts_supported", parts=tuple(parts)
    )
    return refined if more else _measured(refined, weakest, policy)


def _weakest(read: Iterable[Measurement]) -> Estimate:
    """Return the least probable of the measurements."""
    return min((p1 for p1 in read if isinstance(p1, Estimate)), key=lambda p1: p1.supported)


def _measured(verdict: Verdict, p1: Estimate, policy: Policy) -> Verdict:
    """Return the verdict with another p1, and the values that follow from it."""
    refined = replace(
        verdict,
        p1=p1,
        budget=budget(verdict.budget.target, verdict.p0, p1),
        evidence_dependence=dependence(verdict.p0, p1),
    )
    return noted(
        refined,
        policy,
        partly_scored=Note.PARTLY_SCORED in verdict.notes,
        elsewhere=Note.SUPPORTED_BY_UNCITED_SOURCE in verdict.notes,
    )


def _softened(verdict: Verdict, reading: PooledEstimate, policy: Policy) -> Verdict:
    claim, p1 = verdict.claim, reading.measurement
    if not isinstance(p1, Estimate) or not supports(p1, policy):
        return verdict
    strong = PartVerdict(claim.text, claim.span, Status.UNSUPPORTED, verdict.p1)
    softened = claim.fragments[-1]
    soft = PartVerdict(softened.text, softened.span, Status.SUPPORTED, p1)
    return replace(
        verdict,
        status=Status.PARTIALLY_SUPPORTED,
        rule="only_a_weaker_form_is_supported",
        notes=(*verdict.notes, Note.OVER_EXTRAPOLATION),
        parts=(strong, soft),
    )
