"""Quantity rules: the same quantity in other words, and one that differs from the evidence's.

Rules read numbers, units, dates and money better than a model does, and only these. Before the
claim is read, a quantity of it that the evidence states in another form is put in the evidence's
words. Afterwards, where a claim and its nearest evidence differ in one quantity, the claim is read
once more with the evidence's quantity in it; if that is supported, the claim is contradicted
(docs/decisions/0016-quantities-by-rule.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.quantities import Bound, Relation, derivation, relation
from veridical.core.quantity_parsing import find_quantities
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Note, QuantityDifference, Role, Status, Verdict
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.budget import budget, dependence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.measurements import Measurement
    from veridical.core.policy import Policy
    from veridical.core.quantities import Quantity
    from veridical.core.types import Part, Passage, Source
    from veridical.core.verdicts import EvidenceSpan, PartVerdict
    from veridical.pipeline.judgement.aggregation import PooledEstimate

LIMIT = 2
"""Quantities of the evidence that are put into one claim, each for one more reading of it."""

PLAINLY = 0.8
"""P(supported) with the evidence's quantity in it from which a claim differs in that alone: where
the rest of the claim is in other words, a reading just above the threshold says little."""


# --- the same quantity in the evidence's words -----------------------------------------------


def worded_as_evidence(claim: str, passages: Sequence[Passage | EvidenceSpan]) -> str:
    """Return the claim with its quantities as the passages write them, where they are the same."""
    claimed = find_quantities(claim)
    if not claimed:
        return claim
    stated = [each for passage in passages for each in find_quantities(passage.text)]
    for quantity in reversed(claimed):
        other = _other_wording(quantity, stated)
        if other is not None:
            claim = _with(claim, quantity, other)
    return claim


def _other_wording(quantity: Quantity, stated: Sequence[Quantity]) -> str | None:
    """Return the evidence's wording of a quantity; None if it is the claim's or there is none."""
    same = [each for each in stated if _interchangeable(quantity, each)]
    written = _letters(quantity)
    if not same or any(_letters(each) == written for each in same):
        return None
    return max(same, key=lambda each: len(each.near & quantity.near)).text


def _letters(quantity: Quantity) -> str:
    """Return the text of a quantity without differences that are no other wording to a reader."""
    return "".join(char for char in quantity.text.casefold() if char.isalnum() or char in "%°$€£+−")


_REPLACEABLE = frozenset({Bound.ABOUT, Bound.JUST_OVER, Bound.JUST_UNDER, Bound.OVER, Bound.UNDER})
"""Bounds that an exact value may replace: "up to 300" is not said of a 5, though 5 is within it."""


def _interchangeable(claimed: Quantity, stated: Quantity) -> bool:
    """Return whether the evidence's quantity may replace the claim's: the same, and no more."""
    if relation(claimed, stated) is not Relation.SAME:
        return False
    if claimed.dates:
        return claimed.dates == stated.dates
    if claimed.bound is stated.bound:
        # "$3.1" may be rounded to "$3", but not the other way round.
        equal = {(r.low, r.high) for r in claimed.readings} & {
            (r.low, r.high) for r in stated.readings
        }
        return claimed.unit != stated.unit or bool(equal)
    # "Over 300" is 330, if that counts the same; it is not "over 350", and a range is no value.
    return (
        stated.bound is Bound.EXACT
        and claimed.bound in _REPLACEABLE
        # "Over two years" may be during them.
        and not (claimed.bound is Bound.OVER and claimed.dimension == "duration")
        and (claimed.dimension != "count" or bool(claimed.near & stated.near))
    )


def _with(claim: str, quantity: Quantity, wording: str) -> str:
    return claim[: quantity.span.start] + wording + claim[quantity.span.end :]


# --- a quantity that differs -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replaced:
    """A claim, or a part of it, with a quantity of the evidence in place of its own."""

    text: str = field(repr=False)
    difference: QuantityDifference
    part: Part | None = None


def replaced(verdict: Verdict, sources: Mapping[str, Source]) -> tuple[Replaced, ...]:
    """Return at most two readings that show whether a claim differs only in a quantity."""
    if not _may_differ(verdict) or follows(verdict, sources):
        return ()
    read = _read(verdict, sources)
    found = (
        replace(each, part=part)
        for part in verdict.claim.parts or [None]
        for each in _replaced(part.text if part else verdict.claim.as_read, verdict, read)
    )
    return tuple(islice(found, LIMIT))


def _may_differ(verdict: Verdict) -> bool:
    return STATUS_TABLE[verdict.status].by_probability and bool(
        isinstance(verdict.p1, Estimate) and find_quantities(verdict.claim.as_read)
    )


def _read(verdict: Verdict, sources: Mapping[str, Source]) -> list[Quantity]:
    """Return the quantities of everything that was read for a claim."""
    pieces = {*verdict.windows_scored, *verdict.stitched_scored}
    texts = {piece.span.of(sources[piece.source].text) for piece in pieces}
    texts |= {span.text for span in verdict.evidence}
    return [each for text in sorted(texts) for each in find_quantities(text)]


def _replaced(text: str, verdict: Verdict, read: Sequence[Quantity]) -> Iterator[Replaced]:
    claimed = find_quantities(text)
    missing = [each for each in claimed if not any(_states(each, other) for other in read)]
    if len(missing) != 1:
        return
    (quantity,) = missing
    ranked = sorted(
        _counterparts(quantity, claimed, verdict.evidence),
        key=lambda pair: -len(pair[1].near & quantity.near),
    )
    for span, other in ranked:
        place = other.span.shift(span.span.start)
        difference = QuantityDifference(
            quantity.text, other.text, quantity.dimension, span.source, place
        )
        yield Replaced(_with(text, quantity, other.text), difference)


def _counterparts(
    quantity: Quantity, claimed: Sequence[Quantity], evidence: Sequence[EvidenceSpan]
) -> Iterator[tuple[EvidenceSpan, Quantity]]:
    """Yield the quantities of the evidence that the claim does not state, of the same dimension."""
    for span in evidence:
        for other in find_quantities(span.text):
            alike = other.dimension != "count" or bool(other.near & quantity.near)
            if not alike or relation(quantity, other) is not Relation.DIFFERENT:
                continue
            if not any(relation(each, other) is Relation.SAME for each in claimed):
                yield span, other


def _states(claimed: Quantity, stated: Quantity) -> bool:
    """Return whether the evidence has a quantity, or one that might be meant by it."""
    found = relation(claimed, stated)
    exact = {claimed.bound, stated.bound} == {Bound.EXACT}
    if claimed.dimension == "count" and not exact and not claimed.near & stated.near:
        return False
    return found in {Relation.SAME, Relation.UNCLEAR}


def unread_parts(verdict: Verdict, candidates: Sequence[Replaced]) -> tuple[Part, ...]:
    """Return the parts to read, so that a contradicted claim can name its false one."""
    parts = verdict.claim.parts if candidates else ()
    listed = [each.text for each in verdict.parts]
    return () if listed == [each.text for each in parts] else parts


def differing(
    verdict: Verdict,
    candidates: Sequence[Replaced],
    readings: Sequence[PooledEstimate],
    policy: Policy,
    parts: Sequence[PartVerdict] = (),
) -> Verdict:
    """Return the verdict, contradicted if another quantity in the claim is plainly supported.

    `parts` are the verdicts on its `unread_parts`.
    """
    pairs = [
        (candidate, reading.measurement)
        for candidate, reading in zip(candidates, readings, strict=True)
        if isinstance(reading.measurement, Estimate)
        and supports(reading.measurement, policy)
        and reading.measurement.supported >= PLAINLY
    ]
    if not pairs:
        return verdict
    candidate, other = max(pairs, key=lambda pair: pair[1].supported)
    found = tuple(_opposed(part, candidate, other) for part in parts or verdict.parts)
    return replace(_contradicted(verdict, candidate.difference, other), parts=found)


def _opposed(part: PartVerdict, candidate: Replaced, other: Estimate) -> PartVerdict:
    """Return the verdict on a part, contradicted if it is the one with the quantity."""
    if candidate.part is None or candidate.part.text != part.text:
        return part
    return replace(part, status=Status.CONTRADICTED, p1=_excluded(part.p1, other))


def _contradicted(verdict: Verdict, difference: QuantityDifference, other: Estimate) -> Verdict:
    p1 = _excluded(verdict.p1, other)
    return replace(
        verdict,
        status=Status.CONTRADICTED,
        rule="quantity_differs",
        difference=difference,
        evidence=tuple(_as_opposing(span, difference) for span in verdict.evidence),
        p1=p1,
        budget=budget(verdict.budget.target, verdict.p0, p1),
        evidence_dependence=dependence(verdict.p0, p1),
        notes=tuple(note for note in verdict.notes if note is Note.PARTLY_SCORED),
    )


def _as_opposing(span: EvidenceSpan, difference: QuantityDifference) -> EvidenceSpan:
    states = span.source == difference.source and span.span.overlaps(difference.span)
    return replace(span, role=Role.CONTRADICTS if states else Role.NEAREST)


def _excluded(p1: Measurement, other: Estimate) -> Estimate:
    """Return the estimate of a claim, given the high probability of one that excludes it."""
    before = p1.supported if isinstance(p1, Estimate) else 1.0
    supported = min(before, 1.0 - other.supported)
    known = p1.contradicted or 0.0 if isinstance(p1, Estimate) else 0.0
    contradicted = min(max(known, other.supported), 1.0 - supported)
    tells = other.contradicted is not None
    return replace(
        other,
        supported=supported,
        contradicted=contradicted if tells else None,
        not_in_context=max(1.0 - supported - contradicted, 0.0) if tells else None,
        low=min(1.0 - other.high, supported),
        high=max(1.0 - other.low, supported),
    )


# --- a quantity that follows from two --------------------------------------------------------


def underived(verdict: Verdict, sources: Mapping[str, Source]) -> Verdict:
    """Return a contradicted verdict as undetermined if its quantity follows from two stated ones.

    A model does not add up: the absence of "15 in total" beside "9" and "6" is no contradiction.
    """
    if verdict.status is not Status.CONTRADICTED or not follows(verdict, sources):
        return verdict
    return replace(verdict, status=Status.UNDETERMINED, rule="derived_quantity")


def follows(verdict: Verdict, sources: Mapping[str, Source]) -> bool:
    """Return whether the one quantity that the evidence lacks is derived from two others."""
    read = _read(verdict, sources)
    text = verdict.claim.as_read
    missing = [q for q in find_quantities(text) if not any(_states(q, other) for other in read)]
    near = [each for span in verdict.evidence for each in find_quantities(span.text)]
    return len(missing) == 1 and derivation(text, missing[0], near) is not None
