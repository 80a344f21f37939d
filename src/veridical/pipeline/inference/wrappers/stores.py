"""Stores of the cache: an SQLite file that processes share, or memory.

The standard library's sqlite3 does all that is needed in WAL mode. diskcache, the library for this,
has had no release since 2023 and unpickles the content of its folder (CVE-2025-69872).

A store never raises: failures are counted in `errors`, and the store then counts as empty.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections import OrderedDict
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio.to_thread

from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_ENTRIES = 200_000
"""About 100 MB of SQLite."""

PAUSE_S = 10.0
"""Pause after a failure of a database, so that a lock is not waited for on each call."""

_T = TypeVar("_T")

_BUSY_S = 1.0
_PRUNE_AT_MOST_EVERY = 1000
_FAILURES = (sqlite3.Error, OSError, ValueError)
_SETUP = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA journal_size_limit = 4000000",
    """
    CREATE TABLE IF NOT EXISTS estimates_v1
    (key BLOB PRIMARY KEY, created REAL NOT NULL, value BLOB NOT NULL) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS estimates_v1_created ON estimates_v1 (created)",
)
_GET = "SELECT value FROM estimates_v1 WHERE key = ? AND created > ?"
_PUT = "INSERT OR REPLACE INTO estimates_v1 (key, created, value) VALUES (?, ?, ?)"
_EXPIRE = "DELETE FROM estimates_v1 WHERE created <= ?"
_COUNT = "SELECT count(*) FROM estimates_v1"
_EVICT = (
    "DELETE FROM estimates_v1 WHERE key IN (SELECT key FROM estimates_v1 ORDER BY created LIMIT ?)"
)

_inherited: list[sqlite3.Connection] = []
"""Connections inherited by a fork: the process may neither use nor close them."""


class EstimateStore(Protocol):
    """Key-value store with the time of each entry."""

    errors: int

    async def get(self, keys: Sequence[bytes], *, ttl_s: float) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and younger than `ttl_s`."""
        ...

    async def put(self, values: Mapping[bytes, bytes], *, ttl_s: float) -> None:
        """Keep values; entries older than `ttl_s`, or too many, are removed."""
        ...


class MemoryStore:
    """Store in memory, for tests and short programs: at most `max_entries`, evicted by LRU."""

    def __init__(self, *, max_entries: int = 10_000) -> None:
        self._limit = _checked(max_entries)
        self._entries: OrderedDict[bytes, tuple[float, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.errors = 0

    async def get(self, keys: Sequence[bytes], *, ttl_s: float) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and younger than `ttl_s`."""
        oldest = monotonic() - ttl_s
        found = {}
        with self._lock:
            for key in keys:
                created, value = self._entries.get(key, (oldest, b""))
                if created > oldest:
                    self._entries.move_to_end(key)
                    found[key] = value
        return found

    async def put(self, values: Mapping[bytes, bytes], *, ttl_s: float) -> None:  # noqa: ARG002
        """Keep values; the least recently used are removed. Old ones are never read."""
        now = monotonic()
        with self._lock:
            for key, value in values.items():
                self._entries[key] = (now, value)
                self._entries.move_to_end(key)
            while len(self._entries) > self._limit:
                self._entries.popitem(last=False)


class SqliteStore:
    """Database file that threads and processes may share; opened when first used.

    At most about `max_entries` are kept, the oldest go first. After an error the file is left alone
    for `pause_s`. Work is done in a worker thread.
    """

    def __init__(
        self, path: str | Path, *, max_entries: int = MAX_ENTRIES, pause_s: float = PAUSE_S
    ) -> None:
        self._path = Path(path)
        self._limit = _checked(max_entries)
        self._pause_s = pause_s
        self._every = max(1, min(_PRUNE_AT_MOST_EVERY, max_entries // 20))
        self._since_pruning = self._every  # the first to write prunes the entries that others left
        self._resume = float("-inf")
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._finalizer: weakref.finalize[..., SqliteStore] | None = None
        self._process = os.getpid()
        self.errors = 0

    async def get(self, keys: Sequence[bytes], *, ttl_s: float) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and younger than `ttl_s`."""
        oldest = time() - ttl_s

        def read(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            with _transaction(connection, "BEGIN"):
                rows = {key: connection.execute(_GET, (key, oldest)).fetchone() for key in keys}
            return {key: row[0] for key, row in rows.items() if row and isinstance(row[0], bytes)}

        return await anyio.to_thread.run_sync(self._run, read) or {}

    async def put(self, values: Mapping[bytes, bytes], *, ttl_s: float) -> None:
        """Keep values; entries older than `ttl_s`, or too many, are removed."""
        now = time()

        def write(connection: sqlite3.Connection) -> None:
            with _transaction(connection, "BEGIN IMMEDIATE"):
                connection.executemany(_PUT, [(key, now, value) for key, value in values.items()])
                self._since_pruning += len(values)
                if self._since_pruning >= self._every:
                    self._prune(connection, now - ttl_s)

        await anyio.to_thread.run_sync(self._run, write)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._forget()

    def _prune(self, connection: sqlite3.Connection, oldest: float) -> None:
        connection.execute(_EXPIRE, (oldest,))
        (count,) = connection.execute(_COUNT).fetchone()
        if count > self._limit:
            connection.execute(_EVICT, (count - self._limit,))
        self._since_pruning = 0

    def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Do `work` on the database; None if it fails, or failed a short while ago."""
        with self._lock:
            if monotonic() < self._resume:
                return None
            try:
                return work(self._open())
            except _FAILURES:
                self.errors += 1
                self._resume = monotonic() + self._pause_s
                self._forget()
                return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process != os.getpid():
            _inherited.append(self._connection)
            self._connection = self._finalizer = None
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.touch(mode=0o600)  # new files are for nobody else to read
            self._connection = _connect(self._path)
            self._process = os.getpid()
            self._finalizer = weakref.finalize(self, _close, self._connection, self._process)
        return self._connection

    def _forget(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._connection = self._finalizer = None


def _checked(max_entries: int) -> int:
    if max_entries < 1:
        msg = f"a cache keeps 1 entry or more, not {max_entries}"
        raise ConfigurationError(msg, hint="Leave the cache out to keep nothing")
    return max_entries


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        # Another process may be switching the file to WAL at this moment; then it is done already.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        for statement in _SETUP:
            connection.execute(statement)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        with suppress(sqlite3.Error):
            connection.close()
