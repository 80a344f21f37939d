"""Claim within a longer sentence of its evidence: the rest of that sentence, its frame, is read.

"There is a rumour that X" has the words of X and does not state it; "The report says that X" does.
A plain proposition takes the place of the claim. A frame that does not support a proposition that
it holds does not support a claim either (docs/decisions/0028-mentions.md).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.homoglyphs import fold
from veridical.core.measurements import Estimate
from veridical.core.types import Passage, SourceSpan, Span
from veridical.core.verdicts import Note, Role, Status
from veridical.pipeline.judgement.aggregation import supports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.core.policy import Policy
    from veridical.core.verdicts import EvidenceSpan, Verdict
    from veridical.pipeline.judgement.aggregation import PooledEstimate

PROPOSITIONS = ("The moon is made of cheese.", "The meeting was moved to Friday.")
"""Propositions in the place of a claim: one that no reader believes, and one without a subject.

The first is carried by a frame that states what it holds, and by few others.
"""

ALIKE = 0.9
"""Share of the claim's words that stand in their place within the sentence."""

LONGEST = 4000
"""Characters of a sentence that is compared; the embedded verifier reads none as long in one."""

_WORD = re.compile(r"\w+")
_CLAUSE_END = re.compile(r"[\"”’']*[^\w\s\"”’']")


def frames(verdict: Verdict) -> tuple[tuple[str, Passage], ...]:
    """Return propositions with the frame to read for each; none where the claim is stated plainly.

    Each sentence with the claim in it gives one frame for each of the `PROPOSITIONS`, in order.
    """
    if verdict.status is not Status.SUPPORTED:
        return ()
    places = [
        (piece, _place(fold(piece.text), verdict.claim.as_read)) for piece in verdict.evidence
    ]
    found = [(piece, place) for piece, place in places if place is not None]
    if any(_is_whole(fold(piece.text), place) for piece, place in found):
        return ()
    return tuple(frame for piece, place in found for frame in _framed(piece, place))


def asserted(verdict: Verdict, readings: Sequence[PooledEstimate], policy: Policy) -> Verdict:
    """Return a supported verdict as undetermined if no frame supports its propositions.

    `readings` are those of its `frames`. A proposition that could not be measured decides nothing.
    """
    number = len(PROPOSITIONS)
    groups = [readings[start : start + number] for start in range(0, len(readings), number)]
    if not groups or any(all(_carries(each, policy) for each in group) for group in groups):
        return verdict
    return replace(
        verdict,
        status=Status.UNDETERMINED,
        rule="only_mentioned",
        evidence=tuple(replace(piece, role=Role.NEAREST) for piece in verdict.evidence),
        notes=tuple(note for note in verdict.notes if note is not Note.EVIDENCE_INDEPENDENT),
    )


def _carries(reading: PooledEstimate, policy: Policy) -> bool:
    found = reading.measurement
    return not isinstance(found, Estimate) or supports(found, policy)


def _framed(piece: EvidenceSpan, place: Span) -> Iterator[tuple[str, Passage]]:
    text = fold(piece.text)
    before, after = text[: place.start], text[place.end :]
    for proposition in PROPOSITIONS:
        clause = proposition.rstrip(".")
        if text[place.start].islower():
            clause = clause[0].lower() + clause[1:]
        where = SourceSpan(piece.source, piece.span)
        yield proposition, Passage(f"{before}{clause}{after}", (where,), (where,))


# --- the claim within a sentence ---------------------------------------------------------------


def _place(text: str, claim: str) -> Span | None:
    """Return the place of a claim's words in a sentence, if they are a clause or all of it."""
    claimed = _WORD.findall(fold(claim).casefold())
    words = list(_WORD.finditer(text)) if len(text) <= LONGEST else []
    for first in range(len(words) - len(claimed) + 1) if claimed else ():
        stretch = words[first : first + len(claimed)]
        if _alike(claimed, [word[0].casefold() for word in stretch]):
            place = Span(stretch[0].start(), stretch[-1].end())
            if first or _ends_clause(text, place):
                return place
    return None


def _alike(claimed: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether two stretches of words begin and end alike, and are nearly the same."""
    if claimed[0] != words[0] or claimed[-1] != words[-1]:
        return False
    same = sum(one == other for one, other in zip(claimed, words, strict=True))
    return same >= ALIKE * len(claimed)


def _ends_clause(text: str, place: Span) -> bool:
    """Return whether the sentence ends with the claim, or a mark follows it."""
    return not text[place.end :] or _CLAUSE_END.match(text, place.end) is not None


def _is_whole(text: str, place: Span) -> bool:
    return not (_WORD.search(text[: place.start]) or _WORD.search(text[place.end :]))
