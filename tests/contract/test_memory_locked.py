"""Facts in PostgreSQL while another connection holds an exclusive lock on a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter

import psycopg
import pytest

from veridical.core.measurements import Measurement, Query
from veridical.errors import StoreLockedError
from veridical.memory import FactOutcome, Memory, MemoryGate
from veridical.memory.waiting import STORE_LOCKED
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

pytestmark = pytest.mark.slow

EVIDENCE = {"S1": "A text that speaks of it."}
TIMEOUT_S = 2.0
LATE_S = TIMEOUT_S + 10  # a busy machine may pause; without the timeout a lock is waited for 30 s


@pytest.fixture
def url(new_postgres_url: Callable[[], str]) -> str:
    return new_postgres_url()


def opened(url: str, *, gated: bool = True) -> Memory:
    def speaks(query: Query) -> Measurement:
        return fake_estimate(0.97 if "speaks" in query.context else 0.3)

    backend = FakeBackend(speaks)
    gate = MemoryGate(Verifier(backend), backend, timeout_s=TIMEOUT_S) if gated else None
    return Memory(url, gate)


@contextmanager
def held(url: str, table: str = "memory_facts") -> Iterator[None]:
    """Hold a table against reading and writing."""
    with psycopg.connect(url) as connection:
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


@pytest.mark.spec("SPEC-08.38")
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_the_caller_is_told_in_time_that_a_fact_could_not_be_stored(
    url: str, gated: bool, known: bool
) -> None:
    opened(url).facts()  # makes the tables
    with opened(url, gated=gated) as memory:
        if known:
            memory.facts()
        with held(url):
            started = perf_counter()
            done = memory.remember("It holds.", EVIDENCE, confidence=0.9)
            assert perf_counter() - started < LATE_S
            assert (done.outcome, done.reason) == (FactOutcome.FAILED, STORE_LOCKED)
            assert isinstance(done.error, StoreLockedError)
            with pytest.raises(StoreLockedError):
                memory.remember("It holds.", EVIDENCE, confidence=0.9, strict=True)
        assert memory.facts() == []
        assert memory.remember("It holds.", EVIDENCE, confidence=0.9).fact is not None


@pytest.mark.spec("SPEC-08.38")
@pytest.mark.parametrize("table", ["memory_entities", "memory_sources", "memory_provenance"])
def test_a_lock_on_any_table_that_is_written_is_noticed_in_time(url: str, table: str) -> None:
    with opened(url) as memory:
        memory.facts()
        with held(url, table):
            started = perf_counter()
            done = memory.remember("It holds.", EVIDENCE, entities=["it"])
            assert perf_counter() - started < LATE_S
            assert (done.outcome, done.reason) == (FactOutcome.FAILED, STORE_LOCKED)


def test_threads_that_wait_for_the_same_lock_keep_their_time_too(url: str) -> None:
    with opened(url, gated=False) as memory:
        memory.facts()
        with held(url), ThreadPoolExecutor(20) as pool:  # more than the pool has connections
            started = perf_counter()
            found = list(pool.map(lambda n: memory.remember(f"Fact {n}.", EVIDENCE), range(20)))
            assert perf_counter() - started < LATE_S
        assert {done.reason for done in found} == {STORE_LOCKED}


def test_a_call_without_a_deadline_gives_up_on_the_lock_too(url: str) -> None:
    store = Store(url, wait_s=0.5)
    with Memory(store) as memory:
        memory.facts()
        with held(url), pytest.raises(StoreLockedError, match="locked by other writers"):
            memory.facts()
        assert memory.facts() == []
    store.close()


def test_a_large_source_counts_into_the_time_of_the_gate(url: str) -> None:
    with opened(url) as memory:
        memory.facts()
        source = "The bridge has lanes and the evidence is long. " * 200_000
        started = perf_counter()
        done = memory.remember("It is carried.", {"S1": source})
        assert perf_counter() - started < LATE_S
        assert (done.reason, done.pending) == ("timeout", True)
        assert [waits.fact_id for waits in memory.pending()] == [done.fact and done.fact.id]
