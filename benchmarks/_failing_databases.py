"""Databases that are locked, full, read-only, damaged, old or restarted, and clocks that jump.

Each function tries one kind of failure on one database, and returns how often it was tried and how
often something was lost, wrong, or another error than one of ours.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, text

import _crashes
from _crashes import begin, end_all, ended
from _killed_parts import (
    label,
    look_at_feedback,
    say,
    work_off,
)
from veridical.errors import StoreError, StoreLockedError, VeridicalError
from veridical.memory import Memory, MemoryGate, queue_worker
from veridical.store import (
    CacheTable,
    FeedbackTable,
    JobTables,
    MemoryQueue,
    NewJob,
    RateTable,
    Store,
    cache,
    jobs,
    memory_queue,
    migrate,
    rates,
)
from veridical.testing import FakeBackend
from veridical.traces import ReasoningTraces
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from veridical.core.measurements import Measurement, Query

EVIDENCE = _crashes.EVIDENCE
WAIT_S = 0.3
GATE_S = 0.5
TABLES = ("memory_facts", "feedback", "jobs", "cache_entries")
DAYS_S = 400 * 86_400.0
NOBODY = 65_534
FREE_PAGES = 30
FILE_BYTES = 1_000_000


@dataclass(frozen=True)
class Tally:
    """Counts of attempts, and of those that failed."""

    tried: int
    failed: int


def _memory(url: str | Store) -> Memory:
    backend = FakeBackend(_crashes.Answers(always_up=True))
    return Memory(url, MemoryGate(Verifier(backend), backend, timeout_s=GATE_S))


# --- first starts ----------------------------------------------------------------------------


def first_starts(url: str, processes: int = 8) -> Tally:
    """Open an empty database in several processes at once; each writes a label."""
    said = ended([begin(partial(_put_one, url, f"w{n}")) for n in range(processes)])
    found = look_at_feedback(url, said)
    return Tally(processes, processes - found.acknowledged + found.lost + found.wrong)


def _put_one(url: str, run: str, out: TextIO) -> None:
    FeedbackTable(Store(url)).put(label(run, "c0"))
    say(out, run, "c0")


# --- locked ----------------------------------------------------------------------------------


def locked(url: str) -> Tally:
    """Use each part while another program holds the database; nothing may wait for its end."""
    with _memory(url) as memory, closing(Store(url, wait_s=WAIT_S)) as store:
        memory.facts()
        with _held(url):
            started = time.perf_counter()
            done = memory.remember("Fact 1 is carried", EVIDENCE)
            late = time.perf_counter() - started > 3 * GATE_S
            waited = [_raises(StoreLockedError, call) for call in _calls(store)]
            table = CacheTable(store, max_entries=9)
            anyio.run(partial(table.put, {b"k": b"v"}, ttl_s=60.0))
        kept = {fact.id for fact in memory.facts(everything=True)}
        lost = done.fact is not None and done.fact.id not in kept
        usable = not any(_raises(StoreError, call) for call in _calls(store))
    failed = [late, lost, not all(waited), table.errors != 1, not usable]
    return Tally(len(failed), sum(failed))


def _calls(store: Store) -> list[Callable[[], object]]:
    job = NewJob(os.urandom(4).hex(), "default")
    return [
        partial(FeedbackTable(store).put, label("r", "c")),
        partial(JobTables(store).create, job, [b"request"], most_open=99),
    ]


def _raises(kind: type[Exception], call: Callable[[], object]) -> bool:
    try:
        call()
    except kind:
        return True
    return False


@contextmanager
def _held(url: str) -> Iterator[None]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.isolation_level = None
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.execute("ROLLBACK")
        return
    engine = _engine(url)
    with engine.connect() as connection:
        for name in TABLES:
            connection.execute(text(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"))
        yield
    engine.dispose()


def _engine(url: str) -> Engine:
    return create_engine(url.replace("postgresql:", "postgresql+psycopg:"))


# --- full and read-only ----------------------------------------------------------------------


def full_pages(url: str) -> Tally:
    """Write until the database has no page left (SQLite's own limit)."""
    return _until_refused(url, _limit_pages)


def full_disk(url: str) -> Tally:
    """Write until the file system takes no more (a limit on the size of files)."""
    return _until_refused(url, _limit_files)


def _until_refused(url: str, limit: Callable[[str], None]) -> Tally:
    with closing(Store(url)) as store:
        FeedbackTable(store).rows()
    said = ended([begin(partial(_write_until_refused, url, limit))])
    kinds = [line[0] for line in said]
    refused = kinds.count("refused") == 1
    found = look_at_feedback(url, [line[1:] for line in said if line[0] == "put"])
    damaged = _crashes.damaged(url)
    failed = [not refused, bool(found.lost or found.wrong), bool(damaged), found.acknowledged == 0]
    return Tally(len(failed), sum(failed))


def _write_until_refused(url: str, limit: Callable[[str], None], out: TextIO) -> None:
    limit(url)
    table = FeedbackTable(Store(url))
    for number in range(10**6):
        try:
            table.put(label("r", f"c{number}"))
        except StoreError:
            say(out, "refused")
            break
        say(out, "put", "r", f"c{number}")


def _limit_pages(url: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()

    def bound(connection: Any, _record: object) -> None:  # noqa: ANN401 -- a driver's connection has no type here
        connection.execute(f"PRAGMA max_page_count = {pages + FREE_PAGES}")

    event.listen(Engine, "connect", bound)


def _limit_files(_url: str) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


def read_only(url: str) -> Tally:
    """Write into a database that may only be read."""
    with closing(Store(url)) as store:
        FeedbackTable(store).put(label("r", "c0"))
    with _forbidden(url):
        said = ended([begin(partial(_write_read_only, url))])
    found = look_at_feedback(url, [["r", "c0"]])
    return Tally(2, (said != [["refused"]]) + (not found.good))


def _write_read_only(url: str, out: TextIO) -> None:
    if url.startswith("sqlite") and os.geteuid() == 0:
        os.seteuid(NOBODY)  # root may write whatever the permissions say
    try:
        FeedbackTable(Store(url)).put(label("r", "c1"))
        say(out, "written")
    except StoreError:
        say(out, "refused")


@contextmanager
def _forbidden(url: str) -> Iterator[None]:
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.chmod(0o755)  # so that nothing but the file itself stands in the way
        path.chmod(0o444)
        yield
        path.chmod(0o600)
        return
    _on_server(url, "SET default_transaction_read_only = on")
    yield
    _on_server(url, "RESET default_transaction_read_only")


def _on_server(url: str, change: str) -> None:
    engine = _engine(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = connection.scalar(text("SELECT current_database()"))
        # The connection of the change is read-only, too, when it is to be taken back.
        connection.execute(text("SET default_transaction_read_only = off"))
        connection.execute(text(f"ALTER DATABASE {name} {change}"))
    engine.dispose()


# --- damaged ---------------------------------------------------------------------------------


def damaged(url: str, tries: int, seed: int) -> Tally:
    """Overwrite parts of the file, and use all of it: it works, or raises an error of ours."""
    path = Path(url.removeprefix("sqlite:///"))
    _fill(url)
    whole = path.read_bytes()
    chance = random.Random(seed)  # noqa: S311 -- no secret
    failed = 0
    for _ in range(tries):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            start = chance.randrange(len(data) - 64)
            data[start : start + 64] = chance.randbytes(64)
        with TemporaryDirectory(dir=path.parent) as folder:
            copy = Path(folder, "damaged.db")
            copy.write_bytes(data)
            said = ended([begin(partial(_use_all, f"sqlite:///{copy}"))])
        failed += any(line[0] == "crash" for line in said)
    return Tally(tries, failed)


def _fill(url: str) -> None:
    with closing(Store(url)) as store:
        with _memory(store) as memory:
            for number in range(20):
                memory.remember(f"Fact {number} is carried", EVIDENCE, entities=["it"])
        for number in range(20):
            FeedbackTable(store).put(label("r", f"c{number}"))
        tables = JobTables(store)
        tables.create(NewJob("j", "default"), [b"request"] * 9, most_open=9)
        work_off(tables, "w")
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _use_all(url: str, out: TextIO) -> None:
    uses: list[Callable[[], object]] = [
        lambda: _memory(url).facts(everything=True),
        lambda: _memory(url).search("carried"),
        lambda: _memory(url).pending(),
        lambda: _memory(url).remember("Another fact is carried", EVIDENCE),
        lambda: FeedbackTable(Store(url)).rows(),
        lambda: FeedbackTable(Store(url)).put(label("r", "new")),
        lambda: work_off(JobTables(Store(url)), "w"),
        lambda: JobTables(Store(url)).results("j", 0, 9),
        lambda: ReasoningTraces(url, Verifier(FakeBackend(_down))).goals(),
    ]
    for number, use in enumerate(uses):
        try:
            use()
        except VeridicalError as error:
            say(out, "error", number, type(error).__name__)
        except Exception as error:  # noqa: BLE001 -- this is looked for
            say(out, "crash", number, type(error).__name__)


def _down(_: Query) -> Measurement:
    raise ConnectionError


# --- old -------------------------------------------------------------------------------------

REVISIONS = [one.revision for one in ScriptDirectory(str(migrate.FOLDER)).walk_revisions()]
EARLIER = """
INSERT INTO feedback (created, report, claim, claim_hash, backend, model, estimator, status,
    support_threshold, contradiction_threshold, "right")
VALUES ('2026-01-02 03:04:05', 'r', :claim, '0', 'b', 'm', 'decision', 'supported', 0.7, 0.5, true)
"""
EARLIER_ROWS = 1500


def migrated(new_url: Callable[[], str], kills: int, seed: int) -> Tally:
    """Kill processes that migrate a database of each revision; its rows are there in the end."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    failed = 0
    for revision in REVISIONS:
        url = new_url()
        _make_old(url, revision)
        for _ in range(kills):
            end_all([begin(partial(_open, url))], [chance.uniform(0.0, 0.2)])
        with closing(Store(url)) as store, store.read() as connection:
            rows = connection.scalar(text("SELECT count(*) FROM feedback"))
            failed += rows != EARLIER_ROWS or migrate.revision_of(connection) != migrate.HEAD
    return Tally(len(REVISIONS) * kills, failed)


def _make_old(url: str, revision: str) -> None:
    newest, migrate.HEAD = migrate.HEAD, revision
    try:
        with closing(Store(url)) as store, store.write() as connection:
            rows = [{"claim": f"c{number}"} for number in range(EARLIER_ROWS)]
            connection.execute(text(EARLIER), rows)
    finally:
        migrate.HEAD = newest


def _open(url: str, out: TextIO) -> None:
    say(out, "begin")
    FeedbackTable(Store(url)).rows()
    signal.pause()


# --- clocks ----------------------------------------------------------------------------------


def clock_jumps(url: str, jump_s: float) -> Tally:
    """Kill a process whose clock was wrong; with the right clock all of its work is done."""
    end_all([begin(partial(_with_clock, url, jump_s))], [0.0])
    with _memory(url) as memory, closing(Store(url)) as store:
        memory.verify_pending()
        states = {fact.text: fact.state.value for fact in memory.facts(everything=True)}
        tables = JobTables(store)
        while work_off(tables, "right"):
            pass
        job = tables.get("j", "default")
        table = CacheTable(store, max_entries=9)
        value = anyio.run(partial(table.get, [b"k"], ttl_s=60.0)).get(b"k")
        wait_s = RateTable(store).take("key", turn_s=20.0, ahead_s=60.0)
    failed = [
        len(states) != 3 or set(states.values()) != {"verified"},  # noqa: PLR2004 -- three facts
        job is None or job["done"] != 3,  # noqa: PLR2004 -- three checks
        value not in {None, b"v"} or bool(table.errors),
        wait_s > 60.0,  # noqa: PLR2004 -- no turn is further ahead
    ]
    return Tally(len(failed), sum(failed))


def _with_clock(url: str, jump_s: float, out: TextIO) -> None:
    """Queue facts, create a job, claim one of each, and take all turns, with another clock."""
    for module in (queue_worker, memory_queue, cache):
        module.time = lambda: time.time() + jump_s  # type: ignore[attr-defined]
    for module in (jobs, rates):
        right = module.clock
        module.clock = lambda connection, right=right: right(connection) + jump_s  # type: ignore[attr-defined]
    store = Store(url)
    memory = _crashes.opened(url)  # its backend is down for what is late
    for number in range(3):
        memory.remember(f"Fact {number} is carried late", EVIDENCE)
    now = time.time() + jump_s
    MemoryQueue(store).claim("w", now=now, until=now + 90.0)
    JobTables(store).create(NewJob("j", "default"), [b"1", b"2", b"3"], most_open=9)
    JobTables(store).claim("w", 15.0)
    anyio.run(partial(CacheTable(store, max_entries=9).put, {b"k": b"v"}, ttl_s=60.0))
    while not RateTable(store).take("key", turn_s=20.0, ahead_s=60.0):
        pass
    say(out, "done")
    signal.pause()


# --- restarts --------------------------------------------------------------------------------


def restarts(url: str, restart: Callable[[], object], times: int, threads: int = 4) -> Tally:
    """Restart the server under threads that write; they go on, and nothing told is lost."""
    FeedbackTable(Store(url)).rows()
    child = begin(partial(_write_through, url, threads))
    for _ in range(times):
        time.sleep(0.5)
        restart()
    restarted = time.time()
    said = end_all([child], [1.0])
    put = [line[1:3] for line in said if line[0] == "put"]
    found = look_at_feedback(url, put)
    again = {line[1] for line in said if line[0] == "put" and line[3] > restarted}
    failed = [not found.good, len(again) != threads, any(line[0] == "crash" for line in said)]
    return Tally(times * threads, sum(failed))


def _write_through(url: str, threads: int, out: TextIO) -> None:
    store, lock = Store(url), threading.Lock()

    def write(run: str) -> None:
        number = 0
        while True:
            try:
                FeedbackTable(store).put(label(run, f"c{number}"))
                line: tuple[object, ...] = ("put", run, f"c{number}", time.time())
            except StoreError:
                time.sleep(0.02)
                continue
            except Exception as error:  # noqa: BLE001 -- this is looked for
                line = ("crash", run, type(error).__name__)
            number += 1
            with lock:
                say(out, *line)

    for number in range(threads):
        threading.Thread(target=write, args=(f"t{number}",), daemon=True).start()
    signal.pause()
