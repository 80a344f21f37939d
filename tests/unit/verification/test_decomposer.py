"""Decomposition of answers by a text model, checked to the end."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import jsonschema
import pytest

from veridical.core.measurements import (
    Generated,
    Measurement,
    Query,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import TextModel
from veridical.core.types import ClaimExtraction, EvidenceMap, ExtractionMethod
from veridical.core.verdicts import Status
from veridical.errors import BackendError
from veridical.pipeline.reports import Report
from veridical.settings import Settings
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate
from veridical.verification.verifier import Verifier
from veridical.wiring.build import build_verifier

SOURCES = {
    "S1": "The bridge opened in 1998. It carries nine thousand vehicles a day.",
    "S2": "A ferry ran until the spring of 1998. The ferry sank in 2003.",
    "S3": "The mill burned in 1901.",
}
ANSWER = "The bridge opened in 1998 and carries nine thousand vehicles."
SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "report-1.schema.json"


def stated(query: Query) -> Measurement:
    found = all(word.strip(".,") in query.context for word in query.claim.split())
    return fake_estimate(0.95 if found else 0.02)


def reply(*claims: tuple[str, str, list[str]]) -> str:
    keys = ("claim", "quote", "evidence")
    return json.dumps({"claims": [dict(zip(keys, each, strict=True)) for each in claims]})


def check(
    model: TextModel | None,
    answer: str = ANSWER,
    *,
    backend: FakeBackend | None = None,
    timeout_s: float = 120.0,
) -> Report:
    async def run() -> Report:
        verifier = Verifier(
            backend or FakeBackend(stated), claims_model=model, claims_timeout_s=timeout_s
        )
        async with verifier:
            return await verifier.check(answer, SOURCES)

    return anyio.run(run)


TWO = reply(
    ("The bridge opened in 1998.", "The bridge opened in 1998", []),
    ("The bridge carries nine thousand vehicles.", ANSWER, []),
)


@pytest.mark.spec("SPEC-16.06")
def test_the_claims_that_are_checked_are_those_of_the_model() -> None:
    model = FakeTextModel(lambda _: TWO)
    report = check(model)
    assert [verdict.claim.text for verdict in report.claims] == [
        "The bridge opened in 1998.",
        "The bridge carries nine thousand vehicles.",
    ]
    assert len(model.requests) == 1
    assert report.summary.extraction.method is ExtractionMethod.MODEL
    assert report.summary.extraction.model == "fake:fake"
    assert report.summary.extraction.latency_ms is not None


def test_without_a_text_model_nothing_but_the_block_extraction_is_new() -> None:
    document = check(None).to_dict()
    extraction = document["summary"]["extraction"]
    assert extraction.pop("method") == "rules"
    assert not any(extraction.values())
    assert all("evidence_map" not in claim for claim in document["claims"])
    assert "claims by" not in str(check(None))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (TWO, "claims by fake:fake: 2 proposed"),
        (reply(("Paris is old.", "Paris", [])), "dropped 1 not in the answer; 1 put back by the"),
        ("no", "claims by the rules, as fake:fake gave none that could be read (malformed_reply)"),
    ],
)
def test_the_report_says_who_found_the_claims(answer: str, said: str) -> None:
    report = check(FakeTextModel(lambda _: answer))
    assert said in " ".join(str(report).split())
    jsonschema.validate(report.to_dict(), json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.spec("SPEC-16.07")
def test_a_claim_is_read_with_the_sources_that_the_model_names() -> None:
    answer = "The mill burned in 1901."
    backend = FakeBackend(stated)
    report = check(
        FakeTextModel(lambda _: reply((answer, answer, ["S3"]))), answer, backend=backend
    )
    (verdict,) = report.claims
    assert verdict.status is Status.SUPPORTED
    assert verdict.claim.evidence_map == EvidenceMap(("S3",), used=True)
    assert verdict.citations == ()
    assert {piece.source for piece in verdict.windows_scored} == {"S3"}
    document = report.to_dict()["claims"][0]
    assert document["evidence_map"] == {"sources": ["S3"], "used": True}


@pytest.mark.spec("SPEC-16.07")
def test_a_wrong_hint_never_makes_a_claim_unsupported() -> None:
    answer = "The mill burned in 1901."
    (verdict,) = check(FakeTextModel(lambda _: reply((answer, answer, ["S2"]))), answer).claims
    assert verdict.status is Status.SUPPORTED
    assert verdict.claim.evidence_map == EvidenceMap(("S2",), used=False)
    (plain,) = check(None, answer).claims
    assert replace(verdict.claim, evidence_map=None) == plain.claim
    assert (verdict.p1, verdict.p0, verdict.evidence) == (plain.p1, plain.p0, plain.evidence)
    assert {piece.source for piece in verdict.windows_scored} >= {"S2", "S3"}


def test_the_evidence_that_is_scrubbed_is_that_of_all_sources_whatever_the_hint() -> None:
    answer = "The mill burned in 1901."
    backend = FakeBackend(stated)
    check(FakeTextModel(lambda _: reply((answer, answer, ["S3"]))), answer, backend=backend)
    assert backend.queries[-1].context == "[EVIDENCE REMOVED]"


def test_tokens_and_cost_of_the_text_model_count_in_the_summary() -> None:
    def paid(_: Query) -> Measurement:
        return replace(fake_estimate(0.9), tokens=10, cost_usd=0.25)

    text = Generated(TWO, "fake", prompt_tokens=100, output_tokens=20, cost_usd=1.0)
    backend = FakeBackend(paid)
    summary = check(FakeTextModel(lambda _: text), backend=backend).summary
    assert summary.tokens == 120 + 10 * len(backend.queries)
    assert summary.cost_usd == pytest.approx(1.0 + 0.25 * len(backend.queries))
    unknown = check(FakeTextModel(lambda _: TWO), backend=FakeBackend(paid)).summary
    assert (unknown.tokens, unknown.cost_usd) == (None, None)


@dataclass
class Broken:
    """Text model that raises, hangs, or returns no text."""

    how: str
    info: TextModelInfo = field(default_factory=lambda: TextModelInfo("broken", "b"))

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        if self.how == "hangs":
            await anyio.sleep_forever()
        if self.how == "cannot be used":
            raise BackendError(request.user)
        if self.how == "has a bug":
            raise ValueError(request.user)
        return "text"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("hangs", UnmeasuredReason.TIMEOUT),
        ("cannot be used", UnmeasuredReason.BACKEND_ERROR),
        ("has a bug", UnmeasuredReason.BACKEND_ERROR),
        ("returns no text", UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_a_broken_text_model_leaves_the_answer_to_the_rules(
    how: str, reason: UnmeasuredReason, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    report = check(Broken(how), timeout_s=0.05)
    assert report.summary.extraction.fallback is reason
    assert [v.claim for v in report.claims] == [v.claim for v in check(None).claims]
    assert report.summary.claims_checked == 1
    assert "bridge" not in caplog.text


def test_an_answer_that_asserts_nothing_is_not_put_to_the_model() -> None:
    model = FakeTextModel(lambda _: TWO)
    report = check(model, "Hello! How are you?")
    assert model.requests == []
    assert report.summary.extraction == ClaimExtraction(
        model="fake:fake", latency_ms=report.summary.extraction.latency_ms
    )


def test_the_settings_name_the_text_model() -> None:
    block = {"claims": {"model": "openai:m", "max_tokens": 7, "timeout_s": 3.0}}
    local = {"openai": {"base_url": "http://127.0.0.1:9/v1"}}
    verifier = build_verifier(Settings.model_validate(block | local))
    decomposer = verifier._preparation._decomposer
    assert decomposer is not None
    assert (decomposer._model.info.name, decomposer._max_tokens) == ("openai", 7)
    assert decomposer._timeout_s == 3.0
    assert build_verifier(Settings())._preparation._decomposer is None
