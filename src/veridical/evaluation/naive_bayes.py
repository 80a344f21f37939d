"""Bag-of-words classifier of claims without their evidence, a measure of label leakage.

Multinomial naive Bayes with Laplace smoothing and equal priors (Manning, Raghavan & Schütze 2008,
chapter 13), scored by cross-validation within a file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.folds import FOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.evaluation.metrics import Floats

LONGEST_LOG_ODDS = 500.0
"""Limit of log odds: beyond it `exp` adds no precision and may overflow."""


@dataclass(frozen=True, slots=True)
class _Model:
    """Word counts of the supported and of the other claims, and the smoothed totals of both."""

    supported: Counter[str] = field(repr=False)
    other: Counter[str] = field(repr=False)
    totals: tuple[int, int]

    @classmethod
    def of(cls, supported: Counter[str], other: Counter[str]) -> _Model:
        """Return the model of these counts."""
        size = len(supported.keys() | other.keys()) + 1  # 1: every unknown word
        return cls(supported, other, (supported.total() + size, other.total() + size))

    def probability(self, words: Sequence[str]) -> float:
        """Return P(supported | words), with equal priors."""
        true, false = self.totals
        odds = sum(
            log((self.supported[word] + 1) / true) - log((self.other[word] + 1) / false)
            for word in words
        )
        return 1 / (1 + exp(-max(-LONGEST_LOG_ODDS, min(LONGEST_LOG_ODDS, odds))))


def out_of_fold(
    texts: Sequence[Sequence[str]], supported: Sequence[bool], folds: Sequence[int]
) -> Floats:
    """Return P(supported) of each claim from a model trained on the other folds."""
    models = [_train(texts, supported, folds, left_out) for left_out in range(FOLDS)]
    return np.array(
        [
            model.probability(words) if (model := models[fold]) else 0.5
            for words, fold in zip(texts, folds, strict=True)
        ],
        dtype=np.float64,
    )


def _train(
    texts: Sequence[Sequence[str]], supported: Sequence[bool], folds: Sequence[int], left_out: int
) -> _Model | None:
    """Return a model of the other folds; None if they hold one class only."""
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    seen = set()
    for words, label, fold in zip(texts, supported, folds, strict=True):
        if fold != left_out:
            counts[label].update(words)
            seen.add(label)
    return _Model.of(counts[True], counts[False]) if seen == {True, False} else None
