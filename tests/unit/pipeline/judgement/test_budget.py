from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core.information import budget_gap_bits
from veridical.core.measurements import Estimate, Unmeasured, UnmeasuredReason
from veridical.pipeline.judgement.budget import budget, dependence
from veridical.testing import fake_estimate

UNMEASURED = Unmeasured(UnmeasuredReason.BACKEND_ERROR)
estimates = st.builds(
    lambda p, share: fake_estimate(p, (1 - p) * share), st.floats(0, 1), st.floats(0, 1)
)


def test_a_budget_without_intervals_is_justified_or_not() -> None:
    assert budget(0.95, fake_estimate(0.5), fake_estimate(0.99)).confidence_justified is True
    assert budget(0.95, fake_estimate(0.5), fake_estimate(0.9)).confidence_justified is False


def test_an_interval_that_straddles_zero_leaves_it_undecided() -> None:
    found = budget(0.95, fake_estimate(0.5), fake_estimate(0.99, low=0.7))
    assert found.confidence_justified is None
    assert found.gap_interval_bits is not None
    assert found.gap_interval_bits.low < 0 < found.gap_interval_bits.high


@pytest.mark.parametrize(
    ("p0", "p1"), [(UNMEASURED, fake_estimate(0.9)), (fake_estimate(0.9), UNMEASURED)]
)
def test_bits_of_what_was_not_measured_are_unknown_not_zero(
    p0: Estimate | Unmeasured, p1: Estimate | Unmeasured
) -> None:
    found = budget(0.95, p0, p1)
    assert found.target == 0.95
    assert (
        found.required_bits
        is found.observed_bits
        is found.budget_gap_bits
        is found.confidence_justified
        is None
    )
    assert dependence(p0, p1) is None


def between(low: float, p: float, high: float) -> Estimate:
    return replace(fake_estimate(p, low=low), high=high)


bounds = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(sorted)
share = st.floats(0, 1)


@given(bounds, bounds, st.floats(0, 1))
@example(  # rounding puts the gap above both ends, ...
    [0.402549329433161] * 3,
    [0.27890415461133866, 0.2789041546113387, 0.2789041546113388],
    0.20605472879158993,
)
@example(  # ... below both
    [0.10888228393483101] * 3,
    [0.48339062488835594, 0.483390624888356, 0.48339062488835605],
    0.0412868731404723,
)
def test_the_interval_of_the_gap_holds_the_gap(
    p0: list[float], p1: list[float], target: float
) -> None:
    found = budget(target, between(*p0), between(*p1))
    assert found.gap_interval_bits is not None
    assert found.budget_gap_bits is not None
    assert found.gap_interval_bits.low <= found.budget_gap_bits <= found.gap_interval_bits.high


@given(bounds, bounds, st.floats(0, 1))
def test_the_gap_is_the_required_less_the_observed_bits(
    p0: list[float], p1: list[float], target: float
) -> None:
    found = budget(target, between(*p0), between(*p1))
    assert found.required_bits is not None
    assert found.observed_bits is not None
    assert found.budget_gap_bits == found.required_bits - found.observed_bits


def test_a_gap_of_nothing_is_closed() -> None:
    assert budget(0.95, fake_estimate(0.99), fake_estimate(0.99)).confidence_justified is True


def test_an_interval_that_begins_at_zero_leaves_it_undecided() -> None:
    found = budget(0.95, fake_estimate(0.99), between(0.5, 0.7, 0.99))
    assert found.gap_interval_bits is not None
    assert found.gap_interval_bits.low == 0
    assert found.confidence_justified is None


@given(bounds, bounds, st.floats(0, 1), share, share)
def test_the_interval_of_the_gap_holds_that_of_any_p0_and_p1_within_theirs(
    p0: list[float], p1: list[float], target: float, share0: float, share1: float
) -> None:
    found = budget(target, between(*p0), between(*p1)).gap_interval_bits
    at0, at1 = (
        min(low + share * (high - low), high)
        for (low, _, high), share in ((p0, share0), (p1, share1))
    )
    assert found is not None
    assert found.low - 1e-9 <= budget_gap_bits(target, at0, at1) <= found.high + 1e-9


def test_belief_that_may_turn_half_way_widens_the_interval_of_the_gap() -> None:
    found = budget(0.95, between(0.4, 0.45, 0.9), between(0.3, 0.5, 0.6)).gap_interval_bits
    assert found is not None
    assert found.low == pytest.approx(budget_gap_bits(0.95, 0.775, 0.6))


@pytest.mark.spec("SPEC-16.04")
@given(estimates, estimates)
def test_dependence_is_a_distance(p0: Estimate, p1: Estimate) -> None:
    distance = dependence(p0, p1)
    assert distance is not None
    assert 0 <= distance <= 1
    assert distance == pytest.approx(dependence(p1, p0) or 0.0)
    assert dependence(p0, p0) == 0


def test_dependence_sees_a_claim_turn_from_unknown_to_contradicted() -> None:
    assert dependence(fake_estimate(0.0, 0.0), fake_estimate(0.0, 1.0)) == 1


def test_distributions_that_sum_to_more_than_one_differ_by_no_more_than_one() -> None:
    rounded_up = replace(fake_estimate(0.6, 0.4), contradicted=0.40005)
    assert dependence(fake_estimate(0.0), rounded_up) == 1.0


def test_yes_no_distributions_differ_by_p1_minus_p0() -> None:
    found = dependence(fake_estimate(0.2, None), fake_estimate(0.9, None))
    assert found == pytest.approx(0.7)
