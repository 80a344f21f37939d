"""Contract of the cache, the reports and the migrations, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, Table, select
from sqlalchemy.types import JSON, Boolean, DateTime, Float, Integer, LargeBinary

from veridical.core.measurements import Estimate, Query
from veridical.memory import Memory
from veridical.pipeline.inference.wrappers.cache import Cache
from veridical.settings import Settings
from veridical.store import CacheTable, ReportTable, Store, migrate
from veridical.store.tables import metadata
from veridical.testing import FakeBackend, fake_estimate
from veridical.wiring.build import build_backend

NewUrl = Callable[[], str]
DAY = 86_400.0
QUERIES = [Query(f"Claim {i}.", "Evidence.") for i in range(1200)]


@pytest.fixture
def store(new_url: NewUrl) -> Iterator[Store]:
    store = Store(new_url())
    yield store
    store.close()


# --- the cache -------------------------------------------------------------------------------


def put(table: CacheTable, *keys: bytes, ttl_s: float = DAY) -> None:
    async def write() -> None:
        await table.put(dict.fromkeys(keys, b"\0value"), ttl_s=ttl_s)

    anyio.run(write)


def get(table: CacheTable, *keys: bytes, ttl_s: float = DAY) -> dict[bytes, bytes]:
    async def read() -> dict[bytes, bytes]:
        return await table.get(keys, ttl_s=ttl_s)

    return anyio.run(read)


@pytest.mark.spec("SPEC-08.30")
def test_what_one_process_measured_another_finds_in_the_database(new_url: NewUrl) -> None:
    url, asked = new_url(), []

    def answer(query: Query) -> Estimate:
        asked.append(query)
        return fake_estimate(0.1 + 0.2)

    for hits in (0, len(QUERIES)):
        cache = Cache(FakeBackend(answer), CacheTable(Store(url), max_entries=10_000))
        found = anyio.run(cache.estimate, QUERIES)
        assert {one.supported for one in found if isinstance(one, Estimate)} == {0.1 + 0.2}
        assert (cache.hits, cache.errors) == (hits, 0)
    assert len(asked) == len(QUERIES)


def test_what_is_too_old_is_not_found_and_goes(store: Store) -> None:
    table = CacheTable(store, max_entries=10)
    put(table, b"a")
    assert get(table, b"a", b"b") == {b"a": b"\0value"}
    assert get(table, b"a", ttl_s=1e-9) == {}
    put(CacheTable(store, max_entries=10), b"b", ttl_s=1e-9)
    assert get(table, b"a") == {}


def test_the_oldest_entries_make_room(store: Store) -> None:
    table = CacheTable(store, max_entries=20)
    for number in range(60):
        put(table, bytes([number]))
    kept = get(table, *(bytes([number]) for number in range(60)))
    assert 20 <= len(kept) <= 21
    assert min(kept) >= bytes([39])


def test_writers_of_the_same_keys_do_not_stand_in_each_others_way(store: Store) -> None:
    table = CacheTable(store, max_entries=10_000)
    keys = [bytes([number]) for number in range(200)]
    writers = [
        threading.Thread(target=put, args=(table, *(keys if way else reversed(keys))))
        for way in (True, False) * 4
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (len(get(table, *keys)), table.errors) == (200, 0)


def test_a_database_that_fails_is_a_cache_that_knows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "no.db"
    path.write_text("no database, but a text that is long enough to be looked at")
    table = CacheTable(Store(f"sqlite:///{path}"), max_entries=10)
    put(table, b"a")
    assert get(table, b"a") == {}
    assert table.errors == 1  # and then it is left alone for a while


def test_the_settings_put_the_cache_into_the_database(new_url: NewUrl) -> None:
    url = new_url()
    settings = Settings.load(cache={"path": ":store:"}, store={"url": url})
    backend = build_backend(settings, "embedded")
    assert isinstance(backend, Cache)
    query = [Query("It opened in 1998.", "The bridge was opened in 1998.")]
    (first,), (again,) = (anyio.run(backend.estimate, query) for _ in range(2))
    assert isinstance(first, Estimate)
    assert isinstance(again, Estimate)
    assert (first.cached, again.cached) == (False, True)
    with Store(url).read() as connection:
        assert len(connection.execute(select(metadata.tables["cache_entries"])).all()) == 1


# --- reports ---------------------------------------------------------------------------------


def test_a_report_is_had_again_while_it_is_kept(store: Store) -> None:
    ReportTable(store, most=9, kept_s=60.0).put("r1", "app", b"\0data")
    table = ReportTable(store, most=9, kept_s=60.0)
    assert table.get("r1") == b"\0data"
    assert table.get("r2") is None
    assert ReportTable(store, most=9, kept_s=1e-9).get("r1") is None


def test_reports_that_are_too_old_or_too_many_go(store: Store) -> None:
    table = ReportTable(store, most=2, kept_s=60.0)
    for number in range(4):
        table.put(f"r{number}", "app", b"data")
    assert [bool(table.get(f"r{number}")) for number in range(4)] == [
        False,
        False,
        True,
        True,
    ]
    ReportTable(store, most=2, kept_s=1e-9).put("r9", "app", b"data")
    assert table.get("r3") is None


# --- migrations ------------------------------------------------------------------------------

REVISIONS = [script.revision for script in ScriptDirectory(str(migrate.FOLDER)).walk_revisions()]


@pytest.mark.spec("SPEC-16.19")
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_table_of_every_revision_keeps_its_rows(
    new_url: NewUrl, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD", revision)
        old = Store(url)
        written = filled(old)
        old.close()
    assert "feedback" in written
    assert all(len(made) == 1 for _, made in written.values())
    now = Store(url)
    assert {name: rows(now, name, columns) for name, (columns, _) in written.items()} == {
        name: made for name, (_, made) in written.items()
    }
    with now.read() as connection:
        assert migrate.revision_of(connection) == migrate.HEAD
    if "memory_facts" in written:
        assert [fact.text for fact in Memory(url).search("words", limit=9)] == ["text words"]


def filled(store: Store) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    """Write a row into every table that there is; return columns and rows by table."""
    there = MetaData()
    with store.write() as connection:
        there.reflect(connection, only=lambda name, _: name in metadata.tables)
        for table in there.sorted_tables:
            connection.execute(table.insert().values(**a_row(table)))
    names = {table.name: [column.name for column in table.c] for table in there.sorted_tables}
    return {name: (columns, rows(store, name, columns)) for name, columns in names.items()}


def rows(store: Store, name: str, columns: list[str]) -> list[tuple[Any, ...]]:
    table = metadata.tables[name]
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(select(*(table.c[c] for c in columns)))]


def a_row(table: Table) -> dict[str, object]:
    """Return values that fit; ours where a word of ours has to stand."""
    ours = metadata.tables[table.name]
    known = {
        "state": "verified",
        "tier": "task",
        "root": "text",
        "source": "text",
        "target": "text",
        "parent": None,
        "project": "default",
        "valid_from": None,
        "valid_to": None,
        "retracted": None,
        "verification": None,
        "text": "text words",
        "words": "text words",
    }
    return {
        column.name: known[column.name]
        if column.name in known and of_texts(column)
        else value_of(column)
        for column in ours.c
        if column.name in table.c
    }


def of_texts(column: Any) -> bool:  # noqa: ANN401 -- of any table
    return not isinstance(column.type, Integer | LargeBinary)


def value_of(column: Any) -> object:  # noqa: ANN401 -- of any table
    kinds: dict[type, object] = {
        Boolean: True,
        DateTime: datetime(2026, 1, 2, tzinfo=UTC),
        Float: 0.25,
        LargeBinary: b"\0\xff",
        JSON: {"a": [0.5, None]},
        Integer: 1,
    }
    return next((made for kind, made in kinds.items() if isinstance(column.type, kind)), "text")
