"""A database that another process holds locked, and facts that are there already."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pytest

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import StoreLockedError
from veridical.memory import FactState, Memory, MemoryGate
from veridical.memory.waiting import STORE_LOCKED
from veridical.pipeline.inference.wrappers.retries import Retries
from veridical.store import Store
from veridical.store.database import within
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

pytestmark = pytest.mark.slow

NewMemory = Callable[..., Memory]
EVIDENCE = {"S1": "the evidence"}
TIMEOUT_S = 2.0
LATE_S = TIMEOUT_S + 10  # a busy machine may pause; without the timeout a lock is waited for 30 s
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2] == "all":
    connection.execute("PRAGMA journal_mode = DELETE")
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held(path: Path, what: str = "writing") -> Iterator[None]:
    """Have another process hold the lock of a database, for writing or for reading, too."""
    command = [sys.executable, "-c", HOLD, str(path), what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stdout.readline() == "held\n"
        yield
        run.stdin.close()


@pytest.mark.spec("SPEC-08.38")
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("opened", [True, False])
def test_a_fact_is_kept_in_time_while_another_process_holds_the_lock(
    new_memory: NewMemory, tmp_path: Path, gated: bool, opened: bool
) -> None:
    new_memory(gated=False).facts()  # makes the database
    memory = new_memory(gated=gated, timeout_s=TIMEOUT_S)
    if opened:
        memory.facts()
    with held(tmp_path / "memory.db"):
        started = perf_counter()
        done = memory.remember("It is carried.", EVIDENCE, entities=["it"], confidence=0.9)
        assert perf_counter() - started < LATE_S
        assert (done.outcome, done.reason, done.pending) == ("queued", STORE_LOCKED, True)
        assert done.error is None
        assert done.fact is not None
        assert done.fact.state is (FactState.VERIFIED if gated else FactState.UNVERIFIED)
        (waits,) = memory.pending()
        assert (waits.fact_id, waits.reason) == (done.fact.id, STORE_LOCKED)
        (file,) = (tmp_path / "memory.db.waiting").glob("*.json")
        assert file.stat().st_mode & 0o77 == 0  # nobody else's business
    other = new_memory(gated=False)  # whoever uses the database next
    assert other.facts(entities="it") == [done.fact]
    assert other.pending() == []
    assert not (tmp_path / "memory.db.waiting").exists()


@pytest.mark.spec("SPEC-08.38")
def test_a_fact_is_kept_in_time_while_the_database_cannot_even_be_read(
    new_memory: NewMemory, tmp_path: Path
) -> None:
    memory = new_memory(timeout_s=TIMEOUT_S)
    memory.facts()
    memory._store.close()  # no connection that would keep the journal as it is
    with held(tmp_path / "memory.db", "all"):
        started = perf_counter()
        done = memory.remember("It is carried.", EVIDENCE, confidence=0.8)
        assert perf_counter() - started < LATE_S
        assert (done.outcome, done.reason, done.confidence) == ("queued", STORE_LOCKED, 0.4)
    (waits,) = memory.pending()
    assert (waits.fact_id, waits.reason) == (done.fact and done.fact.id, STORE_LOCKED)
    assert memory.verify_pending(early=True).verified == 1
    assert memory.facts()[0].state is FactState.VERIFIED


def test_a_write_waits_no_longer_than_there_is_time_and_says_who_is_in_the_way(
    tmp_path: Path,
) -> None:
    from veridical.store.database import within

    store = Store(f"sqlite:///{tmp_path}/memory.db")
    with store.read():
        pass
    with held(tmp_path / "memory.db"):
        started = perf_counter()
        with (
            pytest.raises(StoreLockedError, match="locked by other writers"),
            within(0.2),
            store.write(),
        ):
            pass
        assert 0.1 < perf_counter() - started < LATE_S
    with store.write():
        pass
    store.close()


def test_threads_that_wait_for_the_same_lock_keep_their_time_too(
    new_memory: NewMemory, tmp_path: Path
) -> None:
    memory = new_memory(gated=False)
    memory.facts()
    with held(tmp_path / "memory.db"), ThreadPoolExecutor(4) as pool:
        started = perf_counter()
        found = list(pool.map(lambda n: memory.remember(f"Fact {n}.", EVIDENCE), range(4)))
        assert perf_counter() - started < LATE_S
        assert {done.reason for done in found} == {STORE_LOCKED}
    assert len(memory.facts()) == 4


def test_a_large_source_counts_into_the_time_of_the_gate(new_memory: NewMemory) -> None:
    memory = new_memory(timeout_s=TIMEOUT_S)
    memory.facts()
    source = "The bridge has lanes and the evidence is long. " * 200_000
    started = perf_counter()
    done = memory.remember("It is carried.", {"S1": source})
    assert perf_counter() - started < LATE_S
    assert (done.reason, done.pending) == ("timeout", True)
    assert [waits.fact_id for waits in memory.pending()] == [done.fact and done.fact.id]


# --- the same fact again ---------------------------------------------------------------------


def test_the_same_fact_is_stored_once(new_memory: NewMemory, backend: FakeBackend) -> None:
    memory = new_memory()
    first = memory.remember("It is carried.", EVIDENCE, entities=["it"], confidence=0.9)
    asked = len(backend.queries)
    again = [
        memory.remember(text, evidence, entities=["it"], confidence=0.9)
        for text, evidence in [
            ("It is carried.", EVIDENCE),
            ("it  is carried.", {"other": EVIDENCE["S1"]}),
        ]
    ]
    assert [done.fact for done in again] == [first.fact, first.fact]
    assert {done.outcome for done in again} == {"stored"}
    assert len(memory.facts()) == 1
    assert len(backend.queries) == asked  # what is verified is not verified again
    memory.remember("It is carried.", {"S1": "other evidence"}, entities=["it"])
    memory.remember("It is carried.", EVIDENCE, entities=["that"])
    assert len(memory.facts()) == 3


def test_a_fact_that_was_retracted_can_be_remembered_again(new_memory: NewMemory) -> None:
    memory = new_memory(gated=False)
    first = memory.remember("It is carried.", EVIDENCE).fact
    assert first is not None
    memory.retract(first.id)
    second = memory.remember("It is carried.", EVIDENCE).fact
    assert second is not None
    assert second.id != first.id


def test_what_was_stored_without_the_gate_is_verified_when_it_comes_again(
    new_memory: NewMemory,
) -> None:
    open_door, gated = new_memory(gated=False), new_memory()
    open_door.remember("It is carried.", EVIDENCE)
    open_door.remember("It is denied.", EVIDENCE)
    assert gated.remember("It is carried.", EVIDENCE).verified
    refused = gated.remember("It is denied.", EVIDENCE)
    assert (refused.outcome, refused.reason) == ("rejected", "contradicted")
    states = {fact.text: fact.state for fact in gated.facts()}
    assert states["It is carried."] is FactState.VERIFIED
    assert states["It is denied."] is FactState.UNSUPPORTED


def test_threads_that_remember_the_same_fact_store_it_once(new_memory: NewMemory) -> None:
    memory = new_memory()
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: memory.remember("It is carried.", EVIDENCE), range(8)))
    assert len({each.fact and each.fact.id for each in done}) == 1
    assert len(memory.facts(everything=True)) == 1


# --- rate limits -----------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.18")
@pytest.mark.parametrize("retry_after_s", [0.6, 3.5, 60.0])
def test_a_rate_limit_is_queued_and_no_timeout_however_short_the_wait(
    tmp_path: Path, retry_after_s: float
) -> None:
    def limited(_: Query) -> Measurement:
        return Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=retry_after_s)

    backend = Retries(FakeBackend(limited))
    gate = MemoryGate(Verifier(backend), backend, timeout_s=3.0)
    with Memory(f"sqlite:///{tmp_path}/memory.db", gate) as memory:
        memory.facts()
        started = perf_counter()
        done = memory.remember("It holds.", EVIDENCE)
        assert perf_counter() - started < LATE_S
        assert (done.outcome, done.reason) == ("queued", "rate_limited")
        assert done.fact is not None
        assert done.fact.state is FactState.QUEUED


@pytest.mark.parametrize("retry_after_s", [math.inf, math.nan, 1e18, -5.0])
def test_a_wait_that_makes_no_sense_hides_no_fact(tmp_path: Path, retry_after_s: float) -> None:
    told = Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=retry_after_s)
    backend = FakeBackend(lambda _: told)
    gate = MemoryGate(Verifier(backend), backend, timeout_s=3.0)
    with Memory(f"sqlite:///{tmp_path}/memory.db", gate) as memory:
        done = memory.remember("It holds.", EVIDENCE)
        (waits,) = memory.pending()
        assert waits.fact_id == (done.fact and done.fact.id)
        assert memory.verify_pending(early=True).retried == 1
        assert len(memory.pending()) == 1


def test_a_rate_limit_that_ends_in_time_is_waited_for(tmp_path: Path) -> None:
    asked: list[Query] = []

    def limited_once(query: Query) -> Measurement:
        asked.append(query)
        if len(asked) <= 2:
            return Unmeasured(UnmeasuredReason.RATE_LIMITED, retry_after_s=0.2)
        return fake_estimate(0.3 if "REMOVED" in query.context or not query.context else 0.97)

    backend = Retries(FakeBackend(limited_once))
    gate = MemoryGate(Verifier(backend), backend, timeout_s=5.0)
    with Memory(f"sqlite:///{tmp_path}/memory.db", gate) as memory:
        assert memory.remember("It holds.", EVIDENCE).verified


def test_a_fact_that_waits_for_the_lock_stays_in_its_project(
    new_memory: NewMemory, tmp_path: Path
) -> None:
    memory = new_memory(gated=False)
    memory.facts()
    (file,) = tmp_path.glob("*.db")
    clinic = memory.of("clinic")
    with within(1.0), held(file):
        assert clinic.remember("It waits.", EVIDENCE).reason == STORE_LOCKED
    assert memory.queued_by_project() == {"clinic": 1}
    assert memory.facts(everything=True) == []
    assert [fact.text for fact in memory.of("clinic").facts()] == ["It waits."]
    assert memory.queued_by_project() == {}
