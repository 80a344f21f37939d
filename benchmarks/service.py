"""Claims per second of `veridical serve`, against the library in the same run; and HTTP overhead.

**Throughput.** Answers of 10 claims, each with three sources of 300 words and all different,
are checked by the library, one after the other in one process, and by the service, which runs in a
process of its own and is asked by 32 clients at once. Both use all processors. They take turns; the
ratio is the median over the rounds.

**Latency.** The same small answer is checked again and again, with a warm cache on both sides, so
that the model is out of it: the library called in this process, and the service asked over one
connection. The HTTP overhead is the difference of the medians.

**Mixed load** (`--minutes N`): 16 clients check, stream, verify and remember against a backend that
a faulty proxy spoils (a fifth of its replies, in all ways). Every request has to be answered, with
no 5xx, and memory has to stay flat.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from _common import Page, Requirement, publish, table
from _faulty_proxy import FaultyProxy, Pace, Upstream, seeded
from _texts import case
from veridical import Settings, SyncVerifier
from veridical.wiring.build import build_verifier

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS, CLAIMS, WORDS = 32, 10, 300
LEAST, MOST_MS = 0.8, 3.0
LOAD_CLIENTS = 16
SMALL = {
    "answer": "The bridge opened in 1998 [S1]. It has six lanes [S1].",
    "sources": {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."},
}


class Client:
    """One connection that is kept open."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(urlsplit(address).netloc, timeout=300)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Return status and body of a reply."""
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, {"content-type": "application/json"})
        reply = self._connection.getresponse()
        return reply.status, reply.read()


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[tuple[str, int]]:
    """Run a service; yield its address and its process id."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VERIDICAL_")}
    given = {f"VERIDICAL_{key}": value for key, value in settings.items()}
    environment = {**kept, "VERIDICAL_STORE__URL": f"sqlite:///{folder}/store.db", **given}
    command = [sys.executable, "-m", "veridical", "serve", "--port", "0", "--json"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder
        ) as process,
    ):
        if process.stdout is None:
            raise RuntimeError
        address = json.loads(process.stdout.readline())["address"]
        try:
            wait_until_ready(address)
            yield address, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_ready(address: str) -> None:
    """Wait for the model to be loaded."""
    while True:
        try:
            if Client(address).ask("GET", "/readyz")[0] == 200:  # noqa: PLR2004 -- OK
                return
        except OSError:
            time.sleep(0.05)


# --- throughput ------------------------------------------------------------------------------


def bodies(count: int) -> list[dict[str, Any]]:
    """Return checks that have no pair in common: nothing in them can be shared."""
    text = case(CLAIMS, words=WORDS)
    source = next(iter(text.sources.values()))
    return [
        {
            "answer": text.answer,
            "sources": {
                name: f"Copy {number} of {name}. {source}" if first else one
                for first, (name, one) in zip(
                    [True, False, False], text.sources.items(), strict=True
                )
            },
        }
        for number in range(count)
    ]


def throughput(rounds: int, checks: int, folder: Path) -> tuple[list[float], list[float]]:
    """Return claims per second of the library and of the service, a pair a round."""
    library, service = list[float](), list[float]()
    work = bodies(checks)
    with (
        serving(folder, SERVER__WAITING="1000") as (address, _),
        SyncVerifier.from_settings() as own,
    ):
        own.check(**SMALL)
        for number in range(rounds):
            turns = [("library", library), ("service", service)]
            for name, found in turns if number % 2 else reversed(turns):
                started = time.perf_counter()
                if name == "library":
                    claims = sum(own.check(**one).summary.claims_checked for one in work)
                else:
                    claims = served(address, work)
                found.append(claims / (time.perf_counter() - started))
    return library, service


def served(address: str, work: list[dict[str, Any]]) -> int:
    """Return how many claims the service checked for as many clients at once."""
    local = threading.local()

    def ask(body: dict[str, Any]) -> int:
        if not hasattr(local, "client"):
            local.client = Client(address)
        status, reply = local.client.ask("POST", "/v1/check", body)
        if status != 200:  # noqa: PLR2004 -- OK
            raise RuntimeError(status)
        checked: int = json.loads(reply)["summary"]["claims_checked"]
        return checked

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(ask, work))


# --- latency ---------------------------------------------------------------------------------


def latency(times: int, folder: Path) -> tuple[float, float]:
    """Return the medians of the library and of the service, in milliseconds, with a warm cache."""
    library, service = list[float](), list[float]()
    settings = Settings.load(cache={"path": ":memory:"})
    with (
        serving(folder, CACHE__PATH=":memory:") as (address, _),
        SyncVerifier(build_verifier(settings)) as own,
    ):
        client = Client(address)
        for number in range(times + 20):
            marks = [time.perf_counter()]
            own.check(**SMALL).to_json()
            marks.append(time.perf_counter())
            client.ask("POST", "/v1/check", SMALL)
            marks.append(time.perf_counter())
            if number >= 20:  # noqa: PLR2004 -- by then all is warm
                first, second = ((b - a) * 1000 for a, b in pairwise(marks))
                library.append(first)
                service.append(second)
    return median(library), median(service)


# --- mixed load ------------------------------------------------------------------------------


def mixed(minutes: float, folder: Path) -> tuple[Counter[str], list[int]]:
    """Return how often each route answered what, and the service's memory over time, in kB."""
    from jevcompat.mock import MockConfig, Running

    counts: Counter[str] = Counter()
    memory: list[int] = []
    pace = Pace(slow_s=0.05, late_s=3.0, retry_after_s=1)
    with (
        Running(MockConfig()) as mock,
        FaultyProxy(Upstream(mock.url, keep=False), seeded(1, 0.2), pace) as proxy,
        serving(
            folder,
            BACKEND="systemone",
            SYSTEMONE__BASE_URL=proxy.address,
            SYSTEMONE__TIMEOUT_S="2",
            REQUESTS__MAX_WAIT_S="2",
            SERVER__DEADLINE_S="10",
            SERVER__WAITING="8",
            SERVER__RUNNING="6",
        ) as (address, process),
    ):
        until = time.monotonic() + minutes * 60
        with ThreadPoolExecutor(LOAD_CLIENTS) as pool:
            jobs = [pool.submit(load, address, number, until) for number in range(LOAD_CLIENTS)]
            while time.monotonic() < until:
                time.sleep(max(0.0, min(5.0, until - time.monotonic())))
                memory.append(resident_kb(process))
                proxy.served.clear()  # its record would grow without end
            for job in jobs:
                counts += job.result()
    return counts, memory


def load(address: str, seed: int, until: float) -> Counter[str]:
    """Ask one thing after the other, as clients do: come again later where there is no room."""
    client, dice = Client(address), random.Random(seed)  # noqa: S311 -- repeatable
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        text = f"The bridge has {dice.randrange(10**6)} lanes."
        path, body = dice.choice(
            [
                ("/v1/check", {**SMALL, "answer": text}),
                ("/v1/check/stream", {**SMALL, "answer": text}),
                ("/v1/verify_claim", {"claim": text, "sources": SMALL["sources"]}),
                ("/v1/quotes", {"quotes": ["eight lanes"], "transcript": text}),
                ("/v1/memory/facts", {"text": text, "sources": SMALL["sources"]}),
                ("/v1/check", {"answer": ""}),
            ]
        )
        try:
            status = str(client.ask("POST", path, body)[0])
        except OSError as error:
            status, client = type(error).__name__, Client(address)
        counts[f"{path} {status}"] += 1
        if status == "429":
            time.sleep(0.5)
    return counts


def resident_kb(process: int) -> int:
    """Return the memory of a process (Linux)."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


# --- the page --------------------------------------------------------------------------------


def main() -> None:
    """Measure in turns, print the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="default 5")
    parser.add_argument("--checks", type=int, default=64, help="a round, default 64")
    parser.add_argument("--times", type=int, default=300, help="small checks, default 300")
    parser.add_argument("--minutes", type=float, default=0.0, help="of mixed load, default none")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        lines, requirements = pace(chosen, Path(folder))
        if chosen.minutes:
            more, also = under_load(chosen.minutes, Path(folder))
            lines, requirements = lines + more, requirements + also
    publish(Page("Service", lines, requirements), __doc__ or "", chosen)


def pace(chosen: argparse.Namespace, folder: Path) -> tuple[list[str], list[Requirement]]:
    """Return what is to be said of throughput and latency."""
    library, service = throughput(chosen.rounds, chosen.checks, folder)
    ratio = median(s / own for own, s in zip(library, service, strict=True))
    own_ms, http_ms = latency(chosen.times, folder)
    rows = [
        ("library", f"{median(library):.1f}", f"{own_ms:.2f}"),
        (f"service, {CLIENTS} clients; one client", f"{median(service):.1f}", f"{http_ms:.2f}"),
    ]
    added = http_ms - own_ms
    return table(("", "claims/s", "small check, cached: p50 ms"), rows), [
        Requirement(
            f"the service reaches {LEAST:.0%} of the library", f"{ratio:.1%}", ratio >= LEAST
        ),
        Requirement(f"HTTP adds less than {MOST_MS:g} ms", f"{added:.2f} ms", added < MOST_MS),
    ]


def under_load(minutes: float, folder: Path) -> tuple[list[str], list[Requirement]]:
    """Return what is to be said of the mixed load."""
    counts, memory = mixed(minutes, folder)
    bad = sum(n for name, n in counts.items() if not name.split()[-1].isdigit())
    crashed = sum(n for name, n in counts.items() if name.split()[-1].startswith("5"))
    settled = memory[len(memory) // 3 :]
    grown = (settled[-1] - settled[0]) / settled[0] if settled else 0.0
    rows = [(name, count) for name, count in sorted(counts.items())]
    return table((f"mixed load, {minutes:g} minutes", "answers"), rows), [
        Requirement("every request is answered", f"{bad} are not", bad == 0),
        Requirement("no 5xx", f"{crashed} of {counts.total()}", crashed == 0),
        Requirement("memory stays flat (10 %)", f"{grown:+.1%}", grown < 0.1),  # noqa: PLR2004
    ]


if __name__ == "__main__":
    main()
