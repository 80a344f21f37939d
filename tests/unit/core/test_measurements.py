"""Estimates hold their invariants from construction on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from math import inf, nan
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import BackendInfo, Estimate, Estimator


def estimate(
    supported: float = 0.6,
    contradicted: float | None = 0.3,
    not_in_context: float | None = 0.1,
    low: float | None = None,
    high: float | None = None,
) -> Estimate:
    return Estimate(
        supported=supported,
        contradicted=contradicted,
        not_in_context=not_in_context,
        low=supported if low is None else low,
        high=supported if high is None else high,
        estimator=Estimator.CROSS_ENCODER,
        model="m",
        fingerprint="f",
    )


weights = st.tuples(*[st.floats(0.001, 1.0)] * 3)


@given(weights, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_any_distribution_with_an_interval_around_it_is_an_estimate(
    weight: tuple[float, float, float], below: float, above: float
) -> None:
    supported, contradicted, neither = (w / sum(weight) for w in weight)
    low, high = supported * below, supported + (1.0 - supported) * above
    made = estimate(supported, contradicted, neither, min(low, supported), max(high, supported))
    assert made.low <= made.supported <= made.high


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_what_does_not_sum_to_one_is_refused(a: float, b: float, c: float) -> None:
    if abs(a + b + c - 1.0) > 2e-4:
        with pytest.raises(ValueError, match="the distribution sums to"):
            estimate(a, b, c)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_an_interval_holds_its_estimate(supported: float, low: float, high: float) -> None:
    if not low <= supported <= high:
        with pytest.raises(ValueError, match="does not hold"):
            estimate(supported, None, None, low, high)


@pytest.mark.parametrize("name", ["supported", "contradicted", "not_in_context", "low", "high"])
@pytest.mark.parametrize("wrong", [nan, inf, -0.1, 1.1, True, "1"], ids=repr)
def test_no_part_of_an_estimate_may_be_other_than_a_probability(name: str, wrong: object) -> None:
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        replace(estimate(), **cast("dict[str, Any]", {name: wrong}))


def test_a_yes_no_backend_leaves_contradicted_and_not_in_context_both_open() -> None:
    assert estimate(0.4, None, None).contradicted is None
    for half_known in ((0.3, None), (None, 0.3)):
        with pytest.raises(ValueError, match="together or not at all"):
            estimate(0.7, *half_known)


def test_an_estimate_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        estimate().supported = 1.0  # type: ignore[misc]  # this is what is tested


def test_a_backend_brings_the_documented_thresholds() -> None:
    info = BackendInfo("b", "m", Estimator.LOGPROBS, "f")
    assert (info.support_threshold, info.contradiction_threshold) == (0.7, 0.5)
