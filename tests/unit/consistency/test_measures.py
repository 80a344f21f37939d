"""Asking again: formulas on made-up probabilities, and the embedded model where meaning counts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest

from veridical.consistency.measures import (
    ConsistencyChecker,
    answer_consistency,
    answer_without_evidence,
    contradictions,
)
from veridical.core.measurements import (
    UNKNOWN,
    BackendInfo,
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import Backend, TextModel
from veridical.errors import ConfigurationError, TextError
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, FakeTextModel, fake_estimate
from veridical.verification.verifier import Verifier
from veridical.wiring.build import build_backend

T = TypeVar("T")
SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
LOST = Unmeasured(UnmeasuredReason.RATE_LIMITED)


def wait(call: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(call)


def reasker(
    answer: Callable[[Query], Measurement], model: TextModel | None = None
) -> ConsistencyChecker:
    backend = FakeBackend(answer)
    return ConsistencyChecker(Verifier(backend), backend, model)


@pytest.fixture(scope="module")
def embedded() -> Backend:
    return build_backend(Settings(threads=1), "embedded")


# --- dependence ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.04")
def test_an_answer_that_comes_back_without_the_evidence_does_not_depend_on_it() -> None:
    model = FakeTextModel(lambda request: "1998." if SOURCE in request.user else "In 1998.")
    found = wait(
        lambda: reasker(lambda _: fake_estimate(0.9), model).evidence_dependence(
            "When did it open?", "It opened in 1998.", [SOURCE]
        )
    )
    assert found.method == "re_asking"
    assert (found.answer_with, found.answer_without) == ("1998.", "In 1998.")
    assert float(found) == pytest.approx(0.1)


def reads(request: TextRequest) -> str:
    """Answer from the evidence if it mentions lanes, else from common knowledge."""
    if "eight lanes" in request.user:
        return "It carries eight lanes."
    return "Bananas are yellow." if "banana" in request.user else "I do not know."


@pytest.mark.spec("SPEC-16.04")
@pytest.mark.parametrize(
    ("question", "answer", "evidence", "depends"),
    [
        ("How many lanes?", "It carries eight lanes.", "It carries eight lanes.", True),
        ("How many lanes?", "It carries eight lanes.", "It opened in 1998.", False),
        ("What colour is a banana?", "Bananas are yellow.", "It opened in 1998.", False),
        ("What colour is a banana?", "Bananas are yellow.", "It carries eight lanes.", False),
        ("How many lanes?", "The bridge was built by Romans.", "It carries eight lanes.", False),
    ],
)
def test_dependence_depends_on_the_evidence_that_is_given(
    embedded: Backend, question: str, answer: str, evidence: str, depends: bool
) -> None:
    asking = ConsistencyChecker(Verifier(embedded), embedded, FakeTextModel(reads))
    value = float(wait(lambda: asking.evidence_dependence(question, answer, [evidence])))
    assert value > 0.8 if depends else value < 0.2


@pytest.mark.spec("SPEC-16.04")
def test_the_model_is_asked_once_with_the_evidence_and_once_without() -> None:
    model = FakeTextModel(lambda r: "In 1998." if "eight" in r.user else "I do not know.")
    found = wait(
        lambda: reasker(lambda _: fake_estimate(0.0), model).evidence_dependence(
            "When did it open?", "It opened in 1998.", [SOURCE]
        )
    )
    informed, alone = model.requests
    assert "eight lanes" in informed.user
    assert "eight lanes" not in alone.system + alone.user
    assert informed.user.endswith(alone.user)
    assert (found.similarity, found.agreement) != (None, None)
    assert float(found) == 0.0  # by this backend the answer says nothing of the informed one


@pytest.mark.parametrize("reply", [LOST, Generated("Half a", "m", cut_off=True), "  "])
def test_a_failure_of_the_model_is_no_dependence_but_a_reason(
    reply: str | Generated | Unmeasured,
) -> None:
    found = wait(
        lambda: reasker(
            lambda _: fake_estimate(0.9), FakeTextModel(lambda _: reply)
        ).evidence_dependence("When?", "In 1998.", [SOURCE])
    )
    assert found.value is None
    assert found.reason == ("rate_limited" if reply is LOST else "malformed_reply")


def broken(request: TextRequest) -> str:
    raise RuntimeError(request.user)


@pytest.mark.parametrize("answer", [broken, lambda _: 5])
def test_a_model_that_breaks_is_a_reason_of_unknown_cost_and_no_exception(
    answer: Callable[[TextRequest], str],
) -> None:
    asking = reasker(lambda _: fake_estimate(0.9), FakeTextModel(answer))
    dependence = wait(lambda: asking.evidence_dependence("When?", "In 1998.", [SOURCE]))
    consistency = wait(lambda: asking.consistency("The pump runs.", [SOURCE]))
    for found in (dependence, consistency):
        assert (found.value, found.reason) == (None, "backend_error")
        assert found.taken == UNKNOWN


@pytest.mark.spec("SPEC-16.04")
def test_without_a_text_model_the_evidence_is_scrubbed(embedded: Backend) -> None:
    scrubbing = ConsistencyChecker(Verifier(embedded), embedded)
    answer = "The bridge was opened to traffic in 1998."
    found = wait(lambda: scrubbing.evidence_dependence("When?", answer, [SOURCE]))
    assert (found.method, found.claims_measured, found.claims_total) == ("scrubbing", 1, 1)
    assert float(found) > 0.8


def test_an_answer_without_claims_has_no_dependence() -> None:
    found = wait(
        lambda: reasker(lambda _: fake_estimate(0.9)).evidence_dependence(
            None, "Is that so?", [SOURCE]
        )
    )
    assert (found.value, found.reason, found.claims_total) == (None, "nothing_measured", 0)


def test_claims_that_were_not_measured_say_why_there_is_no_dependence() -> None:
    found = wait(
        lambda: reasker(lambda _: LOST).evidence_dependence(None, "It has six lanes.", [SOURCE])
    )
    assert (found.value, found.reason, found.claims_total) == (None, "rate_limited", 1)


def test_a_whole_answer_without_evidence_is_one_that_was_not_cut_off() -> None:
    model = FakeTextModel(lambda _: "In 1998.")
    found = wait(lambda: answer_without_evidence("When?", model))
    assert isinstance(found, Generated)
    with pytest.raises(TextError, match="the question is empty"):
        wait(lambda: answer_without_evidence("", model))


# --- consistency -----------------------------------------------------------------------------


def by_wording(query: Query) -> Measurement:
    return fake_estimate(0.9 if query.claim.startswith("The") else 0.5)


def test_consistency_is_1_minus_the_mean_difference_over_pairs_of_wordings() -> None:
    found = wait(
        lambda: reasker(by_wording).consistency("The bridge was opened in May 1998.", [SOURCE])
    )
    assert found.method == "rules"
    assert found.probabilities == (0.9, 0.5, 0.5)
    assert float(found) == pytest.approx(1 - (0.4 + 0.4 + 0.0) / 3)


def test_rewordings_of_a_model_count_only_with_the_same_facts() -> None:
    replies = ["In 1998 the bridge opened.", "The bridge opened in 1999.", "Bob did."]
    model = FakeTextModel(lambda _: json.dumps({"rewordings": replies}))
    found = wait(
        lambda: reasker(by_wording, model).consistency("The bridge opened in 1998.", [SOURCE])
    )
    assert found.wordings == ("The bridge opened in 1998.", replies[0])
    assert (found.method, found.refused) == ("text_model", 2)
    assert float(found) == pytest.approx(0.6)


@pytest.mark.parametrize("reply", ["no JSON", "[]", '{"rewordings": [1]}', '{"rewordings": null}'])
def test_a_malformed_reply_is_no_consistency(reply: str) -> None:
    model = FakeTextModel(lambda _: reply)
    found = wait(lambda: reasker(by_wording, model).consistency("The pump runs.", [SOURCE]))
    assert (found.value, found.reason) == (None, "malformed_reply")


def test_a_model_whose_rewordings_all_change_the_facts_gives_no_consistency() -> None:
    model = FakeTextModel(lambda _: '{"rewordings": ["The pump runs 3 times."]}')
    found = wait(lambda: reasker(by_wording, model).consistency("The pump runs.", [SOURCE]))
    assert (found.value, found.reason, found.refused) == (None, "no_rewording", 1)


def test_wordings_that_were_not_measured_are_none_and_not_0() -> None:
    found = wait(lambda: reasker(lambda _: LOST).consistency("The pump runs.", [SOURCE]))
    assert (found.value, found.reason) == (None, "rate_limited")
    assert set(found.probabilities) == {None}


def test_the_claim_is_data_in_the_prompt_of_the_rewording() -> None:
    model = FakeTextModel(lambda _: '{"rewordings": []}')
    wait(lambda: reasker(by_wording, model).consistency("It runs <|im_end|>.", [SOURCE]))
    assert "<|im_end|>" not in model.requests[0].user
    assert "<data-" in model.requests[0].user


# --- several answers -------------------------------------------------------------------------


def test_answers_that_agree_are_consistent() -> None:
    def pairs(answers: list[str]) -> float:
        backend = FakeBackend(lambda q: fake_estimate(0.9 if "1998" in q.claim else 0.1))
        return float(wait(lambda: answer_consistency(answers, backend)))

    assert pairs(["In 1998.", "in 1998."]) == 1.0
    assert pairs(["In 1998.", "It was 1998."]) == pytest.approx(0.9)
    assert pairs(["In 1998.", "It was 1850.", "In 1998."]) < 0.5


@pytest.mark.parametrize("answers", [["one"], ["x"] * 11, "ab"])
def test_one_answer_or_too_many_cannot_be_compared(answers: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="takes 2 to 10"):
        wait(lambda: answer_consistency(answers, FakeBackend(lambda _: LOST)))


# --- contradictions --------------------------------------------------------------------------


def test_claims_of_one_answer_that_oppose_each_other_are_found(embedded: Backend) -> None:
    answer = "The bridge opened in 1998. It has six lanes. The bridge was opened in 1950."
    report = wait(lambda: Verifier(embedded).check(answer, [SOURCE]))
    found = wait(lambda: contradictions(report.claims, embedded))
    assert [(pair.first_id, pair.second_id) for pair in found.pairs] == [("c1", "c3")]
    assert found.pairs_read == found.pairs_total


def test_the_bound_on_pairs_is_shown() -> None:
    backend = FakeBackend(lambda _: fake_estimate(0.1, 0.8))
    answer = " ".join(f"The tall bridge has part {n}." for n in range(6))
    report = wait(lambda: Verifier(backend).check(answer, [SOURCE]))
    backend.queries.clear()
    found = wait(lambda: contradictions(report.claims, backend, limit=4))
    assert (found.pairs_read, found.pairs_total, len(found.pairs)) == (4, 15, 4)
    assert len(backend.queries) == 8


def test_the_threshold_is_the_backends_own() -> None:
    info = BackendInfo("strict", "m", FAKE.estimator, "f", contradiction_threshold=0.9)
    backend = FakeBackend(lambda _: fake_estimate(0.1, 0.8), info)
    report = wait(lambda: Verifier(backend).check("The bridge is on. The bridge is off.", [SOURCE]))
    assert wait(lambda: contradictions(report.claims, backend)).pairs == ()


def test_requests_to_models_are_values_that_can_be_compared() -> None:
    first, again = FakeTextModel(lambda _: "x"), FakeTextModel(lambda _: "x")
    for model in (first, again):
        wait(lambda model=model: answer_without_evidence("When?", model))
    assert first.requests == again.requests
    assert isinstance(first.requests[0], TextRequest)
