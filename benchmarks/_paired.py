"""AUROC of two scores of the same rows, and their paired difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.bootstrap import Resampling, interval, replicates
from veridical.evaluation.metrics import auroc
from veridical.evaluation.tables import ratio

if TYPE_CHECKING:
    from veridical.evaluation.metrics import Flags, Floats

HOW = Resampling(replicates=2000, seed=0)


def area(scores: Floats, positive: Flags) -> str:
    """Return the AUROC with its interval."""
    spread = interval(_drawn(scores, positive))
    ends = f" ({ratio(spread.low)}–{ratio(spread.high)})" if spread else ""
    return f"{ratio(auroc(scores, positive))}{ends}"


def difference(one: Floats, other: Floats, positive: Flags) -> tuple[float, str]:
    """Return by how much the AUROC of `one` is above that of `other`, and as text with interval."""
    found = (auroc(one, positive) or 0.0) - (auroc(other, positive) or 0.0)
    spread = interval(_drawn(one, positive) - _drawn(other, positive))
    ends = f" ({spread.low:+.3f} to {spread.high:+.3f})" if spread else ""
    return found, f"{found:+.3f}{ends}"


def _drawn(scores: Floats, positive: Flags) -> Floats:
    # The same key draws the same rows; nothing is flagged, as only AUROC is looked at.
    return replicates(scores, np.zeros(len(scores), bool), positive, "pooled", HOW)["auroc"]
