"""A certainty model is monotone in the score, or does not exist."""

from __future__ import annotations

from math import inf, nan, nextafter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core.certainty import (
    SCORE,
    UNCALIBRATED,
    CertaintyModel,
    Fit,
    VerdictKind,
    from_document,
    log_odds,
    logistic,
)

FIT: dict[str, Any] = {
    "intercept": -1.0,
    "weights": {"score": 0.8, "coverage": 1.5},
    "sure_from": 0.95,
}
DOCUMENT: dict[str, Any] = {
    "supported": FIT,
    "contradicted": FIT | {"sure_from": None},
    "not_supported": FIT,
    "rules": {"quantity_differs": 0.97},
    "exponent": 0.7,
    "data": {"rows": 10},
}
probabilities = st.floats(0, 1)


def test_a_document_says_what_the_model_is() -> None:
    model = from_document(DOCUMENT)
    assert model.of(VerdictKind.SUPPORTED) == Fit(-1.0, (("score", 0.8), ("coverage", 1.5)), 0.95)
    assert model.contradicted.sure_from is None
    assert model.exponent == 0.7

    assert model.rules == (("quantity_differs", 0.97),)


@pytest.mark.parametrize("key", ["supported", "contradicted", "not_supported", "rules", "exponent"])
def test_a_document_that_lacks_something_is_refused(key: str) -> None:
    with pytest.raises(KeyError):
        from_document({name: value for name, value in DOCUMENT.items() if name != key})


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"supported": FIT | {"weights": {"score": -0.1}}}, "the weight of the score is 0 at"),
        ({"supported": FIT | {"weights": {"score": nan}}}, "the numbers of a fit are finite"),
        ({"supported": FIT | {"intercept": inf}}, "the numbers of a fit are finite"),
        ({"supported": FIT | {"sure_from": 1.2}}, "sure_from must be"),
        ({"exponent": 0.0}, "the exponent is a number above 0"),
        ({"exponent": nan}, "the exponent is a number above 0"),
        ({"rules": {"quantity_differs": 2.0}}, r"the P\(right\) of a rule must be"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_by_name(
    wrong: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}"):
        from_document(DOCUMENT | wrong)


def test_a_fit_may_do_without_the_score() -> None:
    fit = Fit(0.0, (("coverage", 1.0),), 0.9)
    assert fit.probability({SCORE: 9.0, "coverage": 0.0}) == 0.5


@given(probabilities, probabilities, st.floats(0, 10), st.floats(-10, 10), st.floats(0, 1))
def test_a_more_extreme_score_never_turns_sure_into_unsure(
    one: float, other: float, weight: float, intercept: float, coverage: float
) -> None:
    fit = Fit(intercept, ((SCORE, weight), ("coverage", 1.3)), 0.95)
    low, high = sorted((one, other))
    less, more = (fit.probability({SCORE: log_odds(p), "coverage": coverage}) for p in (low, high))
    assert less <= more
    assert not fit.sure(less) or fit.sure(more)


@given(probabilities)
def test_without_a_fit_the_probability_is_that_of_the_backend(p: float) -> None:
    found = UNCALIBRATED.supported.probability({SCORE: log_odds(p)})
    assert found == pytest.approx(min(max(p, 0.001), 0.999))


def test_the_band_is_where_neither_flags_nor_passes_are_sure_by_their_score() -> None:
    fit = FIT | {"sure_score": log_odds(0.9)}
    model = from_document(DOCUMENT | {"supported": fit, "contradicted": fit, "not_supported": fit})
    assert model.band() == pytest.approx((0.1, 0.9))
    assert from_document(DOCUMENT).band() == (None, None)


def test_a_verdict_is_sure_from_the_threshold_on() -> None:
    fit = Fit(0.0, ((SCORE, 1.0),), 0.9)
    assert fit.sure(0.9)
    assert not fit.sure(nextafter(0.9, 0.0))


def test_a_fit_without_a_threshold_is_never_sure() -> None:
    assert not Fit(0.0, ((SCORE, 1.0),), None).sure(1.0)


@given(st.lists(probabilities, min_size=1, max_size=40), st.floats(0.05, 3))
def test_a_whole_answer_is_a_probability_and_no_more_probable_with_another_claim(
    supported: list[float], exponent: float
) -> None:
    fit = Fit(0.0, ((SCORE, 1.0),), 0.9)
    model = CertaintyModel(fit, fit, fit, exponent=exponent)
    whole = model.grounded(supported)
    assert 0.0 <= whole <= 1.0
    assert model.grounded([*supported, 0.5]) <= whole


@given(st.floats(allow_nan=False))
@example(1e4)
@example(-1e4)
def test_the_logistic_function_overflows_nowhere(x: float) -> None:
    assert 0.0 <= logistic(x) <= 1.0
