"""`veridical traces`, with the embedded verifier where one is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from veridical.interfaces.cli.app import app
from veridical.settings import Settings
from veridical.traces import ReasoningTraces

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder, with a store of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VERIDICAL_STORE__URL", f"sqlite:///{tmp_path}/traces.db")
    return tmp_path


@pytest.fixture
def goal() -> str:
    with ReasoningTraces(settings=Settings.load()) as traces:
        goal = traces.add_goal("Say how wide the \x1b[31mbridge is")
        decision = traces.add_decision(goal, "Read the notice")
        traces.add_option(decision, "Measure it")
        traces.add_evidence(decision, "S1", "The bridge has eight lanes. It opened in 1998.")
        traces.add_claim(decision, "The bridge has eight lanes.", ["S1"])
        traces.add_claim(decision, "The bridge has six lanes.", ["S1"])
        return goal


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["traces", *arguments], input=stdin)


@pytest.mark.spec("SPEC-16.16", "SPEC-16.18")
def test_claims_are_verified_and_the_exit_code_says_what_came_of_it(goal: str) -> None:
    before = run("report", goal)
    assert (before.exit_code, "2 not verified" in before.stdout) == (3, True)
    verified = run("verify", goal, "--json")
    assert verified.exit_code == 1, verified.stderr
    report = json.loads(verified.stdout)
    assert [claim["state"] for claim in report["claims"]] == ["supported", "contradicted"]
    after = run("report", goal[:12])
    assert (after.exit_code, after.stderr) == (1, "")
    assert "1 of 2 verified claims flagged" in after.stdout
    assert "contradicted The bridge has six lanes." in after.stdout
    assert json.loads(run("report", goal, "--json").stdout) == report
    assert run("report", goal, "--quiet").stdout == ""


def test_nothing_flagged_is_0_and_nothing_to_check_too(goal: str) -> None:
    with ReasoningTraces(settings=Settings.load()) as traces:
        empty = traces.add_goal("nothing yet")
        sub_goal = traces.add_goal("sub", goal)
        traces.add_claim(sub_goal, "The bridge has eight lanes.", ["S1"])
    assert run("verify", sub_goal).exit_code == 0
    assert run("report", empty).exit_code == 0
    assert run("report", goal).exit_code == 3


def test_the_tree_shows_every_node_and_steers_no_terminal(goal: str) -> None:
    run("verify", goal)
    shown = run("show", goal)
    assert shown.exit_code == 0
    for said in ("decision Read the notice", "option Measure it", "refutes: contradicted", "S1"):
        assert said in shown.stdout
    assert "\x1b" not in shown.stdout
    document = json.loads(run("show", goal, "--json").stdout)
    assert (document["schema"], len(document["nodes"])) == ("veridical.trace/1", 8)


def test_traces_are_listed_exported_removed_and_imported_again(goal: str) -> None:
    run("verify", goal)
    assert goal in run("list").stdout
    (listed,) = json.loads(run("list", "--json").stdout)["goals"]
    assert (listed["id"], listed["nodes"], listed["claims"]) == (goal, 8, 2)
    assert run("export", goal, "--out", "trace.json").exit_code == 0
    written = Path("trace.json").read_text(encoding="utf-8")
    assert run("import", "trace.json").exit_code == 2
    assert run("remove", goal, "--json").exit_code == 0
    assert "No traces yet" in run("list").stdout
    assert run("import", "-", stdin=written).stdout == f"Imported {goal}\n"
    assert run("export", goal, "--json").stdout == written


def test_other_formats_are_written(goal: str) -> None:
    graphml = run("export", goal, "--format", "graphml").stdout
    assert ET.fromstring(graphml.encode()).tag.endswith("graphml")  # noqa: S314 -- our own
    assert run("export", goal, "--format", "mermaid").stdout.startswith("flowchart TD\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "goal-none"), "no goal begins"),
        (("show", ""), "more than one goal begins"),
        (("remove", "goal-"), "there is no node"),
        (("import", "none.json"), "none.json"),
        (("import", "broken.json"), "invalid JSON"),
        (("import", "other.json"), "not a document of schema"),
        (("import", "data.json"), "data of node 1"),
        (("verify", "GOAL", "--backend", "nonsense"), "nonsense"),
        (("export", "GOAL", "--out", "no/such/folder.json"), "no folder"),
    ],
)
def test_wrong_use_is_2_with_a_hint_and_without_texts(
    goal: str, arguments: tuple[str, ...], says: str
) -> None:
    with ReasoningTraces(settings=Settings.load()) as traces:
        other = traces.add_goal("another")
        traces.add_claim(other, "SECRET")
        document = traces.tree(other).to_dict()
        document["nodes"][1]["data"] = {"confidence": "SECRET"}
    Path("broken.json").write_text('{"SECRET')
    Path("other.json").write_text('{"a": "SECRET"}')
    Path("data.json").write_text(json.dumps(document).replace(other, "goal-new"))
    result = run(*(goal if one == "GOAL" else one for one in arguments))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "hint: " in result.stderr
    assert "SECRET" not in result.stderr


@pytest.mark.parametrize(
    "command", ["list", "show", "report", "verify", "export", "import", "remove"]
)
def test_every_command_has_an_example_and_is_documented(command: str) -> None:
    page = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
    helped = run(command, "--help").stdout
    assert f"veridical traces {command}" in helped
    assert f"veridical traces {command}" in page
    assert "--json" in helped
