"""The end of the server on standard input and output, in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

pytest.importorskip("mcp")

SERVER = """
import sys
from veridical.interfaces.mcp.server import build_server
from veridical.interfaces.mcp.transports import run_stdio
run_stdio(build_server([]), close=lambda: print("closed", file=sys.stderr, flush=True))
"""
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_closes_and_ends_it_while_it_waits_for_a_line(
    number: signal.Signals, code: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(PING) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(number)
        try:
            assert process.wait(20) == code
        finally:
            process.kill()
        assert process.stderr is not None
        assert process.stderr.read() == "closed\n"
