"""Claim extraction by a real language model with random replies: the contract holds."""

from __future__ import annotations

import anyio
import pytest

from veridical.core.measurements import UnmeasuredReason
from veridical.core.types import ExtractionMethod
from veridical.pipeline.claims import extract_claims
from veridical.pipeline.claims.faithfulness import lacks
from veridical.pipeline.reports import Report
from veridical.settings import Settings
from veridical.wiring.build import build_verifier

pytestmark = pytest.mark.slow
pytest.importorskip("xllamacpp")

ANSWER = "The bridge opened in 1998 [S1], and it carries cars [S9]. Is it red? The mill burned."
SOURCES = {"S1": "The bridge opened in 1998.", "S2": "The mill burned in 1901."}


@pytest.fixture(params=["openai", "gguf"])
def place(request: pytest.FixtureRequest) -> dict[str, object]:
    """Return the settings of the model: behind a server on loopback, or in this process."""
    if request.param == "openai":
        address = request.getfixturevalue("llama_server")
        return {"openai": {"base_url": address}, "claims": {"model": "openai:smollm2"}}
    path = request.getfixturevalue("smollm2_path")
    return {"gguf": {"context_tokens": 2048}, "claims": {"model": f"gguf:{path}"}}


def check(place: dict[str, object], answer: str = ANSWER, **claims: object) -> Report:
    block = place["claims"]
    assert isinstance(block, dict)
    settings = Settings.model_validate({**place, "threads": 1, "claims": {**block, **claims}})

    async def run() -> Report:
        async with build_verifier(settings) as verifier:
            return await verifier.check(answer, SOURCES)

    return anyio.run(run)


@pytest.mark.spec("SPEC-16.06")
def test_whatever_a_real_model_replies_no_claim_of_the_answer_gets_lost(
    place: dict[str, object],
) -> None:
    report = check(place, max_tokens=400)
    extraction = report.summary.extraction
    found = [verdict.claim for verdict in report.claims]
    for rule in extract_claims(ANSWER, known_ids=SOURCES).claims:
        own = [claim for claim in found if claim.span.overlaps(rule.span)]
        assert own
        if rule.assertive:
            assert not lacks(rule.text, [claim.text for claim in own if claim.assertive])
    assert {ref.id for claim in found for ref in claim.citations} == {"S1", "S9"}
    assert any(verdict.status.value == "phantom_citation" for verdict in report.claims)
    assert extraction.pieces == 1
    if extraction.method is ExtractionMethod.MODEL:
        assert extraction.fallback is None
        assert extraction.tokens is not None
        assert report.summary.tokens is not None
        assert report.summary.tokens > extraction.tokens
    else:
        assert extraction.fallback is UnmeasuredReason.MALFORMED_REPLY


def test_a_reply_that_is_cut_off_leaves_the_answer_to_the_rules(place: dict[str, object]) -> None:
    report = check(place, max_tokens=4)
    assert report.summary.extraction.fallback is UnmeasuredReason.MALFORMED_REPLY
    by_rules = extract_claims(ANSWER, known_ids=SOURCES).claims
    assert tuple(verdict.claim for verdict in report.claims) == by_rules


def test_a_model_that_takes_too_long_leaves_the_answer_to_the_rules(
    place: dict[str, object],
) -> None:
    report = check(place, timeout_s=0.001)
    assert report.summary.extraction.fallback is UnmeasuredReason.TIMEOUT
    assert report.summary.claims_checked > 0
