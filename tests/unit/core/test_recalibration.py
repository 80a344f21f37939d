from __future__ import annotations

import json
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import BackendInfo, Estimate, Estimator
from veridical.core.recalibration import (
    Recalibration,
    from_document,
    temper,
    tempered,
    to_document,
)
from veridical.errors import ConfigurationError
from veridical.testing import FAKE, fake_estimate

probabilities = st.floats(0.0, 1.0)
temperatures = st.floats(0.1, 10.0)
FITTED = Recalibration("f1", "embedded", "m", 0.4, 2.0)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """Return any distribution, or any yes or no, with any interval around it."""
    supported = draw(probabilities)
    share = draw(st.none() | probabilities)
    contradicted = None if share is None else share * (1 - supported)
    return Estimate(
        supported=supported,
        contradicted=contradicted,
        not_in_context=None if contradicted is None else 1 - supported - contradicted,
        low=supported * draw(probabilities),
        high=supported + (1 - supported) * draw(probabilities),
        estimator=Estimator.CROSS_ENCODER,
        model="m",
        fingerprint="f1",
    )


@given(st.floats(0.01, 0.99), temperatures)
def test_a_temperature_divides_the_log_odds(p: float, temperature: float) -> None:
    found = temper(p, temperature)
    if 1e-12 < found < 1 - 1e-12:
        expected = log(p / (1 - p)) / temperature
        assert log(found / (1 - found)) == pytest.approx(expected, abs=1e-3, rel=1e-6)


@given(probabilities, probabilities, temperatures)
def test_a_temperature_keeps_the_order(p: float, q: float, temperature: float) -> None:
    low, high = sorted((p, q))
    assert temper(low, temperature) <= temper(high, temperature) + 1e-15


@given(st.floats(0.001, 0.999), temperatures)
def test_the_inverse_temperature_takes_it_back(p: float, temperature: float) -> None:
    found = temper(p, temperature)
    if 1e-9 < found < 1 - 1e-9:
        assert temper(found, 1 / temperature) == pytest.approx(p, abs=1e-5)


@given(estimates(), temperatures)
def test_what_comes_out_is_an_estimate(estimate: Estimate, temperature: float) -> None:
    found = tempered(estimate, temperature)  # its own checks hold: sums to 1, interval around it
    assert found.estimator is estimate.estimator
    assert (found.contradicted is None) == (estimate.contradicted is None)


@given(estimates())
def test_a_temperature_of_1_changes_nothing(estimate: Estimate) -> None:
    assert tempered(estimate, 1.0) is estimate


def test_the_other_two_outcomes_keep_their_shares() -> None:
    found = tempered(fake_estimate(0.9, 0.075), 2.0)
    assert (found.supported, found.contradicted) == (pytest.approx(0.75), pytest.approx(0.1875))


def test_another_temperature_makes_another_backend_a_threshold_does_not() -> None:
    info = BackendInfo("embedded", "m", Estimator.CROSS_ENCODER, "f1")
    only_threshold = Recalibration("f1", "embedded", "m", 0.4)
    assert only_threshold.applied(info).fingerprint == "f1"
    assert only_threshold.applied(info).support_threshold == 0.4
    assert FITTED.applied(info).fingerprint not in {"f1", only_threshold.applied_fingerprint}
    assert FITTED.measured(fake_estimate(0.5)).fingerprint == FITTED.applied_fingerprint
    assert FITTED.applied(FAKE).contradiction_threshold == FAKE.contradiction_threshold


# --- as a file -------------------------------------------------------------------------------


@given(st.text(min_size=1), probabilities, temperatures)
def test_a_file_holds_what_was_written(
    fingerprint: str, threshold: float, temperature: float
) -> None:
    one = Recalibration(fingerprint, "embedded", "m", threshold, temperature)
    text = json.dumps(to_document(one, {"marks": 3}))
    assert from_document(json.loads(text), "x.json") == {fingerprint: one}


def test_what_a_file_has_for_other_backends_stays() -> None:
    other = Recalibration("f0", "openai", "gpt", 0.6)
    document = to_document(FITTED, {"marks": 4}, to_document(other, {"marks": 3}))
    assert from_document(document, "x.json") == {"f0": other, "f1": FITTED}
    assert [one["grounds"] for one in document["backends"].values()] == [{"marks": 3}, {"marks": 4}]


GOOD = to_document(FITTED, {})["backends"]["f1"]


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"schema": "veridical.report/1"},
        {"schema": "veridical.calibration/1"},
        {"schema": "veridical.calibration/1", "backends": []},
        *(
            {"schema": "veridical.calibration/1", "backends": {"f1": entry}}
            for entry in (
                None,
                {},
                GOOD | {"fingerprint": "f2"},
                GOOD | {"backend": 3},
                GOOD | {"support_threshold": 1.5},
                GOOD | {"support_threshold": None},
                GOOD | {"temperature": 0},
                GOOD | {"temperature": float("inf")},
                GOOD | {"temperature": "SECRET"},
            )
        ),
    ],
)
def test_another_file_is_a_named_error(document: object) -> None:
    with pytest.raises(ConfigurationError, match=r"x\.json is not a calibration file") as caught:
        from_document(document, "x.json")
    assert "SECRET" not in str(caught.value)
