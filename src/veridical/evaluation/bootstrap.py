"""Percentile bootstrap intervals (Efron 1979): rows are drawn again with replacement, per file."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.verdicts import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.evaluation.metrics import Flags, Floats

LEVEL = 0.95
CELLS = 4_000_000
"""Rows times replicates that are held in memory at once."""

INTERVAL_METRICS = ("auroc", "balanced_accuracy", "false_positive_rate", "recall")


@dataclass(frozen=True, slots=True)
class Resampling:
    """Number of bootstrap replicates (0: no intervals), and the seed."""

    replicates: int = 1000
    seed: int = 0


def replicates(
    scores: Floats, flagged: Flags, positive: Flags, key: str, how: Resampling
) -> dict[str, Floats]:
    """Return each metric's value in each replicate; NaN where a class was not drawn.

    `key` tells data sets apart, so that their draws are independent.
    """
    if not positive.size or not how.replicates:
        return {metric: np.full(how.replicates, np.nan) for metric in INTERVAL_METRICS}
    order = np.argsort(scores, kind="stable")
    parts = [
        _values(drawn[:, order], scores[order], flagged[order], positive[order])
        for drawn in _draws(positive.size, key, how)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in INTERVAL_METRICS}


def _draws(size: int, key: str, how: Resampling) -> Iterator[Floats]:
    """Yield how often each row is drawn: arrays of replicates x rows."""
    entropy = int.from_bytes(sha256(key.encode()).digest()[:8])
    rng = np.random.default_rng([how.seed, entropy])
    step = max(1, CELLS // size)
    for start in range(0, how.replicates, step):
        rows = min(step, how.replicates - start)
        cells = rng.integers(0, size, (rows, size)) + np.arange(rows)[:, None] * size
        counts = np.bincount(cells.ravel(), minlength=rows * size)
        yield counts.reshape(rows, size).astype(np.float64)


def _values(drawn: Floats, scores: Floats, flagged: Flags, positive: Flags) -> dict[str, Floats]:
    good, bad = drawn * positive, drawn * ~positive
    total_good, total_bad = good.sum(axis=1), bad.sum(axis=1)
    false_positives = _divide((good * flagged).sum(axis=1), total_good)
    recall = _divide((bad * flagged).sum(axis=1), total_bad)
    return {
        "auroc": _divide(_wins(good, bad, scores), total_good * total_bad),
        "balanced_accuracy": (1 - false_positives + recall) / 2,
        "false_positive_rate": false_positives,
        "recall": recall,
    }


def _wins(good: Floats, bad: Floats, scores: Floats) -> Floats:
    """Return the pairs in which the positive scores higher, ties as half; scores ascend."""
    first = np.flatnonzero(np.r_[True, np.diff(scores) > 0])
    good, bad = np.add.reduceat(good, first, axis=1), np.add.reduceat(bad, first, axis=1)
    below = np.cumsum(bad, axis=1) - bad
    wins: Floats = (good * (below + bad / 2)).sum(axis=1)
    return wins


def _divide(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def interval(values: Floats) -> Interval | None:
    """Return the percentile interval over the replicates that have a value; None without any."""
    valid = values[~np.isnan(values)]
    if not valid.size:
        return None
    low, high = np.quantile(valid, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def mean_replicates(files: Sequence[Mapping[str, Floats]], metric: str) -> Floats:
    """Return the mean over the files in each replicate; a file without a value is left out."""
    values = np.array([file[metric] for file in files])
    known = ~np.isnan(values)
    return _divide(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))
