"""Search for a better threshold and temperature on held-out feedback.

Cross-validated: labels are split into folds, each is read with the parameters fitted to the others,
and a change is adopted only if the bootstrap interval of its gain lies above zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.bootstrap import Resampling, interval
from veridical.evaluation.metrics import BINS, balanced_accuracy, share
from veridical.evaluation.metrics import expected_calibration_error as calibration_error
from veridical.feedback.fitting import fit
from veridical.feedback.folds import FOLDS, folds
from veridical.feedback.points import DecisionRule, ObservationArrays, flagged, losses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.verdicts import Interval
    from veridical.evaluation.metrics import Flags, Floats
    from veridical.feedback.points import Observation

ENOUGH = 20
"""Marks of either kind, at least: four in each fold."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Value with its 95 % interval."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Quality of the verdicts (first three) and of the probabilities (`log_loss` in nats, `ece`).

    A false positive is a supported claim that is flagged; recall is the share of flagged claims
    among
    the others. Probabilities are clipped to [0.001, 0.999] before a logarithm is taken.
    """

    balanced_accuracy: Metric
    false_positive_rate: Metric
    recall: Metric
    log_loss: Metric
    ece: Metric


@dataclass(frozen=True, slots=True)
class Refit:
    """Result of the search: `after` is `before` unless a change was adopted.

    The figures of `after` are held out. The gains are differences, positive for the better, of
    balanced accuracy by another threshold and of log loss by another temperature; None if not
    requested. `grouped` is true if the labels of one report were kept in one fold.
    """

    before: DecisionRule
    after: DecisionRule
    figures_before: Metrics
    figures_after: Metrics
    threshold_gain: Metric | None
    temperature_gain: Metric | None
    grouped: bool

    @property
    def adopted(self) -> bool:
        """True if a change was adopted."""
        return self.after != self.before


@dataclass(frozen=True, slots=True)
class NotEnoughFeedback:
    """Numbers of labels still needed: of supported claims, and of others."""

    supported: int
    not_supported: int


def refit(
    observations: Sequence[Observation],
    before: DecisionRule,
    *,
    threshold: bool = True,
    temperature: bool = True,
    how: Resampling | None = None,
) -> Refit | NotEnoughFeedback:
    """Return the decision rule that feedback supports: another threshold, temperature, or both.

    `threshold` and `temperature` select the parameters that may change. A parameter without a
    proven gain stays.
    """
    supported = sum(one.supported for one in observations)
    lacking = NotEnoughFeedback(
        max(0, ENOUGH - supported), max(0, ENOUGH - (len(observations) - supported))
    )
    if lacking.supported or lacking.not_supported:
        return lacking
    # In an order of their own, so that the order in which people marked them changes nothing.
    points = ObservationArrays.of(sorted(observations, key=_order))
    return _Search(points, before, how or Resampling()).run(
        threshold=threshold, temperature=temperature
    )


def _order(one: Observation) -> tuple[object, ...]:
    return one.group, one.p1.supported, one.p1.low, one.p1.high, one.p1.contradicted or 0.0


@dataclass(frozen=True, slots=True)
class _Out:
    """Held-out reading of every point: its flag, and its probability."""

    flagged: Flags
    supported: Floats


class _Search:
    """Cross-validations on the same folds and the same bootstrap draws."""

    def __init__(self, points: ObservationArrays, before: DecisionRule, how: Resampling) -> None:
        self._points, self._before = points, before
        self._folds, self._grouped = folds(points)
        size = points.truth.size
        rng = np.random.default_rng(how.seed)
        self._draws = rng.multinomial(size, np.full(size, 1 / size), how.replicates).astype(float)

    def run(self, *, threshold: bool, temperature: bool) -> Refit:
        today = self._read([self._before] * FOLDS)
        cooled = self._held_out(threshold=False, temperature=True) if temperature else None
        loss_gain = self._loss_gain(today, cooled) if cooled else None
        earned_temperature = _clear(loss_gain)
        moved = (
            self._held_out(threshold=True, temperature=earned_temperature) if threshold else None
        )
        accuracy_gain = self._accuracy_gain(today, moved) if moved else None
        earned_threshold = _clear(accuracy_gain)
        after = fit(
            self._points,
            self._before,
            threshold=earned_threshold,
            temperature=earned_temperature,
        )
        out = (moved if earned_threshold else cooled if earned_temperature else today) or today
        return Refit(
            self._before,
            after,
            self._figures(today),
            self._figures(out),
            accuracy_gain,
            loss_gain,
            self._grouped,
        )

    def _held_out(self, *, threshold: bool, temperature: bool) -> _Out:
        fold = np.array(self._folds)
        readings = [
            fit(
                self._points.at(np.flatnonzero(fold != one)),
                self._before,
                threshold=threshold,
                temperature=temperature,
            )
            for one in range(FOLDS)
        ]
        return self._read(readings)

    def _read(self, readings: Sequence[DecisionRule]) -> _Out:
        """Read each fold with a reading of its own."""
        flags = np.zeros(self._points.truth.size, dtype=np.bool_)
        probabilities = np.zeros(flags.size)
        for one, reading in enumerate(readings):
            rows = np.flatnonzero(np.array(self._folds) == one)
            points = self._points.at(rows)
            flags[rows] = flagged(points, reading)
            probabilities[rows] = points.tempered(reading.temperature).supported
        return _Out(flags, probabilities)

    # --- figures ---

    def _accuracy_gain(self, today: _Out, out: _Out) -> Metric:
        value, drawn = self._balanced(out)
        old, old_drawn = self._balanced(today)
        return Metric(value - old, interval(drawn - old_drawn))

    def _loss_gain(self, today: _Out, out: _Out) -> Metric:
        gains = losses(today.supported, self._points.truth)
        gains = gains - losses(out.supported, self._points.truth)
        return Metric(float(gains.mean()), interval(self._draws @ gains / gains.size))

    def _figures(self, out: _Out) -> Metrics:
        truth = self._points.truth
        value, drawn = self._balanced(out)
        lost = losses(out.supported, truth)
        error = calibration_error(out.supported, truth) or 0.0
        return Metrics(
            balanced_accuracy=Metric(value, interval(drawn)),
            false_positive_rate=self._rate(out.flagged, truth),
            recall=self._rate(out.flagged, ~truth),
            log_loss=Metric(float(lost.mean()), interval(self._draws @ lost / lost.size)),
            ece=Metric(error, interval(self._calibration_errors(out.supported))),
        )

    def _balanced(self, out: _Out) -> tuple[float, Floats]:
        truth = self._points.truth
        value = balanced_accuracy(~out.flagged, truth) or 0.0
        false_positives = self._rates(out.flagged, truth)
        return value, (1 - false_positives + self._rates(out.flagged, ~truth)) / 2

    def _rate(self, flags: Flags, among: Flags) -> Metric:
        return Metric(share(flags[among]) or 0.0, interval(self._rates(flags, among)))

    def _rates(self, flags: Flags, among: Flags) -> Floats:
        total = self._draws @ among.astype(float)
        part = self._draws @ (flags & among).astype(float)
        rates: Floats = np.divide(part, total, out=np.full_like(part, np.nan), where=total > 0)
        return rates

    def _calibration_errors(self, probabilities: Floats) -> Floats:
        """Return the calibration error of each replicate; bins as in `evaluation.metrics`."""
        inside = np.minimum((probabilities * BINS).astype(int), BINS - 1)
        member = (inside[:, None] == np.arange(BINS)).astype(float)
        distance = (probabilities - self._points.truth)[:, None] * member
        return np.asarray(np.abs(self._draws @ distance).sum(axis=1) / probabilities.size)


def _clear(gain: Metric | None) -> bool:
    """Return whether the whole interval of a gain lies above 0."""
    return gain is not None and gain.interval is not None and gain.interval.low > 0
