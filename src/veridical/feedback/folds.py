"""Cross-validation folds that keep labels of one report together and hold both classes."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from veridical.feedback.points import ObservationArrays

FOLDS = 5


def folds(points: ObservationArrays) -> tuple[list[int], bool]:
    """Return the fold of each point, and whether the points of a group share one.

    They do, if that leaves both classes of claims in every training set.
    """
    together = _deal(points, list(points.group))
    if len(set(points.group)) >= FOLDS and _trainable(points, together):
        return together, True
    return _deal(points, [f"{row} {group}" for row, group in enumerate(points.group)]), False


def _deal(points: ObservationArrays, groups: Sequence[str]) -> list[int]:
    """Deal groups to folds, the largest first, each to the fold with the least of its kind."""
    counts: dict[str, NDArray[np.float64]] = {}
    for group, truth in zip(groups, points.truth, strict=True):
        counts.setdefault(group, np.zeros(2))[int(truth)] += 1
    totals = np.array([(~points.truth).sum(), points.truth.sum()], dtype=np.float64)
    dealt = np.zeros((FOLDS, 2))
    fold_of: dict[str, int] = {}
    for group in sorted(counts, key=lambda one: (-counts[one].sum(), _digest(one))):
        shares = dealt / totals
        fold = int(np.argmin((shares * counts[group] / totals).sum(axis=1)))
        dealt[fold] += counts[group]
        fold_of[group] = fold
    return [fold_of[group] for group in groups]


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _trainable(points: ObservationArrays, fold: Sequence[int]) -> bool:
    """Return whether every fold is non-empty and leaves both classes for training."""
    for one in range(FOLDS):
        held_out = np.array(fold) == one
        left = points.truth[~held_out]
        if not held_out.any() or left.all() or not left.any():
            return False
    return True
