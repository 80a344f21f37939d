"""A policy is valid or does not exist, and never changes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, replace
from math import inf, nan
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.certainty import CertaintyModel, Fit
from veridical.core.measurements import BackendInfo, Estimator, Reads
from veridical.core.policy import Policy
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_PROBABILITIES = [nan, inf, -inf, -0.1, 1.1, 70, True, "0.7", [], 0.5j]
NOT_WINDOWS = [-1, True, 3.0, nan, "ALL", "", []]
BACKEND = BackendInfo("b", "m", Estimator.CROSS_ENCODER, "f", 0.6, 0.4)


def changed(fields: Mapping[str, object]) -> Policy:
    return replace(Policy(), **cast("dict[str, Any]", fields))


def test_defaults_are_those_of_the_documentation() -> None:
    assert asdict(Policy()) == {
        "support_threshold": None,
        "contradiction_threshold": None,
        "dependence_threshold": 0.3,
        "target_confidence": 0.95,
        "windows": None,
        "mode": "full",
        "sample_rate": 0.3,
        "max_claims": None,
        "gap_threshold_bits": 2.0,
        "fail_on": None,
        "seed": 0,
        "parallel": True,
    }


@pytest.mark.parametrize("wrong", NOT_PROBABILITIES, ids=repr)
@pytest.mark.parametrize(
    "name",
    [
        "support_threshold",
        "contradiction_threshold",
        "dependence_threshold",
        "target_confidence",
        "sample_rate",
    ],
)
def test_what_should_be_a_probability_and_is_none_is_refused(name: str, wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} must be a number from 0 to 1") as caught:
        changed({name: wrong})
    assert caught.value.hint == "Probabilities run from 0 to 1"


@pytest.mark.parametrize("wrong", ["unsure", "SURE", True, ["any"]], ids=repr)
def test_a_gate_can_fail_on_three_things_only(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^fail_on must be one of any, sure") as caught:
        changed({"fail_on": wrong})
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Leave it out for the default: sure")


def test_a_gate_that_cannot_tell_what_is_sure_closes_unless_told_otherwise() -> None:
    nothing = Fit(0.0, (("score", 1.0),), None)
    blind = CertaintyModel(nothing, nothing, nothing)
    sees = CertaintyModel(nothing, Fit(0.0, (("score", 1.0),), 0.95), nothing)
    for certainty, default in ((None, "sure"), (blind, "any"), (sees, "sure")):
        backend = replace(BACKEND, certainty=certainty)
        assert Policy().resolved(backend).fail_on == default
        assert Policy(fail_on="sure").resolved(backend).fail_on == "sure"


@pytest.mark.parametrize("name", ["dependence_threshold", "target_confidence"])
def test_a_threshold_no_backend_sets_cannot_be_left_out(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} must"):
        changed({name: None})


@pytest.mark.parametrize("wrong", NOT_WINDOWS, ids=repr)
def test_a_number_of_windows_below_zero_or_not_whole_is_refused(wrong: int) -> None:
    with pytest.raises(ConfigurationError, match=r"^windows must be"):
        Policy(windows=wrong)


@pytest.mark.parametrize("edge", [0, 1, 0.0, 1.0])
def test_the_edges_of_a_probability_are_accepted(edge: float) -> None:
    policy = Policy(support_threshold=edge, dependence_threshold=edge, target_confidence=edge)
    assert policy.support_threshold == edge


@pytest.mark.parametrize("accepted", [None, 0, 1, "all"])
def test_no_window_and_all_of_them_are_accepted(accepted: int | Literal["all"] | None) -> None:
    assert Policy(windows=accepted).windows == accepted


def test_a_policy_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Policy().windows = 1  # type: ignore[misc]  # this is what is tested


@given(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1))
def test_resolving_fills_in_only_what_the_policy_leaves_open(
    support: float | None, contradiction: float | None
) -> None:
    policy = Policy(support_threshold=support, contradiction_threshold=contradiction, windows=7)
    resolved = policy.resolved(BACKEND)
    assert resolved.support_threshold == (0.6 if support is None else support)
    assert resolved.contradiction_threshold == (0.4 if contradiction is None else contradiction)
    assert replace(
        resolved,
        support_threshold=support,
        contradiction_threshold=contradiction,
        fail_on=None,
    ) == policy  # fmt: skip
    assert resolved.resolved(BACKEND) == resolved


@pytest.mark.parametrize(
    ("reads", "windows"), [(Reads.PASSAGES, 0), (Reads.WHOLE, 2), (Reads.BOTH, 2)]
)
def test_only_who_reads_passages_one_by_one_reads_short_ones_by_default(
    reads: Reads, windows: int
) -> None:
    assert Policy().resolved(replace(BACKEND, reads=reads)).windows == windows
    assert Policy(windows=1).resolved(replace(BACKEND, reads=reads)).windows == 1


def test_resolving_refuses_a_backend_with_wrong_thresholds() -> None:
    with pytest.raises(ConfigurationError):
        Policy().resolved(replace(BACKEND, support_threshold=7.0))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("windows", -1),
        ("mode", "half"),
        ("max_claims", 0),
        ("max_claims", True),
        ("gap_threshold_bits", -1),
        ("gap_threshold_bits", nan),
        ("gap_threshold_bits", True),
        ("gap_threshold_bits", "2"),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", True),
        ("parallel", 1),
    ],
)
def test_a_mode_or_limit_out_of_range_is_refused_with_its_name_and_its_default(
    name: str, wrong: object
) -> None:
    default = str(getattr(Policy(), name)).removesuffix(".0")
    with pytest.raises(ConfigurationError, match=f"^{name} must be ") as caught:
        changed({name: wrong})
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"{default} is the default")


def test_a_refused_mode_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"one of full, sample, critical_only\."):
        changed({"mode": "half"})
