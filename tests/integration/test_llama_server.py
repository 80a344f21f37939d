"""The backend `openai` against a real llama.cpp server."""

from __future__ import annotations

import anyio
import pytest

from veridical.core.measurements import BilledFailure, Estimate, Estimator, Query, UnmeasuredReason
from veridical.pipeline.inference.openai_chat import OpenAIChat, create

pytestmark = pytest.mark.slow

EVIDENCE = "The Eiffel Tower was completed in 1889. It stands on the Champ de Mars in Paris."
CLAIMS = ("The Eiffel Tower was completed in 1889.", "The Eiffel Tower stands in Rome.")


@pytest.fixture
def backend(llama_server: str) -> OpenAIChat:
    return create("smollm2", base_url=llama_server, concurrency=2, timeout_s=120.0)


@pytest.mark.spec("SPEC-08.13")
def test_a_real_server_gives_log_probabilities(backend: OpenAIChat) -> None:
    probe = anyio.run(backend.probe)
    assert (probe.ok, probe.logprobs) == (True, True), probe.detail


@pytest.mark.spec("SPEC-08.13")
@pytest.mark.spec("SPEC-16.10")
def test_claims_are_measured_by_a_real_model(backend: OpenAIChat) -> None:
    found = anyio.run(backend.estimate, [Query(claim, EVIDENCE) for claim in CLAIMS])
    for measurement in found:
        assert isinstance(measurement, Estimate)
        assert measurement.low <= measurement.supported <= measurement.high
        assert measurement.tokens is not None
        assert measurement.tokens > 100


def test_a_real_server_says_that_a_context_is_too_long(backend: OpenAIChat) -> None:
    (found,) = anyio.run(backend.estimate, [Query("A claim.", "word " * 10_000)])
    assert found == BilledFailure(
        UnmeasuredReason.CONTEXT_TOO_LONG, "HTTP 400", tokens=0, cost_usd=None
    )


@pytest.mark.spec("SPEC-08.14")
def test_a_real_server_without_log_probabilities_is_sampled(llama_server: str) -> None:
    # Asked for alternatives but not for probabilities, llama.cpp refuses, as others do always.
    without = create(
        "smollm2",
        base_url=llama_server,
        concurrency=2,
        timeout_s=120.0,
        samples_max=5,
        # The server makes the model answer with one of the words: a small one talks at length.
        extra_body={"logprobs": False, "grammar": 'root ::= "YES" | "NO" | "UNSURE"', "seed": 1},
    )
    probe = anyio.run(without.probe)
    assert (probe.ok, probe.logprobs) == (True, False), probe.detail
    found = anyio.run(without.estimate, [Query(claim, EVIDENCE) for claim in CLAIMS])
    for measurement in found:
        assert isinstance(measurement, Estimate)
        assert measurement.estimator is Estimator.SAMPLING
        assert 3 <= measurement.samples <= 5
        assert measurement.low <= measurement.supported <= measurement.high
        assert measurement.tokens is not None
        assert measurement.tokens > 100 * measurement.samples


# A small model does not keep to the form of a judge by itself: the server makes it. Its verdicts
# are chance.
JUDGES = {
    "bespoke-minicheck-7b": 'root ::= "Yes" | "No"',
    "granite-guardian": 'root ::= "<score> " ("yes" | "no") " </score>"',
    "lynx-8b": 'root ::= "{\\"REASONING\\": [], \\"SCORE\\": \\"" ("PASS" | "FAIL") "\\"}"',
}


def judge(address: str, preset: str, **extra_body: object) -> OpenAIChat:
    return create(
        "smollm2",
        base_url=address,
        concurrency=2,
        timeout_s=120.0,
        samples_max=3,
        preset=preset,
        extra_body={"grammar": JUDGES[preset], "cache_prompt": False, **extra_body},
    )


@pytest.mark.parametrize("preset", JUDGES)
def test_a_real_server_is_asked_in_the_words_of_a_judge(preset: str, llama_server: str) -> None:
    backend = judge(llama_server, preset, logprobs=False)
    found = anyio.run(backend.estimate, [Query(claim, EVIDENCE) for claim in CLAIMS])
    for measurement in found:
        assert isinstance(measurement, Estimate), measurement
        assert measurement.estimator is Estimator.SAMPLING
        assert measurement.low <= measurement.supported <= measurement.high
        assert measurement.contradicted == 0.0


@pytest.mark.parametrize("preset", JUDGES)
def test_the_word_of_a_judge_is_found_among_the_tokens_of_a_real_server(
    preset: str, llama_server: str
) -> None:
    """The probabilities are those without the grammar: hardly any is on a word of the judge."""
    backend = judge(llama_server, preset)
    for measurement in anyio.run(backend.estimate, [Query(c, EVIDENCE) for c in CLAIMS]):
        if isinstance(measurement, BilledFailure):
            assert measurement.detail.endswith("of the probability is on an answer")
        else:
            assert isinstance(measurement, Estimate)
            assert measurement.estimator is Estimator.LOGPROBS


def test_a_real_template_without_documents_is_found_out(llama_server: str) -> None:
    backend = create("smollm2", base_url=llama_server, timeout_s=120.0, preset="granite-guardian")
    evidence = " ".join([EVIDENCE] * 20)
    (found,) = anyio.run(backend.estimate, [Query(CLAIMS[0], evidence)])
    assert isinstance(found, BilledFailure)
    assert found.detail == "the model read fewer tokens than the question has words"
