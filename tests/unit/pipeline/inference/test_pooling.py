"""Two estimates become one, by their log-odds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Estimate
from veridical.pipeline.inference.pooling import pooled, pooled_probability
from veridical.testing import fake_estimate

unit = st.floats(0.0, 1.0)
inner = st.floats(0.001, 0.999)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    supported = draw(unit)
    share = draw(st.none() | unit)
    made = fake_estimate(supported, None if share is None else (1.0 - supported) * share)
    high = max(supported, 1.0 - (1.0 - supported) * draw(unit))
    return replace(made, low=supported * draw(unit), high=high)


def test_the_second_counts_twice() -> None:
    assert pooled_probability(0.8, 0.5) == pytest.approx(1 / (1 + 4 ** (-1 / 3)))
    assert pooled_probability(0.5, 0.8) == pytest.approx(1 / (1 + 4 ** (-2 / 3)))


@given(inner, inner)
def test_the_pooled_probability_lies_between_the_two(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert low - 1e-9 <= pooled_probability(one, other) <= high + 1e-9


@given(unit, unit, unit)
def test_who_is_surer_makes_the_pool_surer(one: float, less: float, more: float) -> None:
    low, high = sorted((less, more))
    assert pooled_probability(one, low) <= pooled_probability(one, high)


@given(inner, inner)
def test_doubts_the_other_way_round_come_to_the_opposite(one: float, other: float) -> None:
    opposite = pooled_probability(1.0 - one, 1.0 - other)
    assert pooled_probability(one, other) == pytest.approx(1.0 - opposite)


def test_a_sure_second_decides() -> None:
    assert pooled_probability(0.15, 0.9) > 0.7
    assert pooled_probability(0.85, 0.1) < 0.3


def test_certainty_counts_as_999_in_1000() -> None:
    assert pooled_probability(1.0, 0.5) == pooled_probability(0.999, 0.5)
    assert pooled_probability(0.5, 0.0) == pooled_probability(0.5, 0.001)


@given(estimates(), estimates())
def test_a_pooled_estimate_is_a_distribution_with_an_interval(
    one: Estimate, other: Estimate
) -> None:
    found = pooled(one, other)  # its construction checks sum and interval
    assert found.supported == pooled_probability(one.supported, other.supported)
    assert found.low <= found.supported <= found.high
    assert (found.model, found.estimator) == (other.model, other.estimator)


def test_the_rest_is_shared_as_the_two_share_theirs() -> None:
    found = pooled(fake_estimate(0.5, 0.5), fake_estimate(0.5, 0.0))
    assert (found.contradicted, found.not_in_context) == (0.25, 0.25)


def test_one_who_says_yes_or_no_only_has_no_say_on_the_rest() -> None:
    found = pooled(fake_estimate(0.5, 0.4), fake_estimate(0.5, None))
    assert found.contradicted == pytest.approx(0.4)
    neither = pooled(fake_estimate(0.5, None), fake_estimate(0.5, None))
    assert (neither.contradicted, neither.not_in_context) == (None, None)


def test_one_who_is_certain_has_no_say_on_the_rest_either() -> None:
    found = pooled(fake_estimate(1.0, 0.0), fake_estimate(0.5, 0.3))
    assert found.contradicted is not None
    assert found.contradicted / (1.0 - found.supported) == pytest.approx(0.6)
