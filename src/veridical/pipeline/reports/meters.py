"""The two small drawings of a claim: its probabilities on one axis, its bits on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import Estimate

if TYPE_CHECKING:
    from veridical.core.verdicts import Budget, Verdict

WIDTH = 320
_LEFT, _RIGHT = 8.0, 312.0


@dataclass(frozen=True, slots=True)
class BeliefMeter:
    """Where p1 with its interval, p0 and the target lie between 0 and 1, as x coordinates."""

    p1: float | None
    low: float
    high: float
    p0: float | None
    target: float


@dataclass(frozen=True, slots=True)
class BitsMeter:
    """The observed bits as a bar from zero and the required bits as a tick, as x coordinates."""

    zero: float
    bar: float
    width: float
    required: float
    paid: bool


def belief_meter(verdict: Verdict) -> BeliefMeter | None:
    """Return the drawing of the probabilities; None where neither was measured."""
    p1 = verdict.p1 if isinstance(verdict.p1, Estimate) else None
    p0 = verdict.p0 if isinstance(verdict.p0, Estimate) else None
    if p1 is None and p0 is None:
        return None
    return BeliefMeter(
        _place(p1.supported) if p1 else None,
        _place(p1.low) if p1 else 0.0,
        _place(p1.high) if p1 else 0.0,
        _place(p0.supported) if p0 else None,
        _place(verdict.budget.target),
    )


def bits_meter(budget: Budget) -> BitsMeter | None:
    """Return the drawing of the bits; None where there is no budget."""
    required, observed = budget.required_bits, budget.observed_bits
    if required is None or observed is None:
        return None
    low, high = min(0.0, observed), max(1.0, required, observed)

    def place(bits: float) -> float:
        return _place((bits - low) / (high - low))

    start, end = sorted((place(0.0), place(observed)))
    width = round(end - start, 1)
    return BitsMeter(place(0.0), start, width, place(required), paid=observed >= required)


def _place(share: float) -> float:
    return round(_LEFT + share * (_RIGHT - _LEFT), 1)
