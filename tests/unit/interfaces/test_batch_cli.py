"""`veridical batch`, with the embedded model in one process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
GOOD = {"id": "good", "answer": "The bridge was opened in 1998.", "sources": SOURCE}
BAD = {"id": "bad", "claim": "The bridge was opened in 1890.", "evidence": [SOURCE]}
FAULTY = {"id": "faulty", "answer": "The bridge was opened in 1998."}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_THREADS", "1")
    return tmp_path


def write(*rows: dict[str, Any]) -> None:
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["batch", *arguments, "--processes", "1"])


def results() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out/rows.jsonl").read_text().splitlines()]


def test_a_complete_job_ends_with_0_and_again_without_a_check() -> None:
    write(GOOD, BAD)
    first = run("rows.jsonl", "out")
    assert first.exit_code == 0, first.output
    assert "2 of 2 written" in first.stdout
    assert "50.0% of 2" in first.stdout
    assert [row["outcome"] for row in results()] == ["grounded", "flagged"]
    again = json.loads(run("rows.jsonl", "out", "--json").stdout)
    assert (again["schema"], again["run"]["rows_checked"]) == ("veridical.batch/1", 0)


def test_rows_that_are_left_end_with_1() -> None:
    write(GOOD, BAD, FAULTY)
    assert run("rows.jsonl", "out", "--limit", "1").exit_code == 1
    rest = run("rows.jsonl", "out")
    assert rest.exit_code == 1
    assert "3 of 3 written, 1 of them with an error" in rest.stdout
    assert (results()[2]["error"], results()[2]["outcome"]) == ("bad_sources", None)


def test_a_decided_share_ends_with_0() -> None:
    write(*(BAD | {"id": n} for n in range(9)))
    done = run("rows.jsonl", "out", "--stop-share", "0.01")
    assert done.exit_code == 0
    assert "flagged share" in done.stdout
    assert len(results()) < 9


@pytest.mark.parametrize(
    ("rows", "arguments", "says"),
    [
        ([GOOD, GOOD], ("rows.jsonl", "out"), "the id of an earlier one: 1"),
        ([], ("rows.jsonl", "out"), "the input has no rows"),
        ([GOOD], ("nothing.jsonl", "out"), "names no file of rows"),
        ([GOOD], ("rows.jsonl", "rows.jsonl"), "not the folder of a batch"),
        ([GOOD], ("rows.jsonl", "out", "--backend", "openai:m"), "has neither a key"),
    ],
)
def test_wrong_use_ends_with_2(
    rows: list[dict[str, Any]], arguments: tuple[str, ...], says: str
) -> None:
    write(*rows)
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert not Path("out", "rows.jsonl").exists()


def test_other_settings_need_another_folder() -> None:
    write(GOOD)
    run("rows.jsonl", "out")
    done = run("rows.jsonl", "out", "--per-claim")
    assert done.exit_code == 2
    assert "fingerprint, per_claim differ" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("OPENAI__BASE_URL", "http://127.0.0.1:11/v1"), ("CLAIMS__MAX_TOKENS", "64")],
)
def test_another_text_model_of_claims_needs_another_folder(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("VERIDICAL_CLAIMS__MODEL", "openai:extractor")
    monkeypatch.setenv("VERIDICAL_OPENAI__API_KEY", "key")
    monkeypatch.setenv("VERIDICAL_OPENAI__BASE_URL", "http://127.0.0.1:9/v1")
    write(BAD)  # a claim, which is not taken apart
    assert run("rows.jsonl", "out").exit_code == 0
    assert "127.0.0.1" not in Path("out/manifest.json").read_text()
    monkeypatch.setenv(f"VERIDICAL_{name}", value)
    done = run("rows.jsonl", "out")
    assert done.exit_code == 2
    assert "claims_model, fingerprint differ" in done.stderr


def test_a_service_is_asked_from_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_OPENAI__API_KEY", "key")
    write(GOOD)
    service = ["batch", "rows.jsonl", "out", "--backend", "openai:m", "--processes", "2"]
    done = CliRunner().invoke(app, service)
    assert done.exit_code == 2
    assert "its limits hold within one process" in done.stderr


def test_a_dry_run_estimates_and_writes_nothing() -> None:
    write(GOOD, BAD, FAULTY)
    found = json.loads(run("rows.jsonl", "out", "--dry-run", "--json").stdout)
    assert found["rows"] == {"total": 3, "left": 2, "faulty": 1}
    assert found["seconds"] > 0
    assert (found["cost_usd"], found["sample"]) == (0.0, 2)
    assert found["queries"] >= 2
    assert not Path("out").exists()
    run("rows.jsonl", "out", "--limit", "1")
    before = Path("out/rows.jsonl").read_bytes()
    assert "1 of 3 left" in run("rows.jsonl", "out", "--dry-run").stdout
    assert Path("out/rows.jsonl").read_bytes() == before


def test_a_dry_run_prices_a_service_without_asking_it(
    chat_server: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = chat_server(lambda _: (500, {}))
    monkeypatch.setenv("VERIDICAL_OPENAI__BASE_URL", server.base_url)
    monkeypatch.setenv("VERIDICAL_OPENAI__API_KEY", "key")
    write(*(GOOD | {"id": n} for n in range(30)))
    name = ("--backend", "openai:gpt-4.1-mini")
    found = json.loads(run("rows.jsonl", "out", "--dry-run", "--json", *name).stdout)
    assert (found["seconds"], found["sample"], found["rows"]["left"]) == (None, 10, 30)
    assert 0 < found["cost_usd"] < 0.1
    assert server.requests == []
