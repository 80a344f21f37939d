"""Worker of the memory's queue beside the requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import StoreError
from veridical.interfaces.http.worker import LONGEST_S, QueueWorker, pause_s
from veridical.memory import GateDecision, Memory, MemoryGate
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-08.42")]

EVIDENCE = {"S1": "A text that speaks of it."}
PATIENT_S = 30.0


class Switch:
    """A backend that is down until it is not."""

    def __init__(self) -> None:
        self.up = False
        self.asked = threading.Event()

    def __call__(self, query: Query) -> Measurement:
        self.asked.set()
        if not self.up:
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR)
        if "hangs" in query.claim:
            time.sleep(PATIENT_S)
        if "speaks" not in query.context:
            return fake_estimate(0.3)
        return fake_estimate(0.4 if "weak" in query.claim else 0.97)


@pytest.fixture
def switch() -> Switch:
    return Switch()


@pytest.fixture
def memory(tmp_path: Path, switch: Switch) -> Memory:
    backend = FakeBackend(switch)
    return Memory(f"sqlite:///{tmp_path}/m.db", MemoryGate(Verifier(backend), backend))


class Heard:
    """Recorder of the reports of a worker."""

    def __init__(self) -> None:
        self.settled: list[tuple[str, str]] = []
        self.failed: list[str] = []
        self.busy = False

    def take(self, name: str, decision: GateDecision, seconds: float) -> None:
        assert seconds >= 0.0
        self.settled.append((name, decision.reason))

    def fail(self, where: str, error: BaseException) -> None:
        self.failed.append(f"{where} {type(error).__name__}")

    def worker(self, memory: Memory) -> QueueWorker:
        return QueueWorker(
            memory, busy=lambda: self.busy, settled=self.take, failed=self.fail, every_s=0.01
        )


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_waits_is_verified_once_requests_do_not_wait(memory: Memory, switch: Switch) -> None:
    for text in ("It is carried.", "It is weak."):
        memory.remember(text, EVIDENCE)
    switch.up = True
    heard = Heard()
    heard.busy = True
    worker = heard.worker(memory)
    worker.start()
    time.sleep(0.1)
    assert len(memory.pending()) == 2
    heard.busy = False
    wait_for(lambda: not memory.pending())
    worker.stop()
    assert [fact.text for fact in memory.facts()] == ["It is carried."]
    assert heard.settled == [("verified", "grounded"), ("rejected", "below_min_confidence")]
    assert heard.failed == []
    memory.close()


def test_the_facts_of_all_projects_are_verified_each_for_its_own(
    memory: Memory, switch: Switch
) -> None:
    for name in ("clinic", "bank"):
        memory.of(name).remember("It is carried.", EVIDENCE)
    assert memory.queued_by_project() == {"bank": 1, "clinic": 1}
    switch.up = True
    heard = Heard()
    worker = heard.worker(memory)
    worker.start()
    wait_for(lambda: not memory.queued_by_project())
    worker.stop()
    assert heard.settled == [("verified", "grounded")] * 2
    assert [len(memory.of(name).facts()) for name in ("clinic", "bank", "default")] == [1, 1, 0]
    memory.close()


def test_a_database_that_fails_does_not_end_the_work(
    memory: Memory, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("It is carried.", EVIDENCE)
    switch.up = True
    heard, real, times = Heard(), memory.verify_pending, [0]

    def fails_once(**arguments: object) -> object:
        times[0] += 1
        if times[0] == 1:
            msg = "gone for a moment"
            raise StoreError(msg)
        return real(**arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(memory, "verify_pending", fails_once)
    worker = heard.worker(memory)
    worker.start()
    wait_for(lambda: not memory.pending())
    worker.stop()
    assert heard.failed == ["memory_queue StoreError"]
    memory.close()


def test_stopping_does_not_wait_for_a_backend_that_hangs(memory: Memory, switch: Switch) -> None:
    memory.remember("It hangs.", EVIDENCE)
    switch.up = True
    switch.asked.clear()
    worker = Heard().worker(memory)
    worker.start()
    assert switch.asked.wait(PATIENT_S)
    begun = time.monotonic()
    worker.stop()
    assert time.monotonic() - begun < 10.0
    assert [each.fact_id for each in memory.pending()] == [memory.facts()[0].id]
    memory.close()


def test_looks_that_fail_are_further_and_further_apart() -> None:
    pauses = [pause_s(5.0, failures) for failures in range(8)]
    assert pauses == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, LONGEST_S, LONGEST_S]
    assert pause_s(5.0, 10**6) == LONGEST_S
    assert pause_s(900.0, 3) == 900.0
