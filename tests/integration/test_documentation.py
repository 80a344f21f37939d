"""The pages of the documentation: their code runs as printed, and what is generated is up to date.

A ```python, ```pycon or ```bash block runs in a folder that a page has to itself, one after the
other, and shares names with those before it. A ```text block that follows is what it prints. A
block that cannot run here says why: `<!-- not run: REASON -->` on the line before it.
"""

from __future__ import annotations

import doctest
import importlib.util
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from veridical.pipeline.inference.presets import presets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PORT = "8642"
PATIENCE_S = 60
DONE = "== done"

NEW = (
    "batch.md",
    *("index.md", "choices.md", "operations.md", "privacy.md", "glossary.md", "comparison.md"),
    *("start/rag.md", "start/agents.md", "start/clinical.md", "start/platform.md"),
    *("concepts/questions.md", "concepts/calibration.md", "concepts/certainty.md"),
)
"""Pages of which every block runs or says why not."""

PYTHON_RUNS = ("memory.md", "traces.md")
"""Other pages of which the ```python blocks run."""

SHOWN_ONLY = {"text", "json", "yaml"}
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FIGURE = re.compile(r"[+-]?\d+\.\d+")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    reason: str | None = None
    prints: str | None = None


def blocks(page: str) -> list[Block]:
    """Return the blocks that are code, each with what it is said to print."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for match in BLOCK.finditer(text):
        if match["language"] == "text" and found and not text[end : match.start()].strip():
            found[-1] = Block(**vars(found[-1]) | {"prints": match["code"]})
        elif match["language"] not in SHOWN_ONLY:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(match["language"], match["code"], line, match["reason"]))
        end = match.end()
    return found


class Session:
    """Runs the blocks of a page."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        # One shell for the page: what runs in the background is there for the blocks that follow.
        self.shell = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
            start_new_session=True,
        )

    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        more = {"VERIDICAL_SERVER__PORT": self.port, "PYTHONIOENCODING": "utf-8"}
        return os.environ | more | {"PATH": path}

    def run(self, block: Block) -> None:
        printed = {"python": self.python, "pycon": self.doctest, "bash": self.bash}[block.language](
            block
        )
        if block.prints is None:
            return
        want, got = (FIGURE.sub("N", text) for text in (block.prints, printed))
        assert doctest.OutputChecker().check_output(want, got, LOOSE), printed

    def python(self, block: Block) -> str:
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.code, f"line {block.line}", "exec"), self.names)  # noqa: S102 -- the pages are ours
        return printed.getvalue()

    def doctest(self, block: Block) -> str:
        test = doctest.DocTestParser().get_doctest(block.code, self.names, "page", None, block.line)
        assert test.examples
        runner = doctest.DocTestRunner(optionflags=LOOSE)
        with redirect_stdout(io.StringIO()) as printed:
            failed = runner.run(test, clear_globs=False).failed
        assert not failed, printed.getvalue()
        return printed.getvalue()

    def bash(self, block: Block) -> str:
        """Run the commands; the exit code of each counts, as in a script with `set -e`."""
        assert self.shell.stdin
        assert self.shell.stdout
        code = block.code.replace(PORT, self.port)
        self.shell.stdin.write(f"set -e\n{code}\necho '{DONE}'\n")
        self.shell.stdin.flush()
        lines: list[str] = []
        with closing_after(PATIENCE_S, self.end):
            for line in self.shell.stdout:
                lines.append(line.removesuffix(f"{DONE}\n"))
                if line.endswith(f"{DONE}\n"):
                    return "".join(lines)
        raise AssertionError("".join(lines))

    def end(self) -> None:
        """End the shell, and all that a page left running in it."""
        with suppress(ProcessLookupError):
            os.killpg(self.shell.pid, signal.SIGKILL)

    def close(self) -> None:
        with self.shell:
            self.end()


@contextmanager
def closing_after(seconds: float, end: Callable[[], object]) -> Iterator[None]:
    """Call `end` if the block takes longer."""
    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Return a session in a folder of its own, with a database of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with closing(Session()) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("page", [*NEW, *PYTHON_RUNS])
def test_the_code_of_a_page_runs_as_printed(page: str, session: Session) -> None:
    for block in blocks(page):
        if block.reason or (page in PYTHON_RUNS and block.language != "python"):
            continue
        session.run(block)


def test_a_block_that_does_not_do_what_is_printed_is_found(session: Session) -> None:
    session.run(Block("python", "print('a', 0.5)\n", 1, prints="a 0.7\n"))
    for wrong in (
        Block("python", "print('a')\n", 1, prints="b\n"),
        Block("pycon", ">>> 1 + 1\n3\n", 1),
        Block("bash", "false\ntrue\n", 1),
    ):
        with pytest.raises(AssertionError):
            session.run(wrong)


def test_every_start_page_is_short() -> None:
    pages = sorted((DOCS / "start").glob("*.md"))
    assert [page.name for page in pages] == ["agents.md", "clinical.md", "platform.md", "rag.md"]
    assert [p.name for p in pages if len(p.read_text(encoding="utf-8").splitlines()) >= 100] == []


# --- what is generated, and what is listed ---------------------------------------------------


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli", "http", "mcp"])
def test_the_reference_is_what_the_program_says(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    committed = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert script("reference").PAGES[page]() == committed, "run python scripts/reference.py"


@pytest.mark.parametrize("words", [["check"], ["memory", "add"]])
def test_the_reference_shows_what_help_prints(words: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "veridical", *words, "--help"],
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    printed = "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert f"## veridical {' '.join(words)}\n\n```text\n{printed}\n```\n" in page


def test_the_reliability_plot_is_of_the_weights_that_ship() -> None:
    plot = (DOCS / "images" / "reliability.svg").read_text(encoding="utf-8")
    (described,) = re.findall(r"<dc:description>(.*?)</dc:description>", plot, re.DOTALL)
    said = json.loads(described.strip().replace("&quot;", '"'))
    assert said == json.loads(script("plots").described()), "run python scripts/plots.py"


def test_every_decision_is_listed_by_its_number_and_title() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \| .+\. \|$", index, re.MULTILINE)
    decisions = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    assert len(decisions) > 20
    assert listed == [(str(int(path.name[:4])), title(path), path.name) for path in decisions]


def test_the_table_of_choices_says_what_the_presets_do() -> None:
    page = (DOCS / "choices.md").read_text(encoding="utf-8")
    row = r"^\| `([\w.-]+)` \| (.+) \| (.+) \| (.+) \| (.+) \| (yes|no) \|$"
    listed = re.findall(row, page, re.MULTILINE)
    known = {name: one for name, one in presets().items() if one.kind != "card"}
    assert [name for name, *_ in listed] == ["embedded", *known]
    for name, licence, parameters, figure, source, contradicts in listed[1:]:
        one = known[name]
        assert (licence, parameters) == (one.licence, one.parameters)
        assert contradicts == ("yes" if one.contradicts else "no")
        accuracy = one.balanced_accuracy
        assert figure == ("—" if accuracy is None else f"{accuracy * 100:.1f} %")
        assert f"({one.balanced_accuracy_source})" in source or accuracy is None


def title(decision: Path) -> str:
    """Return the title of a decision, without its number."""
    heading = decision.read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(r"^# \d+\.? ", "", heading)


def test_the_glossary_is_in_alphabetical_order() -> None:
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)[2:]
    assert len(terms) > 40
    assert terms == sorted(terms, key=str.lower)
