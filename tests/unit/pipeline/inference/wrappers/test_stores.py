from __future__ import annotations

import gc
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from veridical.core.measurements import Measurement, Query
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.cache import Cache, keys_of
from veridical.pipeline.inference.wrappers.stores import EstimateStore, MemoryStore, SqliteStore
from veridical.testing import FAKE, FakeBackend, fake_estimate

QUERIES = [Query(f"Claim {i}.", "Evidence.") for i in range(3)]
DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


def put(store: EstimateStore, *keys: bytes, ttl_s: float = DAY) -> None:
    async def write() -> None:
        await store.put(dict.fromkeys(keys, b"value"), ttl_s=ttl_s)

    anyio.run(write)


def get(store: EstimateStore, *keys: bytes, ttl_s: float = DAY) -> set[bytes]:
    async def read() -> set[bytes]:
        return set(await store.get(keys, ttl_s=ttl_s))

    return anyio.run(read)


def checked(store: EstimateStore) -> tuple[Cache, list[Measurement]]:
    """Check twice, which must work whatever the store does."""
    cache = Cache(FakeBackend(lambda _: fake_estimate(0.9)), store)
    anyio.run(cache.estimate, QUERIES)
    return cache, list(anyio.run(cache.estimate, QUERIES))


def rows(path: Path) -> int:
    connection = sqlite3.connect(path)
    (count,) = connection.execute("SELECT count(*) FROM estimates_v1").fetchone()
    connection.close()
    return int(count)


# --- bounds ----------------------------------------------------------------------------------


def test_memory_forgets_what_was_not_used_for_longest() -> None:
    store = MemoryStore(max_entries=2)
    put(store, b"a", b"b")
    get(store, b"a")
    put(store, b"c")
    assert get(store, b"a", b"b", b"c") == {b"a", b"c"}


def test_a_file_does_not_grow_beyond_its_bound(path: Path) -> None:
    store = SqliteStore(path, max_entries=40)
    for i in range(100):
        put(store, b"%03d" % i)
    store.close()
    assert 38 <= rows(path) <= 42
    assert get(store, b"099", b"000") == {b"099"}
    store.close()


def test_what_is_too_old_is_deleted_by_the_next_process_that_writes(path: Path) -> None:
    old = SqliteStore(path)
    put(old, b"a", b"b")
    old.close()
    new = SqliteStore(path)
    put(new, b"c", ttl_s=1e-6)
    new.close()
    assert rows(path) <= 1


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_a_shorter_time_to_live_holds_for_what_is_there_already(kind: type, path: Path) -> None:
    store: EstimateStore = kind(path) if kind is SqliteStore else kind()
    put(store, b"a")
    assert get(store, b"a", ttl_s=DAY) == {b"a"}
    assert get(store, b"a", ttl_s=1e-9) == set()


def test_keeping_nothing_is_a_configuration_error(path: Path) -> None:
    for make in (lambda: MemoryStore(max_entries=0), lambda: SqliteStore(path, max_entries=0)):
        with pytest.raises(ConfigurationError, match="1 entry or more"):
            make()


# --- what can go wrong -----------------------------------------------------------------------


def assert_only_asked(store: EstimateStore, *, errors: int) -> None:
    cache, found = checked(store)
    assert found == [fake_estimate(0.9)] * 3
    assert (cache.hits, cache.misses) == (0, 6)
    assert cache.errors >= errors


def test_a_file_that_is_no_database_breaks_nothing_and_is_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"somebody's diary, " * 1000)
    assert_only_asked(SqliteStore(path, pause_s=0), errors=1)
    assert path.read_bytes() == b"somebody's diary, " * 1000


def test_a_file_that_is_damaged_in_the_middle_breaks_nothing(path: Path) -> None:
    store = SqliteStore(path)
    put(store, *(b"%05d" % i for i in range(2000)))
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:-4096] = os.urandom(len(content) - 8192)
    path.write_bytes(content)
    assert_only_asked(SqliteStore(path, pause_s=0), errors=1)


def test_a_table_of_another_shape_breaks_nothing(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE estimates_v1 (created TEXT)")
    connection.close()
    assert_only_asked(SqliteStore(path, pause_s=0), errors=1)


@pytest.mark.parametrize("junk", [b"junk", "text", 7, None])
def test_a_value_that_is_junk_is_measured_again_and_replaced(path: Path, junk: object) -> None:
    store = SqliteStore(path)
    put(store, b"x")
    connection = sqlite3.connect(path)
    (key,) = keys_of(FAKE, QUERIES[:1])
    columns = "(key BLOB PRIMARY KEY, created REAL, value)"
    connection.execute("DROP TABLE estimates_v1")
    connection.execute(f"CREATE TABLE estimates_v1 {columns} WITHOUT ROWID")
    connection.execute("INSERT INTO estimates_v1 VALUES (?, 9e9, ?)", (key, junk))
    connection.commit()
    connection.close()
    cache, found = checked(store)
    assert found == [replace(fake_estimate(0.9), cached=True)] * 3
    assert (cache.hits, cache.misses) == (3, 3)
    assert cache.errors == (junk == b"junk")
    store.close()


def test_a_locked_file_is_waited_for_once_and_then_left_alone(path: Path) -> None:
    put(SqliteStore(path), b"a")
    gc.collect()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert_only_asked(SqliteStore(path), errors=1)
    finally:
        holder.close()


def test_after_the_pause_a_file_is_used_again(path: Path) -> None:
    path.mkdir()
    store = SqliteStore(path, pause_s=0)
    assert_only_asked(store, errors=1)
    path.rmdir()
    cache, _ = checked(store)
    assert cache.hits == 3
    store.close()


def test_a_folder_that_cannot_be_made_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert_only_asked(SqliteStore(tmp_path / "file" / "cache.db", pause_s=0), errors=1)
    assert_only_asked(SqliteStore("cache\0.db", pause_s=0), errors=1)


def test_a_file_that_may_only_be_read_breaks_nothing(path: Path) -> None:
    store = SqliteStore(path, pause_s=0)
    put(store, b"a")
    assert store._connection is not None
    store._connection.execute("PRAGMA query_only = ON")
    before = store.errors
    put(store, b"b")
    assert store.errors == before + 1
    store.close()


def test_a_full_disk_breaks_nothing(path: Path) -> None:
    store = SqliteStore(path)
    put(store, b"a")
    assert store._connection is not None
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    put(store, *(b"%05d" % i for i in range(5000)))
    assert store.errors == 1
    store.close()
    assert rows(path) == 1


# --- processes and threads -------------------------------------------------------------------


def test_threads_share_a_store(path: Path) -> None:
    store = SqliteStore(path)
    threads = [
        threading.Thread(target=put, args=(store, *(b"%d-%d" % (i, j) for j in range(50))))
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.errors == 0
    store.close()
    assert rows(path) == 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_its_own_connection(path: Path) -> None:
    store = SqliteStore(path)
    put(store, b"a")
    child = os.fork()
    if child == 0:
        inherited = store._connection
        store._run(lambda connection: connection.execute("SELECT 1").fetchone())
        os._exit(0 if store._connection is not inherited and store.errors == 0 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert get(store, b"a") == {b"a"}
    store.close()
