"""Chains of reasoning, read by a backend that looks words up in the context."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.auditing import StepLike, audit
from veridical.core.epistemic import TraceAudit
from veridical.core.types import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import InputError, SourceError, TextError
from veridical.testing import FakeBackend, fake_estimate
from veridical.verifier import Verifier

S1 = {"S1": "The bridge opened in 1998."}
OPENED = "The bridge opened in 1998."


def stated(query: Query) -> Measurement:
    """Support a claim whose words all stand in the context; oppose one that says never."""
    if "lost" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    if "never" in query.claim:
        return fake_estimate(0.02, 0.95)
    found = all(word.strip(".,") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def run(steps: list[StepLike], sources: dict[str, str] | None = None) -> TraceAudit:
    return anyio.run(lambda: audit(steps, Verifier(FakeBackend(stated)), sources=sources))


def labels(steps: list[StepLike], sources: dict[str, str] | None = None) -> list[str | None]:
    return [step.label for step in run(steps, sources).steps]


@pytest.mark.spec("SPEC-08.31")
@pytest.mark.spec("SPEC-08.24")
def test_each_step_gets_one_of_the_four_labels() -> None:
    steps: list[StepLike] = [
        OPENED,
        "The bridge never opened.",
        "The tower fell down.",
        "Let me think.",
    ]
    expected = ["ENTAILED", "CONTRADICTED", "NOT_IN_CONTEXT", "UNVERIFIABLE"]
    assert labels(steps, S1) == expected
    assert run(steps, S1).first_error is not None
    assert run(steps, S1).steps[1] == run(steps, S1).first_error


def test_a_step_may_rest_on_an_earlier_one_that_is_entailed() -> None:
    steps: list[StepLike] = [OPENED, {"claim": "The bridge opened.", "cites": ["step1"]}]
    found = run(steps, S1)
    assert [step.label for step in found.steps] == ["ENTAILED", "ENTAILED"]
    assert found.steps[1].read_against == ("step1",)


def test_a_step_never_rests_on_one_that_failed() -> None:
    steps: list[StepLike] = [
        "The tower fell down.",
        {"claim": "The tower fell.", "cites": ["step1"]},
        "The tower fell.",
    ]
    found = run(steps, S1)
    assert [step.label for step in found.steps] == ["NOT_IN_CONTEXT"] * 3
    assert found.steps[1].verification.rule == "rests_on_a_step_that_is_not_entailed"
    assert found.steps[1].verification.p1 is None


def test_a_step_that_rests_on_an_unmeasured_one_is_unmeasured_too() -> None:
    found = run(["The bridge lost it.", {"claim": "The bridge opened.", "cites": ["step1"]}], S1)
    assert [step.label for step in found.steps] == [None, None]
    assert found.undetermined == 2
    assert found.first_error is None


@pytest.mark.spec("SPEC-16.03")
@pytest.mark.parametrize("cited", ["step1", "step2", "S9"])
def test_citing_itself_a_later_step_or_nothing_that_exists_is_a_phantom(cited: str) -> None:
    found = run([{"claim": OPENED, "cites": [cited]}, OPENED], S1).steps[0]
    assert found.verification.status == "phantom_citation"
    assert found.verification.flag_reason == "phantom_citation"


def test_a_failed_step_beside_a_sound_source_is_left_out_and_the_source_counts() -> None:
    steps: list[StepLike] = ["The tower fell.", {"claim": OPENED, "cites": ["step1", "S1"]}]
    assert labels(steps, S1) == ["NOT_IN_CONTEXT", "ENTAILED"]


def test_what_a_step_cites_narrows_down_what_it_is_read_against() -> None:
    sources = S1 | {"S2": "A ferry ran."}
    assert labels([{"claim": "A ferry ran.", "cites": ["S1"]}], sources) == ["NOT_IN_CONTEXT"]
    assert labels(["A ferry ran [S1].", "A ferry ran [S2]."], sources) == [
        "NOT_IN_CONTEXT",
        "ENTAILED",
    ]


def test_the_context_of_a_step_counts_for_it_and_for_later_ones_only() -> None:
    given = {"claim": "A ferry ran.", "context": "A ferry ran."}
    assert labels(["A ferry ran.", given, "A ferry ran."]) == [
        "NOT_IN_CONTEXT",
        "ENTAILED",
        "ENTAILED",
    ]
    assert labels([{"claim": "A ferry ran.", "context": ["x", "A ferry ran."]}]) == ["ENTAILED"]
    assert labels([{"claim": "It ran [log].", "context": {"log": "It ran"}}]) == ["ENTAILED"]


def test_with_nothing_to_rest_on_nothing_is_entailed_and_no_model_is_asked() -> None:
    backend = FakeBackend(stated)
    found = anyio.run(lambda: audit([OPENED, "It ran [S1]."], Verifier(backend)))
    assert [step.verification.rule for step in found.steps] == [
        "nothing_to_rest_on",
        "cited_id_does_not_exist",
    ]
    assert [step.label for step in found.steps] == ["NOT_IN_CONTEXT"] * 2
    assert backend.queries == []


def test_the_worst_claim_of_a_step_decides_and_all_are_kept() -> None:
    (step,) = run(["The bridge opened in 1998. The bridge never opened."], S1).steps
    assert step.label == "CONTRADICTED"
    assert [claim.status for claim in step.claims] == ["supported", "contradicted"]
    assert step.verification.claim_id == "step1"


def test_steps_may_have_ids_of_their_own() -> None:
    found = run([{"id": "premise", "claim": OPENED}, "The bridge opened [premise]."], S1)
    assert [(step.id, step.label) for step in found.steps] == [
        ("premise", "ENTAILED"),
        ("step2", "ENTAILED"),
    ]


_STEPS = st.lists(
    st.sampled_from(
        [
            OPENED,
            "The bridge never opened.",
            "The bridge lost it.",
            "Let me think.",
            "The bridge opened [step1].",
            "The bridge opened [step3].",
        ]
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.spec("SPEC-16.37")
@given(_STEPS, _STEPS)
def test_what_comes_later_never_changes_an_earlier_label(
    first: list[str], later: list[str]
) -> None:
    assert labels([*first, *later], S1)[: len(first)] == labels([*first], S1)


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([], InputError),
        ("one step", InputError),
        ([3], InputError),
        ([{"text": "x"}], InputError),
        ([{"claim": "x", "cite": ["S1"]}], InputError),
        ([{"claim": "x", "cites": "S1"}], InputError),
        ([{"claim": "x", "cites": [1]}], InputError),
        ([{"claim": ""}], TextError),
        ([{"claim": "x", "id": 3}], TextError),
        ([{"claim": "x", "context": 3}], SourceError),
        ([{"claim": "x", "id": "S1"}], SourceError),
        ([{"claim": "x", "id": "a"}, {"claim": "y", "id": "a"}], SourceError),
    ],
)
def test_steps_of_another_shape_are_named_errors(steps: list[StepLike], error: type) -> None:
    with pytest.raises(error):
        run(steps, S1)
