"""Small drawings of a claim: its probabilities on one axis, its bits on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate

if TYPE_CHECKING:
    from veridical.core.verdicts import Budget, Verdict

WIDTH = 320
_LEFT, _RIGHT = 8.0, 312.0


@dataclass(frozen=True, slots=True)
class BeliefMeter:
    """Positions of p1 with its interval, p0 and the target between 0 and 1, as x coordinates."""

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
    if budget.required_bits is None or budget.observed_bits is None:
        return None
    shares = _shares(budget.required_bits, budget.observed_bits)
    zero, observed, required = map(_place, shares)
    start, end = sorted((zero, observed))
    paid = budget.observed_bits >= budget.required_bits
    return BitsMeter(zero, start, round(end - start, 1), required, paid)


@dataclass(frozen=True, slots=True)
class BitsBar:
    """The same in characters: `text` has one per cell, `paid` decides about the colour."""

    text: str
    paid: bool


def bits_bar(budget: Budget, *, cells: int = 32, ink: str = "█▒│·") -> BitsBar | None:
    """Return a bar from 0 to the observed bits, and a mark where the required bits end.

    `ink` is the characters for bits that speak for the claim, for bits against it, for the mark and
    for empty cells. None where there is no budget.
    """
    if budget.required_bits is None or budget.observed_bits is None:
        return None
    shares = _shares(budget.required_bits, budget.observed_bits)
    zero, observed, required = (round(share * cells) for share in shares)
    bits_for, bits_against, mark, empty = tuple(ink)
    bar = bits_for if observed >= zero else bits_against
    start, end = sorted((zero, observed))
    drawn = [bar if start <= cell < end else empty for cell in range(cells)]
    drawn.insert(required, mark)
    return BitsBar("".join(drawn), budget.observed_bits >= budget.required_bits)


def _shares(required: float, observed: float) -> tuple[float, float, float]:
    """Return the positions of 0, the observed and the required bits on an axis from 0 to 1."""
    low, high = min(0.0, observed), max(1.0, required, observed)
    zero, seen, needed = ((bits - low) / (high - low) for bits in (0.0, observed, required))
    return zero, seen, needed


def _place(share: float) -> float:
    return round(_LEFT + share * (_RIGHT - _LEFT), 1)
