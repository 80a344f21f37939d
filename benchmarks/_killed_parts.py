"""Parts of the database whose writers are killed: what each writes and says, and what is left.

A writer says a line for everything that was acknowledged to it. `look` compares the database with
these lines: nothing of them may be lost, and nothing may be there that was never true.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio
from sqlalchemy import select

import _crashes
from veridical import SyncVerifier, Verifier
from veridical.batch.engines import ThreadEngine
from veridical.batch.output import OutputFolder
from veridical.batch.running import BatchJob, run_batch
from veridical.batch.survey import Selection
from veridical.memory import queue_worker
from veridical.settings import Settings
from veridical.store import CacheTable, FeedbackTable, JobTables, NewJob, Store
from veridical.store.job_tables import job_rows
from veridical.testing import FakeBackend, fake_estimate
from veridical.traces import ReasoningTraces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from veridical.core.measurements import Measurement, Query

LEASE_S = 0.5
LONG_S = 1e6
CHECKS = 5
BATCH_ROWS = 200
TEXT = "x" * 200


@dataclass(frozen=True)
class Remains:
    """Counts of what was acknowledged and of what is wrong in the database."""

    acknowledged: int
    lost: int = 0
    wrong: int = 0

    @property
    def good(self) -> bool:
        """True if nothing was lost, and nothing is wrong."""
        return not (self.lost or self.wrong)


@dataclass(frozen=True)
class Part:
    """Part of the database: its writer, and the look at what the killed ones left."""

    name: str
    write: Callable[[str, str, TextIO], None]
    look: Callable[[str, Sequence[Sequence[Any]]], Remains]
    on_server: bool = True
    several: bool = True


def say(out: TextIO, *values: object) -> None:
    """Write a line that the parent reads, even if this process is killed behind it."""
    out.write(json.dumps(values) + "\n")
    out.flush()


def digest(*values: object) -> str:
    """Return a text that can be computed again from the values."""
    return sha256(json.dumps(values).encode()).hexdigest()


# --- feedback --------------------------------------------------------------------------------


def label(run: str, claim: str) -> dict[str, Any]:
    """Return the row of a label whose model tells that it is whole."""
    texts = dict.fromkeys(("claim_hash", "backend", "estimator", "fingerprint", "status"), TEXT)
    numbers = {"support_threshold": 0.7, "contradiction_threshold": 0.5, "right": True}
    rest = {"actual": None, "comment": None, "p1": {"supported": 0.5}, "p0": None}
    own = {"created": datetime.now(UTC), "report": run, "claim": claim}
    return own | texts | numbers | rest | {"model": digest(run, claim)}


def write_feedback(url: str, run: str, out: TextIO) -> None:
    """Label claims until killed."""
    table = FeedbackTable(Store(url))
    for number in count():
        table.put(label(run, f"c{number}"))
        say(out, run, f"c{number}")


def look_at_feedback(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Find each label that was acknowledged."""
    store = Store(url)
    rows = {(row["report"], row["claim"]): row for row in FeedbackTable(store).rows()}
    store.close()
    wrong = sum(row["model"] != digest(*key) for key, row in rows.items())
    return Remains(len(said), sum(tuple(key) not in rows for key in said), wrong)


# --- traces ----------------------------------------------------------------------------------


def _stated(query: Query) -> Measurement:
    return fake_estimate(0.99 if query.claim in query.context else 0.0)


def _traces(url: str) -> ReasoningTraces:
    return ReasoningTraces(url, Verifier(FakeBackend(_stated)), settings=Settings())


def write_traces(url: str, run: str, out: TextIO) -> None:
    """Write claims into a trace, and verify them, until killed."""
    traces = _traces(url)
    goal = traces.add_goal(f"Goal {run}")
    say(out, "goal", goal)
    traces.add_evidence(goal, "S1", "It is true.")
    for number in count():
        text = "It is true." if number % 2 else "It is false."
        claim = traces.add_claim(goal, text, ["S1"])
        say(out, "claim", goal, claim)
        traces.verify_claim(claim)
        say(out, "verified", goal, claim)


def look_at_traces(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Find each claim and verification that was acknowledged; none is verified against its text."""
    lost = wrong = 0
    with _traces(url) as traces:
        known = {summary.goal.id for summary in traces.goals()}
        claims = {one.id: one for goal in known for one in traces.claims(goal)}
        for kind, goal, *rest in said:
            lost += goal not in known
            lost += kind == "claim" and rest[0] not in claims
            lost += kind == "verified" and not (rest[0] in claims and claims[rest[0]].history)
        for one in claims.values():
            expected = {"supported"} if "true" in one.text else {"unsupported"}
            wrong += one.state not in {*expected, "unverified"}
    return Remains(len(said), lost, wrong)


# --- cache -----------------------------------------------------------------------------------


def write_cache(url: str, run: str, out: TextIO) -> None:
    """Put values into the cache until killed."""
    table = CacheTable(Store(url, wait_s=30.0), max_entries=10**7)

    async def put() -> None:
        for number in count():
            keys = [f"{run} {number} {i}" for i in range(8)]
            await table.put({k.encode(): digest(k).encode() for k in keys}, ttl_s=LONG_S)
            if table.errors:  # it never raises
                msg = "the cache failed"
                raise OSError(msg)
            say(out, *keys)

    anyio.run(put)


def look_at_cache(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Find each value that was acknowledged."""
    store = Store(url)
    table = CacheTable(store, max_entries=10**7)
    keys = [key for line in said for key in line]
    get = partial(table.get, [key.encode() for key in keys], ttl_s=LONG_S)
    found = anyio.run(get)
    store.close()
    wrong = sum(value != digest(key.decode()).encode() for key, value in found.items())
    return Remains(len(keys), len(set(keys)) - len(found), wrong)


# --- jobs ------------------------------------------------------------------------------------


def write_jobs(url: str, run: str, out: TextIO) -> None:
    """Create jobs, and work them off, until killed."""
    tables = JobTables(Store(url))
    for number in count():
        name = f"{run}-{number}"
        requests = [f"{name} {i}".encode() for i in range(CHECKS)]
        if not tables.create(NewJob(name, "default"), requests, most_open=10**6):
            msg = "the job was refused"
            raise OSError(msg)
        say(out, "job", name)
        for _ in range(CHECKS - 1):
            work_off(tables, run, out)


def work_off(tables: JobTables, worker: str, out: TextIO | None = None) -> bool:
    """Do one check of any job; return whether there was one."""
    claimed = tables.claim(worker, LEASE_S)
    if claimed is None:
        return False
    result = digest(claimed.request.decode()).encode()
    if tables.settle(worker, claimed.place, result) and out is not None:
        say(out, "result", *claimed.place)
    return True


def look_at_jobs(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Find each job and result that was acknowledged, and let the rest be worked off."""
    store = Store(url)
    tables = JobTables(store)
    names = sorted({line[1] for line in said if line[0] == "job"})
    lost = sum(_lost_result(store, line) for line in said if line[0] == "result")
    _finish(tables)
    wrong = 0
    for name in names:
        row = tables.get(name, "default")
        lost += row is None
        if row is not None:
            right = [digest(f"{name} {i}").encode() for i in range(CHECKS)]
            wrong += tables.results(name, 0, CHECKS) != right or row["done"] != CHECKS
            wrong += row["finished"] is None
    store.close()
    return Remains(len(said), lost, wrong)


def _lost_result(store: Store, line: Sequence[Any]) -> bool:
    _, name, number = line
    wanted = select(job_rows.c.result).where(job_rows.c.job == name, job_rows.c.number == number)
    with store.read() as connection:  # the results that are handed out stop at a missing one
        found = connection.scalar(wanted)
    return found is None or bytes(found) != digest(f"{name} {number}").encode()


def _finish(tables: JobTables) -> None:
    """Work off all that is left; claims of killed workers end meanwhile."""
    until = monotonic() + 2 * LEASE_S
    while work_off(tables, "last") or monotonic() < until:
        pass


# --- batch -----------------------------------------------------------------------------------


def _folder(url: str) -> Path:
    """Return the folder of the batch beside a database; of a server, one of its name."""
    if url.startswith("sqlite"):
        return Path(f"{url.removeprefix('sqlite:///')}.batch")
    return Path(gettempdir(), f"{digest(url)[:12]}.batch")


def _run_batch(folder: Path, output: str, out: TextIO | None = None) -> None:
    verifier = SyncVerifier(Verifier(FakeBackend(_stated)))
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.jsonl"
    if not rows.exists():
        draft = rows.with_suffix(".draft")
        draft.write_text("".join(json.dumps(_row(n)) + "\n" for n in range(BATCH_ROWS)))
        draft.replace(rows)
    job = BatchJob(Selection((rows,)), OutputFolder(folder / output), {"version": 1})
    run_batch(
        job,
        lambda: ThreadEngine(verifier, per_claim=False),
        None if out is None else lambda run: say(out, run.totals.rows),
    )


def _row(number: int) -> dict[str, Any]:
    text = "It is true." if number % 2 else "It is false."
    return {"id": f"r{number}", "answer": text, "sources": {"S1": "It is true."}}


def write_batch(url: str, run: str, out: TextIO) -> None:
    """Go on with a batch until killed; when it is done, begin another one."""
    folder = _folder(url)
    for number in count():
        output = f"out{number}"
        if not (folder / f"{output}.done").exists():
            say(out, "begin", run, output)
            _run_batch(folder, output, out)
            (folder / f"{output}.done").touch()


def look_at_batch(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Compare each output, finished now, with one that nobody interrupted, byte for byte."""
    folder = _folder(url)
    _run_batch(folder, "whole")
    whole = (folder / "whole" / "rows.jsonl").read_bytes()
    lost = wrong = 0
    for output in sorted({line[2] for line in said if line[0] == "begin"}):
        path = folder / output / "rows.jsonl"
        before = path.read_bytes() if path.exists() else b""
        told = _told(said, output)
        lost += max(0, told - before.count(b"\n"))
        wrong += not whole.startswith(before[: before.rfind(b"\n") + 1])
        _run_batch(folder, output)
        wrong += path.read_bytes() != whole
    shutil.rmtree(folder)
    return Remains(sum(line[0] != "begin" for line in said), lost, wrong)


def _told(said: Sequence[Sequence[Any]], output: str) -> int:
    """Return how many rows of an output were acknowledged."""
    rows, current = 0, None
    for line in said:
        if line[0] == "begin":
            current = line[2]
        elif current == output:
            rows = max(rows, line[0])
    return rows


# --- memory ----------------------------------------------------------------------------------


def write_memory(url: str, run: str, out: TextIO) -> None:
    """Remember facts, and work off the queue, until killed."""
    queue_worker.LEASE_S = _crashes.LEASE_S
    _crashes.write(url, run, out)


def look_at_memory(url: str, said: Sequence[Sequence[Any]]) -> Remains:
    """Find each fact that was acknowledged; none is verified against its text."""
    queue_worker.LEASE_S = _crashes.LEASE_S
    found = _crashes.look(url, 0, [list(line) for line in said])
    lost = found.lost + found.forgotten_by_the_queue + found.left_in_the_queue
    acknowledged = found.acknowledged + found.rejections_acknowledged
    return Remains(acknowledged, lost, found.wrongly_verified + found.damaged)


PARTS = (
    Part("memory", write_memory, look_at_memory),
    Part("traces", write_traces, look_at_traces),
    Part("feedback", write_feedback, look_at_feedback),
    Part("cache", write_cache, look_at_cache),
    Part("jobs", write_jobs, look_at_jobs),
    # A batch writes a folder, which one run at a time may hold.
    Part("batch", write_batch, look_at_batch, on_server=False, several=False),
)
