"""Splitting of a sentence into atomic claims, where its clauses can safely stand alone.

Without a part-of-speech tagger this is conservative: a wrong split is worse than none. Both sides
of a joint need a subject of their own and a finite verb from a list; a sentence with reported
speech, a leading adjunct or condition, or a paired conjunction is left whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.pipeline.claims.lexicon import (
    PREPOSITIONS,
    RELATIVES,
    REPORTING,
    SUBORDINATORS,
    word_set,
)
from veridical.pipeline.claims.syntax import finite_verb, protected_spans, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.pipeline.claims.syntax import Token

# Longer sentences are tables of contents or dumps, not prose.
_MAX_LENGTH = 2000
_JOINT = re.compile(
    r";\s+(?:(?:and|but|while|whereas|yet|however|therefore|moreover|meanwhile|by contrast"
    r"|in contrast)\b,?\s+)?|,\s+(?:and|but|while|whereas)\s+"
    # Behind a citation, which is masked, a clause of its own begins a new claim.
    r"|(?<=\0)\s+(?:and|but|while|whereas)\s+"
)
_PAIRED = word_set("between both either neither whether respectively")
_LEFT_BLOCKERS = RELATIVES | word_set("although though while since until before after how")


def split_clauses(masked: str) -> list[Span]:
    """Return the spans of the independent clauses; the whole, if it cannot be split safely."""
    whole = Span(0, len(masked))
    if len(masked) > _MAX_LENGTH or not _JOINT.search(masked):
        return [whole]
    protected = protected_spans(masked)
    if is_blocked(tokens_of(masked, whole, protected)):
        return [whole]
    return _split(masked, protected)


def is_blocked(tokens: Sequence[Token]) -> bool:
    """Return whether something governs the whole sentence, so that no part may stand alone."""
    if not tokens or tokens[0].word in PREPOSITIONS | SUBORDINATORS:
        return True
    if any(token.text == ":" and not token.protected for token in tokens):
        return True
    found = [token.word for token in tokens]
    if any(word in _PAIRED for word in found) or ("not" in found and "only" in found):
        return True
    return any(token.text.lower() in REPORTING and token.text.islower() for token in tokens)


def governs(tokens: Sequence[Token]) -> bool:
    """Return whether a subordinate clause may still be open at the end of `tokens`."""
    return any(token.word in _LEFT_BLOCKERS for token in tokens)


def _split(masked: str, protected: Sequence[Span]) -> list[Span]:
    joints = [
        Span(*match.span())
        for match in _JOINT.finditer(masked)
        if not any(Span(*match.span()).overlaps(each) for each in protected)
    ]
    if not joints:
        return [Span(0, len(masked))]
    ends = [*(joint.start for joint in joints[1:]), len(masked)]
    clauses: list[Span] = []
    start = 0
    for joint, end in zip(joints, ends, strict=True):
        left = tokens_of(masked, Span(start, joint.start), protected)
        right = tokens_of(masked, Span(joint.end, end), protected)
        if finite_verb(left) and finite_verb(right) and not governs(left):
            clauses.append(Span(start, joint.start))
            start = joint.end
    return [*clauses, Span(start, len(masked))]
