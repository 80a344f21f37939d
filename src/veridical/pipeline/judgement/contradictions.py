"""Contradictions within an answer: selection of pairs of claims, and their evaluation."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.fact_tokens import figure, words
from veridical.core.measurements import Estimate, Taken
from veridical.core.similarity import Contradiction, Contradictions
from veridical.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.core.measurements import Measurement
    from veridical.core.types import Claim

_STEM = 6
_SHORT = 3
_SHARED = 2


class Pair(NamedTuple):
    """Two claims of one answer, in text order."""

    first: Claim
    second: Claim


def candidate_pairs(claims: Sequence[Claim]) -> list[Pair]:
    """Return the pairs of claims that share content words, the closest pairs first.

    At least two words, or half of the words of the shorter claim.
    """
    content = [content_words(claim.text) for claim in claims]
    ranked = [
        (_overlap(content[i], content[j]), i, j) for i, j in combinations(range(len(claims)), 2)
    ]
    ranked = sorted((entry for entry in ranked if entry[0]), key=lambda entry: (-entry[0], *entry))
    return [Pair(claims[i], claims[j]) for _, i, j in ranked]


def content_words(text: str) -> frozenset[str]:
    """Return the longer words of a text, cut to stems; numbers count, too."""
    found = (word.text for word in words(normalise(text).text))
    return frozenset(
        figure(word) or word[:_STEM] for word in found if len(word) > _SHORT or word[0].isdigit()
    )


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    shorter = min(len(first), len(second))
    shared = len(first & second)
    return shared / shorter if shared >= min(_SHARED, (shorter + 1) // 2) and shared else 0.0


def find_contradictions(
    pairs: Sequence[Pair],
    measured: Iterable[tuple[Measurement, Measurement]],
    total: int,
    threshold: float,
) -> Contradictions:
    """Return the pairs of which each claim contradicts the other, given both directions.

    The smaller of both probabilities has to reach the threshold. A backend that cannot tell a
    contradiction from a claim that is not in its context has measured none.
    """
    found, unmeasured, took = [], 0, Taken()
    for pair, (forth, back) in zip(pairs, measured, strict=True):
        known = [
            each.contradicted
            for each in (forth, back)
            if isinstance(each, Estimate) and each.contradicted is not None
        ]
        took += Taken.by((forth, back))
        unmeasured += len(known) < len((forth, back))
        if len(known) == len((forth, back)) and min(known) >= threshold:
            found.append(_contradiction(pair, min(known)))
    return Contradictions(tuple(found), len(pairs), total, unmeasured, took)


def _contradiction(pair: Pair, probability: float) -> Contradiction:
    first, second = pair
    return Contradiction(first.id, second.id, first.text, second.text, probability)
