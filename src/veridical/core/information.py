"""The information budget of a claim, in bits.

Bernoulli KL divergence as in SPEC-08.06, in base 2. The sign of `observed_bits` is ours: evidence
that makes a claim less probable pays nothing, so that a contradiction can never close the gap
(docs/decisions/0002-signed-bits.md).
"""

from __future__ import annotations

from math import log2

EPSILON = 1e-3
"""Probabilities are clipped to [EPSILON, 1 - EPSILON] before a logarithm is taken."""


def clip(p: float) -> float:
    """Return `p` clipped to [EPSILON, 1 - EPSILON]; `ValueError` unless it is in [0, 1]."""
    ensure_probability(p, "probability")
    return min(max(p, EPSILON), 1.0 - EPSILON)


def kl_bits(p: float, q: float) -> float:
    """Return KL(Bernoulli(p) || Bernoulli(q)) in bits; 0 or more (Kullback & Leibler 1951)."""
    p, q = clip(p), clip(q)
    return max(0.0, p * log2(p / q) + (1.0 - p) * log2((1.0 - p) / (1.0 - q)))


def required_bits(target: float, p0: float) -> float:
    """Return the bits it takes to move belief from `p0` up to `target`; 0 if already there."""
    return kl_bits(target, p0) if clip(target) > clip(p0) else 0.0


def observed_bits(p1: float, p0: float) -> float:
    """Return the bits the evidence moved belief by: negative if it moved it down."""
    bits = kl_bits(p1, p0)
    return bits if p1 >= p0 else 0.0 - bits  # never -0.0, which a report would print


def budget_gap_bits(target: float, p0: float, p1: float) -> float:
    """Return required minus observed bits: at most 0 when the evidence pays for `target`."""
    return required_bits(target, p0) - observed_bits(p1, p0)


def ensure_probability(value: object, name: str) -> None:
    """Raise `ValueError` unless `value` is a number in [0, 1]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0.0 <= value <= 1.0  # false for NaN
    ):
        msg = f"{name} must be a number from 0 to 1, not {_shown(value)}"
        raise ValueError(msg)


def _shown(value: object) -> str:
    """Return a number as it is, and of anything else, which may be text of a claim, the type."""
    # An int of thousands of digits cannot be printed.
    printable = isinstance(value, float) or (isinstance(value, int) and value in range(-999, 1000))
    return repr(value) if printable else f"this {type(value).__name__}"
