"""`veridical batch` as a process with the embedded model: killed, resumed, and with workers."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc"),
]

ROWS = 16
PATIENCE_S = 90
SOURCE = "The bridge number {n} was opened to traffic in {year}. It carries {lanes} lanes."
ANSWER = "Bridge number {n} was opened in {year}. It has {lanes} lanes."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in a folder with a file of answers, and no settings around."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("VERIDICAL_")]:
        monkeypatch.delenv(name)
    write_rows(ROWS)
    return tmp_path


def write_rows(number: int) -> None:
    lines = [
        json.dumps(
            {
                "id": n,
                "answer": ANSWER.format(n=n, year=1900 + n, lanes=2 + n % 3),
                "sources": {"S1": SOURCE.format(n=n, year=1900 + n, lanes=2 + n % 2)},
            }
        )
        for n in range(number)
    ]
    Path("rows.jsonl").write_text("\n".join(lines))


COMMAND = (sys.executable, "-m", "veridical", "batch", "rows.jsonl")


def start(output: str, *more: str) -> subprocess.Popen[bytes]:
    command = [*COMMAND, output, "--quiet", *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def written(output: str) -> bytes:
    path = Path(output, "rows.jsonl")
    return path.read_bytes() if path.exists() else b""


def wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)


def group_is_gone(group: int) -> bool:
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return False
    return True


@pytest.fixture
def whole() -> bytes:
    """Return the results of a run in one process that nobody interrupts."""
    with start("whole", "--processes", "1") as run:
        assert run.wait() == 0
    found = written("whole")
    assert found.count(b"\n") == ROWS
    return found


def test_killed_runs_lose_nothing_and_leave_no_process(whole: bytes) -> None:
    for lines in (1, 5, 9):
        with start("out", "--processes", "2") as run:
            wait_for(lambda lines=lines: written("out").count(b"\n") >= lines)  # type: ignore[misc]
            run.kill()
        assert whole.startswith(written("out"))
        wait_for(lambda group=run.pid: group_is_gone(group))  # type: ignore[misc]
    with start("out", "--processes", "2") as run:
        assert run.wait() == 0
    assert written("out") == whole
    assert sorted(path.name for path in Path("out").iterdir()) == [
        ".lock",
        "manifest.json",
        "rows.jsonl",
    ]


def test_a_killed_worker_costs_no_row(whole: bytes) -> None:
    with start("out", "--processes", "2") as run:
        wait_for(lambda: bool(written("out")))
        os.kill(workers_of(run.pid)[0], signal.SIGKILL)
        assert run.wait() == 0
    assert written("out") == whole


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let processes that are started notice SIGINT: one in a shell's background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_run_without_a_traceback() -> None:
    write_rows(50 * ROWS)  # so many that it does not end before, on a busy machine
    with start("out", "--processes", "2") as run:
        wait_for(lambda: bool(written("out")))
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait() == 130
        assert run.stderr is not None
        assert run.stderr.read() == b""


def test_a_terminal_sees_rate_time_left_and_cost() -> None:
    shown, terminal = pty.openpty()
    command = [*COMMAND, "out", "--processes", "1"]
    environ = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environ) as run:
        os.close(terminal)
        seen = b""
        with suppress(OSError):  # the end of a terminal
            while data := os.read(shown, 4096):
                seen += data
        assert run.wait() == 0
    os.close(shown)
    assert re.search(rb"\d+/16\S* [\d.]+ rows/s, 0:\d\d:\d\d left, \$0\.00", seen)
