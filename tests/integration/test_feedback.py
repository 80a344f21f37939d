"""Feedback and calibration on the command line, as a user does it, with the embedded model."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from typer.testing import CliRunner

from veridical.core.measurements import Estimate, Query
from veridical.feedback.labels import Feedback
from veridical.interfaces.cli.app import app
from veridical.settings import Settings
from veridical.store import FeedbackTable, Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier
from veridical.wiring.build import build_backend, build_store

if TYPE_CHECKING:
    from click.testing import Result

SOURCE = "The Eiffel Tower is a wrought-iron lattice tower in Paris. It was completed in 1889."
ANSWER = "SECRET aside, the tower was completed in 1889 [S1]. It was completed in 1789 [S1]."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with one answer, one source, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "answer.md").write_text(ANSWER)
    (tmp_path / "source.txt").write_text(SOURCE)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    assert "SECRET" not in result.stderr
    return result


def document(*arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return found


def check() -> dict[str, Any]:
    report = document("check", "answer.md", "-s", "S1=source.txt", code=1)
    Path("report.json").write_text(json.dumps(report))
    return report


def mark_many(size: int, *, best: float) -> None:
    """Mark reports of the embedded verifier: claims from probability `best` on are supported."""
    info = build_backend(Settings(), "embedded").info
    feedback = Feedback(build_store(Settings.load()))

    def probability(claim: str) -> float:
        return (int(claim.split()[1]) * 37 % size) / size  # spread evenly

    def answer(query: Query) -> Estimate:
        return fake_estimate(probability(query.claim))

    verifier = Verifier(FakeBackend(answer, info))
    for number in range(size):
        claim = f"Item {number} is here."
        report = anyio.run(verifier.check, claim, {"S1": "A list of items."})
        verdict = report.claims[0]
        truth = probability(claim) >= best
        feedback.mark(report, "c1", right=(verdict.status.value == "supported") == truth)


# --- feedback --------------------------------------------------------------------------------


def test_a_verdict_is_marked_listed_exported_and_removed(folder: Path) -> None:
    status = {claim["id"]: claim["status"] for claim in check()["claims"]}
    assert status == {"c1": "supported", "c2": "contradicted"}
    kept = run("feedback", "mark", "report.json", "c1", "right").stdout
    assert kept == "Kept as mark 1: c1 supported was right\n"
    (mark,) = document("feedback", "mark", "report.json", "c2", "wrong", "--actual", "unsupported")[
        "marks"
    ]
    info = build_backend(Settings(), "embedded").info
    assert (mark["fingerprint"], mark["right"]) == (info.fingerprint, False)
    assert document("feedback", "list")["marks"][1] == mark
    assert "2 marks" in run("feedback", "list").stdout
    lines = run("feedback", "export").stdout.splitlines()
    assert json.loads(lines[1]) == mark
    run("feedback", "export", "--out", "kept.jsonl")
    assert (folder / "kept.jsonl").read_text().splitlines() == lines
    assert document("feedback", "remove", "1")["removed"] == [1]
    assert "there is no mark 1" in run("feedback", "remove", "1", code=2).stderr
    assert [one["id"] for one in document("feedback", "list")["marks"]] == [2]


def test_the_store_is_a_private_file_without_texts(folder: Path) -> None:
    check()
    run("feedback", "mark", "report.json", "c1", "right", "--quiet")
    path = folder / "data" / "veridical" / "veridical.db"
    assert path.stat().st_mode & 0o777 == 0o600
    rows = [str(row) for row in sqlite3.connect(path).execute("SELECT * FROM feedback")]
    assert len(rows) == 1
    assert "completed" not in rows[0]


def test_the_report_may_come_from_a_pipe(folder: Path) -> None:
    check()
    command = [sys.executable, "-c", "from veridical.interfaces.cli import main; main()"]
    done = subprocess.run(
        [*command, "feedback", "mark", "-", "c1", "wrong"],
        input=(folder / "report.json").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "veridical.eval/1"}', "[" * 99999])
def test_another_file_is_a_named_error(folder: Path, content: str) -> None:
    (folder / "report.json").write_text(content + " ")
    error = run("feedback", "mark", "report.json", "c1", "right", code=2).stderr
    assert error.startswith("error: ")
    assert "\nhint: " in error


def test_lines_of_a_file_mark_verdicts_and_the_wrong_ones_are_named(folder: Path) -> None:
    check()
    lines = [
        '{"report": "report.json", "claim": "c1", "verdict": "right"}',
        "",
        '{"report": "report.json", "claim": "c9", "verdict": "right"}',
        '{"claim": "c2", "verdict": "wrong", "actual": "supported", "comment": "SECRET"}',
        '{"report": "gone.json", "claim": "c2", "verdict": "wrong"}',
        '{"claim": "c2", "verdict": "SECRET", "report": "report.json"}',
        '{"SECRET',
        '{"report": "report.json", "claim": "c2", "verdict": "wrong", "actual": "unsupported"}',
    ]
    (folder / "marks.jsonl").write_text("\n".join(lines))
    result = run("feedback", "mark-many", "marks.jsonl", "--json", code=1)
    told = json.loads(result.stdout)
    assert [(one["claim_id"], one["right"]) for one in told["marks"]] == [
        ("c1", True),
        ("c2", False),
    ]
    assert [one["line"] for one in told["refused"]] == [3, 4, 5, 6, 7]
    assert all(f"error: line {n}: " in result.stderr for n in (3, 4, 5, 6, 7))
    assert [one["claim_id"] for one in document("feedback", "list")["marks"]] == ["c1", "c2"]


def test_a_file_of_ids_marks_them_all_alike(folder: Path) -> None:
    check()
    (folder / "ids.txt").write_text("c1\n\nc2\r\n")
    given = ("ids.txt", "--report", "report.json", "--verdict", "right")
    assert run("feedback", "mark-many", *given).stdout == "Kept 2 marks, refused 0 lines\n"
    assert [one["right"] for one in document("feedback", "list")["marks"]] == [True, True]
    again = run("feedback", "mark-many", "ids.txt", "--report", "report.json", code=1)
    assert again.stderr.count("it names no verdict") == 2
    assert len(document("feedback", "list")["marks"]) == 2


def test_a_list_of_marks_that_cannot_be_read_is_wrong_use(folder: Path) -> None:
    assert "there is no file gone" in run("feedback", "mark-many", "gone", code=2).stderr
    (folder / "ids.txt").write_text(" ")
    assert "is empty" in run("feedback", "mark-many", "ids.txt", code=2).stderr


def test_a_mark_that_calibrate_cannot_use_says_so() -> None:
    report = check()
    report["backend"] = {"name": "openai", "model": "gone", "estimator": "logprobs"}
    Path("report.json").write_text(json.dumps(report))
    assert (
        "calibrate cannot use this mark"
        in run("feedback", "mark", "report.json", "c1", "right").stderr
    )


def test_no_feedback_says_how_to_give_some() -> None:
    assert "veridical feedback mark" in run("feedback", "list").stdout
    assert run("feedback", "export").stdout == ""
    assert document("feedback", "list")["marks"] == []


def test_a_store_that_cannot_be_used_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_STORE__URL", "sqlite:////proc/none/kept.db")
    assert "cannot be opened" in run("feedback", "list", code=2).stderr


# --- calibrate -------------------------------------------------------------------------------


def test_too_little_feedback_says_how_much_more_and_writes_nothing(folder: Path) -> None:
    mark_many(30, best=0.5)
    result = run("calibrate", "--out", "calibration.json", code=3)
    assert "5 more of claims that were truly supported and 5 more of claims" in result.stderr
    assert not (folder / "calibration.json").exists()
    assert document("calibrate", code=3)["needed"] == {"supported": 5, "not_supported": 5}


def test_feedback_that_shows_nothing_better_is_refused(folder: Path) -> None:
    mark_many(100, best=0.5)
    found = document("calibrate", "--target", "threshold", "--out", "calibration.json", code=3)
    assert (found["adopted"], found["calibration"], found["file"]) == (False, None, None)
    assert not (folder / "calibration.json").exists()


def test_a_better_threshold_is_written_and_put_in_force_by_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark_many(120, best=0.3)
    seen = run("calibrate", "--target", "threshold", "--out", "calibration.json").stdout
    assert "another threshold: balanced accuracy +" in seen
    assert "VERIDICAL_CALIBRATION=calibration.json" in seen
    monkeypatch.setenv("VERIDICAL_CALIBRATION", "calibration.json")
    threshold = check()["policy"]["support_threshold"]
    assert threshold == pytest.approx(0.3, abs=0.03)
    assert f"in force; support threshold {threshold}" in run("doctor").stdout
    found = document("doctor", "--backend", "embedded")["backends"][0]
    assert (found["calibration"], found["support_threshold"]) == ("in_force", threshold)
    settings = document("config", "show")["settings"]
    assert settings["calibration"]["value"] == "calibration.json"
    # What was adopted is in force, so that nothing better is left to find.
    again = document("calibrate", "--target", "threshold", code=3)
    assert again["refit"]["before"]["support_threshold"] == threshold


def test_without_a_file_to_write_nothing_is_written(folder: Path) -> None:
    mark_many(120, best=0.3)
    before = sorted(folder.iterdir())
    assert "Nothing is written" in run("calibrate").stdout
    assert sorted(folder.iterdir()) == before


def test_a_file_that_is_no_calibration_is_not_overwritten(folder: Path) -> None:
    error = run("calibrate", "--out", "source.txt", code=2).stderr
    assert "the calibration file source.txt cannot be read" in error
    assert (folder / "source.txt").read_text() == SOURCE


def test_a_cascade_is_calibrated_by_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CASCADE__SECOND", "embedded")
    assert "thresholds of its backends" in run("calibrate", "--backend", "cascade", code=2).stderr


@pytest.mark.parametrize(
    "command",
    [
        ["calibrate"],
        ["feedback", "mark"],
        ["feedback", "list"],
        ["feedback", "remove"],
        ["feedback", "export"],
    ],
)
def test_every_command_has_help_with_examples(command: list[str]) -> None:
    text = run(*command, "--help").stdout
    assert f"veridical {' '.join(command)}" in text
    assert "Examples:" in text
    assert all(option in text for option in ("--json", "--quiet", "--config"))


def test_the_store_is_the_one_that_is_configured(folder: Path) -> None:
    (folder / "veridical.yaml").write_text("store: {url: sqlite:///own.db}\n")
    check()
    run("feedback", "mark", "report.json", "c1", "right", "--quiet")
    assert len(FeedbackTable(Store("sqlite:///own.db")).rows()) == 1
