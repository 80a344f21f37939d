"""The shell, line by line, without a terminal."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from veridical import repl
from veridical.core.measurements import Measurement, Query
from veridical.core.types import Source
from veridical.errors import BackendError
from veridical.feedback.labels import Feedback
from veridical.interfaces.cli.app import app
from veridical.interfaces.repl.commands import COMMANDS, run_command
from veridical.interfaces.repl.display import Display
from veridical.interfaces.repl.lines import completions, converse, history_path, private_file
from veridical.interfaces.repl.shell import Shell
from veridical.settings import Settings
from veridical.testing import FakeBackend, FakeTextModel, fake_estimate
from veridical.wiring.build import build_store

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[3]
SOURCE = Source("S1", "The bridge carries eight lanes.")
ANSWER = "It has six lanes [S1]. It is wide [S1]."


def answer(query: Query) -> Measurement:
    return fake_estimate(0.02, 0.95) if "six" in query.claim else fake_estimate(0.9)


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test a made-up backend and text model, and a home of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "120")
    repl.configure(
        backend=FakeBackend(answer), text_model=FakeTextModel(lambda _: ANSWER), settings=Settings()
    )
    yield
    repl.configure(backend=None, text_model=None, settings=None)


@pytest.fixture
def shell() -> Shell:
    return Shell(run_command, sources=[SOURCE])


def lines(shell: Shell, *typed: str) -> None:
    for line in typed:
        shell.take(line)


# --- Python ----------------------------------------------------------------------------------


def test_expressions_and_statements_run(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    lines(shell, "a = 20", "a + 1", "_ * 2", "None")
    assert capsys.readouterr().out == "21\n42\n"


def test_a_statement_of_several_lines_waits_for_its_end(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.take("for i in range(2):")
    assert shell.waiting
    assert shell.take("    print(i)")
    assert not shell.take("")
    assert capsys.readouterr().out == "0\n1\n"


def test_a_statement_that_has_begun_can_be_dropped_or_finished(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take("if True:")
    shell.drop()
    assert not shell.waiting
    lines(shell, "if True:", "    print('ran')")
    shell.finish()
    assert capsys.readouterr().out == "ran\n"


def test_a_slash_inside_a_statement_is_no_command(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(shell, "x = (6", "/2)", "x")
    assert capsys.readouterr().out == "3.0\n"


def test_the_functions_and_the_sources_are_at_hand(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(shell, "verify_claim('It has six lanes.', sources).status.value")
    assert capsys.readouterr().out == "contradicted\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("verify_claim(1, 'x')", "error: the claim must be text, not int\nhint: "),
        ("configure(backend='nope')", "error: there is no backend named 'nope'\nhint: "),
        ("verify_claim()", "TypeError: verify_claim() missing 2 required"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x = 'open", "SyntaxError: unterminated string literal"),
        ("undefined", "NameError: name 'undefined'"),
    ],
)
def test_mistakes_are_said_without_a_traceback_of_ours(
    shell: Shell, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    shell.take(line)
    err = capsys.readouterr().err
    assert said in err
    assert "site-packages" not in err
    assert "/veridical/" not in err
    assert "code.py" not in err


def test_an_interrupt_ends_the_line_and_not_the_shell(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(shell, "raise KeyboardInterrupt", "'still here'")
    out, err = capsys.readouterr()
    assert err == "note: interrupted\n"
    assert out == "still here\n"


@pytest.mark.parametrize("line", ["exit()", "quit()", "/quit"])
def test_the_shell_can_be_left(shell: Shell, line: str) -> None:
    with pytest.raises(SystemExit):
        shell.take(line)


def test_terminal_sequences_in_results_are_shown_and_not_obeyed(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(shell, r"'\x1b[31mred [bold]x[/bold]'")
    assert capsys.readouterr().out == "␛[31mred [bold]x[/bold]\n"


# --- commands --------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-16.35")
def test_verify_checks_a_text_and_explain_says_all_of_a_claim(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take(f"/verify {ANSWER}")
    out = capsys.readouterr().out
    assert out.startswith("1 of 2 verified claims flagged, of 2\n")
    assert re.search(r"✗ +c1 +contradicted .*It has six lanes\.", out)
    shell.take("/explain 1")
    out = capsys.readouterr().out
    assert "quantity differs" in out
    assert "The bridge carries eight lanes." in out
    assert "Correct the claim" in out


@pytest.mark.spec("SPEC-16.35")
@pytest.mark.parametrize("command", ["/verify", "/verify last"])
def test_verify_checks_the_last_answer(
    shell: Shell, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    lines(shell, "answer = llm('How many lanes?', verify=False)", "answer")
    assert capsys.readouterr().out.strip() == ANSWER
    shell.take(command)
    assert "1 of 2 verified claims flagged" in capsys.readouterr().out


def test_llm_reads_the_sources_and_simple_switches_its_verification(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take("llm('How many lanes?')")
    assert "1 of 2 verified claims flagged" in capsys.readouterr().out
    lines(shell, "/simple", "llm('How many lanes?')")
    out = capsys.readouterr().out
    assert "Verification is off" in out
    assert "flagged" not in out
    lines(shell, "/simple", "llm('How many lanes?')")
    assert "flagged" in capsys.readouterr().out


def test_sources_are_listed_added_and_cleared(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("It was painted blue.")
    lines(shell, "/sources add notes.txt", "/sources add S1=notes.txt")
    out, err = capsys.readouterr()
    assert out == "S1: 31 characters\nnotes.txt: 20 characters\n"
    assert "these ids already: S1" in err
    lines(shell, "/sources clear", "/verify It is on.", "/sources rename")
    out, err = capsys.readouterr()
    assert out == "There are no sources\n"
    assert err.count("error:") == 2


def test_the_backend_is_shown_and_changed(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    lines(shell, "/backend", "/backend nope", "/backend embedded")
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "backend fake:fake; text model fake:fake"
    assert out.splitlines()[1].startswith("backend embedded:verifier-v5")
    assert "no backend named 'nope'" in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/nope", "there is no such command"),
        ("/explain 1", "no result with claims yet"),
        ("/verify", "there is no answer yet"),
        ("/sources add missing.txt", "there is no file missing.txt"),
        ("/right 1", "no result with claims yet"),
    ],
)
def test_commands_used_wrongly_say_so(
    shell: Shell, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    shell.take(line)
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert "hint: " in err


def test_verdicts_are_marked_right_and_wrong(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines(shell, f"/verify {ANSWER}", "/right 1", "/wrong c2", "/wrong 7")
    assert "Marked c1 as right\nMarked c2 as wrong\n" in capsys.readouterr().out
    assert (tmp_path / "data" / "veridical" / "veridical.db").exists()
    store = build_store(Settings())
    marks = Feedback(store).list()
    store.close()
    assert [(mark.claim_id, mark.right) for mark in marks] == [("c1", True), ("c2", False)]


def test_a_claim_without_its_answer_cannot_be_marked(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(shell, "verify_claim('It is on.', 'x')", "/wrong 1")
    assert "only claims of a whole answer" in capsys.readouterr().err


def test_help_names_every_command_and_the_functions(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.take("/help")
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    assert "verify_claim" in out


def test_a_backend_that_breaks_is_said(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(FakeBackend):
        async def estimate(self, _queries: object) -> list[Measurement]:
            msg = "the weights are damaged"
            raise BackendError(msg, hint="Install again")

    repl.configure(backend=Broken(answer))
    lines(shell, "/verify It is on.", "verify_claim('It is on.', 'x')")
    assert capsys.readouterr().err == "error: the weights are damaged\nhint: Install again\n" * 2


# --- JSON ------------------------------------------------------------------------------------


def test_with_json_every_result_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(run_command, display=Display(json=True), sources=[SOURCE])
    lines(
        shell,
        f"/verify {ANSWER}",
        "verify_claims('It is on.', sources)",
        "audit_trace(['It is on.'], sources)",
        "evidence_dependence(None, 'It is on.', sources)",
        "llm('Hello?')",
        "1 + 1",
        "object",
        "/backend",
    )
    out, err = capsys.readouterr()
    documents = [json.loads(line) for line in out.splitlines()]
    assert len(documents) == 7
    assert documents[0]["schema"] == "veridical.hallucinations/1"
    assert documents[1][0]["schema"] == "veridical.verification/1"
    assert documents[4]["report"]["flagged_claims"] == 1
    assert documents[5:] == [2, "<class 'object'>"]
    assert err.startswith("backend fake:fake")


# --- completion and history ------------------------------------------------------------------


def words(shell: Shell, typed: str) -> list[str]:
    return [word for word, _ in completions(shell, typed)]


def test_names_commands_claims_and_paths_are_completed(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("x")
    assert words(shell, "x = verify_cl") == ["verify_claim(", "verify_claims("]
    assert words(shell, "'a'.") == []
    assert words(shell, "/e") == ["/explain"]
    assert words(shell, "/sources ") == ["add ", "clear"]
    assert words(shell, "/sources add S2=d") == ["docs/"]
    assert words(shell, "/sources add docs/") == ["a.txt"]
    assert words(shell, "/sources add nowhere/") == []
    lines(shell, f"/verify {ANSWER}")
    assert words(shell, "/explain ") == ["c1", "c2"]


def test_the_history_is_private(tmp_path: Path) -> None:
    path = history_path()
    assert path.is_relative_to(tmp_path / "state")
    private_file(path)
    path.chmod(0o644)
    private_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_prompt_toolkit_lines_are_still_asked_for(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    typed = iter(["1 + 1", KeyboardInterrupt, "if True:", KeyboardInterrupt, "'after'", EOFError])

    def ask(_prompt: str) -> str:
        line = next(typed)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", ask)
    converse(shell)
    out = capsys.readouterr().out
    assert "pip install 'veridical[repl]'" in out
    assert out.endswith("\n2\nafter\n")


# --- the command -----------------------------------------------------------------------------


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["repl", *arguments], input=stdin)


def test_help_has_examples_and_the_common_options() -> None:
    shown = run("--help").stdout
    assert "veridical repl" in shown.partition("Examples:")[2]
    options = set(re.findall(r"--\w[\w-]+", shown))
    assert {"--json", "--quiet", "--config"} <= options


def test_every_command_and_function_is_in_the_manual() -> None:
    page = (ROOT / "docs" / "repl.md").read_text(encoding="utf-8")
    assert all(f"`{command.usage}`" in page for command in COMMANDS.values())
    assert all(f"{name}(" in page for name in repl.namespace())


def test_lines_come_from_standard_input() -> None:
    result = run(stdin="for i in range(2):\n    print(i)\n\nexit(7)\nprint('never')\n")
    assert result.stdout == "0\n1\n"
    assert result.exit_code == 7


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backend", "nope"], "no backend named 'nope'"),
        (["--text-model", "nope"], "no text model named 'nope'"),
        (["--source", "missing.txt"], "no file missing.txt"),
        (["--source", "-"], "standard input is where the shell reads its lines"),
        (["--config", "missing.yaml"], "missing.yaml"),
    ],
)
def test_wrong_use_exits_with_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
