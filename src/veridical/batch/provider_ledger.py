"""Ledger of requests in batches at a provider: requests, batches and replies, in SQLite.

The same checks make the same requests. So a row is checked again and again, each time with the
replies that have come by then, until it lacks none.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from veridical.errors import ConfigurationError
from veridical.readers.documents import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from veridical.batch.rows import BatchRow

NOT_YET = (425, b'{"error": {"message": "not answered yet"}}')
"""Reply to a request that the provider has not answered.

Nothing asks again after a 425, or with other arguments.
"""

NO_REPLY = 408
_PASSING = frozenset({408, 409, 429})
_SERVER_ERRORS = 500
_TABLES = """
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS requests (
    key TEXT PRIMARY KEY, body BLOB, batch INTEGER, wanted INTEGER DEFAULT 1,
    attempts INTEGER DEFAULT 0, status INTEGER, reply BLOB
);
CREATE INDEX IF NOT EXISTS members ON requests (batch);
CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, mark TEXT, remote TEXT);
BEGIN IMMEDIATE;
COMMIT;
"""
_UNSENT = "status IS NULL AND batch IS NULL AND wanted"


@dataclass(frozen=True, slots=True)
class SentBatch:
    """Batch of the ledger; `remote` is its id at the provider, None until that is known."""

    number: int
    mark: str
    remote: str | None


@dataclass(slots=True)
class RowRequests:
    """Requests of one check of a row: how often each was made, and how many lack a reply."""

    owner: bytes
    made: dict[bytes, int] = field(default_factory=dict)
    waiting: int = 0


_current: ContextVar[RowRequests] = ContextVar("requests of the row that is checked")


class ProviderLedger:
    """Requests of a job and their replies; a context manager. One process has it at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._base = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=0.0
        )
        try:
            self._base.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self._base.close()
            raise _unusable(path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._base.close()

    def remove(self) -> None:
        """Close the ledger, and remove its file."""
        self._base.close()
        self._path.unlink(missing_ok=True)

    # --- requests of a pass over the rows -----------------------------------------------------

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather the requests of a pass; only those that it makes are sent afterwards."""
        with self._transaction():
            self._base.execute(f"UPDATE requests SET wanted = 0 WHERE {_UNSENT}")  # noqa: S608 -- a constant
            yield

    @contextmanager
    def requests_of(self, row: BatchRow) -> Iterator[RowRequests]:
        """Take the requests made in this context for those of a row."""
        digest = blake2b(f"{row.digest}\0{row.id}".encode(), digest_size=16)
        token = _current.set(found := RowRequests(digest.digest()))
        try:
            yield found
        finally:
            _current.reset(token)

    def reply(self, body: bytes) -> tuple[int, bytes]:
        """Return status and body of the reply to a request, or note that it is to be sent."""
        row = _current.get()
        with self._lock:
            nth = row.made[body] = row.made.get(body, 0) + 1
            key = _key(row.owner, body, nth)
            known = "SELECT status, reply FROM requests WHERE key = ? AND status IS NOT NULL"
            found: tuple[int, bytes] | None = self._base.execute(known, (key,)).fetchone()
            if found is not None:
                return found
            row.waiting += 1
            new = (
                "INSERT INTO requests (key, body) VALUES (?, ?) "
                "ON CONFLICT (key) DO UPDATE SET wanted = 1"
            )
            self._base.execute(new, (key, body))
            return NOT_YET

    @property
    def unsent(self) -> int:
        """Number of requests that are to be sent."""
        query = f"SELECT count(*) FROM requests WHERE {_UNSENT}"  # noqa: S608 -- a constant
        found: int = self._base.execute(query).fetchone()[0]
        return found

    # --- batches ------------------------------------------------------------------------------

    def pack(self, url: str, *, requests: int, size: int) -> None:
        """Divide the requests that are to be sent into batches of so many requests and bytes."""
        members = f"UPDATE requests SET batch = ? WHERE key BETWEEN ? AND ? AND {_UNSENT}"  # noqa: S608 -- a constant
        with self._transaction():
            for first, last in list(self._pieces(url, requests, size)):
                made = self._base.execute("INSERT INTO batches (mark) VALUES (?)", (uuid4().hex,))
                self._base.execute(members, (made.lastrowid, first, last))

    def _pieces(self, url: str, requests: int, size: int) -> Iterator[tuple[str, str]]:
        """Yield the first and the last request of each batch."""
        query = f"SELECT key, length(body) FROM requests WHERE {_UNSENT} ORDER BY key"  # noqa: S608 -- a constant
        first, last, count, total = "", "", 0, 0
        for key, length in self._base.execute(query):
            line = length + len(_line(key, url, b""))
            if count and (count == requests or total + line > size):
                yield first, last
                count, total = 0, 0
            first, last = (first if count else key), key
            count, total = count + 1, total + line
        if count:
            yield first, last

    def open_batches(self) -> list[SentBatch]:
        """Return the batches whose replies have not been read."""
        query = "SELECT number, mark, remote FROM batches ORDER BY number"
        return [SentBatch(*row) for row in self._base.execute(query)]

    def created(self, batch: SentBatch, remote: str) -> None:
        """Note the id of a batch at the provider."""
        query = "UPDATE batches SET remote = ? WHERE number = ?"
        self._base.execute(query, (remote, batch.number))

    def lines(self, batch: SentBatch, url: str) -> Iterator[bytes]:
        """Yield the lines of the file of a batch."""
        query = "SELECT key, body FROM requests WHERE batch = ? ORDER BY key"
        for key, body in self._base.execute(query, (batch.number,)):
            yield _line(key, url, body)

    def end(self, batch: SentBatch, replies: Iterable[bytes], *, attempts: int | None) -> int:
        """Keep the replies to a batch that has ended; return their number.

        A request is sent again if it has no reply, or a failure that may pass. After so many
        `attempts` that stands. None: a request without a reply was not attempted.
        """
        with self._transaction():
            kept = sum(self._keep(batch, line, attempts) for line in replies)
            if attempts is not None:
                self._base.execute(_ATTEMPTED, (batch.number,))
                self._base.execute(_GIVEN_UP, (NO_REPLY, b"{}", batch.number, attempts))
            self._base.execute("UPDATE requests SET batch = NULL WHERE batch = ?", (batch.number,))
            self._base.execute("DELETE FROM batches WHERE number = ?", (batch.number,))
        return kept

    def _keep(self, batch: SentBatch, line: bytes, attempts: int | None) -> bool:
        found = _reply(line)
        if found is None:
            return False
        key, status, reply = found
        passing = status in _PASSING or status >= _SERVER_ERRORS
        # A failure that may pass stands after the last attempt.
        before = (attempts or 1) - 1 if passing else 0
        query = (
            "UPDATE requests SET status = ?, reply = ? "
            "WHERE key = ? AND batch = ? AND attempts >= ? AND status IS NULL"
        )
        done = self._base.execute(query, (status, reply, key, batch.number, before))
        return done.rowcount > 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")


_ATTEMPTED = "UPDATE requests SET attempts = attempts + 1 WHERE batch = ? AND status IS NULL"
_GIVEN_UP = (
    "UPDATE requests SET status = ?, reply = ? WHERE batch = ? AND status IS NULL AND attempts >= ?"
)


def _unusable(path: Path, error: sqlite3.DatabaseError) -> ConfigurationError:
    if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
        msg = f"another run uses {shown(path)}"
        return ConfigurationError(msg, hint="Wait for its end, or name another folder")
    if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
        msg = f"{shown(path)} is not a ledger of requests"
        return ConfigurationError(msg, hint="Name a new folder")
    msg = f"cannot write {shown(path)}: {error.sqlite_errorname}"
    return ConfigurationError(msg, hint="Check the disk and its permissions")


def _key(owner: bytes, body: bytes, nth: int) -> str:
    """Return the id of a request; equal ones of a row, such as samples, differ by their number."""
    return blake2b(owner + nth.to_bytes(4) + body, digest_size=16).hexdigest()


def _line(key: str, url: str, body: bytes) -> bytes:
    head = json.dumps({"custom_id": key, "method": "POST", "url": url})
    return head[:-1].encode() + b', "body": ' + body + b"}\n"


def _reply(line: bytes) -> tuple[str, int, bytes] | None:
    """Return id, status and body of a line of replies; None if it holds no reply."""
    with suppress(ValueError, RecursionError):
        raw = json.loads(line)
        response = _value(raw, "response")
        key, status = _value(raw, "custom_id"), _value(response, "status_code")
        if isinstance(key, str) and isinstance(status, int):
            body = _value(response, "body")
            return key, status, (body if isinstance(body, str) else json.dumps(body)).encode()
    return None


def _value(raw: Any, key: str) -> Any:  # noqa: ANN401 -- JSON
    return raw.get(key) if isinstance(raw, dict) else None
