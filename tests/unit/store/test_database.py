"""SQLite files and URLs; the contract on both databases is in tests/contract/test_store.py."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path

import anyio
import pytest

from veridical.errors import ConfigurationError, MissingExtraError, StoreError
from veridical.pipeline.inference.wrappers.stores import SqliteStore
from veridical.store import FeedbackTable, Store, default_url, location

WRITER = """
import sys
from datetime import UTC, datetime
from veridical.store import FeedbackTable, Store
table = FeedbackTable(Store(sys.argv[1]))
texts = dict.fromkeys(
    ("claim_hash", "backend", "model", "estimator", "fingerprint", "status"), "x" * 500
)
numbers = {"support_threshold": 0.7, "contradiction_threshold": 0.5, "right": True, "actual": None}
number = 0
while True:
    number += 1
    claim = {"created": datetime.now(UTC), "report": sys.argv[2], "claim": f"c{number}"}
    table.put(claim | texts | numbers | {"p1": None, "p0": None})
    print(f"c{number}", flush=True)
"""


def test_nothing_is_made_before_it_is_used(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path}/a/b.db").close()
    assert list(tmp_path.iterdir()) == []


def test_the_file_and_its_folder_are_private_and_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kept.db"
    store = Store(f"sqlite:///{path}")
    with store.write():
        modes = {
            one: stat.S_IMODE(one.stat().st_mode) for one in (path.parent, *path.parent.iterdir())
        }
    assert modes.pop(path.parent) == 0o700
    assert set(modes.values()) == {0o600}
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_foreign_keys_are_looked_after(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/kept.db").read() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_reading_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/kept.db")
    with store.write(), store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM feedback").scalar() == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "SECRET",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///a.db?x=SECRET",
        "mysql://SECRET@h/d",
    ],
)
def test_another_url_is_a_named_error(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Store(url)
    assert "SECRET" not in str(caught.value)
    assert "sqlite:///FILE" in caught.value.hint


def test_the_place_hides_the_password() -> None:
    pytest.importorskip("psycopg")
    assert "SECRET" not in Store("postgresql://user:SECRET@host/name").place


def test_postgresql_without_its_driver_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="postgres") as caught:
        Store("postgresql://user@host/name")
    assert "veridical[postgres]" in caught.value.hint


def test_a_server_that_is_not_there_is_a_named_error() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        FeedbackTable(Store("postgresql://SECRET:SECRET@127.0.0.1:9/name")).rows()
    assert "SECRET" not in str(caught.value)


def test_a_file_that_is_no_database_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("SECRET " * 1000)
    with pytest.raises(StoreError, match="file is no database") as caught:
        FeedbackTable(Store(f"sqlite:///{path}")).rows()
    assert "SECRET" not in str(caught.value)
    assert path.read_text() == "SECRET " * 1000


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    for table in ("users", "feedback"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE {table} (name TEXT)")
        before = path.read_bytes()
        with pytest.raises(StoreError, match="of another program"):
            FeedbackTable(Store(f"sqlite:///{path}")).rows()
        assert path.read_bytes() == before


def test_a_cache_of_ours_may_be_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "both.db"
    cache = SqliteStore(path)
    anyio.run(partial(cache.put, {b"k": b"v"}, ttl_s=60.0))
    assert FeedbackTable(Store(f"sqlite:///{path}")).rows() == []
    assert anyio.run(partial(cache.get, [b"k"], ttl_s=60.0)) == {b"k": b"v"}
    cache.close()


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    table, hurried = FeedbackTable(Store(url)), FeedbackTable(Store(url, wait_s=0.05))
    assert table.rows() == hurried.rows() == []
    with Store(url).write(), pytest.raises(StoreError, match="locked by other writers"):
        hurried.remove(1)


def test_a_folder_in_place_of_the_file_is_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        FeedbackTable(Store(f"sqlite:///{tmp_path}")).rows()


@pytest.mark.slow
def test_a_process_killed_while_it_writes_loses_nothing_that_it_said_was_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.db"
    said = set()
    for run in range(5):
        command = [sys.executable, "-c", WRITER, f"sqlite:///{path}", f"r{run}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said.add((f"r{run}", writer.stdout.readline().strip()))
            time.sleep(0.011 * run)  # so that it is killed at another place each time
            os.kill(writer.pid, signal.SIGKILL)
            said |= {(f"r{run}", line.strip()) for line in writer.stdout if line.endswith("\n")}
    kept = {
        (one["report"], one["claim"]) for one in FeedbackTable(Store(f"sqlite:///{path}")).rows()
    }
    assert said <= kept
    assert len(kept) <= len(said) + 5  # at most the one that was under way, each time
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_a_process_killed_while_it_makes_the_database_leaves_one_that_opens(tmp_path: Path) -> None:
    for run in range(4):
        url = f"sqlite:///{tmp_path}/{run}.db"
        command = [sys.executable, "-c", WRITER, url, "r"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as writer:
            while not (tmp_path / f"{run}.db").exists():
                time.sleep(0.001)
            time.sleep(0.1 * run)
            os.kill(writer.pid, signal.SIGKILL)
        assert FeedbackTable(Store(url)).rows() is not None


# --- where it is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {}, "/home/u/.local/share"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data"),
        ("linux", {"XDG_DATA_HOME": "data"}, "/home/u/.local/share"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/u/Library/Application Support"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local"),
        ("win32", {}, "/home/u/AppData/Local"),
    ],
)
def test_the_default_is_a_file_in_the_users_folder_for_data(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], folder: str
) -> None:
    monkeypatch.setattr(location.sys, "platform", platform)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (environment | {"HOME": "/home/u"}).items():
        monkeypatch.setenv(name, value)
    assert default_url() == f"sqlite:///{folder}/veridical/veridical.db"


def test_importing_veridical_and_its_settings_does_not_import_the_database() -> None:
    code = "import sys, veridical.settings; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"sqlalchemy", "alembic"}.isdisjoint(run.stdout.split())


def test_a_database_with_projects_does_not_go_back_to_a_schema_without_them() -> None:
    with pytest.raises(StoreError, match="cannot go back"):
        import_module("veridical.store.migrations.versions.r0008_projects").downgrade()
