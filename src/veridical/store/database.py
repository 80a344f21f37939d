"""One database behind a URL: opened when first used, migrated then, shared by processes.

SQLite (one file, in WAL mode) begins its transactions itself, not the driver, so that reading does
not lock, writing waits its turn instead of failing half-way, and tables are made in transactions.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from copy import copy
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from veridical.errors import (
    ConfigurationError,
    MissingExtraError,
    StoreError,
    StoreLockedError,
)
from veridical.store import migrate
from veridical.store.projects import DEFAULT_PROJECT, in_force

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine

BUSY_S = 30
"""Seconds that a call waits for others who hold a lock."""

CONNECT_S = 10
"""Seconds that a connection waits for its server."""

_WRITING = "veridical_writing"
_PLAIN = {
    "SQLITE_NOTADB": "the store's file is no database",
    "SQLITE_READONLY": "the store's file cannot be written",
    "SQLITE_FULL": "there is no room left for the store's file",
    "SQLITE_CORRUPT": "the store's file is damaged",
    "UnicodeDecodeError": "the store's file is damaged",
}
_LOCKED = frozenset(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT", "55P03"))
"""Error codes for a lock held by another program: of SQLite, and of PostgreSQL."""

_due: ContextVar[float | None] = ContextVar("veridical_store_due", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bound the total waiting time of the calls in this block.

    They raise `StoreLockedError` then. That covers locks, not a server that does not answer.
    """
    before = _due.set(perf_counter() + patience(seconds))
    try:
        yield
    finally:
        _due.reset(before)


def patience(longest: float = BUSY_S) -> float:
    """Return the remaining waiting time in seconds, at most `longest`."""
    due = _due.get()
    return longest if due is None else min(longest, max(due - perf_counter(), 0.0))


@contextmanager
def in_turn(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock of this process; `StoreLockedError` if it takes too long to get it."""
    if not lock.acquire(timeout=patience()):
        raise locked()
    try:
        yield
    finally:
        lock.release()


def locked() -> StoreLockedError:
    """Return the error for a lock held too long by another program."""
    hint = "Try again once the other program is done; it holds a transaction open"
    return StoreLockedError("the store stayed locked by other writers", hint=hint)


_HINT = "Set store.url to sqlite:///FILE or postgresql://USER@HOST/NAME"


class Store:
    """Database with the tables of this version; threads and processes may share it.

    Rows are read and written within one `project`; `of` gives the same database for another one.
    Nothing is opened, made or migrated before it is first used. A call waits up to `wait_s` seconds
    for others who hold a lock. `ConfigurationError` if the URL is invalid, `MissingExtraError`
    without the driver, `StoreError` for later failures.

    >>> store = Store("sqlite:///kept.db")
    >>> store.of("clinic").project
    'clinic'
    >>> store.close()
    """

    def __init__(self, url: str, wait_s: float = BUSY_S, *, project: str = DEFAULT_PROJECT) -> None:
        self.project = project
        self._database = _Database(_checked(url), wait_s)

    def of(self, project: str) -> Store:
        """Return the same database, connections included, for the rows of another project."""
        other = copy(self)
        other.project = project
        return other

    @property
    def place(self) -> str:
        """URL, without the password."""
        return self._database.url.render_as_string(hide_password=True)

    @property
    def beside(self) -> Path | None:
        """Folder beside the file for facts that wait for its lock; None for a server."""
        url = self._database.url
        if url.drivername != "sqlite" or url.database is None:
            return None
        folder = Path(f"{url.database}.waiting")
        return folder if self.project == DEFAULT_PROJECT else folder / self.project

    def beside_projects(self) -> list[str]:
        """Return the projects that have a folder beside the file."""
        folder = self.of(DEFAULT_PROJECT).beside
        try:
            found = [] if folder is None else [path for path in folder.iterdir() if path.is_dir()]
        except FileNotFoundError:
            return []
        return [DEFAULT_PROJECT, *sorted(path.name for path in found)]

    @property
    def exists(self) -> bool:
        """True if there is a database already; a server has one."""
        url = self._database.url
        return url.drivername != "sqlite" or url.database is None or Path(url.database).exists()

    @property
    def ready(self) -> bool:
        """True if this process has opened it, so that its tables are of this version."""
        return self._database.ready

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that sees one state of the database."""
        with _translated(), in_force(self.project), self._database.reading() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection in a transaction, committed if the block ends without an error."""
        with _translated(), in_force(self.project), self._database.writing() as connection:
            yield connection

    def turn(self) -> AbstractContextManager[object]:
        """Return a context in which a writer of SQLite has its turn in this process."""
        return self._database.turn()

    def close(self) -> None:
        """Close all connections, of each project; the store opens again when it is used."""
        self._database.close()


class _Database:
    """Connections to a database, shared by the stores of its projects."""

    def __init__(self, url: URL, wait_s: float) -> None:
        self.url = url
        self._engine = _engine(url, wait_s)
        self._lock = threading.Lock()
        self._writers = threading.Lock()
        self._ready = False
        self._process = os.getpid()
        weakref.finalize(self, _dispose, self._engine, self._process)

    @property
    def ready(self) -> bool:
        """True if this process has opened it."""
        return self._ready and self._process == os.getpid()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read with."""
        self._prepare()
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection to write with."""
        self._prepare()
        with self._begun() as connection:
            yield connection

    def turn(self) -> AbstractContextManager[object]:
        """Return a context in which a writer has its turn; SQLite's own lock has no queue."""
        return in_turn(self._writers) if self.url.drivername == "sqlite" else nullcontext()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _prepare(self) -> None:
        """Open and migrate the database, once per process."""
        with in_turn(self._lock):
            if self._process != os.getpid():  # forked: the parent's connections stay the parent's
                self._engine.dispose(close=False)
                self._process = os.getpid()
            if self._ready:
                return
            if self.url.database and self.url.drivername == "sqlite":
                _make_private(Path(self.url.database))
            with self._engine.connect() as connection:
                found = migrate.revision_of(connection)
            if found != migrate.HEAD:
                with self._begun() as connection:
                    migrate.upgrade(connection)
            self._ready = True

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        writing = self._engine.execution_options(**{_WRITING: True})
        with writing.begin() as connection:
            yield connection


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        msg = "store.url is not the URL of a database"  # not shown: there may be a password in it
        raise ConfigurationError(msg, hint=_HINT) from None
    if parsed.drivername in {"postgresql", "postgresql+psycopg"}:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername != "sqlite":
        msg = f"store.url names the database {parsed.drivername!r}, which is not one of ours"
        raise ConfigurationError(msg, hint=_HINT)
    if parsed.database in {None, "", ":memory:"} or parsed.query:
        msg = "store.url names no file"
        raise ConfigurationError(msg, hint=_HINT)
    return parsed


def _engine(url: URL, wait_s: float) -> Engine:
    sqlite = url.drivername == "sqlite"
    limits = {"timeout": wait_s} if sqlite else {"connect_timeout": CONNECT_S}
    try:
        # A server that was restarted has cut the connections kept here: each is tried before use.
        engine = create_engine(
            url, connect_args=limits, hide_parameters=True, pool_pre_ping=not sqlite
        )
    except ImportError:
        msg = "PostgreSQL needs the extra 'postgres'"
        raise MissingExtraError(msg, hint="pip install 'veridical[postgres]'") from None
    if sqlite:
        event.listen(engine, "connect", partial(_set_up, wait_s))
        event.listen(engine, "begin", partial(_begin, wait_s))
    else:
        event.listen(engine, "connect", partial(_set_up_server, wait_s))
        event.listen(engine, "begin", partial(_limit_locks, wait_s))
    return engine


def _dispose(engine: Engine, process: int) -> None:
    """Close all connections, unless a fork was handed them: they are still its parent's."""
    engine.dispose(close=process == os.getpid())


def _set_up(wait_s: float, connection: Any, _record: object) -> None:  # noqa: ANN401 -- a driver's connection has no type here
    connection.execute(f"PRAGMA busy_timeout = {_milliseconds(wait_s)}")
    connection.isolation_level = None  # the driver begins nothing by itself
    # Another process may be switching the file to WAL at this moment; then it is done already.
    with suppress(sqlite3.OperationalError):
        (foreign,) = connection.execute(migrate.FOREIGN).fetchone()
        if not foreign:  # a database that is refused later stays unchanged
            connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(wait_s: float, connection: Connection) -> None:
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {_milliseconds(wait_s)}")
    writing = connection.get_execution_options().get(_WRITING)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _set_up_server(wait_s: float, connection: Any, _record: object) -> None:  # noqa: ANN401 -- as above
    """Have PostgreSQL give up on locks: without a limit it waits for ever."""
    connection.autocommit = True  # else the end of the first transaction could undo it
    connection.execute(f"SET lock_timeout = {max(int(wait_s * 1000), 1)}")
    connection.autocommit = False


def _limit_locks(wait_s: float, connection: Connection) -> None:
    """Have PostgreSQL give up on locks earlier, where the calls have less time."""
    if _due.get() is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(_milliseconds(wait_s), 1)}")


def _milliseconds(longest: float) -> int:
    return int(patience(longest) * 1000)


def _make_private(path: Path) -> None:
    """Make file and folder, readable by the owner only; existing ones stay as they are."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        msg = f"the store's file {path} cannot be opened: {error.strerror}"
        raise StoreError(msg, hint="Check its folder and permissions, or set store.url") from None


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors of the database into ours; their own text may hold hosts and users."""
    try:
        yield
    # The driver cannot decode its own message about a damaged schema.
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        kind = _kind(cause)
        if kind.rpartition(" ")[2] in _LOCKED:
            raise locked() from None
        msg = _PLAIN.get(kind.rpartition(" ")[2], f"the store cannot be used ({kind})")
        hint = "Check that store.url names a database of ours that can be reached and written"
        raise StoreError(msg, hint=hint) from None


def _kind(error: BaseException) -> str:
    code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)
    return f"{type(error).__name__} {code}" if code else type(error).__name__
