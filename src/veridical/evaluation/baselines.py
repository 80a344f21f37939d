"""Baselines without reading comprehension: length, word overlap, the claim alone, a constant.

Their thresholds were fixed before any measurement and are tuned on nothing. A verifier that does
not clearly beat them on a data set shows only how that data set was made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.folds import folds
from veridical.evaluation.metrics import auroc, balanced_accuracy
from veridical.evaluation.naive_bayes import out_of_fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from veridical.core.types import Source
    from veridical.evaluation.metrics import Flags, Floats
    from veridical.evaluation.rows import Row

WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
LENGTH_THRESHOLD = -15.0
OVERLAP_THRESHOLD = 0.75
CLAIM_ONLY_THRESHOLD = 0.5
_FUNCTION_WORDS = """
a about after all also am an and any are as at be been before being but by can could did do does for
from had has have he her his how i if in into is it its may might more most must no nor not of on
one or our out over she should so some such than that the their them then there these they this
those to under up was we were what when which while who will with would you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """Metrics of a baseline; None if the rows have one class only."""

    auroc: float | None
    balanced_accuracy: float | None
    threshold: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """Score per row, higher for "supported", with its fixed decision threshold."""

    score: Callable[[Sequence[Row]], Floats]
    threshold: float

    def measure(self, rows: Sequence[Row], supported: Flags) -> BaselineResult:
        """Return the quality on labelled rows."""
        scores = self.score(rows)
        return BaselineResult(
            auroc(scores, supported),
            balanced_accuracy(scores >= self.threshold, supported),
            self.threshold,
        )


def words(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case."""
    return WORD.findall(text.casefold())


def length(rows: Sequence[Row]) -> Floats:
    """Score a claim by minus its number of words: shorter claims are easier to support."""
    return np.array([-len(words(row.claim)) for row in rows], dtype=np.float64)


def overlap(rows: Sequence[Row]) -> Floats:
    """Score a claim by the share of its content words that its evidence holds."""
    shares = [content_overlap(row.claim, row.evidence) for row in rows]
    return np.array(shares, dtype=np.float64)


def content_overlap(claim: str, evidence: Iterable[Source]) -> float:
    """Return the share of the claim's content words that the evidence holds, 0 to 1."""
    wanted = set(words(claim)) - FUNCTION_WORDS
    found = {word for source in evidence for word in words(source.text)}
    return len(wanted & found) / len(wanted) if wanted else 0.0


def claim_only(rows: Sequence[Row]) -> Floats:
    """Score a claim by the labels of other claims of the same file with the same words."""
    texts = [words(row.claim) for row in rows]
    return out_of_fold(texts, [row.supported for row in rows], folds(rows))


def constant(rows: Sequence[Row]) -> Floats:
    """Score all claims alike."""
    return np.ones(len(rows))


BASELINES: Mapping[str, Baseline] = {
    "length": Baseline(length, LENGTH_THRESHOLD),
    "word_overlap": Baseline(overlap, OVERLAP_THRESHOLD),
    "claim_only": Baseline(claim_only, CLAIM_ONLY_THRESHOLD),
    "constant": Baseline(constant, 1.0),
}
