"""Crash test of the memory: a writing process is killed repeatedly, and the database examined.

    python benchmarks/_crashes.py sqlite:////tmp/crashes.db --kills 200

A writer remembers facts through the gate and works off the queue; it acknowledges a fact only once
`remember` has returned. It is killed by SIGKILL at a random moment, 0 to 0.4 s after it
began to write, and the next one goes on in the same database. Facts state their own truth, so
that the database can be compared with it. Prints one JSON object; exit code 1 if
anything acknowledged was lost, anything unverified counts as verified, or the queue did not resume.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import random
import select
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from sqlalchemy import text as sql

from veridical.core.hashing import short_hash
from veridical.core.measurements import Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.memory import FactState, Memory, MemoryGate, queue_worker
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

EVIDENCE = {"S1": "A text that speaks of it."}
LONGEST_S = 0.4
LEASE_S = 0.5  # not the minute that a worker has elsewhere: what was claimed is soon free again


@dataclass
class Found:
    """Counts of acknowledged facts and of their remains; the last five have to be 0."""

    kills: int
    acknowledged: int
    rejections_acknowledged: int
    facts: int
    verified_before_the_end: int
    waiting_before_the_end: int
    lost: int = 0
    wrongly_verified: int = 0
    forgotten_by_the_queue: int = 0
    left_in_the_queue: int = 0
    damaged: int = 0

    @property
    def good(self) -> bool:
        """True if nothing went wrong."""
        return not any(
            (
                self.lost,
                self.wrongly_verified,
                self.forgotten_by_the_queue,
                self.left_in_the_queue,
                self.damaged,
            )
        )


class Answers:
    """Answers of a backend that is down for every other new fact."""

    def __init__(self, *, always_up: bool = False) -> None:
        self._always_up = always_up
        self._asked = Counter[str]()

    def __call__(self, query: Query) -> Measurement:
        """Find what the claim says of itself."""
        self._asked[query.claim] += 1
        if "late" in query.claim and not self._always_up and self._asked[query.claim] <= 2:  # noqa: PLR2004 -- with and without its evidence
            return Unmeasured(UnmeasuredReason.BACKEND_ERROR)
        if "speaks" not in query.context:
            return fake_estimate(0.3)
        return fake_estimate(0.4 if "weak" in query.claim else 0.97)


def opened(url: str, *, always_up: bool = False) -> Memory:
    """Return a memory with a gate of its own."""
    backend = FakeBackend(Answers(always_up=always_up))
    return Memory(url, MemoryGate(Verifier(backend), backend, timeout_s=30.0))


def write(url: str, run: object, out: TextIO) -> None:
    """Remember facts and work off the queue until killed; say what was acknowledged."""
    memory = opened(url)
    for number in count():
        kind = ("carried", "weak", "carried late", "weak late")[number % 4]
        text = f"Fact {run} {number} is {kind}"
        done = memory.remember(text, EVIDENCE, entities=[f"entity {number % 7}"])
        name = done.fact.id if done.fact else short_hash(text)
        out.write(json.dumps([done.outcome.value, name, text]) + "\n")
        out.flush()
        if number % 3 == 2:  # noqa: PLR2004 -- every third
            memory.verify_pending(limit=2, early=True, timeout_s=0.1)


def killed(url: str, run: int, moment_s: float) -> list[list[str]]:
    """Let a writer write for that long, kill it, and return what it had said by then."""
    return end_all([begin(partial(write, url, run))], [moment_s])


@dataclass(frozen=True)
class Child:
    """Process that writes, and the end of the pipe into which it says what it wrote."""

    pid: int
    said: int


PIPE_BYTES = 2**20
"""The most that Linux grants to any user."""


def begin(work: Callable[[TextIO], None]) -> Child:
    """Start a process that does the work, and says into a pipe what it has done."""
    reading, writing = os.pipe()
    # Nobody reads until the end: a writer before a full pipe would write nothing more.
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                work(out)
            os._exit(0)
        except BaseException:  # noqa: BLE001 -- a child never goes on as its parent
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    return Child(child, reading)


def end_all(children: Sequence[Child], moments_s: Sequence[float]) -> list[list[str]]:
    """Kill each process that long after all have begun to write; return what they had said."""
    for child in children:
        select.select([child.said], [], [], 60.0)
    waited = 0.0
    for child, moment_s in sorted(zip(children, moments_s, strict=True), key=lambda each: each[1]):
        time.sleep(moment_s - waited)
        waited = moment_s
        os.kill(child.pid, signal.SIGKILL)
    return [line for child in children for line in _heard(child)]


def ended(children: Sequence[Child]) -> list[list[str]]:
    """Wait for processes that end by themselves; return what they had said."""
    return [line for child in children for line in _heard(child, well=True)]


def _heard(child: Child, *, well: bool = False) -> list[list[str]]:
    with os.fdopen(child.said) as said:
        lines = [json.loads(line) for line in said if line.endswith("\n")]
    status = os.waitpid(child.pid, 0)[1]
    if status != 0 and (well or not os.WIFSIGNALED(status)):
        msg = "a writer failed"
        raise ChildProcessError(msg)
    return lines


def look(url: str, kills: int, said: list[list[str]]) -> Found:
    """Hold what is in the database against what was said, then let the queue be worked off."""
    stored = {name: text for outcome, name, text in said if outcome != "rejected"}
    rejected = {name for outcome, name, _ in said if outcome == "rejected"}
    with opened(url, always_up=True) as memory:
        facts = {fact.id: fact for fact in memory.facts(everything=True, limit=10**9)}
        waiting = {each.fact_id for each in memory.pending()}
        noted = memory.rejections(limit=10**9)
        found = Found(
            kills=kills,
            acknowledged=len(stored),
            rejections_acknowledged=len(rejected),
            facts=len(facts),
            verified_before_the_end=_count(facts.values(), FactState.VERIFIED),
            waiting_before_the_end=len(waiting),
        )
        gone = {each.fact_id for each in noted}
        found.lost = sum(name not in facts and name not in gone for name in stored)
        found.lost += len(rejected - {each.fact_hash for each in noted})
        found.lost += sum("weak" not in stored[name] for name in stored if name in gone)
        unverified = {key for key, fact in facts.items() if fact.state is not FactState.VERIFIED}
        found.forgotten_by_the_queue = len(unverified - waiting)
        time.sleep(LEASE_S + 0.2)
        memory.verify_pending(early=True)
        found.left_in_the_queue = len(memory.pending())
        left = memory.facts(everything=True, limit=10**9)
        found.left_in_the_queue += sum(fact.state is not FactState.VERIFIED for fact in left)
        found.wrongly_verified = sum(
            "weak" in fact.text and fact.state is FactState.VERIFIED
            for fact in [*facts.values(), *left]
        )
        found.damaged = damaged(url)
    return found


def _count(facts: object, state: FactState) -> int:
    return sum(fact.state is state for fact in facts)  # type: ignore[attr-defined]


def damaged(url: str) -> int:
    """Return how many problems SQLite finds in the file."""
    if not url.startswith("sqlite"):
        return 0
    store = Store(url)
    with store.read() as connection:
        rows = [row[0] for row in connection.execute(sql("PRAGMA integrity_check"))]
        rows += [str(row) for row in connection.execute(sql("PRAGMA foreign_key_check"))]
    store.close()
    return sum(row != "ok" for row in rows)


def main() -> None:
    """Kill, look, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    queue_worker.LEASE_S = LEASE_S
    logging.disable(logging.WARNING)
    moments = random.Random(chosen.seed)  # noqa: S311 -- no secret
    said = []
    for run in range(chosen.kills):
        said += killed(chosen.url, run, moments.uniform(0.0, LONGEST_S))
    found = look(chosen.url, chosen.kills, said)
    print(json.dumps(asdict(found)))
    sys.exit(0 if found.good else 1)


if __name__ == "__main__":
    main()
