"""Facts that waited for the lock, and meet the same fact in the database, or miss others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from veridical.core.measurements import Measurement, Query
from veridical.errors import StoreLockedError
from veridical.memory import FactState, Memory, Tier
from veridical.memory.values import Fact
from veridical.memory.waiting import STORE_LOCKED
from veridical.store.memory import MemoryTables, NewFact, Put
from veridical.testing import FakeBackend, fake_estimate

NewMemory = Callable[..., Memory]
Meanwhile = Callable[[Callable[[], object]], None]
EVIDENCE = {"S1": "Some evidence of it."}
TEXT = "It is broken."


def no_turn(*_: object) -> Put:
    msg = "held"
    raise StoreLockedError(msg)


@contextmanager
def locked() -> Iterator[None]:
    """Have no fact written, as while another program holds the lock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veridical.store.memory.MemoryTables.put", no_turn)
        patch.setattr("veridical.store.memory_queue.MemoryQueue.settle", no_turn)
        yield


def kept(memory: Memory, text: str = TEXT, **arguments: str) -> Fact:
    """Remember a fact while the database is locked."""
    done = memory.remember(text, EVIDENCE, **arguments)  # type: ignore[arg-type]
    assert (done.outcome, done.reason) == ("queued", STORE_LOCKED)
    assert done.fact is not None
    return done.fact


def recover(backend: FakeBackend) -> None:
    backend.answer = lambda query: fake_estimate(0.97 if "evidence of" in query.context else 0.3)


def test_of_the_same_fact_twice_under_the_lock_the_higher_tier_is_stored(memory: Memory) -> None:
    with locked():
        first = kept(memory, "It is carried.", tier="task")
        kept(memory, "It is carried.", tier="long_term")
    (fact,) = memory.facts()
    assert (fact.id, fact.tier, fact.state) == (first.id, Tier.LONG_TERM, FactState.VERIFIED)
    assert memory.pending() == []


def test_of_the_same_fact_twice_under_the_lock_the_verified_one_is_stored(
    memory: Memory, backend: FakeBackend
) -> None:
    with locked():
        first = kept(memory)
        recover(backend)
        second = kept(memory)
    (fact,) = memory.facts()
    assert (fact.id, fact.state) == (first.id, FactState.VERIFIED)
    assert (fact.confidence, fact.verification) == (second.confidence, second.verification)
    assert memory.pending() == []


def test_a_verified_fact_stays_so_when_the_same_one_waited_unmeasured(
    memory: Memory, backend: FakeBackend
) -> None:
    with locked():
        answer = backend.answer
        recover(backend)
        first = kept(memory, tier="task")
        backend.answer = answer
        kept(memory, tier="session")
    assert memory.facts() == [first]
    (waits,) = memory.pending()  # it goes up once it is measured
    assert (waits.fact_id, waits.tier) == (first.id, Tier.SESSION)


def test_with_the_gate_off_the_higher_tier_is_stored_at_once(new_memory: NewMemory) -> None:
    ungated = new_memory(gated=False)
    with locked():
        kept(ungated, tier="task")
        kept(ungated, tier="session")
    (fact,) = ungated.facts()
    assert (fact.tier, fact.state) == (Tier.SESSION, FactState.UNVERIFIED)


def test_a_fact_is_written_down_though_more_and_more_of_those_it_contradicts_are_gone(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [memory.remember(f"The bridge has {n} red lanes.", EVIDENCE).fact for n in (2, 3)]
    with locked():
        fact = kept(memory, "The bridge has blue lanes.")
    assert fact.verification is not None
    assert len(fact.verification.conflicts) == 2
    put = MemoryTables.put

    def one_gone_before_each(facts: MemoryTables, new: NewFact) -> Put:
        if others and (gone := others.pop()) is not None:
            facts.retract(gone.id, datetime.now(UTC))
        return put(facts, new)

    monkeypatch.setattr(MemoryTables, "put", one_gone_before_each)
    assert memory.facts() == [fact]


def test_a_fact_is_written_down_as_new_if_the_same_one_is_retracted_at_that_moment(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with locked():
        kept(memory, "It is carried.", tier="task")
        second = kept(memory, "It is carried.", tier="session")
    put = MemoryTables.put

    def retracted_after(facts: MemoryTables, new: NewFact) -> Put:
        done = put(facts, new)
        if done.same is not None:
            facts.retract(done.same, datetime.now(UTC))
        return done

    monkeypatch.setattr(MemoryTables, "put", retracted_after)
    assert memory.facts() == [second]


def test_a_fact_that_rests_on_one_that_is_gone_is_dropped(
    memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = memory.remember("It is carried.", EVIDENCE).fact
    assert base is not None
    with locked():
        memory.remember("It is carried, too.", EVIDENCE, depends_on=[base.id])
    memory._facts.retract(base.id, datetime.now(UTC))
    assert memory.facts() == []
    assert memory.pending() == []
    assert not (tmp_path / "memory.db.waiting").exists()
    assert "rests on one that is gone" in caplog.text


def test_a_call_without_time_left_writes_down_no_facts_that_wait(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with locked():
        waiting = [kept(memory, f"It is {word}.") for word in ("carried", "held")]
    with monkeypatch.context() as patch:
        patch.setattr("veridical.memory.memory.LOCK_SHARE", 0.0)
        done = memory.remember("It is lifted.", EVIDENCE)
    assert done.verified
    assert len(list((tmp_path / "memory.db.waiting").glob("*.json"))) == len(waiting)
    assert {fact.id for fact in memory.facts()} == {
        fact.id for fact in (*waiting, done.fact) if fact
    }


# --- known facts under the lock --------------------------------------------------------------


def test_a_known_fact_that_is_verified_under_the_lock_is_stored_as_verified_after_it(
    memory: Memory, backend: FakeBackend
) -> None:
    known = memory.remember(TEXT, EVIDENCE, confidence=0.8, tier="task").fact
    assert known is not None
    recover(backend)
    with locked():
        assert kept(memory, tier="session").id == known.id
        assert memory.get(known.id) == known
    (fact,) = memory.facts()
    assert (fact.id, fact.state, fact.tier) == (known.id, FactState.VERIFIED, Tier.SESSION)
    assert (fact.confidence, fact.stated_confidence) == (0.8, 0.8)
    assert memory.pending() == []


def test_with_the_gate_off_a_known_fact_goes_up_after_the_lock(new_memory: NewMemory) -> None:
    ungated = new_memory(gated=False)
    known = ungated.remember("It is carried.", EVIDENCE, confidence=0.8, tier="task").fact
    with locked():
        kept(ungated, "It is carried.", tier="session")
    (fact,) = ungated.facts()
    assert known is not None
    assert fact == replace(known, tier=Tier.SESSION)


def test_a_known_fact_that_is_rejected_under_the_lock_stays_as_it_is(
    memory: Memory, backend: FakeBackend, caplog: pytest.LogCaptureFixture
) -> None:
    known = memory.remember(TEXT, EVIDENCE).fact
    backend.answer = lambda _: fake_estimate(0.01, 0.95)
    with locked():
        done = memory.remember(TEXT, EVIDENCE)
    assert (done.outcome, done.reason, done.fact) == ("rejected", "contradicted", known)
    assert "could not be recorded" in caplog.text
    assert memory.facts() == [known]
    assert len(memory.pending()) == 1


@pytest.mark.parametrize("removal", ["delete", "retract"])
def test_a_known_fact_that_is_removed_while_it_is_verified_again_is_stored_as_new(
    memory: Memory, backend: FakeBackend, removal: str
) -> None:
    known = memory.remember(TEXT, EVIDENCE, tier="session").fact
    assert known is not None
    recover(backend)
    answer, removals = backend.answer, [getattr(memory, removal)]

    def removed_meanwhile(query: Query) -> Measurement:
        if removals:
            removals.pop()(known.id)
        return answer(query)

    backend.answer = removed_meanwhile
    done = memory.remember(TEXT, EVIDENCE, tier="task")
    assert done.verified
    assert memory.facts() == [done.fact]
    assert done.fact is not None
    assert (done.fact.id != known.id, done.fact.tier) == (True, Tier.TASK)


# --- the same fact by two writers ------------------------------------------------------------


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Return a function that has something done just before the next fact is written."""

    def arrange(act: Callable[[], object]) -> None:
        put, acts = MemoryTables.put, [act]

        def put_later(facts: MemoryTables, new: NewFact) -> Put:
            if acts:
                acts.pop()()
            return put(facts, new)

        monkeypatch.setattr(MemoryTables, "put", put_later)

    return arrange


def test_a_verified_fact_replaces_the_unverified_one_of_another_writer(
    memory: Memory, new_memory: NewMemory, meanwhile: Meanwhile
) -> None:
    other = new_memory(gated=False)
    meanwhile(lambda: other.remember("It is carried.", EVIDENCE, tier="task"))
    done = memory.remember("It is carried.", EVIDENCE, tier="session")
    assert (done.reason, done.confidence, done.pending) == ("grounded", 0.95, False)
    assert done.fact is not None
    assert (done.fact.state, done.fact.tier) == (FactState.VERIFIED, Tier.SESSION)
    assert done.verification == done.fact.verification
    assert memory.facts() == [done.fact]


def test_the_result_of_an_unverified_fact_is_the_verified_one_of_another_writer(
    memory: Memory, new_memory: NewMemory, meanwhile: Meanwhile
) -> None:
    ungated = new_memory(gated=False)
    meanwhile(lambda: memory.remember("It is carried.", EVIDENCE))
    done = ungated.remember("It is carried.", EVIDENCE)
    assert (done.verified, done.reason, done.confidence) == (True, "grounded", 0.95)
    assert memory.facts() == [done.fact]


def test_two_writers_that_measure_nothing_leave_one_place_in_the_queue(
    memory: Memory, new_memory: NewMemory, meanwhile: Meanwhile
) -> None:
    other = new_memory()
    meanwhile(lambda: other.remember(TEXT, EVIDENCE, tier="task"))
    done = memory.remember(TEXT, EVIDENCE, tier="session")
    assert (done.pending, done.fact and done.fact.tier) == (True, Tier.TASK)
    assert [waits.tier for waits in memory.pending()] == [Tier.SESSION]


def test_with_the_gate_off_a_known_fact_that_waits_is_pending(
    memory: Memory, new_memory: NewMemory
) -> None:
    memory.remember(TEXT, EVIDENCE)
    assert new_memory(gated=False).remember(TEXT, EVIDENCE).pending
