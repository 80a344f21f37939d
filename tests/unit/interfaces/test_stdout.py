"""Behaviour without a writable standard output, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")
COMMAND = [sys.executable, "-m", "veridical"]
NO_SPACE = b"error: cannot write to standard output: No space left on device\nhint: "


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("environ", [BUFFERED, {**BUFFERED, "PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["config", "show"], ["doctor", "--json"]]
)
def test_a_full_disk_behind_stdout_is_a_named_error(
    arguments: list[str], environ: dict[str, str]
) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environ,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(NO_SPACE)
    assert done.stderr.count(b"\n") == 2


def test_a_closed_stdout_is_a_named_error() -> None:
    run = '"$0" -m veridical config show >&-'
    done = subprocess.run(["/bin/sh", "-c", run, sys.executable], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"error: cannot write to standard output: it is closed\n" in done.stderr


@pytest.mark.parametrize("how", [[], ["--json"]])
@pytest.mark.parametrize("line", [b"1\n", b"'x' * 20000\n"])
def test_a_shell_whose_reader_goes_away_ends_quietly(line: bytes, how: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, "repl", *how],
            input=line * 3 + b"raise SystemExit(9)\n",
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_shell_whose_statements_print_to_nobody_ends_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, "repl"],
            input=b"print(1)\nraise SystemExit(9)\n",
            stdout=closed,
            stderr=subprocess.PIPE,
            env=BUFFERED,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_shell_that_cannot_write_says_so_once() -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "repl", "--json"],
            input=b"1\n" * 3,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.count(NO_SPACE) == 1
