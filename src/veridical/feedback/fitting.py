"""Fit of the decision threshold and the temperature to labelled verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veridical.evaluation.metrics import balanced_accuracy
from veridical.feedback.points import DecisionRule, changed, flagged, losses, temper

if TYPE_CHECKING:
    from veridical.feedback.points import ObservationArrays

CANDIDATES = 512
TEMPERATURES = np.round(np.geomspace(0.1, 10.0, 201), 4)


def fit_temperature(points: ObservationArrays) -> float:
    """Return the temperature with the least log loss (Guo et al. 2017), from 0.1 to 10."""
    read = (temper(points.supported, temperature) for temperature in TEMPERATURES)
    mean_losses = [float(losses(p, points.truth).mean()) for p in read]
    return float(TEMPERATURES[int(np.argmin(mean_losses))])


def fit_threshold(points: ObservationArrays, reading: DecisionRule) -> float:
    """Return the threshold with the best balanced accuracy; ties go to the nearest to today's."""
    read = points.tempered(reading.temperature)
    values = np.unique(read.supported)
    middles = (values[1:] + values[:-1]) / 2
    if middles.size > CANDIDATES:
        middles = np.quantile(middles, np.linspace(0, 1, CANDIDATES))
    today = reading.support_threshold
    candidates = sorted({today, *middles.tolist()}, key=lambda value: abs(value - today))
    plain = DecisionRule(today, reading.contradiction_threshold)
    scores = [_accuracy(read, changed(plain, threshold=value)) for value in candidates]
    return float(candidates[int(np.argmax(scores))])


def _accuracy(points: ObservationArrays, reading: DecisionRule) -> float:
    return balanced_accuracy(~flagged(points, reading), points.truth) or 0.0


def fit(
    points: ObservationArrays, today: DecisionRule, *, threshold: bool, temperature: bool
) -> DecisionRule:
    """Return the decision rule with the best fit, within the parameters that may change.

    With another temperature a threshold is moved along, so that it separates the same claims.
    """
    reading = today
    if temperature:
        found = fit_temperature(points)
        moved = temper(np.array([today.support_threshold]), found / today.temperature)
        reading = changed(today, threshold=float(moved[0]), temperature=found)
    if threshold:
        reading = changed(reading, threshold=fit_threshold(points, reading))
    return reading
