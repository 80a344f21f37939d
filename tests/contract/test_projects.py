"""Separation of projects in one database: whatever one does, the other sees nothing of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Table, event, select, text

from veridical.feedback.labels import Feedback
from veridical.memory import FactState, Memory
from veridical.store import (
    FeedbackTable,
    MemoryQueue,
    MemoryTables,
    ReportTable,
    Store,
    TraceTables,
    UsageTable,
    VectorTable,
    migrate,
)
from veridical.store.memory import Filter, NewFact
from veridical.store.memory_queue import Settled, new_queue_row
from veridical.store.tables import metadata
from veridical.traces import ReasoningTraces

NewUrl = Callable[[], str]
Row = dict[str, Any]

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SHARED = {"memory_sources", "rates", "cache_entries", "jobs", "job_rows"}
"""Tables that are not filtered: texts by their hash, keys that name their owner, and jobs.

Workers take jobs of all projects; the methods for one project ask for it (`test_jobs.py`).
"""


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    store = Store(new_url(), project="a")
    yield store
    store.close()


def fact_row(fact_id: str, text_: str = "The bridge has eight lanes.") -> Row:
    return {
        "key": f"key of {text_}",
        "id": fact_id,
        "text": text_,
        "words": "the bridge has eight lanes",
        "relation": "has",
        "tier": "long_term",
        "stated": None,
        "created": NOW,
        "valid_from": None,
        "valid_to": None,
        "retracted": None,
        "state": "queued",
        "reason": "timeout",
        "confidence": 0.5,
        "verification": None,
    }


def new_fact(fact_id: str, queue: Row | None = None) -> NewFact:
    source = {"source": "S1", "hash": "h1", "text": b"It carries eight lanes."}
    return NewFact(
        fact=fact_row(fact_id),
        roles=[("", "bridge", "Bridge")],
        origins=[source | {"span_start": None, "span_end": None}],
        queue=queue,
    )


def rejection() -> Row:
    return {
        "created": NOW,
        "fact": None,
        "fact_hash": "0123456789ab",
        "length": 5,
        "sources": 1,
        "error": "fact_not_grounded",
        "reason": "gap",
        "origin": "remember",
        "tier": "long_term",
        "confidence": 0.5,
    }


def feedback_row() -> Row:
    return {
        "created": NOW,
        "report": "r1",
        "claim": "c1",
        "claim_hash": "0123456789ab",
        "backend": "embedded",
        "model": "m",
        "estimator": "cross_encoder",
        "fingerprint": "f",
        "p1": None,
        "p0": None,
        "status": "supported",
        "support_threshold": 0.7,
        "contradiction_threshold": 0.5,
        "right": True,
        "actual": None,
    }


def node_row(node_id: str, parent: str | None = None) -> Row:
    return {
        "id": node_id,
        "root": "g1",
        "parent": parent,
        "kind": "goal",
        "name": None if parent is None else "S1",
        "text": "Say how wide it is",
        "folded": "say how wide it is",
        "data": {},
        "created": NOW,
    }


EDGE = {"root": "g1", "source": "g1", "label": "has", "target": "n1"}


USED = {
    "key": "app",
    "day": "2026-01-02",
    "requests": 1,
    "claims": 2,
    "tokens": 3,
    "cost_usd": 0.5,
}


def fill(store: Store) -> None:
    """Write a row into each table, for the project of the store."""
    facts = MemoryTables(store)
    facts.put(new_fact("f1", queue=new_queue_row("timeout")))
    facts.put(NewFact(fact=fact_row("f2", "Another."), links=[("depends_on", "f1")]))
    MemoryQueue(store).reject(rejection())
    vectors = VectorTable(store)
    (number, *_) = vectors.missing("m", 10)
    vectors.put("m", {number: b"1234"})
    FeedbackTable(store).put(feedback_row())
    traces = TraceTables(store)
    traces.put([node_row("g1"), node_row("n1", "g1")], [EDGE])
    UsageTable(store).add([USED])
    ReportTable(store, most=10, kept_s=60).put("report", "key", b"a report", b"its entry")


def everything(store: Store) -> dict[str, list[Row]]:
    """Return all rows of the project, read without its filter, by their table."""
    found = {}
    with store.read() as connection:
        for table in of_projects():
            wanted = select(table).where(table.c.project == store.project)
            rows = connection.execute(wanted.order_by(*table.primary_key)).mappings()
            found[table.name] = [dict(row) for row in rows]
    return found


def of_projects() -> list[Table]:
    return [table for table in metadata.sorted_tables if table.name not in SHARED]


# --- each method of each table, on the ids of another project ---------------------------------

Calls = dict[type, dict[str, tuple[Callable[[Any], object], object]]]

MATCHING = Filter(ids=["f1"], entities=["bridge"], words=["bridge"], source="S1", relation="has")

CALLS: Calls = {
    MemoryTables: {
        "find": (lambda t: [t.find(Filter()), t.find(MATCHING)], [[], []]),
        "brief": (lambda t: t.brief(Filter()), {}),
        "texts": (lambda t: t.texts("f1"), {}),
        "links": (lambda t: t.links("f1"), []),
        "link": (lambda t: t.link("f2", "depends_on", "f1"), {"f1", "f2"}),
        "retract": (lambda t: t.retract("f1", NOW), []),
        "delete": (lambda t: t.delete("f1", NOW), []),
        "put": (
            lambda t: t.put(NewFact(fact=fact_row("f9"), links=[("depends_on", "f1")])).missing,
            {"f1"},
        ),
    },
    MemoryQueue: {
        "claim": (lambda t: t.claim("w", now=2e9, until=3e9), None),
        "settle": (lambda t: t.settle("f1", Settled(removed_at=NOW)), False),
        "rejections": (lambda t: t.rejections(10), []),
        "row": (lambda t: t.row("f1"), None),
        "rows": (lambda t: t.rows(), []),
        # Not within a project: the worker of a service works for all of them.
        "counts": (lambda t: t.counts(), {"a": 1}),
        "reject": (lambda t: t.reject(rejection()), None),
    },
    VectorTable: {
        "missing": (lambda t: t.missing("m2", 10), {}),
        "put": (lambda t: t.put("m2", dict.fromkeys(range(1, 9), b"1234")), None),
        "of": (lambda t: t.of("m", Filter()), {}),
    },
    FeedbackTable: {
        "rows": (lambda t: t.rows(), []),
        "remove": (lambda t: [t.remove(number) for number in range(1, 9)], [False] * 8),
        "remove_claim": (lambda t: t.remove_claim("r1", "c1"), False),
        "put": (lambda t: t.put(feedback_row()) > 1, True),  # a mark of its own
    },
    TraceTables: {
        "node": (lambda t: t.node("g1"), None),
        "beginning_with": (lambda t: t.beginning_with("g", "goal"), []),
        "any_of": (lambda t: t.any_of(["g1", "n1"]), False),
        "children": (lambda t: t.children("g1"), []),
        "path": (lambda t: t.path("n1"), []),
        "trace": (lambda t: t.trace("g1"), ([], [])),
        "of_kinds": (lambda t: t.of_kinds("g1", ["goal"]), []),
        "called": (lambda t: t.called("g1", ["g1", "S1"]), []),
        "roots": (lambda t: t.roots(), []),
        "search": (lambda t: t.search(["wide"], root=None, kind=None, limit=9), []),
        "remove": (lambda t: t.remove("g1"), 0),
        "put": (lambda t: t.put([], []), None),
        "put_named": (
            lambda t: t.put_named(node_row("n2") | {"root": "g2", "name": "S1"}, [])["id"],
            "n2",
        ),
    },
    UsageTable: {
        "since": (lambda t: t.since("2026-01-01"), []),
        "add": (lambda t: t.add([USED]), None),
    },
    ReportTable: {
        "get": (lambda t: t.get("report"), None),
        "entries": (lambda t: t.entries(), []),
        "put": (lambda t: t.put("other", "key", b"another", b"its entry"), None),
    },
}


@pytest.mark.parametrize("kind", CALLS, ids=lambda kind: kind.__name__)
def test_each_method_of_a_table_is_tried_with_two_projects(kind: type) -> None:
    methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    assert methods == CALLS[kind].keys()


@pytest.mark.parametrize("kind", CALLS, ids=lambda kind: kind.__name__)
def test_no_method_of_a_table_reaches_the_rows_of_another_project(kind: type, store: Store) -> None:
    fill(store)
    before = everything(store)
    assert all(before.values())
    options = {"most": 1, "kept_s": 60.0} if kind is ReportTable else {}
    others = kind(store.of("b"), **options)
    for name, (call, nothing) in CALLS[kind].items():
        assert call(others) == nothing, name
    assert everything(store) == before


def test_each_table_has_a_project_or_a_reason_to_have_none() -> None:
    assert all("project" in table.c for table in of_projects())
    assert {table.name for table in metadata.sorted_tables} - {t.name for t in of_projects()} == (
        SHARED
    )


def test_a_query_without_the_project_in_it_is_sent_only_where_all_projects_are_meant(
    store: Store,
) -> None:
    """Look at the statements themselves: also a filter that happens to match nothing is one."""
    sent: list[str] = []
    names = {table.name for table in of_projects()}
    with store.read() as connection:
        engine = connection.engine
    event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    fill(store)
    for kind, calls in CALLS.items():
        options = {"most": 1, "kept_s": 60.0} if kind is ReportTable else {}
        for call, _ in calls.values():
            call(kind(store.of("b"), **options))
    bare = {one for one in sent if any(name in one for name in names) and "project" not in one}
    assert {(one.split()[0], one.split()[2]) for one in bare} == {("DELETE", "reports")}


# --- the libraries on top ---------------------------------------------------------------------


def test_the_same_fact_is_remembered_once_in_each_project_and_spelt_as_there(
    store: Store,
) -> None:
    with Memory(store) as ours, Memory(store.of("b")) as theirs:
        first = ours.remember("The bridge has eight lanes.", entities=["ACME Corp"]).fact
        second = theirs.remember("The bridge has eight lanes.", entities=["acme corp"]).fact
        assert first is not None
        assert second is not None
        assert first.id != second.id
        names = [memory.facts()[0].participants[0].entity for memory in (ours, theirs)]
        assert names == ["ACME Corp", "acme corp"]
        ours.retract(first.id)
        assert [fact.id for fact in theirs.search("bridge")] == [second.id]


def test_a_source_that_two_projects_share_goes_with_the_last_fact_that_has_it(
    store: Store,
) -> None:
    fill(store)
    others = store.of("b")
    MemoryTables(others).put(new_fact("f3", queue=new_queue_row("timeout")))
    assert MemoryQueue(store).settle("f1", Settled(removed_at=NOW))
    assert MemoryTables(others).texts("f3") == {"S1": b"It carries eight lanes."}
    assert MemoryQueue(others).settle("f3", Settled(removed_at=NOW))
    with store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM memory_sources")) == 0


def test_projects_have_their_own_marks_traces_and_queues(store: Store) -> None:
    fill(store)
    others = store.of("b")
    assert [len(Feedback(one).list()) for one in (store, others)] == [1, 0]
    with ReasoningTraces(store) as ours, ReasoningTraces(others) as theirs:
        assert [len(traces.goals()) for traces in (ours, theirs)] == [1, 0]
    with Memory(store) as ours, Memory(others) as theirs:
        assert [len(memory.pending()) for memory in (ours, theirs)] == [1, 0]
        everything_ = [memory.facts(everything=True) for memory in (ours, theirs)]
        assert [len(found) for found in everything_] == [2, 0]
        assert ours.facts(everything=True)[0].state is FactState.QUEUED


def test_a_trace_of_one_project_can_be_imported_into_another(store: Store) -> None:
    with ReasoningTraces(store) as ours, ReasoningTraces(store.of("b")) as theirs:
        goal = ours.add_goal("Say how wide it is")
        decision = ours.add_decision(goal, "Read the notice")
        ours.add_evidence(decision, "S1", "It has eight lanes.")
        written = ours.tree(goal).to_dict()
        assert theirs.import_trace(written) == goal
        assert theirs.tree(goal).to_dict() == written
        theirs.remove(goal)
        assert ours.tree(goal).to_dict() == written


# --- databases from before --------------------------------------------------------------------

BEFORE = (
    "INSERT INTO memory_entities (number, key, name) VALUES (7, 'bridge', 'Bridge')",
    """
    INSERT INTO memory_facts (number, id, text, words, tier, state, reason, confidence, created)
    VALUES (3, 'f1', 'It has eight lanes.', 'it has eight lanes', 'long_term', 'verified',
        'carried', 0.9, '2026-01-02 03:04:05')
    """,
    "INSERT INTO memory_roles (fact, position, role, entity) VALUES (3, 0, '', 7)",
    """
    INSERT INTO trace_nodes (number, id, root, parent, kind, name, text, folded, data, created)
    VALUES (1, 'g1', 'g1', NULL, 'goal', NULL, 'Say it', 'say it', '{}', '2026-01-02 03:04:05'),
        (2, 'n1', 'g1', 'g1', 'observation', 'S1', 'So', 'so', '{}', '2026-01-02 03:04:05')
    """,
    "INSERT INTO trace_edges (root, source, label, target) VALUES ('g1', 'g1', 'x', 'n1')",
)


def test_what_was_there_before_projects_is_of_the_default_one(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD", "0006")
        old = Store(url)
        with old.write() as connection:
            for statement in BEFORE:
                connection.execute(text(statement))
        old.close()
    with Memory(url) as memory:
        (fact,) = memory.facts(text="lanes", entities="bridge")
        assert fact.participants[0].entity == "Bridge"
        assert memory.remember("A new one.", entities=["bridge"]).fact is not None
    others = Store(url, project="b")
    nodes, edges = TraceTables(others.of("default")).trace("g1")
    assert ([node["parent"] for node in nodes], len(edges)) == ([None, "g1"], 1)
    assert TraceTables(others).trace("g1") == ([], [])
    with Memory(others) as memory:
        assert memory.facts(everything=True) == []
    others.close()
