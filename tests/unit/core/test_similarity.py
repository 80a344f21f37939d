from __future__ import annotations

import json

import pytest

from veridical.core.similarity import Consistency, Contradictions, Dependence, Measure, Similarity
from veridical.errors import BackendError, UnmeasuredError


def test_a_measure_has_a_value_or_a_reason_never_both_and_never_neither() -> None:
    for value, reason in ((None, None), (0.5, "timeout")):
        with pytest.raises(ValueError, match="or the reason"):
            Measure(value=value, reason=reason)


@pytest.mark.spec("SPEC-16.04")
def test_a_dependence_is_a_float_where_it_was_measured() -> None:
    assert float(Dependence(value=0.25, method="scrubbing")) == 0.25


def test_what_was_not_measured_is_no_float_but_a_named_error() -> None:
    lost = Dependence(value=None, reason="rate_limited", method="re_asking")
    with pytest.raises(UnmeasuredError, match="rate_limited") as caught:
        float(lost)
    assert caught.value.reason == "rate_limited"
    assert isinstance(caught.value, BackendError)
    assert str(lost) == "not measured: rate_limited (by re asking)"


@pytest.mark.parametrize(
    "measure",
    [
        Similarity(value=0.5, forward=0.4, backward=0.6),
        Dependence(value=None, reason="timeout", method="re_asking"),
        Consistency(value=1.0, method="rules", wordings=("a", "b"), probabilities=(0.5, None)),
        Contradictions((), 0, 0),
    ],
)
def test_measures_are_strict_json_with_a_schema(measure: Similarity) -> None:
    document = json.loads(json.dumps(measure.to_dict(), allow_nan=False))
    assert document["schema"].startswith("veridical.")


def test_reprs_hold_no_text() -> None:
    dependence = Dependence(value=0.5, method="re_asking", answer_without="SECRET")
    consistency = Consistency(value=1.0, method="rules", wordings=("SECRET",))
    assert "SECRET" not in repr(dependence) + repr(consistency)
    assert "1 wordings by rules" in str(consistency)
