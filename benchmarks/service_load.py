"""`veridical serve` under load, under clients that leave, and at its end.

**Clients that leave** (`--clients`). Each sends a check, in one piece or as a stream, or a request
to the proxy, and closes its connection after a random time of up to 200 ms. A second after the last
one no request runs or waits, no query waits for a batch, and no connection to the upstream is open.

**The end** (`--moments`). A service with `server.shutdown_s` of 3 gets SIGTERM at a random moment:
while it starts, while it is idle, or while checks run that take longer than that. It has to be gone
in time. A watchdog ends a process that cannot end by itself, with exit code 4.

**Mixed load with faults** (`--minutes`). The mixed load of `benchmarks/service.py`, with clients
that leave, slow clients and broken requests beside it. Memory has to stay flat.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from _common import Page, Requirement, publish, table
from service import SMALL, Client, serving, under_load, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAVE_S, LEFT_S = 0.2, 1.0
SHUTDOWN_S = 3.0
LOOK_S = 0.25
"""Seconds that this process may take to see the end of another one."""

AT_ONCE = 32
LONG = {
    "answer": " ".join(f"The bridge has {n} lanes [S1]." for n in range(100, 400)),
    "sources": {"S1": SMALL["sources"]["S1"] * 200},  # type: ignore[index] # it is a dictionary
    "policy": {"windows": 20},
}


def posted(path: str, body: object) -> bytes:
    """Return the bytes of a request."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


QUESTION = {"messages": [{"role": "user", "content": "How many lanes?"}]}
LEAVING = [
    posted("/v1/check", LONG),
    posted("/v1/check/stream", LONG),
    posted("/v1/chat/completions", QUESTION),
]


# --- clients that leave ----------------------------------------------------------------------


class SilentUpstream:
    """Upstream that never answers, and counts the connections that are open."""

    def __init__(self) -> None:
        self.open = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    outer.open += 1
                with suppress(OSError):
                    self.connection.recv(1)  # until the service closes
                with lock:
                    outer.open -= 1

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    @contextmanager
    def serving(self) -> Iterator[SilentUpstream]:
        """Serve in threads."""
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()
        yield self
        self.http.shutdown()
        self.http.server_close()


def leave(address: str, seed: int) -> None:
    """Send a request, wait a moment, go away."""
    dice = random.Random(seed)  # noqa: S311 -- repeatable
    parts = urlsplit(address)
    with suppress(OSError), socket.create_connection((parts.hostname, parts.port)) as client:
        client.sendall(dice.choice(LEAVING))
        time.sleep(dice.random() * LEAVE_S)


GAUGES = ("requests_running", "queue_depth", "requests_passing", "queries_waiting")


def work_left(address: str) -> dict[str, float]:
    """Return the gauges of work under way."""
    text = Client(address).ask("GET", "/metrics")[1].decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(lines[f"veridical_{name}"]) for name in GAUGES}


def left_behind(clients: int, folder: Path) -> tuple[dict[str, float], float]:
    """Return what is left a second after the last client, and until when all was gone."""
    with (
        SilentUpstream().serving() as upstream,
        serving(folder, PROXY__UPSTREAM_URL=upstream.url, SERVER__WAITING="200") as (address, _),
    ):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda seed: leave(address, seed), range(clients)))
        began = time.monotonic()
        time.sleep(LEFT_S)
        found = work_left(address) | {"upstream connections": upstream.open}
        while any((work_left(address) | {"": upstream.open}).values()):
            if time.monotonic() - began > 60:  # noqa: PLR2004 -- it is not going to end
                break
        return found, time.monotonic() - began


# --- the end ---------------------------------------------------------------------------------


def end_at(seed: int, folder: Path) -> tuple[str, float, int]:
    """Start a service and end it at a random moment; return when that was, seconds and code."""
    dice = random.Random(seed)  # noqa: S311 -- repeatable
    when = dice.choice(["start", "idle", "busy", "busy"])
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VERIDICAL_")}
    given = {
        "VERIDICAL_STORE__URL": f"sqlite:///{folder}/end.db",
        "VERIDICAL_SERVER__SHUTDOWN_S": str(SHUTDOWN_S),
    }
    command = [sys.executable, "-m", "veridical", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kept | given
    ) as process:
        try:
            if when != "start":
                _begin(process, dice.randrange(1, 5) if when == "busy" else 0)
            time.sleep(dice.random() * 2)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SHUTDOWN_S * 4)
            return when, time.monotonic() - began, process.poll() or 0
        finally:
            process.kill()


def _begin(process: subprocess.Popen[bytes], checks: int) -> None:
    """Wait for the service, and ask for checks that take long."""
    if process.stdout is None:
        raise RuntimeError
    address = json.loads(process.stdout.readline())["address"]
    wait_until_ready(address)
    for _ in range(checks):
        threading.Thread(target=_ask, args=(address,), daemon=True).start()


def _ask(address: str) -> None:
    with suppress(OSError):
        Client(address).ask("POST", "/v1/check", LONG)


# --- mixed load ------------------------------------------------------------------------------

SLOW = b"POST /v1/check HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n"
BROKEN = [b"\x16\x03\x01nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", SLOW]


def disturb(address: str, until: float) -> None:
    """Leave, trickle and talk nonsense until a time."""
    parts, seed = urlsplit(address), 0
    while time.monotonic() < until:
        seed += 1
        leave(address, seed)
        with suppress(OSError), socket.create_connection((parts.hostname, parts.port)) as client:
            client.sendall(BROKEN[seed % len(BROKEN)])
            time.sleep(LEAVE_S)


# --- the page --------------------------------------------------------------------------------


def main() -> None:
    """Measure, print the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000, help="that leave, default 1000")
    parser.add_argument("--moments", type=int, default=100, help="of SIGTERM, default 100")
    parser.add_argument("--minutes", type=float, default=10.0, help="of mixed load, default 10")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    lines: list[str] = []
    requirements: list[Requirement] = []
    with TemporaryDirectory() as folder:
        for count, measure in (
            (chosen.clients, leaving),
            (chosen.moments, ending),
            (chosen.minutes, loaded),
        ):
            if count:
                more, also = measure(count, Path(folder))
                lines, requirements = [*lines, "", *more], requirements + also
    publish(Page("Service under load", lines, requirements), __doc__ or "", chosen)


def leaving(clients: int, folder: Path) -> tuple[list[str], list[Requirement]]:
    """Return what is to be said of clients that leave."""
    found, seconds = left_behind(clients, folder)
    rows = [(name, f"{value:g}") for name, value in found.items()]
    told = f"{sum(found.values()):g} requests, queries or connections"
    return table((f"a second after {clients} clients left", "left"), rows), [
        Requirement(
            f"no work is left a second after {clients} clients left",
            f"{told}; all gone after {seconds:.1f} s",
            not any(found.values()),
        )
    ]


def ending(moments: int, folder: Path) -> tuple[list[str], list[Requirement]]:
    """Return what is to be said of the end at random moments."""
    ends = [end_at(seed, folder) for seed in range(moments)]
    longest = max(seconds for _, seconds, _ in ends)
    counts = Counter((when, code) for when, _, code in ends)
    rows = [
        (when, code, count, f"{max(s for w, s, c in ends if (w, c) == (when, code)):.2f}")
        for (when, code), count in sorted(counts.items())
    ]
    return table(("SIGTERM while it", "exit code", "times", "longest, s"), rows), [
        Requirement(
            f"gone within {SHUTDOWN_S:g} s at {moments} random moments",
            f"longest {longest:.2f} s",
            longest < SHUTDOWN_S + LOOK_S,
        )
    ]


def loaded(minutes: float, folder: Path) -> tuple[list[str], list[Requirement]]:
    """Return what is to be said of the mixed load."""
    return under_load(minutes, folder, beside=disturb)


if __name__ == "__main__":
    main()
