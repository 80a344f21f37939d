"""No six words in a row of an interview or a quote leave the pipeline but in its result."""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Generated, TextRequest, Unmeasured
from veridical.errors import VeridicalError
from veridical.evidence import parse_transcript
from veridical.quotes.extraction import EvidenceExtractor, FailureRegistry
from veridical.settings import Settings
from veridical.settings.blocks import ExtractionSettings, QuantitativeSettings
from veridical.testing import FakeTextModel

RUN = 6


def runs(text: str) -> Iterator[str]:
    """Yield every six words in a row; of a text that was escaped, once or twice, too."""
    plain = re.sub(r"\\+u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
    words = re.findall(r"\w+", re.sub(r"\\+[ntr]", " ", plain).lower())
    yield from (" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1))


class _Shouting(FakeTextModel):
    """Text model that raises an exception with its request in the message."""

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        raise RuntimeError(request.user)


def models(evidence: dict[str, list[str]], transcript: str) -> Iterator[FakeTextModel]:
    """Yield models that do well, badly, and fail in every way, with texts in every place."""
    quotes = [quote for found in evidence.values() for quote in found]
    rejected = {"PHQ8_Sleep": ["i have said nothing at all of this, " + q for q in quotes]}
    for answer in (
        json.dumps(evidence),
        json.dumps(rejected),
        json.dumps({"PHQ8_Sleep": transcript, "PHQ8_Tired": [{"quote": quotes}], "PHQ8_Moving": 7}),
        json.dumps({quotes[0]: quotes, transcript: 1, "PHQ8_Slep": quotes}),
        f'{{"PHQ8_Sleep": {json.dumps(quotes)}, "PHQ8_Sleep": []}}',
        f'{{"{quotes[0]}": 1, "{quotes[0]}": 2}}',
        transcript,
        json.dumps(transcript),
        json.dumps(evidence)[:-20],
    ):
        yield FakeTextModel(lambda _, answer=answer: answer)
        yield FakeTextModel(lambda _, answer=answer: Generated(answer, "m1", cut_off=True))
    yield _Shouting(lambda _: "")


def told(error: BaseException | None) -> str:
    """Return all texts of an exception and of its causes."""
    if error is None:
        return ""
    shown = "".join(traceback.format_exception(error))
    violations = json.dumps(getattr(error, "violations", {}))
    return f"{shown} {error!r} {error} {error.args} {violations} {vars(error)}"


@pytest.mark.spec("053.privacy", "054.privacy")
@pytest.mark.parametrize("mode", ["substring", "fuzzy"])
def test_no_text_is_in_logs_files_metrics_or_errors(
    interview: dict[str, Any], mode: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if mode == "fuzzy":
        pytest.importorskip("rapidfuzz")
    caplog.set_level(logging.DEBUG)
    transcript = parse_transcript(interview["text"]).text
    evidence = {key: list(quotes) for key, quotes in interview["evidence"].items()}
    registry, seen = FailureRegistry(), 0
    leaks: list[str] = []
    for fails in (False, True):
        settings = Settings(
            extraction=ExtractionSettings(failures=str(tmp_path), corrective_retry=fails),
            quantitative=QuantitativeSettings.model_validate(
                {
                    "evidence_quote_validation_mode": mode,
                    "evidence_quote_fail_on_all_rejected": fails,
                }
            ),
        )
        for model in models(evidence, transcript):
            extractor = EvidenceExtractor(model, settings, failures=registry)
            seen += 1
            try:
                found = anyio.run(extractor.extract, interview["text"])
            except VeridicalError as error:
                leaks.append(told(error))
            else:
                leaks.append(repr(found))
    leaks += [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    leaks += [record.getMessage() for record in caplog.records]
    leaks += [repr(vars(record)) for record in caplog.records]
    assert seen == 38
    assert len(registry.failures) > 20
    assert any("evidence_quote_rejected" in leak for leak in leaks)
    leaked = {run for text in leaks for run in runs(text)}
    quotes = [quote for found in evidence.values() for quote in found]
    secret = {run for text in (transcript, *quotes) for run in runs(text)}
    assert len(secret) > 100
    assert not leaked & secret


def test_the_check_above_would_find_a_leak(interview: dict[str, Any]) -> None:
    quote = max((row["quote"] for row in interview["labels"]), key=len)
    text = parse_transcript(interview["text"]).text
    assert set(runs(f"rejected: {quote}")) & set(runs(quote))
    assert set(runs(repr(text)[40:140])) & set(runs(text))
    assert set(runs(json.dumps(json.dumps({"PHQ8_Sleep": [quote, "i’m"]})))) >= set(runs(quote))
