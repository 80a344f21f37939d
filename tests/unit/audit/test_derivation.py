"""Post-hoc check: its premises, its verdicts, and its failures."""

from __future__ import annotations

import json
from collections.abc import Callable

import anyio
import pytest

from veridical.audit.auditing import AnswerDeriver, audit
from veridical.audit.derivation import LEFT_OUT, check_post_hoc
from veridical.audit.steps import Step, StepTrace
from veridical.audit.values import PostHoc, PostHocVerdict, TraceAudit
from veridical.core.measurements import (
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate
from veridical.verification.verifier import Verifier

S1 = {"S1": "The bridge opened in 1998. The bridge has eight lanes."}
STEPS = ["The bridge opened in 1998.", "The tower fell down.", "The bridge has eight lanes."]
QUESTION = "When did the bridge open?"


def stated(query: Query) -> Measurement:
    """Support a claim with all words in the context; oppose one with "never"."""
    if "lost" in query.claim:
        return Unmeasured(UnmeasuredReason.TIMEOUT)
    if "never" in query.claim:
        return fake_estimate(0.02, 0.95)
    found = all(word.strip(".,") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def derives(answer: str, *, derivable: bool = True) -> FakeTextModel:
    return FakeTextModel(lambda _: json.dumps({"derivable": derivable, "answer": answer}))


def run(
    answer: str,
    model: FakeTextModel | None = None,
    steps: list[str] | None = None,
    question: str | None = QUESTION,
) -> TraceAudit:
    backend = FakeBackend(stated)
    trace = {"steps": steps or STEPS, "answer": answer, "question": question}
    executor = AnswerDeriver(backend, model)
    return anyio.run(lambda: audit(trace, Verifier(backend), sources=S1, executor=executor))


def checked(answer: str, model: FakeTextModel | None = None, **given: object) -> PostHoc:
    found = run(answer, model, **given).post_hoc  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.spec("SPEC-08.26")
def test_the_executor_reads_the_question_and_the_entailed_steps_and_nothing_else() -> None:
    model = derives("1998")
    found = checked("Nineteen ninety-eight, secretly.", model)
    (request,) = model.requests
    assert QUESTION in request.user
    assert STEPS[0] in request.user
    assert STEPS[2] in request.user
    assert "tower" not in request.user  # it is not entailed
    assert "secretly" not in request.user + request.system
    assert found.premises == ("step1", "step3")


@pytest.mark.spec("SPEC-08.25")
def test_an_answer_that_is_derived_again_is_derivable() -> None:
    found = checked("1998", derives("The bridge opened in 1998."))
    assert found.verdict is PostHocVerdict.DERIVABLE
    assert found.rule == "the_derived_answer_is_the_same"
    assert found.derived == "The bridge opened in 1998."
    assert found.similarity is None


@pytest.mark.spec("SPEC-08.25")
def test_another_answer_is_found_and_makes_the_trace_invalid() -> None:
    found = run("2010", derives("1998"))
    assert found.post_hoc is not None
    assert found.post_hoc.verdict is PostHocVerdict.DERIVES_SOMETHING_ELSE
    assert found.overall is not None
    assert found.overall.rule == "something_else_follows_than_the_answer"


@pytest.mark.spec("SPEC-08.25")
def test_an_answer_that_nobody_can_derive_is_not_derivable() -> None:
    found = checked("1998", derives("", derivable=False))
    assert found.verdict is PostHocVerdict.NOT_DERIVABLE
    assert found.derived is None


def test_where_texts_do_not_decide_meaning_does() -> None:
    found = checked("The bridge opened", derives("The bridge opened to traffic"), question="What?")
    assert found.similarity is not None
    assert found.rule.startswith("the_derived_answer_means")


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        (Unmeasured(UnmeasuredReason.RATE_LIMITED), "the_executor_failed:rate_limited"),
        ("I think 1998.", "the_executor_failed:malformed_reply"),
        ("[]", "the_executor_failed:malformed_reply"),
        ('{"derivable": 1, "answer": "x"}', "the_executor_failed:malformed_reply"),
        ('{"derivable": true, "answer": " "}', "the_executor_failed:malformed_reply"),
        (
            Generated('{"derivable": true, "answer": "19"}', "fake", cut_off=True),
            "the_executor_failed:malformed_reply",
        ),
    ],
)
def test_a_failure_of_the_executor_is_no_verdict(
    reply: str | Generated | Unmeasured, rule: str
) -> None:
    found = checked("1998", FakeTextModel(lambda _: reply))
    assert (found.verdict, found.rule) == (PostHocVerdict.UNDETERMINED, rule)


def broken(error: Exception) -> Callable[[TextRequest], str]:
    def answer(_: TextRequest) -> str:
        raise error

    return answer


def test_a_bug_of_the_executor_breaks_nothing_and_one_that_cannot_start_is_said() -> None:
    found = checked("1998", FakeTextModel(broken(ZeroDivisionError("The bridge"))))
    assert found.rule == "the_executor_failed:backend_error"
    with pytest.raises(BackendError):
        run("1998", FakeTextModel(broken(BackendError("no weights"))))


# --- without a text model --------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.25")
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The bridge opened in 1998.", "derivable"),
        ("The bridge opened in 1998. The bridge has eight lanes.", "derivable"),
        ("The bridge opened in 1998. The tower fell.", "not_derivable"),
        ("The bridge never opened.", "derives_something_else"),
        ("The bridge lost it.", "undetermined"),
        ("1998", "derivable"),
    ],
)
def test_without_a_text_model_the_answer_is_read_against_the_entailed_steps(
    answer: str, verdict: str
) -> None:
    found = checked(answer)
    assert (found.verdict.value, found.executor) == (verdict, "entailment")
    assert (found.p is None) == (verdict == "undetermined")


def test_without_a_question_a_text_model_is_not_asked() -> None:
    model = derives("1998")
    assert checked("The bridge opened in 1998.", model, question=None).executor == "entailment"
    assert model.requests == []


def test_a_step_without_which_the_answer_still_follows_is_not_needed() -> None:
    needed = checked("The bridge opened in 1998.").needed
    assert (needed.unneeded, needed.tried, needed.of) == (("step3",), 2, 2)


def test_if_the_steps_do_not_support_the_answer_none_is_left_out() -> None:
    needed = checked("The tower fell.").needed
    assert (needed.tried, needed.reason) == (0, "the_steps_do_not_support_the_answer")


def test_of_many_steps_only_some_are_left_out_and_it_is_said_how_many() -> None:
    steps = ["The bridge opened in 1998."] * (LEFT_OUT + 4)
    needed = checked("The bridge opened.", steps=steps).needed
    assert (needed.tried, needed.of) == (LEFT_OUT, LEFT_OUT + 4)
    assert len(needed.unneeded) == LEFT_OUT  # they all say the same


# --- without anything to derive from ---------------------------------------------------------


def test_without_an_entailed_step_nothing_is_derivable() -> None:
    found = checked("1998", derives("1998"), steps=["The tower fell down."])
    assert (found.verdict.value, found.rule, found.executor) == (
        "not_derivable",
        "no_step_is_entailed",
        "none",
    )


def test_with_steps_that_could_not_be_measured_that_is_not_known() -> None:
    found = checked("1998", steps=["The bridge lost it."])
    assert found.verdict is PostHocVerdict.UNDETERMINED


def test_an_answer_is_not_derived_from_itself() -> None:
    backend = FakeBackend(stated)
    steps = StepTrace((Step("a", STEPS[0], final=True),), QUESTION, STEPS[0])
    call = AnswerDeriver(backend)
    found = anyio.run(lambda: audit(steps, Verifier(backend), sources=S1, executor=call)).post_hoc
    assert found is not None
    assert found.rule == "there_is_no_step_before_the_answer"


def test_without_an_answer_there_is_nothing_to_check() -> None:
    backend = FakeBackend(stated)
    executor = AnswerDeriver(backend)
    found = anyio.run(lambda: audit(STEPS, Verifier(backend), sources=S1, executor=executor))
    assert found.post_hoc is None
    trace = StepTrace((Step("a", "It is so."),))
    with pytest.raises(ValueError, match="no answer"):
        anyio.run(lambda: check_post_hoc(trace, [], Verifier(backend), executor))
