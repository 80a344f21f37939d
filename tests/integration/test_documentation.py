"""The code of the documentation: every block runs as printed, or says why it does not.

A ```python, ```pycon or ```bash block runs in a folder that a page has to itself, one after the
other, and shares names with those before it. The folder has what a clone has. A ```text block that
follows is what it prints. Samples of JSON, YAML and TOML are valid. A block that cannot run here
says why: `<!-- not run: REASON -->` on the line before it.
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from veridical.settings import Settings

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
DONE = "== done"

FOLDERS = ("docs", "examples", "benchmarks", "training")
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))]
)
RUN = ("python", "pycon", "bash")
SAMPLES = ("json", "jsonl", "yaml", "toml")
NOT_RUN_AT_MOST = 46
SHOWN_AT_MOST = 7
CLONE = ("examples", "benchmarks/answers")
HOSTED = "https://api.openai.com/v1"
"""Replaced by a server on loopback, like the ports that the pages name."""

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FIGURE = re.compile(r"[+-]?\d+\.\d+")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# A verdict is no failure of a command: 1 of veridical is one, of another program it is not.
TRAP = """trap 's=$?; case "$s $BASH_COMMAND" in "1 "*veridical*) ;; *) exit $s;; esac' ERR\n"""


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    reason: str | None = None
    prints: str | None = None


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page; text behind code that runs is what the code prints."""
    found: list[Block] = []
    end = -1
    for match in BLOCK.finditer(text):
        follows = (
            bool(found) and found[-1].language in RUN and not text[end : match.start()].strip()
        )
        if match["language"] == "text" and follows:
            found[-1] = Block(**vars(found[-1]) | {"prints": match["code"]})
        else:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(match["language"], match["code"], line, match["reason"]))
        end = match.end()
    return found


def unfenced(text: str) -> list[int]:
    """Return the numbers of lines that Markdown shows as code without a fence."""
    outside = BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = outside.split("\n")
    inside = False  # an admonition or an item of a list
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith(" "):
            inside = bool(re.match(r"!!!|[-*] |\d+\. ", line))
        if "```" in line or (line.startswith("    ") and line.strip() and not inside):
            found.append(number)
    return found


ALL = [(page, block) for page in PAGES for block in blocks(text_of(page))]
ELSEWHERE = {"docs/recipes.md"}
"""Needs many other programs: `make recipes` runs its blocks."""
RUNNING = sorted(
    {page for page, block in ALL if block.language in RUN and not block.reason} - ELSEWHERE
)


class Session:
    """Runs the blocks of a page."""

    def __init__(self, model: str) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.runner = asyncio.Runner()
        self.addresses = {HOSTED: model, "http://127.0.0.1:8080/v1": model}
        self.ports = {port: free_port() for port in ("8642", "8643")}
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
        more = {"VERIDICAL_SERVER__PORT": self.ports["8642"], "PYTHONIOENCODING": "utf-8"}
        return os.environ | more | {"PATH": path}

    def here(self, code: str) -> str:
        """Return code with the addresses that are free on this machine."""
        for printed, address in (self.addresses | self.ports).items():
            code = code.replace(printed, address)
        return code

    def run(self, block: Block) -> None:
        printed = getattr(self, block.language)(block)
        if block.prints is None:
            return
        want, got = (FIGURE.sub("N", text) for text in (block.prints, printed))
        assert doctest.OutputChecker().check_output(want, got, LOOSE), printed

    def python(self, block: Block) -> str:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(self.here(block.code), f"line {block.line}", "exec", flags)
        with redirect_stdout(io.StringIO()) as printed:
            done = eval(code, self.names)  # noqa: S307 -- the pages are ours
            if inspect.iscoroutine(done):
                self.runner.run(done)
        return printed.getvalue()

    def pycon(self, block: Block) -> str:
        test = doctest.DocTestParser().get_doctest(block.code, self.names, "page", None, block.line)
        assert test.examples
        runner = doctest.DocTestRunner(optionflags=LOOSE)
        with redirect_stdout(io.StringIO()) as printed:
            failed = runner.run(test, clear_globs=False).failed
        assert not failed, printed.getvalue()
        return printed.getvalue()

    def bash(self, block: Block) -> str:
        """Run the commands; the exit code of each counts."""
        assert self.shell.stdin
        assert self.shell.stdout
        self.shell.stdin.write(f"{TRAP}{self.here(block.code)}\necho '{DONE}'\n")
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
        self.runner.close()
        with self.shell:
            self.end()


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


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
def session(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chat_server: Callable[..., Any],
    chat_completion: Callable[..., Any],
) -> Iterator[Session]:
    """Return a session in a folder like a clone, with a database and a model of its own."""
    model = chat_server(lambda request: (200, reply_to(request, chat_completion))).base_url
    for folder in CLONE:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "of-this-test",
        "COLUMNS": "100",
    }.items():
        monkeypatch.setenv(name, value)
    with closing(Session(model)) as opened:
        yield opened


def reply_to(request: dict[str, Any], completion: Callable[..., Any]) -> dict[str, Any]:
    """Return embeddings, quotes, a judgement or a sentence, whatever a request is for."""
    if "input" in request:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        vectors = [[float(word in text) for word in ("bridge", "lanes", "wide")] for text in texts]
        data = [{"index": i, "embedding": [*v, 1.0]} for i, v in enumerate(vectors)]
        return {"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 9}}
    asked = json.dumps(request["messages"])
    if "response_format" in request:
        return completion(json.dumps({"PHQ8_Sleep": ["i wake up at four"]}))
    if "YES, NO or UNSURE" not in asked:
        return completion("It carries eight lanes [S1].")
    reply = completion("YES")
    top = [{"token": t, "logprob": p, "bytes": None} for t, p in (("YES", -0.05), ("NO", -4.0))]
    reply["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return reply


@pytest.mark.spec("SPEC-16.40")
@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING)
def test_the_code_of_a_page_runs_as_printed(page: str, session: Session) -> None:
    for block in blocks(text_of(page)):
        if block.language in RUN and not block.reason:
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


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_fenced_in_a_language_that_is_run_or_read(page: str) -> None:
    text = text_of(page)
    assert unfenced(text) == []
    assert {block.language for block in blocks(text)} <= {*RUN, *SAMPLES, "text"}


def test_a_block_without_a_fence_is_found() -> None:
    page = "# Page\n\n    veridical check\n\n- item\n\n    of a list\n\n```bash\n    true\n```\n"
    assert unfenced(page) == [3]
    assert unfenced("- item\n  ```bash\n  true\n  ```\n") == [2, 4]


def test_what_does_not_run_does_not_grow() -> None:
    """A new block runs. These numbers only fall."""
    assert len([block for _, block in ALL if block.reason]) <= NOT_RUN_AT_MOST
    shown = [page for page, block in ALL if block.language == "text" and "reference" not in page]
    assert len(shown) <= SHOWN_AT_MOST, shown


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{page}:{block.line}")
        for page, block in ALL
        if block.language in SAMPLES and not block.reason
    ],
)
def test_a_sample_is_valid(block: Block, tmp_path: Path) -> None:
    match block.language:
        case "yaml":
            (file := tmp_path / "veridical.yaml").write_text(block.code, encoding="utf-8")
            Settings.load(file)
        case "toml":
            assert tomllib.loads(block.code)
        case _:
            for one in [block.code] if block.language == "json" else block.code.splitlines():
                conforms(json.loads(one))


def conforms(document: object) -> None:
    """Validate a document against the schema that it names, if there is one."""
    name = document.get("schema", "") if isinstance(document, dict) else ""
    file = (
        ROOT
        / "docs"
        / "schemas"
        / f"{name.removeprefix('veridical.').replace('/', '-')}.schema.json"
    )
    if file.is_file():
        jsonschema.validate(document, json.loads(file.read_text(encoding="utf-8")))
