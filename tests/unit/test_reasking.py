"""Asking again: formulas on made-up probabilities, and the embedded model where meaning counts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.composition import build_backend
from veridical.core.ports import Backend, TextModel
from veridical.core.types import (
    BackendInfo,
    Generated,
    Measurement,
    Query,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import ConfigurationError, TextError
from veridical.reasking import (
    CHUNKS_READ,
    Reasker,
    answer_consistency,
    answer_without_evidence,
    contradictions,
    sample_answers,
    semantic_similarity,
)
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, FakeTextModel, fake_estimate
from veridical.verifier import Verifier

T = TypeVar("T")
SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
LOST = Unmeasured(UnmeasuredReason.RATE_LIMITED)


def wait(call: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(call)


def similarity(a: str, b: str, answer: Callable[[Query], Measurement]) -> tuple[object, ...]:
    found = wait(lambda: semantic_similarity(a, b, FakeBackend(answer)))
    return found.value, found.forward, found.backward, found.reason


def reasker(answer: Callable[[Query], Measurement], model: TextModel | None = None) -> Reasker:
    backend = FakeBackend(answer)
    return Reasker(Verifier(backend), backend, model)


@pytest.fixture(scope="module")
def embedded() -> Backend:
    return build_backend(Settings(threads=1), "embedded")


# --- similarity ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.08")
def test_similarity_is_the_harmonic_mean_of_both_directions() -> None:
    def answer(query: Query) -> Measurement:
        return fake_estimate(0.9) if query.claim == "Second one." else fake_estimate(0.6, 0.3)

    value, forward, backward, _ = similarity("First one.", "Second one.", answer)
    assert (forward, backward) == (0.9, pytest.approx(0.3))
    assert value == pytest.approx(2 * 0.9 * 0.3 / 1.2)


def test_a_contradiction_lowers_similarity_and_never_below_0() -> None:
    assert similarity("It is on.", "It is off.", lambda _: fake_estimate(0.1, 0.9))[0] == 0.0


def test_a_yes_or_no_backend_will_do() -> None:
    found = similarity("It is on.", "It works.", lambda _: fake_estimate(0.8, None))
    assert found[0] == pytest.approx(0.8)


def test_texts_that_read_the_same_are_not_put_to_a_backend() -> None:
    backend = FakeBackend(lambda _: LOST)
    found = wait(lambda: semantic_similarity("It’s  on.", "it's on.", backend))
    assert (found.value, backend.queries) == (1.0, [])


def test_what_could_not_be_measured_has_no_similarity_but_a_reason() -> None:
    assert similarity("One.", "Two.", lambda _: LOST) == (None, None, None, "rate_limited")


def test_a_backend_that_breaks_or_miscounts_is_a_reason_and_no_exception() -> None:
    class Broken:
        info = FAKE

        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            if len(queries[0].claim) > 5:
                raise ZeroDivisionError
            return []

    for text in ("A longer text.", "Two."):
        found = wait(lambda text=text: semantic_similarity(text, text + "!", Broken()))
        assert found.reason == "backend_error"


def test_longer_texts_are_read_sentence_by_sentence_against_the_nearest_chunks_only() -> None:
    long = " ".join(f"Sentence number {n} is about topic{n} and nothing else." for n in range(60))
    backend = FakeBackend(lambda _: fake_estimate(0.9))
    wait(lambda: semantic_similarity(long, "The text is about topic7.", backend))
    assert len(backend.queries) == CHUNKS_READ + 60
    assert max(len(query.context) for query in backend.queries) < 600
    forth = [q.context for q in backend.queries if q.claim == "The text is about topic7."]
    assert any("topic7 " in context for context in forth)


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_similarity_is_symmetric_and_between_0_and_1(a: str, b: str) -> None:
    def answer(query: Query) -> Measurement:
        return fake_estimate(len(query.claim) % 10 / 10)

    if any("\ud800" <= char <= "\udfff" for char in a + b):
        return
    value, forward, backward, _ = similarity(a, b, answer)
    assert isinstance(value, float)
    assert 0 <= value <= 1
    assert similarity(b, a, answer)[:3] == (pytest.approx(value), backward, forward)


@pytest.mark.spec("SPEC-16.08")
def test_the_embedded_model_tells_a_paraphrase_from_another_answer(embedded: Backend) -> None:
    def value(a: str, b: str) -> float:
        return float(wait(lambda: semantic_similarity(a, b, embedded)))

    same = value("The bridge opened in 1998.", "In 1998 the bridge was opened.")
    assert same > 0.7
    assert value("The bridge opened in 1998.", "The bridge opened in 1850.") < 0.2
    assert value("The bridge opened in 1998.", "Whales are mammals.") < 0.2


def test_an_empty_text_cannot_be_compared(embedded: Backend) -> None:
    with pytest.raises(TextError, match="second text is empty"):
        wait(lambda: semantic_similarity("a", " ", embedded))


# --- dependence ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.04")
def test_an_answer_that_comes_back_without_the_evidence_does_not_depend_on_it() -> None:
    model = FakeTextModel(lambda _: "In 1998.")
    found = wait(
        lambda: reasker(lambda _: fake_estimate(0.9), model).evidence_dependence(
            "When did it open?", "It opened in 1998.", [SOURCE]
        )
    )
    assert (found.method, found.answer_without) == ("re_asking", "In 1998.")
    assert float(found) == pytest.approx(0.1)


@pytest.mark.spec("SPEC-16.04")
def test_the_model_is_not_shown_the_evidence() -> None:
    model = FakeTextModel(lambda _: "I do not know.")
    found = wait(
        lambda: reasker(lambda _: fake_estimate(0.0), model).evidence_dependence(
            "When did it open?", "It opened in 1998.", [SOURCE]
        )
    )
    (request,) = model.requests
    assert "eight lanes" not in request.system + request.user
    assert float(found) == 1.0


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


@pytest.mark.spec("SPEC-16.04")
def test_without_a_text_model_the_evidence_is_scrubbed(embedded: Backend) -> None:
    scrubbing = Reasker(Verifier(embedded), embedded)
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


def test_answers_are_sampled_with_seeds_of_their_own() -> None:
    model = FakeTextModel(lambda request: f"Answer {request.seed}.")
    found = wait(lambda: sample_answers("When?", model, k=3, sources=[SOURCE]))
    assert [each.text for each in found if isinstance(each, Generated)] == [
        "Answer 1.",
        "Answer 2.",
        "Answer 3.",
    ]
    assert all(request.temperature > 0 for request in model.requests)
    assert "eight lanes" in model.requests[0].user
    with pytest.raises(ConfigurationError, match="from 2 to 10"):
        wait(lambda: sample_answers("When?", model, k=1))


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
