"""Numbers as people read them: probabilities with their interval, bits with their sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.measurements import Unmeasured
from veridical.pipeline.reports import phrases

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment
    from veridical.core.measurements import Measurement
    from veridical.core.verdicts import Budget, Verdict

_JUSTIFIED = {
    True: "justified",
    False: "not justified",
    None: "justified or not is undecided",
}


_ENDS = ("0.00", "1.00")


def probability(value: float) -> str:
    """Return a probability with two decimals, three where two would hide that it is no 0 or 1."""
    short = f"{value:.2f}"
    long = f"{value:.3f}"
    return long if short in _ENDS and long not in {f"{end}0" for end in _ENDS} else short


def grounded(assessment: Assessment) -> str:
    """Return the probability that the whole answer is grounded, in words; "" if unknown."""
    found = assessment.summary.probability_grounded
    if found is None:
        return ""
    return f"probability that every checked claim is supported: {probability(found)}"


def certainty(verdict: Verdict) -> str:
    """Return the certainty of a verdict, and the probability that it is right, in words."""
    if verdict.probability_right is None:
        return verdict.certainty.value
    right = probability(verdict.probability_right)
    return f"{verdict.certainty.value}, right with a probability of {right}"


def measured(measurement: Measurement) -> str:
    """Return a measurement in words: P(supported), its interval, and the known rest."""
    if isinstance(measurement, Unmeasured):
        return supported(measurement)
    short = probability(measurement.supported)
    return f"{short} supported{supported(measurement).removeprefix(short)}, {rest(measurement)}"


def supported(measurement: Measurement) -> str:
    """Return P(supported) with its interval, or the reason for its absence."""
    if isinstance(measurement, Unmeasured):
        return f"not measured: {phrases.unmeasured(measurement)}"
    value = probability(measurement.supported)
    if measurement.low == measurement.high:
        return value
    return f"{value} [{probability(measurement.low)}, {probability(measurement.high)}]"


def rest(measurement: Measurement) -> str:
    """Return the rest beside P(supported); a yes/no-only backend cannot tell its halves apart."""
    if isinstance(measurement, Unmeasured):
        return ""
    if measurement.contradicted is None or measurement.not_in_context is None:
        return f"{probability(1.0 - measurement.supported)} contradicted or not in context"
    contradicted = f"{probability(measurement.contradicted)} contradicted"
    return f"{contradicted}, {probability(measurement.not_in_context)} not in context"


def bits(budget: Budget) -> str:
    """Return the information budget in words: required and observed bits, and the gap."""
    target = f"target {probability(budget.target)}"
    if budget.budget_gap_bits is None:
        return f"{target}; no budget: p1 or p0 was not measured"
    paid = f"required {_plain(budget.required_bits)}, observed {signed(budget.observed_bits)}"
    return f"{target}; {paid}, gap {gap(budget)}, {_JUSTIFIED[budget.confidence_justified]}"


def budget_rows(budget: Budget) -> tuple[tuple[str, str], ...]:
    """Return the information budget as names and values, in bits."""
    if budget.budget_gap_bits is None:
        return (("Gap", "unknown: p1 or p0 was not measured"),)
    return (
        ("Required", f"{_plain(budget.required_bits)} to reach {probability(budget.target)}"),
        ("Observed", signed(budget.observed_bits)),
        ("Gap", f"{gap(budget)}, {_JUSTIFIED[budget.confidence_justified]}"),
    )


def gap(budget: Budget) -> str:
    """Return the gap in bits with its interval, or a dash where it is unknown."""
    interval = budget.gap_interval_bits
    if interval is None or interval.low == interval.high:
        return signed(budget.budget_gap_bits)
    return f"{signed(budget.budget_gap_bits)} [{signed(interval.low)}, {signed(interval.high)}]"


def signed(value: float | None) -> str:
    """Return a number of bits with its sign and two decimals; an en dash for None."""
    if value is None:
        return "–"
    rounded = round(value, 2) + 0.0
    return f"{rounded:+.2f}" if rounded else "0.00"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
