"""Information budget: the decision table, and invariants for every probability."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import copysign, inf, isfinite, nan
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.information import (
    EPSILON,
    budget_gap_bits,
    clip,
    kl_bits,
    observed_bits,
    required_bits,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.spec("SPEC-08.04"), pytest.mark.spec("SPEC-16.37")]

probabilities = st.floats(0.0, 1.0)
TARGET = 0.95
ROUNDING = 1e-12
"""What adding and subtracting bits of order ten may be wrong by."""


# --- the table of fixtures -------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.05")
@pytest.mark.parametrize(
    ("p0", "p1", "gap", "justified"),
    [
        pytest.param(0.50, 0.01, 1.6328, False, id="contradicted"),
        pytest.param(0.97, 0.02, 4.8172, False, id="a likely claim, refuted"),
        pytest.param(0.99, 0.99, 0.0, True, id="known without the evidence"),
        pytest.param(0.90, 0.90, 0.0241, False, id="not enough evidence"),
        pytest.param(0.50, 0.99, -0.2056, True, id="supported"),
    ],
)
def test_fixture(p0: float, p1: float, gap: float, *, justified: bool) -> None:
    bits = budget_gap_bits(TARGET, p0, p1)
    assert bits == pytest.approx(gap, abs=5e-5)
    assert (bits <= 0.0) is justified


def test_the_unsigned_formula_would_pass_a_contradiction() -> None:
    assert required_bits(TARGET, 0.5) - kl_bits(0.01, 0.5) < 0 < budget_gap_bits(TARGET, 0.5, 0.01)


def test_the_unsigned_formula_would_flag_what_was_known_already() -> None:
    assert kl_bits(TARGET, 0.99) - kl_bits(0.99, 0.99) > 0
    assert budget_gap_bits(TARGET, 0.99, 0.99) == 0.0


def test_a_target_of_zero_requires_nothing() -> None:
    assert required_bits(0.0, 0.0) == required_bits(0.0, 0.3) == 0.0


# --- divergence ------------------------------------------------------------------------------


def exact_kl_bits(p: float, q: float) -> float:
    """Compute the formula of SPEC-08.06 to fifty digits."""
    with localcontext(prec=50):
        yes_p, yes_q = Decimal(clip(p)), Decimal(clip(q))
        no_p, no_q = 1 - yes_p, 1 - yes_q
        nats = yes_p * (yes_p / yes_q).ln() + no_p * (no_p / no_q).ln()
        return float(nats / Decimal(2).ln())


@pytest.mark.spec("SPEC-08.06")
@given(probabilities, probabilities)
def test_divergence_equals_the_formula_in_exact_arithmetic(p: float, q: float) -> None:
    assert kl_bits(p, q) == pytest.approx(exact_kl_bits(p, q), rel=1e-9, abs=ROUNDING)


@pytest.mark.spec("SPEC-08.06")
@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [(0.5, 0.5, 0.0), (1.0, 0.5, 0.98859), (0.75, 0.25, 0.79248), (0.0, 1.0, 9.94441)],
)
def test_divergence_is_in_bits(p: float, q: float, bits: float) -> None:
    assert kl_bits(p, q) == pytest.approx(bits, abs=5e-6)


@given(probabilities, probabilities)
def test_divergence_is_never_negative(p: float, q: float) -> None:
    assert kl_bits(p, q) >= 0.0


@given(probabilities, probabilities)
def test_divergence_is_zero_only_between_equals(p: float, q: float) -> None:
    assert kl_bits(p, p) == 0.0
    if abs(clip(p) - clip(q)) > 1e-6:  # closer ones differ by less than rounding shows
        assert kl_bits(p, q) > 0.0


# --- gap -------------------------------------------------------------------------------------


@given(probabilities, probabilities, probabilities)
def test_evidence_against_a_claim_never_lowers_what_is_required(
    target: float, p0: float, p1: float
) -> None:
    if p1 <= p0:
        assert budget_gap_bits(target, p0, p1) >= required_bits(target, p0) >= 0.0


@pytest.mark.spec("SPEC-08.05")
@given(probabilities, probabilities, probabilities)
def test_a_contradiction_never_closes_the_gap(target: float, p0: float, p1: float) -> None:
    if clip(p1) < clip(p0) - 1e-6:
        assert budget_gap_bits(target, p0, p1) > 0.0


@given(probabilities, probabilities, probabilities, probabilities)
def test_the_gap_never_rises_with_p1(target: float, p0: float, one: float, other: float) -> None:
    lower, higher = sorted((one, other))
    gap = budget_gap_bits(target, p0, higher)
    assert gap <= budget_gap_bits(target, p0, lower) + ROUNDING


@given(probabilities, probabilities, probabilities)
def test_the_gap_closes_exactly_where_p1_reaches_target_and_p0(
    target: float, p0: float, p1: float
) -> None:
    bar = max(clip(target), clip(p0))
    if abs(clip(p1) - bar) > 1e-6:
        assert (budget_gap_bits(target, p0, p1) <= 0.0) is (clip(p1) > bar)


@given(probabilities, probabilities, probabilities)
def test_every_figure_is_finite(target: float, p0: float, p1: float) -> None:
    figures = required_bits(target, p0), observed_bits(p1, p0), budget_gap_bits(target, p0, p1)
    assert all(isfinite(figure) and abs(figure) < 20 for figure in figures)


@given(probabilities, probabilities)
def test_the_sign_of_observed_bits_is_the_direction_of_belief(p1: float, p0: float) -> None:
    bits = observed_bits(p1, p0)
    assert bits == 0.0 or (bits > 0.0) is (p1 > p0)


def test_no_bits_are_never_minus_zero() -> None:
    assert copysign(1.0, observed_bits(0.0, EPSILON / 2)) == 1.0


# --- what is no probability ------------------------------------------------------------------


@given(probabilities)
def test_clipping_keeps_what_is_inside_and_moves_the_rest_to_the_edge(p: float) -> None:
    assert EPSILON <= clip(p) <= 1 - EPSILON
    assert clip(p) == p or not EPSILON <= p <= 1 - EPSILON


@pytest.mark.parametrize(
    "wrong", [nan, inf, -inf, -1e-9, 1.0 + 1e-9, 95, 10**400, True, False, "0.5", None, 0.5j]
)
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    figures: list[Callable[[], float]] = [
        lambda: clip(wrong),
        lambda: kl_bits(wrong, 0.5),
        lambda: kl_bits(0.5, wrong),
        lambda: budget_gap_bits(wrong, 0.5, 0.5),
        lambda: budget_gap_bits(0.5, wrong, 0.5),
        lambda: budget_gap_bits(0.5, 0.5, wrong),
    ]
    for figure in figures:
        with pytest.raises(ValueError, match=r"^probability must be a number from 0 to 1"):
            figure()
