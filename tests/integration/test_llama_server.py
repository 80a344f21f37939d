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
