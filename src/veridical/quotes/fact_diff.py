"""Factual differences of nearly equal sentences: numbers, dates, units, negations.

Compared word by word: where a quote differs from its source, both sides must have the same of
these, or the quote changes a number or inverts the meaning. The word lists are in
`core.fact_tokens`.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import figure, is_not, misspelt, negates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Change(StrEnum):
    """Change that disqualifies a nearly equal quote."""

    NUMBER = "number"
    POLARITY = "polarity"


# --- opposites -------------------------------------------------------------------------------

_OPPOSITES = (
    (("increas", "rais", "rise", "rose", "grow", "grew"), ("decreas", "reduc", "declin", "fall")),
    (("gain", "won", "win"), ("lose", "losing", "lost", "loss")),
    (("improv",), ("worsen", "deteriorat")),
    (("start", "began", "begin"), ("stop", "ended", "ending", "ceas", "quit")),
    (("accept", "approv", "allow", "permit"), ("reject", "refus", "forbid", "prohibit", "den")),
    (("includ",), ("exclud",)),
    (("agree",), ("disagree",)),
    (("love", "like", "enjoy"), ("hate", "dislike")),
    (("positiv",), ("negativ",)),
)
_SHORT_OPPOSITES = (
    *(("more", "less"), ("more", "fewer"), ("most", "least"), ("higher", "lower"), ("up", "down")),
    *(("high", "low"), ("better", "worse"), ("best", "worst"), ("good", "bad"), ("yes", "no")),
    *(("before", "after"), ("above", "below"), ("over", "under"), ("always", "sometimes")),
    *(("all", "some"), ("every", "some"), ("with", "without"), ("true", "false"), ("in", "out")),
    *(("left", "right"), ("can", "cannot"), ("much", "little"), ("early", "late"), ("on", "off")),
    *(("shall", "may"), ("must", "may"), ("will", "may"), ("will", "might")),
)
_NEGATING_STARTS = ("un", "in", "im", "ir", "il", "dis", "non", "mis")


@lru_cache(maxsize=2**12)
def opposed(one: str, other: str) -> bool:
    """Return whether two words are opposites: from a short list, or one is the other with `un-`."""
    if any({one, other} == set(pair) for pair in _SHORT_OPPOSITES):
        return True
    for left, right in _OPPOSITES:
        if one.startswith(left) and other.startswith(right):
            return True
        if other.startswith(left) and one.startswith(right):
            return True
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    if any(longer == start + shorter for start in _NEGATING_STARTS):
        return True
    stem = longer.removesuffix("less")
    return stem != longer and shorter in {stem, f"{stem}ful", f"{stem}s"}


# --- comparing -------------------------------------------------------------------------------


def change(quote: Sequence[str], source: Sequence[str]) -> Change | None:
    """Return the kind of change between the words of a quote and of its source."""
    quote, source = _without_misspelt(quote, source)
    if _numbers(quote) != _numbers(source):
        return Change.NUMBER
    if _negations(quote) != _negations(source):
        return Change.POLARITY
    turned = any(opposed(one, other) for one, other in product(quote, source))
    return Change.POLARITY if turned else None


def _without_misspelt(
    quote: Sequence[str], source: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words without pairs that are equal but for a typing error, in order."""
    if len(quote) != len(source):
        return quote, source
    pairs = [(q, s) for q, s in zip(quote, source, strict=True) if q == s or not misspelt(q, s)]
    return [q for q, _ in pairs], [s for _, s in pairs]


def _numbers(found: Sequence[str]) -> list[str]:
    return sorted(filter(None, map(figure, found)))


def _negations(found: Sequence[str]) -> list[str]:
    # "can't", "cannot" and "can not" are one; "never" for "not" is a change.
    return sorted("not" if is_not(word) else word for word in found if negates(word))


def blocks(quote: Sequence[str], source: Sequence[str]) -> Iterator[tuple[range, range]]:
    """Yield the differing ranges of two sequences of words, between common words."""
    from rapidfuzz.distance import Indel

    at_quote = at_source = 0
    for same in Indel.opcodes(quote, source):
        if same.tag == "equal":
            if same.src_start > at_quote or same.dest_start > at_source:
                yield range(at_quote, same.src_start), range(at_source, same.dest_start)
            at_quote, at_source = same.src_end, same.dest_end
    if at_quote < len(quote) or at_source < len(source):
        yield range(at_quote, len(quote)), range(at_source, len(source))
