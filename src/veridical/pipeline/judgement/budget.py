"""Information budget in bits, and dependence, from the two measurements of a claim."""

from __future__ import annotations

from veridical.core.information import budget_gap_bits, observed_bits, required_bits
from veridical.core.measurements import Estimate, Measurement
from veridical.core.verdicts import Budget, Interval


def budget(target: float, p0: Measurement, p1: Measurement) -> Budget:
    """Return the information budget; the gap's interval spans those of p0 and p1."""
    if not isinstance(p0, Estimate) or not isinstance(p1, Estimate):
        return Budget(target)
    # The gap falls as p1 rises. Over p0 it has its ends at those of p0, but for a minimum half way
    # between p1 and the target, where the evidence moved belief down.
    turn = min(max((target + p1.high) / 2, p0.low), p0.high)
    ends = [
        *(budget_gap_bits(target, p, p1.high) for p in (p0.low, turn, p0.high)),
        *(budget_gap_bits(target, p, p1.low) for p in (p0.low, p0.high)),
    ]
    gap = budget_gap_bits(target, p0.supported, p1.supported)
    interval = Interval(min(gap, *ends), max(gap, *ends))
    return Budget(
        target=target,
        required_bits=required_bits(target, p0.supported),
        observed_bits=observed_bits(p1.supported, p0.supported),
        budget_gap_bits=gap,
        gap_interval_bits=interval,
        confidence_justified=_justified(interval),
    )


def _justified(gap: Interval) -> bool | None:
    if gap.high <= 0:
        return True
    return False if gap.low > 0 else None


def dependence(p0: Measurement, p1: Measurement) -> float | None:
    """Return the total variation distance of the two distributions, in [0, 1].

    Two yes/no distributions differ by |p1 - p0|; None where either was not measured.
    """
    if not isinstance(p0, Estimate) or not isinstance(p1, Estimate):
        return None
    distance = abs(p1.supported - p0.supported)
    if p0.contradicted is None or p1.contradicted is None:
        return distance
    rest = abs(p1.contradicted - p0.contradicted)
    unstated = abs((p1.not_in_context or 0.0) - (p0.not_in_context or 0.0))
    return min(1.0, (distance + rest + unstated) / 2)
