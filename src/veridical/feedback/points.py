"""Measured claims with their true labels, and their reading at a threshold and temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.information import EPSILON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from veridical.core.measurements import Estimate
    from veridical.evaluation.metrics import Flags, Floats


@dataclass(frozen=True, slots=True)
class Observation:
    """Measured claim with its true label; claims of one `group` are correlated.

    p1 and p0 are as the backend gave them, at a temperature of 1.
    """

    p1: Estimate
    p0: Estimate | None
    supported: bool
    group: str


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Reading of probabilities: a temperature, then thresholds."""

    support_threshold: float
    contradiction_threshold: float
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class ObservationArrays:
    """Observations as arrays; `contradicted` is NaN for yes/no-only backends.

    `opposed` marks claims whose interval lies wholly below that of p0.
    """

    supported: Floats
    contradicted: Floats
    opposed: Flags
    truth: Flags
    group: tuple[str, ...]

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> ObservationArrays:
        """Return observations as arrays."""
        p1 = [one.p1 for one in observations]
        return cls(
            np.array([one.supported for one in p1]),
            np.array([np.nan if p.contradicted is None else p.contradicted for p in p1]),
            np.array([o.p0 is not None and o.p1.high < o.p0.low for o in observations]),
            np.array([one.supported for one in observations]),
            tuple(one.group for one in observations),
        )

    def at(self, rows: NDArray[np.intp]) -> ObservationArrays:
        """Return some of the points."""
        return ObservationArrays(
            self.supported[rows],
            self.contradicted[rows],
            self.opposed[rows],
            self.truth[rows],
            tuple(self.group[row] for row in rows),
        )

    def tempered(self, temperature: float) -> ObservationArrays:
        """Return the points at another temperature; see `core.recalibration`."""
        if temperature == 1.0:
            return self
        supported = temper(self.supported, temperature)
        rest = 1.0 - self.supported
        part = np.divide(self.contradicted, rest, out=np.zeros_like(rest), where=rest > 0)
        contradicted = np.where(
            np.isnan(self.contradicted), np.nan, np.minimum(part, 1.0) * (1.0 - supported)
        )
        return ObservationArrays(supported, contradicted, self.opposed, self.truth, self.group)


def temper(p: Floats, temperature: float) -> Floats:
    """Return `core.recalibration.temper` of each probability."""
    with np.errstate(divide="ignore", over="ignore"):
        odds = (np.log1p(-p) - np.log(p)) / temperature
        return np.asarray(1.0 / (1.0 + np.exp(odds)), dtype=np.float64)


def flagged(points: ObservationArrays, reading: DecisionRule) -> Flags:
    """Return whether each claim is flagged: the rules of `docs/verdicts.md`, for p1 alone."""
    read = points.tempered(reading.temperature)
    below = read.supported < reading.support_threshold
    with np.errstate(invalid="ignore"):
        contradicted = read.contradicted >= reading.contradiction_threshold
    only_yes_or_no = np.isnan(read.contradicted)
    low = read.supported <= 1.0 - reading.support_threshold
    return np.asarray(below | contradicted | (only_yes_or_no & read.opposed & low), dtype=np.bool_)


def changed(
    reading: DecisionRule, *, threshold: float | None = None, temperature: float | None = None
) -> DecisionRule:
    """Return a reading with another support threshold, another temperature or both."""
    return DecisionRule(
        reading.support_threshold if threshold is None else threshold,
        reading.contradiction_threshold,
        reading.temperature if temperature is None else temperature,
    )


def losses(p: Floats, truth: Flags) -> Floats:
    """Return the log loss of each probability, in nats."""
    clipped = np.clip(p, EPSILON, 1.0 - EPSILON)
    return np.asarray(-np.log(np.where(truth, clipped, 1.0 - clipped)), dtype=np.float64)
