"""Evidence extraction by a real language model with random answers: shapes and invariants."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from veridical.core.measurements import (
    Generated,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import TextModel
from veridical.core.text import normalise
from veridical.evidence import parse_transcript
from veridical.quotes.extraction import EvidenceExtractor, Extraction
from veridical.settings import Settings
from veridical.settings.backend_blocks import GgufSettings, OpenAISettings
from veridical.settings.blocks import ExtractionSettings
from veridical.testing import check_text_model
from veridical.wiring.build import build_text_model

pytestmark = pytest.mark.slow
pytest.importorskip("xllamacpp")

INTERVIEW = Path(__file__).parents[2] / "examples" / "phq8" / "interviews" / "syn01.json"


@pytest.fixture(scope="module", params=["openai", "gguf"])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of the model: behind a server on loopback, or in this process."""
    folder = tmp_path_factory.mktemp("runs")
    fixture = "llama_server" if request.param == "openai" else "smollm2_path"
    place = request.getfixturevalue(fixture)
    return Settings(
        threads=1,
        text_model="openai:smollm2" if request.param == "openai" else f"gguf:{place}",
        openai=OpenAISettings(base_url=place if request.param == "openai" else None),
        gguf=GgufSettings(context_tokens=1024),
        extraction=ExtractionSettings(
            max_tokens=64,
            timeout_s=120.0,
            failures=str(folder),
        ),
    )


@pytest.fixture(scope="module")
def model(settings: Settings) -> Iterator[TextModel]:
    model = build_text_model(settings, settings.text_model)
    yield model
    if hasattr(model, "close"):
        model.close()


@dataclass
class Brief:
    """Text model limited to a short quote: it would go on and on."""

    model: TextModel

    @property
    def info(self) -> TextModelInfo:
        return self.model.info

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        items = {"type": "string", "minLength": 4, "maxLength": 16}
        quotes = {"type": "array", "items": items, "minItems": 1, "maxItems": 1}
        assert request.schema is not None
        schema = {**request.schema, "properties": {"sleep": quotes}}
        return await self.model.generate(replace(request, schema=schema))


def test_a_real_text_model_keeps_the_promises_of_the_port(model: TextModel) -> None:
    anyio.run(lambda: check_text_model(model, holds_schema=True))


@pytest.mark.spec("053.drop", "053.counts")
def test_whatever_a_real_model_says_only_what_is_there_comes_out(
    model: TextModel, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="veridical")
    turns = parse_transcript(INTERVIEW.read_text(encoding="utf-8")).text.splitlines()
    transcript = "\n".join(line for line in turns if "sleep" in line or "asleep" in line)
    extractor = EvidenceExtractor(Brief(model), settings, keys=["sleep"])
    found = anyio.run(extractor.extract, transcript)
    assert isinstance(found, Extraction), found
    assert settings.extraction.failures is not None
    sleep = found.items["sleep"]
    assert sleep.llm_evidence_extracted_count == 1
    kept = sleep.llm_evidence_extracted_count - sleep.llm_evidence_rejected_count
    assert len(sleep.quotes) == kept
    assert [match.accepted for match in sleep.matches].count(True) == kept
    for match in sleep.matches:
        form = normalise(match.quote).text
        assert match.accepted is (form in normalise(transcript).text)
        assert match.quote not in caplog.text
    path = Path(settings.extraction.failures) / f"failures_{extractor.failures.run_id}.json"
    failures = json.loads(path.read_text(encoding="utf-8"))["failures"]
    assert len(failures) == (1 if sleep.llm_evidence_rejected_count else 0)
    assert found.usage.answers == 1
    assert found.usage.tokens is not None


def test_a_transcript_too_long_is_a_value(model: TextModel, settings: Settings) -> None:
    found = anyio.run(EvidenceExtractor(model, settings).extract, "so tired " * 3000)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.CONTEXT_TOO_LONG
