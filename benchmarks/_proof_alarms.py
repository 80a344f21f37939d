"""Comparison at equal false alarms: unsupported claims found where as many supported are flagged.

A threshold between two scores is drawn by lot between its neighbours, which is a straight line
between two points of the ROC curve (Fawcett 2006): a checker that says yes or no, or gives many
claims one score, gets the share it has by chance.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.bootstrap import interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.evaluation.bootstrap import Resampling
    from veridical.evaluation.metrics import Flags, Floats

SHARES = {"10 %": 0.10, "28 %": 0.28}


def found_at(share: float, scores: Floats, positive: Flags) -> float:
    """Return the share of unsupported claims flagged where `share` of the supported are.

    NaN without a claim of either kind.
    """
    if positive.all() or not positive.any():
        return float("nan")
    cuts, inverse = np.unique(scores, return_inverse=True)
    alarms, hits = (
        np.r_[0.0, np.cumsum(np.bincount(inverse[kind], minlength=cuts.size)) / kind.sum()]
        for kind in (positive, ~positive)
    )
    last = int(np.flatnonzero(alarms <= share + 1e-12)[-1])
    if last == cuts.size:
        return 1.0
    part = (share - alarms[last]) / (alarms[last + 1] - alarms[last])
    return float(hits[last] + max(0.0, part) * (hits[last + 1] - hits[last]))


def found_with_interval(
    share: float, scores: Floats, positive: Flags, key: str, how: Resampling
) -> list[float] | None:
    """Return the share found and the ends of its bootstrap interval; None without both kinds."""
    value = found_at(share, scores, positive)
    if np.isnan(value):
        return None
    rng = np.random.default_rng([how.seed, int.from_bytes(sha256(key.encode()).digest()[:8])])
    drawn = rng.integers(0, positive.size, (how.replicates, positive.size))
    ends = interval(np.array([found_at(share, scores[i], positive[i]) for i in drawn]))
    return [value, ends.low, ends.high] if ends else None


def alarm_rate(flags: Sequence[bool | None], labels: Sequence[bool]) -> float:
    """Return the share of supported claims that a checker flags at its default."""
    known = [flag for flag, label in zip(flags, labels, strict=True) if label and flag is not None]
    return sum(known) / len(known) if known else float("nan")


def at_equal_alarms(
    found: Sequence[dict], labels: Sequence[bool], how: Resampling
) -> dict[str, float]:
    """Put into each checker's figures of a suite what it finds; return the shares by name.

    The last share is that of the first checker at its default.
    """
    shares = dict(SHARES)
    own = alarm_rate(found[0].get("flags", []), labels) if "flags" in found[0] else float("nan")
    if not np.isnan(own):
        shares[f"{own:.1%}, its default".replace("%", " %")] = own
    for one in (one for one in found if "scores" in one):
        known = [i for i, score in enumerate(one["scores"]) if score is not None]
        scores = np.array([one["scores"][i] for i in known], dtype=np.float64)
        positive = np.array([labels[i] for i in known], dtype=bool)
        one["found"] = {
            name: found_with_interval(share, scores, positive, one["suite"], how)
            for name, share in shares.items()
        }
    return shares
