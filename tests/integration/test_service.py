"""`veridical serve` as a process, with the embedded model, from start to SIGTERM."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from veridical import SyncVerifier
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.memory import Memory, MemoryGate
from veridical.testing import FakeBackend
from veridical.verification.verifier import Verifier

BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."
CHECK = {
    "answer": "The bridge opened in 1998 [S1]. It has six lanes [S1].",
    "sources": {"S1": BRIDGE},
}
PATIENT_S = 60.0


@dataclass(frozen=True)
class Served:
    """A service that runs."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENT_S)

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == name]


Serve = Callable[..., Any]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Start services that are ended with the block."""

    @contextmanager
    def start(*arguments: str, **environment: str) -> Iterator[Served]:
        log = tmp_path / "log.jsonl"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("VERIDICAL_")}
        given = {f"VERIDICAL_{name}": value for name, value in environment.items()}
        command = [sys.executable, "-m", "veridical", "serve", "--port", "0", "--json", *arguments]
        with (
            log.open("wb") as stderr,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=tmp_path,
                env={**kept, "VERIDICAL_STORE__URL": f"sqlite:///{tmp_path}/s.db", **given},
            ) as process,
        ):
            assert process.stdout
            try:
                address = json.loads(process.stdout.readline() or b"{}").get("address", "")
                if address:
                    _wait_until_ready(address, process)
                yield Served(address, process, log)
            finally:
                process.kill()

    return start


def _wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENT_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{address}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the service did not get ready")


def test_it_answers_as_the_library_does_and_ends_well(serve: Serve) -> None:
    with serve() as served, served.client() as client:
        found = client.post("/v1/check", json=CHECK).json()
        with SyncVerifier.from_settings() as verifier:
            own = verifier.check(**CHECK).to_dict()  # type: ignore[arg-type]
        found["summary"]["latency_ms"] = own["summary"]["latency_ms"]
        assert found == own
        assert 'veridical_claims_verified_total{backend="embedded"} 2.0' in (
            client.get("/metrics").text
        )
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENT_S) == 0
        assert [one["route"] for one in served.events("request_served")][-2:] == [
            "/v1/check",
            "/metrics",
        ]


def test_what_was_accepted_is_answered_though_the_service_is_told_to_end(serve: Serve) -> None:
    """SIGTERM while requests run and wait: all are answered, new ones are not accepted."""
    long = " ".join(f"The bridge has {n} lanes [S1]." for n in range(100, 160))
    body = {**CHECK, "answer": long}
    with serve(SERVER__RUNNING="1") as served, served.client() as client:
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(client.post, "/v1/check", json=body) for _ in range(3)]
            _wait_for_queue(served.address, 2)
            served.process.send_signal(signal.SIGTERM)
            replies = [one.result() for one in asked]
        assert [reply.status_code for reply in replies] == [200] * 3
        assert {reply.json()["summary"]["claims_checked"] for reply in replies} == {60}
        assert {reply.json()["summary"]["by_status"]["undetermined"] for reply in replies} == {0}
        assert served.process.wait(PATIENT_S) == 0
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{served.address}/healthz")


def _wait_for_queue(address: str, depth: int) -> None:
    until = time.monotonic() + PATIENT_S
    while f"veridical_queue_depth {depth}.0" not in httpx.get(f"{address}/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_cannot_be_done_before_the_end_is_undetermined_and_answered(serve: Serve) -> None:
    long = " ".join(f"The bridge has {n} lanes [S1]." for n in range(100, 900))
    body = {"answer": long, "sources": {"S1": BRIDGE * 200}, "policy": {"windows": 20}}
    # Long enough for an orderly end on a machine that is busy; else the watchdog ends it.
    with serve(SERVER__SHUTDOWN_S="6") as served, served.client() as client:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.post, "/v1/check", json=body)
            while "veridical_requests_running 1.0" not in client.get("/metrics").text:
                time.sleep(0.01)
            time.sleep(0.5)
            started = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            reply = asked.result()
        assert reply.status_code == 200
        assert reply.json()["summary"]["by_status"]["undetermined"] > 0
        assert served.process.wait(PATIENT_S) == 0
        assert time.monotonic() - started < 20


@pytest.mark.spec("SPEC-08.39")
def test_a_client_that_goes_away_frees_its_place(serve: Serve) -> None:
    long = " ".join(f"The bridge has {n} lanes [S1]." for n in range(100, 400))
    body = {"answer": long, "sources": {"S1": BRIDGE * 200}, "policy": {"windows": 20}}
    with serve(SERVER__RUNNING="1") as served, served.client() as client:
        with client.stream("POST", "/v1/check/stream", json=body) as reply:
            assert reply.status_code == 200
            next(reply.iter_lines())
        started = time.monotonic()
        assert client.post("/v1/check", json=CHECK).status_code == 200
        assert time.monotonic() - started < 15


def large_check(characters: int) -> dict[str, Any]:
    """Return a check whose claims take the service many seconds."""
    lines = (f"Bridge {n} was opened in {1900 + n % 99} [S1].\n" for n in range(characters // 40))
    log = "INFO worker-3 request finished in 41 ms with status 200\n"
    return {"answer": "".join(lines), "sources": {"S1": BRIDGE, "log": log * (characters // 60)}}


def test_the_service_answers_while_a_large_answer_is_taken_apart_until_its_deadline(
    serve: Serve,
) -> None:
    with (
        serve(SERVER__DEADLINE_S="1") as served,
        served.client() as client,
        served.client() as other,
        ThreadPoolExecutor() as pool,
    ):
        asked = pool.submit(client.post, "/v1/check", json=large_check(900_000))
        answered = 0
        while not asked.done():
            assert other.get("/healthz").status_code == 200
            answered += 1
        assert asked.result().status_code == 504
        assert asked.result().json()["type"] == "urn:veridical:problem:late"
    assert answered > 10


def test_the_work_of_a_client_that_leaves_ends(serve: Serve) -> None:
    with serve() as served, served.client() as client:
        with pytest.raises(httpx.TimeoutException):
            client.post("/v1/check", json=large_check(600_000), timeout=2.0)
        until = time.monotonic() + PATIENT_S
        while time.monotonic() < until:
            ended = [e for e in served.events("request_served") if e["route"] == "/v1/check"]
            if ended:
                break
            time.sleep(0.1)
        assert [event["status"] for event in ended] == [499]
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENT_S) == 0


def test_it_ends_though_large_texts_are_being_read(serve: Serve) -> None:
    body = large_check(900_000)
    with (
        serve(SERVER__SHUTDOWN_S="3") as served,
        served.client() as client,
        ThreadPoolExecutor() as pool,
    ):
        asked = pool.submit(client.post, "/v1/check", json=body)
        until = time.monotonic() + PATIENT_S
        while time.monotonic() < until:
            if "requests_running 1.0" in client.get("/metrics").text:
                break
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENT_S) == 0
        assert asked.result().status_code in {200, 504}


def test_a_public_address_needs_a_key(serve: Serve) -> None:
    with serve("--host", "0.0.0.0") as served:  # noqa: S104 -- the point of it
        assert served.process.wait(PATIENT_S) == 2
        assert "there is no key" in served.log.read_text()
    key = "a-key-of-many-letters"
    with serve("--host", "0.0.0.0", SERVER__API_KEY=key) as served:  # noqa: S104 -- the point of it
        known = {"authorization": f"Bearer {key}"}
        assert httpx.post(f"{served.address}/v1/check", json=CHECK).status_code == 401
        reply = httpx.post(f"{served.address}/v1/check", json=CHECK, headers=known, timeout=60)
        assert reply.status_code == 200
        assert key not in served.log.read_text()


def test_a_port_that_is_taken_is_wrong_use(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with serve("--port", port) as served:
            assert served.process.wait(PATIENT_S) == 2
            assert "cannot listen" in served.log.read_text()


def test_services_on_one_postgresql_count_a_key_s_requests_together(
    serve: Serve, new_postgres_url: Callable[[], str]
) -> None:
    """Two processes, one limit; without the database each counts by itself, and none fails."""
    url = new_postgres_url()
    shared = {"STORE__URL": url, "SERVER__PER_MINUTE": "6"}
    with serve(**shared) as one, serve(**shared) as other:
        asked = [httpx.get(f"{each.address}/v1/reports/none") for each in (one, other) * 5]
        assert [reply.status_code for reply in asked] == [404] * 6 + [429] * 4
        assert 1 <= int(asked[-1].headers["retry-after"]) <= 10
        shut(url)
        asked = [httpx.get(f"{each.address}/v1/reports/none") for each in (one, other) * 5]
        # Three of its six were asked of each before.
        assert [reply.status_code for reply in asked] == [404] * 6 + [429] * 4
        for each in (one, other):
            metrics = httpx.get(f"{each.address}/metrics").text
            assert 'veridical_failures_total{where="rates"} 1.0' in metrics


def shut(url: str) -> None:
    """Refuse new connections to a database, and end the existing ones."""
    import psycopg

    name = urlsplit(url).path.strip("/")
    server = url.replace(f"/{name}?", "/postgres?")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )


@pytest.mark.spec("SPEC-08.38")
def test_a_fact_goes_through_the_gate(serve: Serve) -> None:
    gate = {"HALLUCINATION__ENABLED": "true", "HALLUCINATION__MEMORY_GATE__ENABLED": "true"}
    with serve(**gate) as served, served.client() as client:

        def remember(text: str) -> dict[str, Any]:
            body = {"text": text, "sources": CHECK["sources"]}
            found: dict[str, Any] = client.post("/v1/memory/facts", json=body).json()
            return found

        assert remember("The bridge was opened in 1998.")["outcome"] == "stored"
        rejected = remember("The bridge carries six lanes.")
        assert (rejected["outcome"], rejected["error"]["kind"]) == ("rejected", "FactContradicted")
        metrics = client.get("/metrics").text
        assert 'veridical_facts_rejected_total{status="ErrFactContradicted"} 1.0' in metrics


@pytest.mark.spec("SPEC-08.42")
def test_what_waits_at_the_gate_is_verified_while_it_serves(serve: Serve, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    down = FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    with Memory(url, MemoryGate(Verifier(down), down)) as memory:
        for text in ("The bridge was opened in 1998.", "The bridge carries six lanes."):
            memory.remember(text, CHECK["sources"])
        assert len(memory.pending()) == 2
    gate = {"HALLUCINATION__ENABLED": "true", "HALLUCINATION__MEMORY_GATE__ENABLED": "true"}
    with serve(**gate) as served, served.client() as client, Memory(url) as memory:
        until = time.monotonic() + PATIENT_S
        while memory.pending() and time.monotonic() < until:
            time.sleep(0.1)
        assert [fact.state.value for fact in memory.facts()] == ["verified"]
        assert [each.origin for each in memory.rejections()] == ["queue"]
        metrics = client.get("/metrics").text
        assert 'veridical_facts_total{outcome="queue_verified"} 1.0' in metrics
        assert 'veridical_facts_rejected_total{status="ErrFactContradicted"} 1.0' in metrics
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENT_S) == 0
