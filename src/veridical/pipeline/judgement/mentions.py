"""Claim that its evidence mentions word for word: the text around it may not assert it.

"There is a rumour that X" has the words of X and does not state it; "The report says that X" does.
The words around the claim are looked at first (`assertion_cues`). Where these find nothing, the
rest of a longer sentence, its frame, is read with a plain proposition in the place of the claim: a
frame that does not support a proposition that it holds does not support a claim either
(docs/decisions/0028-mentions.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from veridical.core.homoglyphs import fold
from veridical.core.measurements import Estimate
from veridical.core.types import Passage, SourceSpan, Span
from veridical.core.verdicts import Note, Role, Status
from veridical.pipeline.judgement.aggregation import supports
from veridical.pipeline.judgement.assertion_cues import NEAR, is_unasserted
from veridical.pipeline.judgement.verdict import supported_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Source
    from veridical.core.verdicts import EvidenceSpan, Verdict
    from veridical.pipeline.judgement.aggregation import PooledEstimate

PROPOSITION = "The meeting was moved to Friday."
"""Stands in the place of a claim. It is plain: a frame that asserts what it holds supports it."""

ALIKE = 0.9
"""Share of the claim's words that stand in their place within the sentence."""

LONGEST = 4000
"""Characters of a sentence that is compared; the embedded verifier reads none as long in one."""

_WORD = re.compile(r"(?:(?<!\w)[-−](?=\d))?\w+")
"""Word, or number with its sign: a claim is not a sentence with the opposite number."""

_CLAUSE_END = re.compile(r"[\"”’']*(?:[^\w\s\"”’']|\s[(\[–—-])")


@dataclass(frozen=True, slots=True)
class Mentions:
    """Sentences of the evidence that hold a supported claim, if none is just the claim.

    `frames` are sentences to read, with the `PROPOSITION` in the place of the claim; `unasserted`
    are those whose words do not assert the claim.
    """

    frames: tuple[Passage, ...] = ()
    unasserted: tuple[SourceSpan, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.frames or self.unasserted)

    @property
    def pieces(self) -> tuple[SourceSpan, ...]:
        """Places of all the sentences."""
        return (*self.unasserted, *(frame.pieces[0] for frame in self.frames))


def mentions(verdict: Verdict, sources: Mapping[str, Source]) -> Mentions:
    """Return the sentences that mention a supported claim; none where one states it plainly."""
    if verdict.status is not Status.SUPPORTED:
        return Mentions()
    framed: list[Passage] = []
    unasserted: list[SourceSpan] = []
    for piece in verdict.evidence:
        text = fold(piece.text)
        place = _place(text, verdict.claim.as_read)
        if place is None:
            continue
        if is_unasserted(*_around(piece, text, place, sources[piece.source].text)):
            unasserted.append(SourceSpan(piece.source, piece.span))
        elif _is_whole(text, place):
            return Mentions()
        else:
            framed.append(_framed(piece, text, place))
    return Mentions(tuple(framed), tuple(unasserted))


def asserted(
    verdict: Verdict, found: Mentions, readings: Sequence[PooledEstimate], policy: Policy
) -> Verdict:
    """Return a supported verdict as undetermined if no sentence that mentions it asserts it.

    `readings` are those of its frames. One that could not be measured decides nothing.
    """
    if not found or any(_carries(reading, policy) for reading in readings):
        return verdict
    return replace(
        verdict,
        status=Status.UNDETERMINED,
        rule="only_mentioned",
        evidence=tuple(replace(piece, role=Role.NEAREST) for piece in verdict.evidence),
        notes=tuple(note for note in verdict.notes if note is not Note.EVIDENCE_INDEPENDENT),
    )


def supported_elsewhere(
    verdict: Verdict, reading: PooledEstimate, policy: Policy, sources: Mapping[str, Source]
) -> Verdict | None:
    """Return the supported verdict by a reading without its mentions; None if that needs one, too.

    A text that only mentions a claim takes no support away from it.
    """
    found = supported_by(verdict, reading, verdict.rule, policy, sources)
    return None if found is verdict or mentions(found, sources) else found


def _carries(reading: PooledEstimate, policy: Policy) -> bool:
    found = reading.measurement
    return not isinstance(found, Estimate) or supports(found, policy)


def _around(piece: EvidenceSpan, text: str, place: Span, source: str) -> tuple[str, str]:
    """Return the text before and after the claim, of its sentence and of the source around it."""
    start, end = piece.span.start, piece.span.end
    before = fold(source[max(start - NEAR, 0) : start])
    after = fold(source[end : end + NEAR])
    return before + text[: place.start], text[place.end :] + after


def _framed(piece: EvidenceSpan, text: str, place: Span) -> Passage:
    clause = PROPOSITION.rstrip(".")
    if text[place.start].islower():
        clause = clause[0].lower() + clause[1:]
    where = SourceSpan(piece.source, piece.span)
    return Passage(f"{text[: place.start]}{clause}{text[place.end :]}", (where,), (where,))


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
