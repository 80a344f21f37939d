"""`veridical trajectory`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

pytestmark = pytest.mark.spec("SPEC-16.36")

ROOT = Path(__file__).parents[3]
HEAD = {"schema": "veridical.trajectory/1", "run": "a"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("VERIDICAL_"):
            monkeypatch.delenv(name)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trajectory", *arguments])


def write(folder: Path, *ends: dict[str, Any], tail: str = "") -> None:
    lines = [
        {**HEAD, "run": str(n), "event": "run_finished", "action": "passed", **end}
        for n, end in enumerate(ends)
    ]
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([{"flagged_before": 2, "flagged_after": 0}], 0),
        ([{"flagged_before": 2, "flagged_after": 1}, {"flagged_after": 0}], 1),
        ([{"flagged_after": None, "action": "not_verified"}], 3),
    ],
)
def test_the_exit_code_says_what_came_back(
    folder: Path, ends: list[dict[str, Any]], code: int
) -> None:
    write(folder, *ends)
    assert run("runs.jsonl").exit_code == code
    assert run("runs.jsonl", "--quiet").stdout == ""


def test_json_is_one_document(folder: Path) -> None:
    write(folder, {"flagged_before": 2, "flagged_after": 0}, tail='{"schema": "veri')
    result = run("runs.jsonl", "--json")
    document = json.loads(result.stdout)
    assert document["schema"] == "veridical.trajectory-summary/1"
    assert document["flagged"] == {"before": 2, "after": 0}
    assert document["cost"]["verification_share"] is None
    assert document["lines"] == {"unreadable": 1, "torn": True}
    assert "torn" in result.stderr


def test_people_read_counts_latency_and_cost(folder: Path) -> None:
    spent = {"generation": {"cost_usd": 1.0}, "verification": {"cost_usd": 0.05}}
    write(folder, {"flagged_before": 2, "flagged_after": 1, **spent}, tail="scrap\n")
    result = run("runs.jsonl")
    assert "2 claims in first attempts, 1 in answers" in result.stdout
    assert "(5.0% of generation)" in result.stdout
    assert "1 line is no event" in result.stderr


def test_what_is_no_trajectory_is_wrong_use(folder: Path) -> None:
    (folder / "notes.txt").write_text("a secret\n")
    for name in ("notes.txt", "missing.jsonl"):
        result = run(name)
        assert result.exit_code == 2
        assert "hint:" in result.stderr
        assert "secret" not in result.stderr


def test_the_example_that_ships_can_be_summed_up() -> None:
    result = run(str(ROOT / "examples" / "orchestrator" / "trajectory.jsonl"), "--json")
    document = json.loads(result.stdout)
    assert document["runs"]["total"] >= 1
    assert document["flagged"]["before"] > 0
    assert document["lines"] == {"unreadable": 0, "torn": False}


def test_help_has_examples() -> None:
    shown = run("--help").stdout
    assert "veridical trajectory" in shown.partition("Examples:")[2]
