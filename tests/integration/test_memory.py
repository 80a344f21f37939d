"""Memory on the command line, with the embedded model; and its state after a kill."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import _crashes
from _llama_server import LlamaServer
from veridical.core.measurements import Query, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.interfaces.cli.app import app
from veridical.memory import FactState, Memory, MemoryGate
from veridical.settings import Settings
from veridical.store import default_url
from veridical.testing import FakeBackend
from veridical.verification.verifier import Verifier
from veridical.wiring.memories import build_memory

if TYPE_CHECKING:
    from click.testing import Result

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes and was built by Acme."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with a source, a memory of its own, and a gate that has time."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__TIMEOUT", "60s")  # the machine may be busy
    (tmp_path / "notice.txt").write_text(SOURCE)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["memory", *arguments])
    assert result.exit_code == code, result.output
    assert "SECRET" not in result.stderr
    return result


def document(*arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return found


def test_a_fact_is_added_listed_found_shown_and_retracted() -> None:
    arguments = ("-s", "S1=notice.txt", "-e", "bridge", "-e", "lanes=eight", "--gate")
    added = document("add", "The bridge has eight lanes.", *arguments)
    assert (added["schema"], added["outcome"]) == ("veridical.remembered/1", "stored")
    assert (added["reason"], added["fact"]["state"]) == ("grounded", "verified")
    key = added["fact"]["id"]
    assert [fact["id"] for fact in document("list", "--entity", "BRIDGE")["facts"]] == [key]
    assert [fact["id"] for fact in document("search", "lanes eight")["facts"]] == [key]
    shown = document("show", key)
    assert shown["fact"]["participants"][1] == {"role": "lanes", "entity": "eight"}
    assert shown["fact"] == added["fact"]
    page = run("show", key).stdout
    assert "The bridge has eight lanes." in page
    assert "sha256" in page
    assert "verified" in run("list").stdout
    gone = document("retract", key)["facts"]
    assert [fact["id"] for fact in gone] == [key]
    assert document("list")["facts"] == []
    assert document("list", "--all")["facts"][0]["retracted"]
    assert "No facts" in run("list").stdout
    assert "Retracted 0 facts" in run("retract", key).stdout
    assert document("delete", key) == {
        "schema": "veridical.deleted/1",
        "deleted": key,
        "retracted": [],
    }
    assert document("list", "--all")["facts"] == []


@pytest.mark.spec("SPEC-08.16", "SPEC-08.18")
def test_what_the_source_does_not_carry_is_rejected_with_exit_code_1() -> None:
    text = "The bridge has six SECRET lanes."
    arguments = ("add", text, "-s", "notice.txt", "--gate")
    found = document(*arguments, code=1)
    assert (found["outcome"], found["fact"]) == ("rejected", None)
    assert found["error"]["status"] in {"ErrFactContradicted", "ErrFactNotGrounded"}
    shown = run(*arguments, code=1).stdout
    assert "Rejected" in shown
    assert "Correct the fact, or its sources" in shown
    noted = document("rejected")["rejections"]
    assert [each["length"] for each in noted] == [len(text)] * 2
    assert "SECRET" not in json.dumps(noted)
    assert "2 rejections" in run("rejected").stdout


@pytest.mark.spec("SPEC-08.35")
def test_the_gate_is_off_by_default_and_says_so() -> None:
    shown = run("add", "The bridge is blue.").stdout
    assert "the gate is off" in " ".join(shown.split())
    assert document("list")["facts"][0]["state"] == "unverified"
    assert document("pending")["pending"] == []


@pytest.mark.spec("SPEC-08.02", "SPEC-08.34")
def test_the_settings_turn_the_gate_on_and_set_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ENABLED", "MEMORY_GATE__ENABLED")
    for name in names:
        monkeypatch.setenv(f"VERIDICAL_HALLUCINATION__{name}", "true")
    assert document("add", "The bridge is blue.", code=1)["reason"] == "no_evidence"
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__MEMORY_GATE__REJECT_UNSUPPORTED", "false")
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__MEMORY_GATE__MIN_CONFIDENCE", "0.25")
    monkeypatch.setenv("VERIDICAL_POLICY__GAP_THRESHOLD_BITS", "1.5")
    found = document("add", "The bridge is blue.", code=1)
    assert found["fact"]["state"] == "unsupported"
    with build_memory(Settings.load()) as memory:
        assert memory.gate is not None
        rules = memory.gate.rules
        assert (rules.gap_threshold_bits, rules.min_confidence) == (1.5, 0.25)
        assert memory.gate.timeout_s == 60.0
    for name in names:
        monkeypatch.setenv(f"VERIDICAL_HALLUCINATION__{name}", "false")
        with build_memory(Settings.load()) as memory:
            assert memory.gate is None
        monkeypatch.setenv(f"VERIDICAL_HALLUCINATION__{name}", "true")


@pytest.mark.spec("SPEC-08.27")
def test_the_settings_say_who_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__BACKEND__DEFAULT", "nobody")
    with pytest.raises(ConfigurationError, match="'nobody'"):
        build_memory(Settings.load(), gate=True)
    monkeypatch.setenv("VERIDICAL_HALLUCINATION__BACKEND__TYPE", "configurable")
    monkeypatch.setenv("VERIDICAL_ALIASES__MEMORY", "embedded")
    with build_memory(Settings.load(), gate=True) as memory:
        assert memory.gate is not None
        assert memory.gate.backend.info.name == "embedded"


@pytest.mark.spec("SPEC-08.42")
def test_what_waits_is_verified_on_the_command_line() -> None:
    def down(_: Query) -> Unmeasured:
        return Unmeasured(UnmeasuredReason.TIMEOUT)

    backend = FakeBackend(down)
    with Memory(default_url(), MemoryGate(Verifier(backend), backend)) as memory:
        for text in ("The bridge has eight lanes.", "Acme went out of business in 2003."):
            memory.remember(text, {"S1": SOURCE})
    assert [each["reason"] for each in document("pending")["pending"]] == ["timeout"] * 2
    worked = document("verify-pending", code=1)
    assert (worked["verified"], worked["rejected"], worked["waiting"]) == (1, 1, 0)
    (left,) = document("list")["facts"]
    assert (left["text"], left["state"]) == ("The bridge has eight lanes.", "verified")
    assert "0 facts waiting" in run("pending").stdout
    assert "verified" in run("verify-pending").stdout


def test_a_fact_is_promoted_through_the_gate() -> None:
    arguments = ("-s", "notice.txt", "--tier", "task")
    key = document("add", "The bridge has eight lanes.", *arguments)["fact"]["id"]
    found = document("promote", key, "long_term", "--gate")["fact"]
    assert (found["tier"], found["state"]) == ("long_term", "verified")
    assert "in tier long_term already" in run("promote", key, "session", code=2).stderr


@pytest.mark.slow
def test_facts_are_found_by_the_vectors_of_a_real_model(
    smollm2_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("The bridge has eight lanes.", "The toll is two euros.", "word " * 3000):
        run("add", text)
    with LlamaServer(smollm2_path, embeddings=True) as server:
        monkeypatch.setenv("VERIDICAL_EMBEDDINGS__MODEL", "smollm2")
        monkeypatch.setenv("VERIDICAL_EMBEDDINGS__BASE_URL", f"{server.address}/v1")
        found = document("search", "The toll is two euros.", "--semantic")["facts"]
        # The third is longer than the model reads: it has no vector.
        assert [fact["text"][:8] for fact in found] == ["The toll", "The brid"]
        assert found[0]["similarity"] == pytest.approx(1.0, abs=1e-3)
        assert found[1]["similarity"] < found[0]["similarity"]
        assert "similarity" in run("search", "toll", "--semantic").stdout
    assert "no connection" in run("search", "toll", "--semantic", code=3).stderr


def test_a_search_that_finds_nothing_says_so() -> None:
    assert "veridical memory add" in run("list").stdout
    run("add", "The bridge has eight lanes.")
    for arguments in (("search", "tunnel"), ("list", "--entity", "tunnel")):
        assert "No fact that is remembered" in run(*arguments).stdout


def test_rejections_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run("add", "It has six lanes.", "--gate", code=1)
    assert "no_evidence" in run("rejected").stdout
    assert "\u2026" not in run("rejected").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "SECRET", "--semantic"),
        ("add", "SECRET", "--confidence", "7"),
        ("add", "SECRET", "--tier", "SECRET"),
        ("add", " "),
        ("add", "SECRET", "-s", "nowhere.txt"),
        ("add", "SECRET", "--depends-on", "nobody"),
        ("show", "nobody"),
        ("retract", "nobody"),
        ("promote", "nobody", "session"),
        ("list", "--tier", "SECRET"),
    ],
)
def test_wrong_use_is_a_named_error_with_a_hint(arguments: tuple[str, ...]) -> None:
    error = run(*arguments, code=2).stderr
    assert error.startswith("error: ")
    assert "\nhint: " in error


# --- kill -9 ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("SPEC-08.43")
def test_killed_writers_lose_nothing_acknowledged_and_verify_nothing_wrongly(
    tmp_path: Path,
) -> None:
    script = str(Path(_crashes.__file__))
    url = f"sqlite:///{tmp_path}/crashes.db"
    command = [sys.executable, script, url, "--kills", "6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    found = json.loads(done.stdout)
    assert found["acknowledged"] >= 6
    assert found["rejections_acknowledged"] > 0
    with sqlite3.connect(tmp_path / "crashes.db") as connection:
        states = dict(
            connection.execute("SELECT state, count(*) FROM memory_facts GROUP BY state").fetchall()
        )
    connection.close()
    assert set(states) == {FactState.VERIFIED.value}
