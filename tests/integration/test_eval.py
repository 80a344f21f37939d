"""`veridical eval` on a small labelled file, with the real embedded model."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

TOWER = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris. It is 330 metres tall. "
    "It was completed in 1889 and is owned by the City of Paris."
)
GARDEN = "The garden was laid out in 1720. It holds four hundred kinds of roses."
BOTH = [{"id": "S1", "text": TOWER}, {"id": "S2", "text": GARDEN}]
SUPPORTED = (
    ("The Eiffel Tower is 330 metres tall.", TOWER, {}),
    ("The tower stands in Paris.", [TOWER], {}),
    ("The City of Paris owns the tower.", BOTH, {"cites": ["S1"]}),
    ("The garden was laid out in 1720.", BOTH, {"extra": {"cites": ["S2"]}}),
    ("The tower was completed in 1889.", BOTH, {}),
)
NOT_SUPPORTED = (
    ("The Eiffel Tower is in Rome.", TOWER, {"label3": "contradicted"}),
    ("The tower is made of wood.", [TOWER], {"label3": "contradicted"}),
    ("The garden employs ninety people.", BOTH, {"label3": "not_in_context"}),
    ("The garden was laid out in 1720.", BOTH, {"cites": ["S1"]}),
    ("The tower stands in Paris.", BOTH, {"cites": ["S7"]}),
)
TIMINGS = ("ms_per_claim_p50", "claims_per_second")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with ten labelled claims, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    labelled = [("supported", row) for row in SUPPORTED]
    labelled += [("not_supported", row) for row in NOT_SUPPORTED]
    lines = [
        json.dumps({"id": f"r{n}", "claim": claim, "evidence": evidence, "label": label, **more})
        for n, (label, (claim, evidence, more)) in enumerate(labelled)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["eval", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def untimed(found: dict[str, Any]) -> str:
    for part in (*found["files"], found["mean"]):
        assert all(part.pop(name) > 0 for name in TIMINGS)
    return json.dumps(found)


def test_the_embedded_verifier_beats_the_baselines_on_plain_claims() -> None:
    (file,) = document("data.jsonl")["files"]
    assert (file["file"], file["n"], file["undetermined"], file["skipped"]) == (
        "data.jsonl", 10, 0, {}
    )  # fmt: skip
    assert file["auroc"] > 0.8
    assert file["recall"] >= 0.8
    assert file["auroc"] > file["baselines"]["length"]["auroc"]
    interval = file["intervals"]["auroc"]
    assert interval["low"] <= file["auroc"] <= interval["high"]


def test_two_runs_differ_in_their_timings_only() -> None:
    assert untimed(document("data.jsonl")) == untimed(document("data.jsonl"))


def test_a_resumed_run_gives_the_document_of_an_uninterrupted_one(folder: Path) -> None:
    whole = document("data.jsonl", "--resume", "kept.jsonl")
    kept = (folder / "kept.jsonl").read_bytes()
    (folder / "kept.jsonl").write_bytes(kept[: len(kept) // 2])
    resumed = document("data.jsonl", "--resume", "kept.jsonl")
    assert untimed(resumed) == untimed(whole)
    assert len((folder / "kept.jsonl").read_bytes().splitlines()) == 10


def test_gzipped_data_and_reports(folder: Path) -> None:
    packed = gzip.compress((folder / "data.jsonl").read_bytes())
    (folder / "more.jsonl.gz").write_bytes(packed)
    result = run(
        "data.jsonl", "more.jsonl.gz", "--limit", "6", "--markdown", "q.md", "--html", "q.html"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    for text in (result.stdout, (folder / "q.md").read_text(), (folder / "q.html").read_text()):
        assert "Against trivial baselines" in text
        assert "mean" in text
    assert "<svg" not in (folder / "q.html").read_text()


def test_options_reach_the_run() -> None:
    options = ("--limit", "4", "--seed", "5", "--windows", "all", "--bootstrap", "0")
    found = document("data.jsonl", *options)
    assert found["sample"] == {"limit": 4, "seed": 5}
    assert found["policy"]["windows"] == "all"
    assert found["bootstrap"]["replicates"] == 0
    assert set(found["mean"]["intervals"].values()) == {None}
    assert found["mean"]["n"] == 4


def test_quiet_prints_nothing() -> None:
    result = run("data.jsonl", "--limit", "1", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_nothing_to_measure_exits_with_3(folder: Path) -> None:
    row = {"id": "r", "evidence": "", "claim": "A.", "label": "supported"}
    (folder / "none.jsonl").write_text(json.dumps(row))
    result = run("none.jsonl", "--json", "--markdown", "q.md", "--html", "q.html")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["mean"]["skipped"] == {"no_evidence": 1}
    (folder / "empty.jsonl").write_text("")
    assert run("empty.jsonl").exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone.jsonl",), "cannot read gone.jsonl: No such file"),
        (("data.jsonl", "data.jsonl"), "given more than once"),
        (("bad.jsonl",), "bad.jsonl, line 1: is not valid JSON"),
        (("data.jsonl", "--backend", "nope"), "no backend named 'nope'"),
        (("data.jsonl", "--windows", "-1"), "--windows: must be a whole number from 0"),
        (("data.jsonl", "--html", "gone/q.html"), "there is no folder"),
        (("data.jsonl", "--resume", "data.jsonl"), "read as an input or written twice"),
        (("data.jsonl", "--resume", "bad.jsonl"), "cannot resume from bad.jsonl"),
        (("data.jsonl", "--limit", "0"), "--limit"),
        ((), "DATA..."),
    ],
)
def test_wrong_use_exits_with_2_and_a_message(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "bad.jsonl").write_text("SECRET")
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "SECRET" not in result.stderr
    assert (folder / "bad.jsonl").read_text() == "SECRET"
