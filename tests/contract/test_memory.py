"""Contract of the memory, on SQLite and a real PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import InputError
from veridical.memory import FactOutcome, FactState, Link, Memory, MemoryGate, Participant, Tier
from veridical.memory.values import Fact
from veridical.store import MemoryQueue, MemoryTables, Store
from veridical.store.memory import Filter
from veridical.store.memory_queue import Settled, new_queue_row
from veridical.store.memory_tables import TIERS
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

NewUrl = Callable[[], str]
EVIDENCE = {"S1": "A text that speaks of it."}


class Switch:
    """A backend that can be down."""

    def __init__(self) -> None:
        self.up = True

    def __call__(self, query: Query) -> Measurement:
        if not self.up:
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR)
        if "speaks" not in query.context:
            return fake_estimate(0.3)
        return fake_estimate(0.4 if "weak" in query.claim else 0.97)


@pytest.fixture
def switch() -> Switch:
    return Switch()


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    store = Store(new_url())
    yield store
    store.close()


@pytest.fixture
def memory(store: Store, switch: Switch) -> Iterator[Memory]:
    backend = FakeBackend(switch)
    gate = MemoryGate(Verifier(backend), backend, timeout_s=60.0)
    with Memory(store, gate) as memory:
        yield memory


@pytest.fixture
def ungated(store: Store) -> Memory:
    return Memory(store)


def kept(memory: Memory, text: str, **arguments: object) -> Fact:
    fact = memory.remember(text, EVIDENCE, **arguments).fact  # type: ignore[arg-type]
    assert fact is not None
    return fact


def found(facts: list[Fact]) -> list[str]:
    return [fact.text for fact in facts]


# --- facts -----------------------------------------------------------------------------------


def test_a_fact_comes_back_as_it_was_remembered(memory: Memory) -> None:
    start, end = datetime(2020, 1, 2, tzinfo=UTC), datetime(2090, 1, 2, tzinfo=UTC)
    fact = kept(
        memory,
        "Ada wrote the first program 🖋.",
        entities=[("author", "Ada"), ("work", "program"), "1843", ("editor", "Ada")],
        relation="wrote",
        confidence=0.9,
        tier="session",
        valid_from=start,
        valid_to=end,
    )
    assert memory.get(fact.id) == fact
    assert memory.facts() == [fact]
    assert (fact.relation, fact.tier, fact.valid_from, fact.valid_to) == (
        "wrote",
        Tier.SESSION,
        start,
        end,
    )
    assert fact.participants == (
        Participant("author", "Ada"),
        Participant("work", "program"),
        Participant("", "1843"),
        Participant("editor", "Ada"),
    )
    assert fact.verification is not None
    assert fact.verification.p1 == 0.97
    (origin,) = fact.provenance
    assert (origin.source, origin.start, origin.end) == ("S1", 0, 25)
    assert origin.hash == sha256(EVIDENCE["S1"].encode()).hexdigest()


def test_a_source_may_hold_what_databases_do_not_take_in_texts(memory: Memory) -> None:
    done = memory.remember("It holds.", {"S1": "It\0speaks. \ufffe 🖋"})
    assert done.outcome is FactOutcome.STORED


def test_facts_are_found_by_what_they_are_about(ungated: Memory) -> None:
    for text, about in (("one", ["Ada"]), ("two", ["Ada", "Bob"]), ("three", ["Bob"])):
        kept(ungated, text, entities=about)
    assert found(ungated.facts(entities="ADA")) == ["two", "one"]
    assert found(ungated.facts(entities=["bob", " ada "])) == ["two"]
    assert found(ungated.facts(entities="Carol")) == []


def test_facts_are_found_by_source_tier_relation_and_state(ungated: Memory) -> None:
    ungated.remember("one", {"S1": "x"}, tier="task", relation="is")
    ungated.remember("two", {"S2": "x"})
    assert found(ungated.facts(source="S1")) == ["one"]
    assert found(ungated.facts(source=sha256(b"x").hexdigest())) == ["two", "one"]
    assert found(ungated.facts(tier="task")) == ["one"]
    assert found(ungated.facts(relation="is")) == ["one"]
    assert found(ungated.facts(states=[FactState.VERIFIED])) == []
    assert found(ungated.facts(limit=1)) == ["two"]


def test_facts_are_remembered_while_they_are_valid(ungated: Memory) -> None:
    now = datetime.now(UTC)
    day = timedelta(days=1)
    kept(ungated, "past", valid_to=now - day)
    kept(ungated, "present", valid_from=now - day, valid_to=now + day)
    kept(ungated, "future", valid_from=now + day)
    assert found(ungated.facts()) == ["present"]
    assert found(ungated.facts(at=now - 2 * day)) == ["past"]
    assert found(ungated.facts(at=now + 2 * day)) == ["future"]
    assert len(ungated.facts(everything=True)) == 3


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The Bridge has EIGHT lanes.", "bridge eight"),
        ("The Bridge has EIGHT lanes.", "lanes, the!"),
        ("Straße nach Zürich", "straße ZÜRICH"),
        ("It’s a ﬁne day", "fine day"),
        ("橋には八つの車線がある", "車線"),
        ("Мост открыт в 1998 году", "мост 1998"),
        ("a 'quoted\" OR* -term:x", "quoted OR term x"),
        ("x" * 3000, "x" * 3000),
    ],
)
def test_facts_are_found_by_their_words(ungated: Memory, text: str, query: str) -> None:
    kept(ungated, "Something else entirely.")
    kept(ungated, text)
    assert found(ungated.search(query)) == [text]
    assert ungated.search(f"{query} nowhere") == []


def test_a_search_for_no_words_finds_nothing(ungated: Memory) -> None:
    kept(ungated, "Something.")
    assert ungated.search('"?!" -') == []


def test_the_best_match_comes_first(ungated: Memory) -> None:
    kept(ungated, "The bridge, the bridge, the bridge.")
    for number in range(5):
        kept(ungated, f"Number {number} is the bridge among many other things in this long text.")
    assert ungated.search("bridge", limit=1)[0].text.startswith("The bridge")


# --- links and retraction --------------------------------------------------------------------


def test_what_depends_on_a_fact_is_retracted_with_it(ungated: Memory) -> None:
    first = kept(ungated, "first")
    second = kept(ungated, "second", depends_on=[first.id])
    third = kept(ungated, "third", depends_on=[second.id])
    other = kept(ungated, "other")
    ungated.link(first.id, "depends_on", third.id)  # in a circle
    ungated.link(other.id, "recalls", first.id)
    assert found(ungated.retract(second.id)) == ["first", "second", "third"]
    assert ungated.retract(second.id) == []
    assert found(ungated.facts()) == ["other"]
    assert ungated.get(third.id).retracted is not None
    assert ungated.links(other.id) == [Link(other.id, "recalls", first.id)]


def test_nothing_can_rest_on_what_is_gone(ungated: Memory) -> None:
    fact = kept(ungated, "gone")
    ungated.retract(fact.id)
    for missing in (fact.id, "nobody"):
        with pytest.raises(InputError, match="no fact"):
            kept(ungated, "x", depends_on=[missing])
        with pytest.raises(InputError, match="no fact"):
            ungated.link(missing, "is", missing)
    for missing_call in (ungated.get, ungated.retract, ungated.links):
        with pytest.raises(InputError, match="no fact"):
            missing_call("nobody")


# --- the queue -------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.42")
def test_what_waits_is_verified_later(memory: Memory, switch: Switch) -> None:
    switch.up = False
    good, weak = kept(memory, "It holds."), kept(memory, "It is weak.")
    rests = kept(memory, "It follows.", depends_on=[weak.id])
    switch.up = True
    worked = memory.verify_pending()
    assert (worked.verified, worked.rejected, worked.waiting) == (1, 1, 0)
    assert memory.get(good.id).state is FactState.VERIFIED
    with pytest.raises(InputError):
        memory.get(weak.id)  # removed, not only retracted
    assert memory.get(rests.id).retracted is not None
    (noted,) = memory.rejections()
    assert (noted.fact_id, noted.origin) == (weak.id, "queue")
    assert memory.pending() == []


def test_the_text_of_what_the_queue_rejects_is_gone(
    memory: Memory, switch: Switch, store: Store
) -> None:
    switch.up = False
    memory.remember("It is weak.", {"S2": "SECRET"}, entities=["SECRET"])
    kept(memory, "It holds.", entities=["kept"])
    switch.up = True
    memory.verify_pending()
    with store.read() as connection:
        for table, count in (("facts", 1), ("sources", 1), ("entities", 1), ("queue", 0)):
            counted = connection.exec_driver_sql(f"SELECT count(*) FROM memory_{table}").scalar()  # noqa: S608 -- our own names
            assert (table, counted) == (table, count)


def test_what_cannot_be_verified_is_tried_again_later_and_given_up_visibly(
    memory: Memory, switch: Switch
) -> None:
    switch.up = False
    fact = kept(memory, "It holds.")
    first = memory.pending()[0]
    assert memory.verify_pending().retried == 1
    second = memory.pending()[0]
    assert (second.attempts, second.given_up) == (1, False)
    assert second.due - first.due > timedelta(seconds=25)
    assert memory.verify_pending().waiting == 1  # not due
    for _ in range(4):
        worked = memory.verify_pending(early=True)
    assert (worked.given_up, worked.waiting) == (1, 1)
    assert memory.pending()[0].given_up
    assert memory.get(fact.id).state is FactState.UNVERIFIED
    switch.up = True
    assert memory.verify_pending().verified == 0
    assert memory.verify_pending(early=True).verified == 1


def test_a_retracted_fact_waits_no_longer(memory: Memory, switch: Switch) -> None:
    switch.up = False
    memory.retract(kept(memory, "It holds.").id)
    assert memory.pending() == []


def test_what_one_worker_has_claimed_no_other_gets_before_its_time(
    memory: Memory, switch: Switch, store: Store
) -> None:
    switch.up = False
    fact = kept(memory, "It holds.")
    queue, now = MemoryQueue(store), time.time() + 1
    claimed = queue.claim("a", now=now, until=now + 60)
    assert claimed is not None
    assert claimed["id"] == fact.id
    assert queue.claim("b", now=now, until=now + 60) is None
    assert queue.claim("b", now=now, until=now + 60, early_before=now) is None
    assert queue.claim("b", now=now + 61, until=now + 120) is not None  # a was killed
    done = Settled(changes={"state": "verified"})
    assert not queue.settle(fact.id, done, worker="a")
    assert memory.get(fact.id).state is FactState.UNVERIFIED
    assert queue.settle(fact.id, done, worker="b")
    assert memory.get(fact.id).state is FactState.VERIFIED


def test_what_a_worker_finds_out_about_a_fact_that_is_gone_is_not_written(
    memory: Memory, switch: Switch, store: Store
) -> None:
    switch.up = False
    fact = kept(memory, "It holds.")
    queue, now = MemoryQueue(store), time.time() + 1
    assert queue.claim("a", now=now, until=now + 60)
    memory.retract(fact.id)
    assert not queue.settle(fact.id, Settled(queue=new_queue_row("x")), worker="a")
    assert memory.pending() == []


def test_a_fact_that_goes_up_with_the_gate_off_goes_on_waiting(
    memory: Memory, ungated: Memory, switch: Switch
) -> None:
    switch.up = False
    fact = kept(memory, "It holds.", tier="task")
    memory.promote(fact.id, "session")
    waits = memory.pending()
    done = ungated.promote(fact.id, "long_term")
    assert (done.pending, memory.pending()) == (True, waits)
    switch.up = True
    assert memory.verify_pending(early=True).verified == 1
    found = memory.get(fact.id)
    assert (found.state, found.tier) == (FactState.VERIFIED, Tier.LONG_TERM)
    assert memory.pending() == []


# --- several writers -------------------------------------------------------------------------


def test_no_verification_that_ends_late_moves_a_fact_down(ungated: Memory, store: Store) -> None:
    fact = kept(ungated, "It goes up.", tier="task")
    ungated.promote(fact.id, "long_term")
    assert MemoryQueue(store).settle(fact.id, Settled(changes={"tier": "session"}))
    assert ungated.get(fact.id).tier is Tier.LONG_TERM


def test_the_database_orders_the_tiers_as_the_memory_does() -> None:
    assert tuple(Tier) == TIERS


def test_threads_that_write_and_retract_at_once_lose_nothing(ungated: Memory, store: Store) -> None:
    root = kept(ungated, "root")

    def write(number: int) -> str | None:
        names = ["hot", f"e{number % 3}", f"e{(number + 1) % 3}"]
        if number % 3 == 0:
            return kept(ungated, f"fact {number}", entities=names).id
        try:
            fact = kept(ungated, f"fact {number}", entities=names, depends_on=[root.id])
        except InputError:
            return None
        return fact.id

    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(write, number) for number in range(60)]
        retracted = {fact.id for fact in ungated.retract(root.id)}
        written = {job.result() for job in jobs} - {None}
    rows = MemoryTables(store).find(Filter(limit=100))
    assert {row["id"] for row in rows} == written | {root.id}
    gone = {row["id"] for row in rows if row["retracted"]}
    assert gone == retracted  # nothing rests on what is gone
    assert len(ungated.facts(entities="hot", everything=True, limit=100)) == len(written)


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_memory import Switch
from veridical.memory import Memory, MemoryGate
from veridical.testing import FakeBackend
from veridical.verification.verifier import Verifier
backend = FakeBackend(Switch())
with Memory(sys.argv[2], MemoryGate(Verifier(backend), backend, timeout_s=60.0)) as memory:
    worked = memory.verify_pending()
print(worked.verified, worked.lost, sum("speaks" in query.context for query in backend.queries))
"""


@pytest.mark.slow
def test_processes_that_work_off_the_queue_at_once_verify_each_fact_once(
    new_url: NewUrl, switch: Switch
) -> None:
    url, here = new_url(), str(Path(__file__).parent)
    backend = FakeBackend(switch)
    switch.up = False
    with Memory(url, MemoryGate(Verifier(backend), backend, timeout_s=60.0)) as memory:
        for number in range(40):
            kept(memory, f"Fact {number} holds.")
        command = [sys.executable, "-c", WORKER, here, url]
        workers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        counts = []
        for worker in workers:
            output, errors = worker.communicate(timeout=120)
            assert (worker.returncode, errors) == (0, "")
            counts.append([int(count) for count in output.split()])
        verified, lost, asked = map(sum, zip(*counts, strict=True))
        assert (verified, lost, asked) == (40, 0, 40)
        assert memory.pending() == []
