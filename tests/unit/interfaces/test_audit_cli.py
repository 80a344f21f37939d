"""`veridical audit`, with the embedded model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

pytestmark = pytest.mark.spec("SPEC-08.23")

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
GOOD = "The bridge was opened in 1998."
BAD = "The bridge carries six lanes."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder but for a source, with no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_THREADS", "1")
    (tmp_path / "s.txt").write_text(SOURCE)
    return tmp_path


def run(trace: object, *arguments: str) -> Result:
    text = trace if isinstance(trace, str) else json.dumps(trace)
    return CliRunner().invoke(app, ["audit", "-", "-s", "S1=s.txt", *arguments], input=text)


@pytest.mark.parametrize(
    ("trace", "code", "says"),
    [
        ([GOOD], 0, "VALID: every step is entailed"),
        ([GOOD, BAD], 1, "INVALID: a step is contradicted"),
        ([GOOD, f"{GOOD[:-1]} [S7]."], 1, "WARNING: a step cites what does not exist"),
        (["Let me think about it."], 3, "UNAUDITABLE: no step asserts anything"),
        ({"steps": [GOOD], "answer": GOOD}, 0, "Answer: derivable"),
        ({"steps": [GOOD], "answer": "The bridge was opened in 1890."}, 1, "INVALID"),
    ],
)
def test_the_exit_code_is_the_conclusion(trace: object, code: int, says: str) -> None:
    result = run(trace)
    assert result.exit_code == code, result.output
    assert says in result.stdout


def test_quiet_prints_nothing() -> None:
    result = run([GOOD, BAD], "--quiet")
    assert (result.exit_code, result.output) == (1, "")


def test_json_is_one_document_of_the_schema() -> None:
    trace = {"steps": [GOOD, {"claim": BAD, "cites": ["step9", "S1"]}], "answer": GOOD}
    document = json.loads(run(trace, "--json").stdout)
    schema = json.loads((SCHEMAS / "audit-1.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["first_error"] == "step2"
    assert document["post_hoc"]["verdict"] == "derivable"
    assert document["steps"][1]["citations"] == [
        {"id": "step9", "kind": "phantom"},
        {"id": "S1", "kind": "source"},
    ]
    trace_schema = json.loads((SCHEMAS / "steps-1.schema.json").read_text())
    jsonschema.Draft202012Validator(trace_schema).validate(trace)


def test_question_and_answer_may_be_said_and_the_check_left_out() -> None:
    asked = ("--question", "When did it open?", "--answer", "1998", "--json")
    document = json.loads(run([GOOD], *asked).stdout)
    assert (document["question"], document["answer"]) == ("When did it open?", "1998")
    assert document["post_hoc"]["executor"] == "entailment"
    assert json.loads(run([GOOD], *asked, "--no-post-hoc").stdout)["post_hoc"] is None


def test_the_setting_leaves_the_check_out_and_the_flag_wins(folder: Path) -> None:
    (folder / "veridical.yaml").write_text(
        "hallucination: {trace_auditing: {check_post_hoc: false}}\n"
    )
    trace = {"steps": [GOOD], "answer": GOOD}
    assert json.loads(run(trace, "--json").stdout)["post_hoc"] is None
    assert json.loads(run(trace, "--json", "--post-hoc").stdout)["post_hoc"] is not None


def test_a_page_is_written(folder: Path) -> None:
    assert run([GOOD, BAD], "--html", "out.html", "--quiet").exit_code == 1
    page = (folder / "out.html").read_text()
    assert "INVALID: a step is contradicted" in page
    assert "first that does not hold" in page


def test_a_log_of_an_agent_is_audited() -> None:
    log = [
        {"role": "user", "content": "How many lanes has the bridge?"},
        {"role": "tool", "tool_call_id": "call_1", "content": SOURCE},
        {"role": "assistant", "content": "The bridge carries eight lanes."},
    ]
    Path("log.json").write_text(json.dumps(log))
    result = CliRunner().invoke(app, ["audit", "log.json", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert [step["label"] for step in document["steps"]] == ["ENTAILED"]
    assert document["post_hoc"]["premises"] == ["call_1"]


@pytest.mark.parametrize(
    ("trace", "arguments", "says"),
    [
        ("{", (), "not valid JSON"),
        ({"messages": []}, (), "no text of an assistant"),
        ([GOOD], ("--text-model", "nobody"), "no text model named 'nobody'"),
        ([GOOD], ("--backend", "nobody"), "no backend named 'nobody'"),
        ([GOOD], ("--answer", " "), "--answer is empty"),
        ([GOOD], ("--source", "-"), "standard input"),
        ([GOOD], ("--html", "nowhere/out.html"), "there is no folder"),
        ({"steps": [{"id": "S1", "claim": GOOD}]}, (), "'S1'"),
    ],
)
def test_wrong_use_is_named(trace: object, arguments: tuple[str, ...], says: str) -> None:
    result = run(trace, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_help_has_examples() -> None:
    result = CliRunner().invoke(app, ["audit", "--help"])
    assert "veridical audit trace.json --source S1=report.pdf" in result.stdout
