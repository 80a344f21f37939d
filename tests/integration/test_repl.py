"""`veridical repl`, the real command: on a pseudo-terminal, in a pipe, with a real text model."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import re
import select
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = "The bridge was opened to traffic in 1998. It carries eight lanes."
TIMEOUT = 60.0
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][0-9A-B]?)|\r")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Keep settings, state and data of this machine out."""
    (tmp_path / "bridge.txt").write_text(SOURCE)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("VERIDICAL_")}
    own = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    plain = {"PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm-256color", "COLUMNS": "100"}
    return kept | own | plain | {"XDG_DATA_HOME": str(tmp_path / "data")}


class Terminal:
    """A pseudo-terminal with the command on its other end."""

    def __init__(self, environment: dict[str, str], folder: Path, *arguments: str) -> None:
        ours, theirs = pty.openpty()
        self._file = ours
        self.process = subprocess.Popen(
            [sys.executable, "-m", "veridical", "repl", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = ""
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, expected: str) -> str:
        """Read until something is shown; return all that was shown since the last time."""
        until = time.monotonic() + TIMEOUT
        while expected not in (shown := _SEQUENCE.sub("", self.raw)[self._seen :]):
            assert time.monotonic() < until, f"{expected!r} is not in {shown!r}"
            ready, _, _ = select.select([self._file], [], [], 0.2)
            if ready:
                self.raw += os.read(self._file, 65536).decode(errors="replace")
        end = shown.index(expected) + len(expected)
        self._seen += end
        return shown[:end]

    def close(self) -> int:
        code = self.process.wait(TIMEOUT)
        os.close(self._file)
        return code


@pytest.fixture
def terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    if importlib.util.find_spec("prompt_toolkit") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("prompt_toolkit is not installed")
        pytest.skip("prompt_toolkit is not installed")
    started = Terminal(environment, tmp_path, "--source", "S1=bridge.txt")
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.wait()


@pytest.mark.slow
@pytest.mark.spec("SPEC-16.02", "SPEC-16.35", "SPEC-08.33")
def test_a_person_at_a_terminal_verifies_explains_and_leaves(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.wait_for(">>>")
    terminal.type("/verify The bridge has six lanes [S1].\r")
    terminal.wait_for("1 of 1 verified claims flagged")
    terminal.wait_for(">>>")
    terminal.type("/exp\t")
    terminal.wait_for("lain")
    terminal.type(" 1\r")
    shown = terminal.wait_for("Correct the claim to what the evidence says")
    assert "It carries eight lanes." in shown
    terminal.wait_for(">>>")
    terminal.type("for i in range(2):\r    print('n', i)\r\r")
    terminal.wait_for("n 1")
    terminal.wait_for(">>>")
    terminal.type("verify_claim(3, sources)\r")
    assert "Traceback" not in terminal.wait_for("the claim must be text, not int")
    terminal.wait_for(">>>")
    terminal.type("half a li\x03")
    terminal.wait_for(">>>")
    terminal.type("40 + 2\r")
    terminal.wait_for("42")
    terminal.wait_for(">>>")
    terminal.type("\x04")
    assert terminal.close() == 0
    history = tmp_path / "state" / "veridical" / "repl_history"
    assert "six lanes" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_result_has_colour_on_a_terminal_and_none_with_no_color(
    environment: dict[str, str], tmp_path: Path
) -> None:
    typed = "verify_claim('It has six lanes.', 'It has eight lanes.')\rexit()\r"
    coloured = {}
    for no_color in ("", "1"):
        started = Terminal(environment | {"NO_COLOR": no_color}, tmp_path, "--quiet")
        started.type(typed)
        shown = ""
        while True:
            try:
                shown += os.read(started._file, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
        assert started.close() == 0
        line = next(line for line in shown.splitlines() if "c1 contradicted" in line)
        coloured[no_color] = bool(re.search(r"\x1b\[[0-9;]*38;5;", line))
    assert coloured == {"": True, "1": False}


def piped(
    environment: dict[str, str], folder: Path, lines: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "veridical", "repl", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        timeout=TIMEOUT * 3,
        check=False,
        env=environment,
        cwd=folder,
    )


@pytest.mark.spec("SPEC-16.35")
def test_lines_in_a_pipe_are_answered_plainly(environment: dict[str, str], tmp_path: Path) -> None:
    lines = "/verify It carries eight lanes. It is blue.\n/explain 2\n/nope\n"
    run = piped(environment, tmp_path, lines, "--source", "bridge.txt")
    assert run.returncode == 0
    assert "1 of 2 verified claims flagged, of 2" in run.stdout
    assert "\x1b" not in run.stdout
    assert ">>>" not in run.stdout
    assert run.stderr.startswith("error: there is no such command\n")


@pytest.mark.slow
@pytest.mark.spec("SPEC-16.04", "SPEC-16.05")
def test_a_real_text_model_answers_and_is_asked_again(
    environment: dict[str, str], tmp_path: Path, llama_server: str
) -> None:
    """Its answers are random: tested is that they are verified and measured."""
    environment |= {"VERIDICAL_OPENAI__BASE_URL": llama_server, "VERIDICAL_OPENAI__API_KEY": "none"}
    lines = (
        "llm('How many lanes does the bridge carry?')\n"
        "measure_dependence('How many lanes?', 'It carries eight lanes.', sources)\n"
        "consistency('It carries eight lanes.', sources)\n"
    )
    model = ("--text-model", "openai:smollm2", "--json", "--source", "S1=bridge.txt")
    run = piped(environment, tmp_path, lines, *model)
    assert run.returncode == 0, run.stderr
    answer, dependence, consistency = map(json.loads, run.stdout.splitlines())
    assert answer["text"].strip()
    assert answer["report"]["schema"] == "veridical.hallucinations/1"
    assert answer["report"]["skipped"] is None
    assert dependence["method"] == "re_asking"
    assert (dependence["value"] is None) == (dependence["reason"] is not None)
    assert consistency["method"] == "text_model"
    assert (consistency["value"] is None) == (consistency["reason"] is not None)
