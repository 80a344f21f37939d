"""Contract of the store, on SQLite and a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from veridical.errors import InputError, StoreError
from veridical.settings import Settings
from veridical.store import FeedbackTable, RateTable, Store, TraceTables, migrate
from veridical.store.tables import metadata
from veridical.testing import FakeBackend, fake_estimate
from veridical.traces import NodeKind, ReasoningTraces
from veridical.verification.verifier import Verifier

NewUrl = Callable[[], str]


def row(claim: str = "c1", **changes: object) -> dict[str, Any]:
    """Return a row of the table `feedback`."""
    return {
        "created": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "report": "r1",
        "claim": claim,
        "claim_hash": "0123456789ab",
        "backend": "embedded",
        "model": "m",
        "estimator": "cross_encoder",
        "fingerprint": "f",
        "p1": {"supported": 0.1 + 0.2, "contradicted": None},
        "p0": None,
        "status": "supported",
        "support_threshold": 0.7,
        "contradiction_threshold": 0.5,
        "right": True,
        "actual": None,
    } | changes


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    store = Store(new_url())
    yield store
    store.close()


# --- feedback --------------------------------------------------------------------------------


def test_an_empty_store_has_no_rows(store: Store) -> None:
    assert FeedbackTable(store).rows() == []


def test_a_row_comes_back_as_it_was_put(store: Store) -> None:
    table = FeedbackTable(store)
    number = table.put(row())
    (found,) = table.rows()
    found["created"] = found["created"].replace(tzinfo=UTC)
    assert found == row() | {"id": number}


def test_a_row_for_the_same_claim_of_the_same_report_replaces(store: Store) -> None:
    table = FeedbackTable(store)
    first, other = table.put(row()), table.put(row("c2"))
    assert table.put(row(right=False, actual="contradicted")) == first
    found = {one["id"]: (one["claim"], one["right"], one["actual"]) for one in table.rows()}
    assert found == {first: ("c1", False, "contradicted"), other: ("c2", True, None)}


def test_a_number_that_was_removed_is_not_used_again(store: Store) -> None:
    table = FeedbackTable(store)
    number = table.put(row())
    assert table.remove(number)
    assert not table.remove(number)
    assert table.put(row()) > number


def test_what_fails_half_way_leaves_nothing(store: Store) -> None:
    table = FeedbackTable(store)
    table.put(row())
    with pytest.raises(StoreError, match=r"IntegrityError|NotNullViolation"):
        forget_all_then_fail(store)
    assert len(table.rows()) == 1


def forget_all_then_fail(store: Store) -> None:
    with store.write() as connection:
        connection.execute(text("DELETE FROM feedback"))
        connection.execute(text("INSERT INTO feedback (report) VALUES ('r')"))


def test_an_error_of_the_database_does_not_show_what_was_written(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        FeedbackTable(store).put(row(status=None, model="SECRET"))
    assert "SECRET" not in str(caught.value)
    assert caught.value.hint


# --- migrations ------------------------------------------------------------------------------


def test_the_migrations_lead_to_the_tables_that_are_used(store: Store) -> None:
    with store.read() as connection:
        options = {"compare_type": True, "include_name": is_no_search_index}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def is_no_search_index(name: str | None, *_: object) -> bool:
    """Leave out the full-text index, which is another thing on either database."""
    return name is None or not name.startswith(("memory_text", "ix_memory_text"))


def test_the_newest_revision_is_the_one_that_is_looked_for() -> None:
    assert ScriptDirectory(str(migrate.FOLDER)).get_current_head() == migrate.HEAD


EARLIER_ROW = """
INSERT INTO feedback (created, report, claim, claim_hash, backend, model, estimator, status,
    support_threshold, contradiction_threshold, "right")
VALUES ('2026-01-02 03:04:05', 'r1', 'c1', '0', 'embedded', 'm', 'cross_encoder', 'supported',
    0.7, 0.5, true)
"""
REVISIONS = [script.revision for script in ScriptDirectory(str(migrate.FOLDER)).walk_revisions()]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_an_earlier_version_keeps_its_data(
    new_url: NewUrl, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD", revision)
        old = Store(url)
        with old.write() as connection:
            connection.execute(text(EARLIER_ROW))
        old.close()
    assert revision_of(Store(url)) == migrate.HEAD
    assert [one["claim"] for one in FeedbackTable(Store(url)).rows()] == ["c1"]


def revision_of(store: Store) -> str | None:
    with store.read() as connection:
        return migrate.revision_of(connection)


def test_a_migration_changes_a_table_with_its_data_in_place(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = new_url()
    FeedbackTable(Store(url)).put(row())
    column = "sa.Column('note', sa.String, server_default='none')"
    future(tmp_path, monkeypatch, f"op.add_column('feedback', {column})")
    with Store(url).read() as connection:
        found = connection.execute(text("SELECT claim, note FROM feedback")).one()
    assert tuple(found) == ("c1", "none")


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = new_url()
    FeedbackTable(Store(url)).put(row())
    with monkeypatch.context() as patch:
        body = "op.create_table('half', sa.Column('id', sa.Integer)); op.drop_table('no_such')"
        future(tmp_path, patch, body)
        with pytest.raises(StoreError):
            FeedbackTable(Store(url)).rows()
    store = Store(url)
    assert len(FeedbackTable(store).rows()) == 1
    with store.read() as connection:
        assert not inspect(connection).has_table("half")


def future(folder: Path, patch: pytest.MonkeyPatch, body: str) -> None:
    """Let there be another revision after the newest, one that does `body`."""
    copy = folder / "100% future"
    shutil.copytree(migrate.FOLDER, copy)
    code = "import sqlalchemy as sa\nfrom alembic import op\n\nrevision = 'future'\n"
    code += f"down_revision = {migrate.HEAD!r}\n\n\ndef upgrade():\n    {body}\n"
    (copy / "versions" / "r_future.py").write_text(code)
    patch.setattr(migrate, "FOLDER", copy)
    patch.setattr(migrate, "HEAD", "future")


def test_a_database_of_a_later_version_is_left_alone(new_url: NewUrl) -> None:
    url = new_url()
    first = Store(url)
    with first.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="revision 9999") as caught:
        FeedbackTable(Store(url)).rows()
    assert "Upgrade veridical" in caught.value.hint


# --- rates -----------------------------------------------------------------------------------


def test_a_minute_of_turns_may_be_taken_at_once_then_one_at_a_time(store: Store) -> None:
    table = RateTable(store)
    taken = [table.take("a", turn_s=20, ahead_s=60) for _ in range(5)]
    assert taken[:3] == [0.0] * 3
    assert all(19 < wait <= 20 for wait in taken[3:])
    assert table.take("b", turn_s=20, ahead_s=60) == 0.0


def test_a_turn_comes_back_with_time(store: Store) -> None:
    table = RateTable(store)
    assert [table.take("a", turn_s=0.2, ahead_s=0.2) > 0 for _ in range(2)] == [False, True]
    sleep(0.25)
    assert table.take("a", turn_s=0.2, ahead_s=0.2) == 0.0


TAKER = """
import sys
from veridical.store import RateTable, Store
table = RateTable(Store(sys.argv[1]))
table.open()
print("open", flush=True)
sys.stdin.readline()
print(sum(not table.take("a", turn_s=60 / 50, ahead_s=60) for _ in range(40)))
"""


@pytest.mark.slow
def test_processes_that_take_turns_at_once_take_no_more_than_there_are(new_url: NewUrl) -> None:
    command = [sys.executable, "-c", TAKER, new_url()]
    takers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for taker in takers:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "open\n"
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("\n")
        taker.stdin.flush()
    taken = [taker.communicate(timeout=60)[0] for taker in takers]
    assert 50 <= sum(map(int, taken)) <= 53  # a turn comes back every 1.2 seconds


# --- several processes -----------------------------------------------------------------------

WRITER = """
import sys
from veridical.store import FeedbackTable, Store
sys.path.insert(0, sys.argv[1])
from test_store import row
table = FeedbackTable(Store(sys.argv[2]))
for number in range(40):
    table.put(row(f"c{number}", report=sys.argv[3]))
    table.put(row("shared", report="shared", model=sys.argv[3]))
"""


@pytest.mark.slow
def test_processes_that_start_and_write_at_once_lose_nothing(new_url: NewUrl) -> None:
    url = new_url()
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, here, url]
    writers = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "abcd"
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    found = [(one["report"], one["claim"]) for one in FeedbackTable(Store(url)).rows()]
    assert len(found) == len(set(found)) == 4 * 40 + 1


def test_a_store_can_be_used_after_a_fork(store: Store) -> None:
    table = FeedbackTable(store)
    table.put(row())
    child = os.fork()
    if not child:  # pragma: no cover -- not seen in a child
        try:
            table.put(row("c2"))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert [one["claim"] for one in table.rows()] == ["c1", "c2"]


# --- traces ----------------------------------------------------------------------------------


def small_trace(traces: ReasoningTraces) -> str:
    """Write a goal, its evidence and three claims, two of them verified; return the goal."""
    goal = traces.add_goal("Say how wide the BRÜCKE is")
    decision = traces.add_decision(goal, "Read the notice")
    traces.add_evidence(decision, "S1", "It has eight lanes.")
    for claim in ("It has eight lanes.", "It has a toll booth.", "It is blue."):
        traces.add_claim(decision, claim, ["S1", "S9"] if "blue" in claim else ["S1"])
    for one in traces.claims(goal)[:2]:
        traces.verify_claim(one.id)
    return goal


def tracing(store: Store | str) -> ReasoningTraces:
    backend = FakeBackend(lambda q: fake_estimate(0.99 if q.claim in q.context else 0.0))
    return ReasoningTraces(store, Verifier(backend), settings=Settings())


@pytest.mark.spec("SPEC-16.19", "SPEC-16.20")
def test_a_trace_comes_back_as_it_was_written(new_url: NewUrl) -> None:
    with tracing(new_url()) as traces, tracing(new_url()) as others:
        goal = small_trace(traces)
        written = traces.tree(goal).to_dict()
        assert others.import_trace(written) == goal
        assert others.tree(goal).to_dict() == written
        report = traces.get_verification_report(goal)
        assert others.get_verification_report(goal) == report
        assert [claim.state for claim in report.claims] == [
            "supported",
            "unsupported",
            "unverified",
        ]
        assert [one.p1 for one in report.claims[1].history] == [0.0]
        assert [node.id for node in traces.search("brücke")] == [goal]
        with pytest.raises(InputError, match="already"):
            others.import_trace(written)
        assert others.remove(goal) == 8
        assert others.goals() == []


def test_evidence_of_one_id_is_kept_once(store: Store) -> None:
    with tracing(store) as traces:
        goal = traces.add_goal("g")
        first = traces.add_evidence(goal, "S1", "It has eight lanes.")
        assert traces.add_evidence(goal, "S1", "It has eight lanes.") == first
        assert [node.id for node in traces.tree(goal).nodes] == [goal, first]


def test_a_trace_that_fails_half_way_leaves_nothing(store: Store) -> None:
    traces = tracing(store)
    goal = traces.add_goal("g")
    node = traces.tree(goal).nodes[0]
    edge = {"root": goal, "source": "claim-1", "label": "cites", "target": "no-such-node"}
    row = {"id": "claim-1", "root": goal, "parent": goal, "kind": "claim", "name": None}
    row |= {"text": "SECRET", "folded": "secret", "data": {}, "created": node.created}
    with pytest.raises(StoreError) as caught:
        TraceTables(store).put([row], [edge])
    assert "SECRET" not in str(caught.value)
    assert traces.tree(goal).nodes == (node,)
    traces.close()


TRACER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_store import tracing
with tracing(sys.argv[2]) as traces:
    goal, name = sys.argv[3], sys.argv[4]
    for number in range(20):
        decision = traces.add_decision(goal, f"{name} {number}")
        traces.add_evidence(goal, f"S{number}", f"It has {number} lanes.")
        claim = traces.add_claim(decision, f"It has {number} lanes.", [f"S{number}"])
        traces.verify_claim(claim)
"""


def test_processes_that_write_one_trace_at_once_lose_nothing(new_url: NewUrl) -> None:
    url = new_url()
    with tracing(url) as traces:
        goal = traces.add_goal("g")
        command = [sys.executable, "-c", TRACER, str(Path(__file__).parent), url, goal]
        writers = [
            subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "ab"
        ]
        for writer in writers:
            _, errors = writer.communicate(timeout=240)
            assert (writer.returncode, errors) == (0, "")
        tree, claims = traces.tree(goal), traces.claims(goal)
    assert len({node.text for node in tree.of_kind(NodeKind.DECISION)}) == 40
    assert sorted(node.name or "" for node in tree.of_kind(NodeKind.OBSERVATION)) == sorted(
        f"S{number}" for number in range(20)
    )
    assert [(claim.state, len(claim.history)) for claim in claims] == [("supported", 1)] * 40
    assert len(list(tree.walk())) == len(tree.nodes) == 1 + 3 * 40 + 20
