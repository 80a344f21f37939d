"""Words by which a claim and its evidence differ: 30 days where the evidence says 90.

A number or a negation that is missing from the other text is marked wherever it stands; other words
only where they replace each other between words that both texts share. For a full paraphrase only
such numbers are marked: there is no pair of words to show. A quantity that both texts state, in
other words or units, is no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import Word, figure, negates, words
from veridical.core.quantities import Relation, relation
from veridical.core.quantity_parsing import find_quantities
from veridical.core.types import Span
from veridical.core.verdicts import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.core.verdicts import EvidenceSpan

MOST_WORDS = 400
"""Maximum number of words compared: alignment takes more than linear time."""
_REPLACED = 3
"""Maximum number of words shown as replacements of others."""
_TELLING = 4
"""Minimum number of letters of a marked word that is neither a number nor a negation."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Differing words, each in its own text: offsets in code points."""

    claim: tuple[Span, ...] = ()
    evidence: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.claim or self.evidence)


def differences(claim: str, evidence: str) -> Differences:
    """Return the words of each text that the other one does not have, where that can be told.

    >>> found = differences("Refunds take 30 days.", "A refund takes 90 days.")
    >>> [span.of("Refunds take 30 days.") for span in found.claim]
    ['30']
    """
    first, second = (words(text)[:MOST_WORDS] for text in (claim, evidence))
    keys = [_key(word) for word in first], [_key(word) for word in second]
    ours, theirs = set(keys[0]), set(keys[1])
    replaced = list(_replaced(*keys))
    mine = {i for i, key in enumerate(keys[0]) if key not in theirs and _counts(first[i])}
    other = {i for i, key in enumerate(keys[1]) if key not in ours and _counts(second[i])}
    mine |= {i for left, _ in replaced for i in left if keys[0][i] not in theirs}
    other |= {i for _, right in replaced for i in right if keys[1][i] not in ours}
    if mine:
        same, known = _same_quantities(claim, evidence)
        mine = {i for i in mine if not _within(first[i], same)}
        other = {i for i in other if not _within(second[i], known)}
    return Differences(_spans(first, mine), _spans(second, other) if mine else ())


def marked(claim: str, evidence: EvidenceSpan) -> Differences:
    """Return the differences to show: none where the evidence supports the claim."""
    return Differences() if evidence.role is Role.SUPPORTS else differences(claim, evidence.text)


def pieces(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, bool]]:
    """Yield a text in pieces, each with True if it is one of the spans: in order, disjoint."""
    at = 0
    for span in spans:
        yield text[at : span.start], False
        yield span.of(text), True
        at = span.end
    yield text[at:], False


def _same_quantities(claim: str, evidence: str) -> tuple[list[Span], list[Span]]:
    """Return the places of the quantities that both texts state, in each text."""
    same = [
        (one.span, other.span)
        for one in find_quantities(claim)
        for other in find_quantities(evidence)
        if relation(one, other) is Relation.SAME
    ]
    return [one for one, _ in same], [other for _, other in same]


def _within(word: Word, spans: Sequence[Span]) -> bool:
    return any(span.start <= word.start and word.end <= span.end for span in spans)


def _key(word: Word) -> str:
    folded = word.text.casefold()
    return figure(folded) or ("not" if negates(folded) else folded[:6].removesuffix("s"))


def _counts(word: Word) -> bool:
    """Return whether a word differs in itself: a number, a unit or a negation."""
    folded = word.text.casefold()
    return bool(figure(folded)) or negates(folded)


def _replaced(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[range, range]]:
    """Yield the pairs of ranges that replace each other between words that both texts share."""
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "replace" and b - a <= _REPLACED and d - c <= _REPLACED and a and c:
            yield range(a, b), range(c, d)


def _spans(found: Sequence[Word], marked: set[int]) -> tuple[Span, ...]:
    return tuple(
        Span(found[i].start, found[i].end)
        for i in sorted(marked)
        if _counts(found[i]) or len(found[i].text) >= _TELLING
    )
