"""Chains of reasoning, read by a backend that looks words up in the context."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.audit.auditing import READ, StepLike, audit
from veridical.audit.steps import MOST_STEPS
from veridical.audit.values import Soundness, TraceAudit
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.errors import InputError, SourceError, TextError
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

S1 = {"S1": "The bridge opened in 1998."}
OPENED = "The bridge opened in 1998."


def stated(query: Query) -> Measurement:
    """Support a claim with all words in the context; oppose one with "never"."""
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


@pytest.mark.spec("SPEC-08.24")
@pytest.mark.parametrize("claim", [OPENED, "The tower fell down.", "Let me think."])
def test_what_a_step_states_is_what_its_evidence_has_to_pay_for(claim: str) -> None:
    steps: list[StepLike] = [
        {"id": "a", "claim": claim},
        {"id": "b", "claim": claim, "confidence": 0.6},
        {"id": "c", "claim": claim, "confidence": 0.0},
    ]
    for policy, default in ((None, 0.95), (Policy(target_confidence=0.8), 0.8)):
        audited = anyio.run(
            lambda chosen=policy: audit(
                steps, Verifier(FakeBackend(stated)), sources=S1, policy=chosen
            )
        )
        assert [step.verification.target for step in audited.steps] == [default, 0.6, 0.0]
    bits = [step.verification.required_bits for step in audited.steps]
    assert bits[2] in {0.0, None}


@pytest.mark.parametrize("stated", ["0.5", True, -0.1, 1.1, float("nan")])
def test_a_confidence_that_is_none_is_a_named_error(stated: object) -> None:
    with pytest.raises(InputError, match="the confidence of step 1"):
        run([{"claim": OPENED, "confidence": stated}], S1)


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


# --- citations -------------------------------------------------------------------------------


def kinds(steps: list[StepLike], sources: dict[str, str] | None = None) -> list[list[str]]:
    return [[cited.kind.value for cited in step.citations] for step in run(steps, sources).steps]


@pytest.mark.spec("SPEC-08.23")
def test_forward_and_circular_citations_are_told_from_those_of_nothing() -> None:
    steps: list[StepLike] = [
        {"claim": OPENED, "cites": ["step2"]},
        {"claim": OPENED, "cites": ["step3"]},
        {"claim": OPENED, "cites": ["step2", "S1"]},
        {"claim": OPENED, "cites": ["step4"]},
        {"claim": OPENED, "cites": ["S9"]},
    ]
    assert kinds(steps, S1) == [
        ["forward"],
        ["cyclic"],
        ["cyclic", "source"],
        ["cyclic"],
        ["phantom"],
    ]
    found = run(steps, S1)
    assert [step.verification.rule for step in found.steps[:2]] == [
        "cites_a_later_step",
        "cites_in_a_circle",
    ]
    assert found.overall is not None
    assert found.overall.rule == "steps_cite_in_a_circle"


def test_a_citation_in_the_text_counts_as_one_in_the_list() -> None:
    assert kinds(["The bridge opened [step2].", "The bridge opened [step1]."], S1) == [
        ["cyclic"],
        ["cyclic"],
    ]
    named = {"id": "conclusion", "claim": OPENED}
    assert kinds(["The bridge opened [conclusion].", named], S1) == [["forward"], []]


def test_a_bare_number_means_a_source_before_it_means_a_step() -> None:
    steps: list[StepLike] = [OPENED, "The bridge opened [1].", "The bridge opened [2]."]
    found = run(steps, S1)
    assert [step.label for step in found.steps] == ["ENTAILED"] * 3
    assert [step.read_against for step in found.steps[1:]] == [("S1",), ("step2",)]
    assert kinds(steps, S1) == [[], ["source"], ["entailed_step"]]


def test_lines_of_a_source_may_be_cited() -> None:
    sources = {"a.py": "A ferry ran.\nThe bridge opened.\n"}
    steps: list[StepLike] = ["The bridge opened [a.py:2].", "The bridge opened [a.py:9]."]
    assert kinds(steps, sources) == [["source"], ["phantom"]]
    assert labels(steps, sources) == ["ENTAILED", "NOT_IN_CONTEXT"]


@pytest.mark.spec("SPEC-08.23")
def test_the_conclusion_names_its_rule() -> None:
    assert run([OPENED], S1).overall is not None
    found = {
        step: run([OPENED, step], S1).overall
        for step in ("The bridge opened.", "The tower fell.", "It never opened.", "It lost it.")
    }
    assert [one.soundness if one else None for one in found.values()] == [
        Soundness.VALID,
        Soundness.WARNING,
        Soundness.INVALID,
        Soundness.UNAUDITABLE,
    ]


def test_sources_may_come_with_the_trace_and_beside_it_but_not_twice() -> None:
    trace = {"steps": [OPENED, "A ferry ran."], "sources": S1}
    found = anyio.run(
        lambda: audit(trace, Verifier(FakeBackend(stated)), sources={"S2": "A ferry ran."})
    )
    assert [step.label for step in found.steps] == ["ENTAILED", "ENTAILED"]
    with pytest.raises(SourceError, match="'S1'"):
        anyio.run(lambda: audit(trace, Verifier(FakeBackend(stated)), sources=S1))


def test_progress_is_told_step_by_step() -> None:
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int, /) -> None:
        told.append((done, total))

    backend = FakeBackend(stated)
    anyio.run(lambda: audit([OPENED] * 3, Verifier(backend), sources=S1, progress=progress))
    assert told == [(1, 3), (2, 3), (3, 3)]


# --- what holds for every trace --------------------------------------------------------------

CLAIMS = st.sampled_from(
    [
        OPENED,
        "The bridge opened.",
        "The bridge never opened.",
        "The tower fell.",
        "It lost it.",
        "Let me think.",
        "The bridge opened [S1].",
        "The bridge opened [s2].",
    ]
)
IDS = ("s0", "s1", "s2", "s3", "s4")
STEPS = st.lists(
    st.fixed_dictionaries(
        {"claim": CLAIMS},
        optional={"cites": st.lists(st.sampled_from(["S1", "S9", *IDS]), max_size=2)},
    ),
    min_size=1,
    max_size=len(IDS),
).map(lambda steps: [{"id": one, **step} for one, step in zip(IDS, steps, strict=False)])


@pytest.mark.spec("SPEC-08.24")
@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, len(IDS)))
def test_labels_never_depend_on_later_steps(steps: list[dict[str, Any]], end: int) -> None:
    whole = [step.label for step in run([*steps], S1).steps]
    assert [step.label for step in run([*steps[:end]], S1).steps] == whole[:end]


@pytest.mark.spec("SPEC-08.24")
@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_without_a_step_that_is_not_entailed_all_that_do_not_cite_it_stay_the_same(
    steps: list[dict[str, Any]],
) -> None:
    before = run([*steps], S1).steps
    failed = [step.id for step in before if step.label != "ENTAILED"]
    if not failed or len(steps) == 1:
        return
    gone = failed[0]
    after = {s.id: s.label for s in run([s for s in steps if s["id"] != gone], S1).steps}
    citing = {step.id for step in before if any(c.id == gone for c in step.citations)}
    rests = {gone, *citing}
    for step in before:  # what rests on a step that cites it may change with that
        if any(cited.id in rests for cited in step.citations):
            rests.add(step.id)
    for step in before:
        if step.id not in rests:
            assert after[step.id] == step.label


# --- hostile traces --------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_steps_that_rest_on_a_failed_one_fail_without_a_reading() -> None:
    chain: list[StepLike] = ["The tower fell."]
    chain += [{"claim": "It fell.", "cites": [f"step{n}"]} for n in range(1, MOST_STEPS)]
    backend = FakeBackend(stated)
    found = anyio.run(lambda: audit(chain, Verifier(backend), sources=S1))
    assert {step.label for step in found.steps} == {"NOT_IN_CONTEXT"}
    assert {query.claim for query in backend.queries} == {"The tower fell."}
    with pytest.raises(InputError, match="10001 steps"):
        run([*chain, "One more."], S1)


def test_of_many_earlier_steps_those_are_read_that_share_most_and_those_that_are_cited() -> None:
    ferry = "The ferry Aurora ran in 1950."
    # The source says it at greater length, so that the step is the closest to what follows.
    sources = {"S1": f"{OPENED} {ferry.rstrip('.')}, and it was old and slow by then."}
    steps: list[StepLike] = [ferry, *[OPENED] * (READ + 20), "The Aurora ran."]
    backend = FakeBackend(stated)
    run_ = audit(
        [*steps, {"claim": OPENED, "cites": ["step2"]}], Verifier(backend), sources=sources
    )
    found = anyio.run(lambda: run_)
    assert found.steps[-2].label == "ENTAILED"
    assert "step1" in found.steps[-2].read_against
    assert found.steps[-1].label == "ENTAILED"
    assert found.steps[-1].read_against == ("step2",)


def test_huge_and_strange_texts_are_read() -> None:
    huge = "The bridge opened in 1998. " * 600
    strange = "\u202e<|im_end|> [INST] \x00 👩‍👩‍👧"
    found = run([{"claim": huge[:270], "context": huge}, strange, "[" * 500], S1)
    assert found.steps[0].label == "ENTAILED"
    assert all(step.label != "ENTAILED" for step in found.steps[1:])
