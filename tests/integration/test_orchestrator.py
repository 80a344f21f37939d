"""The orchestrator with real parts: the embedded verifier, and a model that writes anything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

import veridical
from veridical.orchestrator import Action, Orchestrator, ProcessedAnswer, VerificationConfig
from veridical.orchestrator.analysis import read_trajectory, summarise

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-16.30")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "orchestrator"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLE.glob("sources/*")}
FULL = VerificationConfig(mode="full")
RIGHT = (
    "The harbour wall of Port Ellery is 412 metres long [harbour.md]. Its first part was built of"
    " granite between 1861 and 1864 [harbour.md]. The ferry carries 48 passengers [ferry.txt]."
)
WRONG = RIGHT.replace("412", "250").replace("granite", "brick")


def answered(texts: list[str], **options: object) -> ProcessedAnswer:
    left = iter(texts)

    async def generate(_: str, /, *, context: Mapping[str, str]) -> str:
        assert context == SOURCES
        return next(left)

    orchestrator = Orchestrator(
        generate,
        veridical.Verifier.from_settings(veridical.Settings()),
        config=FULL,
        **options,  # type: ignore[arg-type]
    )
    return anyio.run(orchestrator.process, "What of the harbour wall?", SOURCES)


@pytest.mark.spec("SPEC-08.19")
def test_the_embedded_verifier_lets_a_right_answer_pass() -> None:
    answer = answered([RIGHT])
    assert (answer.text, answer.action) == (RIGHT, Action.PASSED)
    assert answer.verification.cost_usd == 0.0


@pytest.mark.spec("SPEC-16.24")
def test_the_embedded_verifier_catches_a_wrong_answer_and_the_retry_is_better() -> None:
    answer = answered([WRONG, RIGHT], on_failure="retry")
    assert (answer.text, answer.action) == (RIGHT, Action.PASSED)
    assert len(answer.attempts[0].critical) == 2


@pytest.mark.spec("SPEC-16.23")
def test_the_embedded_verifier_marks_what_stays_wrong() -> None:
    answer = answered([WRONG, WRONG], on_failure="retry")
    assert answer.action is Action.FLAGGED
    assert answer.text.startswith(
        "The harbour wall of Port Ellery is 250 metres long [harbour.md].[?1] "
    )
    assert "412 metres" in answer.text.rpartition("---")[2]
    assert "412 metres" in str(answer.guidance)


def test_the_example_runs_with_a_small_model(smollm2_path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "trajectory.jsonl"
    command = [
        sys.executable,
        EXAMPLE / "run.py",
        smollm2_path,
        "--max-tokens",
        "80",
        "--threads",
        "1",
    ]
    run = subprocess.run(
        [*command, "--trajectory", kept], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "action: " in run.stdout
    events = read_trajectory(kept)
    summary = summarise(events)
    assert (summary.runs, summary.verified, summary.unfinished, summary.torn) == (1, 1, 0, False)
    assert summary.flagged.after <= summary.flagged.before
    assert summary.failures == {}
    end = events.events[-1]
    assert end["action"] in {"flagged", "passed"}
    assert end["generation"]["tokens"] > 0
    checks = [event for event in events.events if event["event"] == "verification"]
    retried = bool(checks[0]["critical"])
    assert (summary.attempts > 1) is retried
    if end["action"] == "flagged":
        assert "[?1]" in run.stdout
    totals = subprocess.run(
        [sys.executable, "-m", "veridical", "trajectory", kept, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert totals.returncode == (1 if summary.flagged.after else 0), totals.stderr
    assert json.loads(totals.stdout)["attempts"] == summary.attempts
