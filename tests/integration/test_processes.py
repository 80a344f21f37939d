"""Processes of the service: their end in time, several at one address, jobs that outlive them."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from veridical.interfaces.http.watchdog import EXIT_CODE, Watchdog

pytestmark = pytest.mark.slow

BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."
CHECK = {"answer": "It has eight lanes [S1].", "sources": {"S1": BRIDGE}}
PATIENT_S = 60.0
ENDS = {0, -signal.SIGTERM, -signal.SIGALRM, EXIT_CODE}
NewUrl = Callable[[], str]


@dataclass(frozen=True)
class Served:
    """A service that runs, or begins to."""

    process: subprocess.Popen[bytes]
    log: Path

    def address(self) -> str:
        """Wait for the address, and for the model."""
        assert self.process.stdout
        found: str = json.loads(self.process.stdout.readline())["address"]
        until = time.monotonic() + PATIENT_S
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if httpx.get(f"{found}/readyz").status_code == 200:
                    return found
            time.sleep(0.05)
        return pytest.fail("the service did not get ready")

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == name]


@contextmanager
def served(folder: Path, *arguments: str, code: str = "", **environment: str) -> Iterator[Served]:
    """Run a service, with `code` before it; it is killed with the block."""
    log = folder / f"{random.getrandbits(32):x}.jsonl"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VERIDICAL_")}
    given = {"VERIDICAL_STORE__URL": f"sqlite:///{folder}/s.db"}
    given |= {f"VERIDICAL_{name}": value for name, value in environment.items()}
    begin = ["-c", f"{code}\nfrom veridical.interfaces.cli import main\nmain()"]
    program = begin if code else ["-m", "veridical"]
    command = [sys.executable, *program, "serve", "--port", "0", "--json", *arguments]
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, cwd=folder, env=kept | given
        ) as process,
    ):
        try:
            yield Served(process, log)
        finally:
            process.kill()


def ended(process: subprocess.Popen[bytes], seconds: float) -> int:
    """Return the exit code of a process that is told to end, and has so many seconds for it."""
    process.send_signal(signal.SIGTERM)
    return process.wait(seconds)


# --- shutdown --------------------------------------------------------------------------------

SHUTDOWN_S = 2.0
SLACK_S = 1.0
"""Seconds that the interpreter may take to see a signal, on a machine with other work."""


def test_a_service_that_hangs_is_ended_in_time_with_a_code_of_its_own(tmp_path: Path) -> None:
    """A thread of work that nothing stops keeps the interpreter from its end."""
    code = "import threading; threading.Thread(target=threading.Event().wait).start()"
    with served(tmp_path, code=code, SERVER__SHUTDOWN_S=str(SHUTDOWN_S)) as service:
        service.address()
        assert ended(service.process, SHUTDOWN_S + SLACK_S) == EXIT_CODE
        assert "is ended" in service.log.read_text()


def test_an_event_loop_that_hangs_does_not_keep_the_service_from_its_end(tmp_path: Path) -> None:
    code = (
        "import asyncio, time, threading, veridical.interfaces.http.service as service\n"
        "start = service.Service.start\n"
        "async def hang(self):\n"
        "    await start(self)\n"
        "    asyncio.get_running_loop().call_later(0.5, lambda: [None for _ in iter(int, 1)])\n"
        "service.Service.start = hang\n"
    )
    with served(tmp_path, code=code, SERVER__SHUTDOWN_S=str(SHUTDOWN_S)) as service:
        assert service.process.stdout
        service.process.stdout.readline()
        time.sleep(4.0)
        assert ended(service.process, SHUTDOWN_S + SLACK_S) == EXIT_CODE


def test_an_interpreter_that_hangs_at_its_end_is_ended_by_the_system(tmp_path: Path) -> None:
    """No thread of Python runs any more by then; the system's alarm does."""
    code = (
        "import sys\n"
        "class Endless:\n"
        "    def __del__(self):\n"
        "        while True:\n"
        "            pass\n"
        "sys.modules['veridical'].kept = Endless()\n"
    )
    code = f"import veridical\n{code}"
    with served(tmp_path, code=code, SERVER__SHUTDOWN_S=str(SHUTDOWN_S)) as service:
        service.address()
        assert ended(service.process, SHUTDOWN_S + SLACK_S) in {-signal.SIGALRM, EXIT_CODE}


def test_at_any_moment_the_end_comes_in_time(tmp_path: Path) -> None:
    """A few of the hundred moments of `benchmarks/service_load.py`."""
    dice = random.Random(7)  # noqa: S311 -- repeatable
    long = " ".join(f"The bridge has {n} lanes [S1]." for n in range(100, 400))
    body = {"answer": long, "sources": {"S1": BRIDGE * 200}, "policy": {"windows": 20}}
    for moment in range(4):
        with served(tmp_path, SERVER__SHUTDOWN_S=str(SHUTDOWN_S)) as service:
            if moment:
                address = service.address()
                for _ in range(moment):
                    threading.Thread(target=asked, args=(address, body), daemon=True).start()
            time.sleep(dice.random())
            assert ended(service.process, SHUTDOWN_S + SLACK_S) in ENDS


def asked(address: str, body: object) -> None:
    with suppress(httpx.HTTPError):
        httpx.post(f"{address}/v1/check", json=body, timeout=PATIENT_S)


def test_a_watchdog_that_hears_of_no_signal_ends_nothing() -> None:
    ends: list[int] = []
    alarms: list[float] = []
    with Watchdog(0.0, ends.append, alarms.append):
        pass
    with Watchdog(0.0, ends.append, alarms.append) as watchdog:
        watchdog.start()
        while not ends:
            time.sleep(0.01)
    assert (ends, alarms) == ([EXIT_CODE], [0.0])


def test_it_says_that_it_drains_and_answers_before_it_closes(tmp_path: Path) -> None:
    with served(tmp_path, SERVER__DRAIN_S="2", SERVER__SHUTDOWN_S="30") as service:
        address = service.address()
        service.process.send_signal(signal.SIGTERM)
        while (reply := httpx.get(f"{address}/readyz")).status_code == 200:
            time.sleep(0.01)
        assert (reply.status_code, reply.json()) == (503, {"status": "draining"})
        assert httpx.post(f"{address}/v1/check", json=CHECK, timeout=60).status_code == 200
        assert service.process.wait(PATIENT_S) == 0
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{address}/healthz")


# --- connections -----------------------------------------------------------------------------


def test_a_service_without_file_handles_logs_it_once_and_recovers(tmp_path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))"
    with served(tmp_path, code=code) as service, ExitStack() as stack:
        host, _, port = service.address().removeprefix("http://").partition(":")
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 300:
            pytest.skip("this process has too few file handles itself")
        for _ in range(150):
            client = stack.enter_context(socket.create_connection((host, int(port))))
        time.sleep(3.0)
        client.close()
        failures = [one for one in service.events("failure") if one["where"] == "accept"]
        assert len(failures) == 1
        assert len(service.log.read_text().splitlines()) < 50
        stack.close()
        until = time.monotonic() + PATIENT_S
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if httpx.get(f"http://{host}:{port}/healthz", timeout=5).status_code == 200:
                    return
        pytest.fail("the listener did not recover")


# --- several processes -----------------------------------------------------------------------


def test_several_processes_serve_one_address_and_the_dead_are_replaced(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as service:
        address = service.address()
        before = serving(service.process)
        assert len(before) == 2
        before[0].kill()
        until = time.monotonic() + PATIENT_S
        while time.monotonic() < until and (
            before[0] in serving(service.process) or len(serving(service.process)) < 2
        ):
            time.sleep(0.05)
        after = serving(service.process)
        assert before[1] in after
        assert len(after) == 2
        assert service.events("worker_ended")[0]["exit_code"] == -9
        assert httpx.post(f"{address}/v1/check", json=CHECK, timeout=60).status_code == 200
        assert ended(service.process, PATIENT_S) == 0
        assert not any(one.is_running() for one in after)


def serving(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the processes that serve, without the helper of Python that tracks resources."""
    found = []
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


def test_processes_end_with_their_supervisor_even_if_it_is_killed(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as service:
        service.address()
        children = serving(service.process)
        service.process.kill()
        _, alive = psutil.wait_procs(children, PATIENT_S)
        assert alive == []


def test_processes_that_cannot_start_end_the_supervisor_with_their_code(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2", "--backend", "onnx:missing") as service:
        assert service.process.wait(PATIENT_S) in {2, 3}
    with served(tmp_path, "--workers", "2", "--host", "0.0.0.0") as service:  # noqa: S104 -- the point of it
        assert service.process.wait(PATIENT_S) == 2
        assert "there is no key" in service.log.read_text()


# --- jobs ------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    create: NewUrl = request.getfixturevalue("new_postgres_url")
    return create()


def test_the_checks_of_a_killed_process_go_on_elsewhere_and_none_is_done_twice(
    tmp_path: Path, url: str
) -> None:
    long = " ".join(f"The bridge has {n} lanes [S1]." for n in range(4))
    rows = [{"id": str(number), **CHECK, "answer": long} for number in range(30)]
    with (
        served(tmp_path, STORE__URL=url) as first,
        served(tmp_path, STORE__URL=url) as second,
    ):
        one, other = first.address(), second.address()
        job = httpx.post(f"{one}/v1/jobs", json={"rows": rows}, timeout=60).json()["id"]
        until = time.monotonic() + PATIENT_S
        while state(other, job)["progress"]["done"] < 3:
            assert time.monotonic() < until
            time.sleep(0.1)
        first.process.kill()
        until = time.monotonic() + 2 * PATIENT_S
        while state(other, job)["state"] != "done":
            assert time.monotonic() < until
            time.sleep(0.1)
        assert state(other, job)["progress"] == {"total": 30, "done": 30, "failed": 0}
        reply = httpx.get(f"{other}/v1/jobs/{job}/results", params={"limit": 100})
        results = [json.loads(line) for line in reply.text.splitlines()]
        assert [result["id"] for result in results] == [str(number) for number in range(30)]
        assert {result["report"]["summary"]["claims_checked"] for result in results} == {4}


def state(address: str, job: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{address}/v1/jobs/{job}").json()
    return found
