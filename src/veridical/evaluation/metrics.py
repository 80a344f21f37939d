"""Metrics of detection and calibration. A metric that cannot be computed is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

BINS = 10
"""Equal-width bins of P(supported) for the calibration error and the reliability diagram."""


def auroc(scores: Floats, positive: Flags) -> float | None:
    """Return P(a positive scores above a negative) + P(they tie) / 2; None for one class only.

    The Mann-Whitney U statistic divided by the number of pairs (Hanley & McNeil 1982).
    """
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return None
    rank_sum = float(_mid_ranks(scores)[positive].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def _mid_ranks(scores: Floats) -> Floats:
    """Return ranks from 1; scores that tie share the mean of their ranks."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Floats = last - (counts - 1) / 2
    return means[group]


def share(flags: Flags) -> float | None:
    """Return the share that is true; None of nothing."""
    return float(flags.mean()) if flags.size else None


def balanced_accuracy(called_positive: Flags, positive: Flags) -> float | None:
    """Return the mean of the two classes' recalls; None for one class only."""
    found, rejected = share(called_positive[positive]), share(~called_positive[~positive])
    return None if found is None or rejected is None else (found + rejected) / 2


def brier(probabilities: Floats, positive: Flags) -> float | None:
    """Return the mean squared error of the probabilities (Brier 1950), from 0 (best) to 1."""
    return float(np.mean((probabilities - positive) ** 2)) if positive.size else None


@dataclass(frozen=True, slots=True)
class Bin:
    """Claims with P(supported) in [low, high): their number, mean P and supported share."""

    low: float
    high: float
    count: int
    mean: float | None
    supported: float | None


def reliability(probabilities: Floats, positive: Flags) -> tuple[Bin, ...]:
    """Return the bins of the reliability diagram; the last one holds P = 1 too."""
    index = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    members = [index == number for number in range(BINS)]
    return tuple(
        Bin(
            number / BINS,
            (number + 1) / BINS,
            int(inside.sum()),
            float(probabilities[inside].mean()) if inside.any() else None,
            share(positive[inside]),
        )
        for number, inside in enumerate(members)
    )


def expected_calibration_error(probabilities: Floats, positive: Flags) -> float | None:
    """Return the mean distance of probability and share over the bins, weighted by their size.

    Guo et al. 2017, "On Calibration of Modern Neural Networks", with equal-width bins.
    """
    if not positive.size:
        return None
    distances = (
        one.count * abs(one.mean - one.supported)
        for one in reliability(probabilities, positive)
        if one.mean is not None and one.supported is not None
    )
    return sum(distances) / positive.size


def macro_f1(predicted: Sequence[str], actual: Sequence[str]) -> float | None:
    """Return the mean F1 over the classes that occur in either; None of nothing."""
    classes = sorted({*predicted, *actual})
    scores = [_f1(predicted, actual, one) for one in classes]
    return sum(scores) / len(scores) if scores else None


def _f1(predicted: Sequence[str], actual: Sequence[str], one: str) -> float:
    pairs = list(zip(predicted, actual, strict=True))
    hits = sum(guess == truth == one for guess, truth in pairs)
    named = sum(guess == one for guess, _ in pairs) + sum(truth == one for _, truth in pairs)
    return 2 * hits / named
