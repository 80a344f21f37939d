"""Throughput of the memory gate, its latency at the deadline, and recovery after a kill.

Writers: eight threads remember facts, two entities each, with a backend that answers at once, so
that what is left is the gate, the search for contradictions and the database. Deadline: a backend
that never answers, in three ways; the time is that of `remember`, with the fact written. 10,000
facts: 1,000 entities with 20 facts each, and one that all facts are about (of which 100 come back).
Kills: see `_crashes.py`. PostgreSQL is a server of its own on this machine.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import anyio.to_thread

from _common import Page, Requirement, options, publish, table
from _postgres import postgresql
from veridical.core.sources import as_sources
from veridical.memory import FactState, Memory, MemoryGate
from veridical.memory.decision import accept_unverified
from veridical.memory.rows import fact_row, origins, statement
from veridical.store import Store
from veridical.store.memory import NewFact, _put
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.core.measurements import Measurement, Query

WRITERS = 8
DEADLINE_S = 2.0
MOST_OVER_MS = 100.0
FACTS = 10_000
ENTITIES = 1_000
MOST_QUERY_MS = 10.0
KILLS = 200
EVIDENCE = {"S1": "A text that speaks of it."}


@dataclass(frozen=True)
class Written:
    """Result of eight writers."""

    seconds: float
    each: Sequence[float]


def main() -> None:
    """Measure, print the page."""
    chosen = options(__doc__, rounds=1)
    logging.disable(logging.WARNING)
    size = max(80, 400 * chosen.rounds)
    with tempfile.TemporaryDirectory() as folder, postgresql() as (new_database, _):
        urls = {"SQLite": f"sqlite:///{folder}/gate.db", "PostgreSQL": new_database()}
        written = {name: written_by_many(url, size) for name, url in urls.items()}
        late = {name: deadline(how, folder) for name, how in HANGING.items()}
        _RELEASED.set()  # so that the process can end
        stores = {"SQLite": f"sqlite:///{folder}/many.db", "PostgreSQL": new_database()}
        found = {name: queries(url) for name, url in stores.items()}
        crashes = crash(f"sqlite:///{folder}/crashes.db")
    lines = [
        *_writers(written, size),
        *_deadlines(late),
        *_queries(found),
        *_crash_table(crashes),
    ]
    publish(Page("Memory gate", lines, requirements(late, found, crashes)), __doc__, chosen)


# --- what is measured ------------------------------------------------------------------------


def instant(query: Query) -> Measurement:
    """Answer at once: carried by its evidence."""
    return fake_estimate(0.97 if "speaks" in query.context else 0.3)


def written_by_many(url: str, size: int) -> Written:
    """Let eight threads remember facts."""
    backend = FakeBackend(instant)
    gate = MemoryGate(Verifier(backend), backend, timeout_s=60.0)
    gate.warm_up()
    with Memory(url, gate) as memory:

        def remember(number: int) -> float:
            begun = perf_counter()
            about = [f"entity {number % 50}", f"entity {number % 7}"]
            done = memory.remember(
                f"Fact {number} holds of thing {number}.", EVIDENCE, entities=about
            )
            assert done.verified  # noqa: S101 -- else there is nothing to measure
            return perf_counter() - begun

        for number in range(8):
            remember(-1 - number)  # all connections open, all modules loaded
        begun = perf_counter()
        with ThreadPoolExecutor(WRITERS) as pool:
            each = list(pool.map(remember, range(size)))
        seconds = perf_counter() - begun
        kept = memory.facts(states=[FactState.VERIFIED], limit=size + 100)
        assert len(kept) == size + 8  # noqa: S101 -- else the figures say nothing
    return Written(seconds, each)


async def _sleeps() -> None:
    await anyio.sleep_forever()


async def _holds_up_the_loop() -> None:
    threading.Event().wait()


async def _holds_up_a_thread() -> None:
    await anyio.to_thread.run_sync(_RELEASED.wait)


_RELEASED = threading.Event()
HANGING = {
    "never answers": _sleeps,
    "holds up its event loop": _holds_up_the_loop,
    "holds up a thread": _holds_up_a_thread,
}


def deadline(hang: Callable[[], Any], folder: str) -> list[float]:
    """Return how many seconds facts took with a backend that hangs."""

    class Hanging(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await hang()
            return [instant(query) for query in queries]

    backend = Hanging(instant)
    gate = MemoryGate(Verifier(backend), backend, timeout_s=DEADLINE_S)
    took = []
    with Memory(f"sqlite:///{folder}/{uuid4().hex}.db", gate) as memory:
        memory.facts()  # makes the database
        for number in range(5):
            begun = perf_counter()
            done = memory.remember(f"Fact {number} holds.", EVIDENCE)
            took.append(perf_counter() - begun)
            assert done.reason == "timeout"  # noqa: S101 -- else there is nothing to measure
            assert done.pending  # noqa: S101 -- the same
        assert len(memory.pending()) == len(took)  # noqa: S101 -- the same
    return took


def queries(url: str) -> dict[str, list[float]]:
    """Return how many seconds queries took over 10,000 facts."""
    with Store(url).write() as connection:  # all at once: it is reading that is measured
        for number in range(FACTS):
            _put(connection, _fact(number), {})
    with Memory(url) as memory:
        runs: dict[str, Callable[[int], list[Any]]] = {
            "by entity": lambda n: memory.facts(entities=f"Entity {n * 7 % ENTITIES}"),
            "by two entities": lambda n: memory.facts(
                entities=["everything", f"entity {n * 7 % ENTITIES}"]
            ),
            "by an entity of all facts": lambda _: memory.facts(entities="everything"),
            "by two words": lambda n: memory.search(f"NUMBER w{n * 7 % FACTS}"),
        }
        return {name: [_timed(run, n) for n in range(-3, 200)][3:] for name, run in runs.items()}


def _fact(number: int) -> NewFact:
    said = statement(
        f"Fact number w{number} about thing {number % 77}.",
        entities=["everything", f"entity {number % ENTITIES}", f"entity {number * 3 % ENTITIES}"],
        relation="about",
        confidence=0.9,
        tier="long_term",
        valid_from=None,
        valid_to=None,
    )
    return NewFact(
        fact_row(said, accept_unverified(0.9), None),
        [
            (each.role, key, each.entity)
            for each, key in zip(said.participants, said.keys, strict=True)
        ],
        origins(as_sources(EVIDENCE), None),
    )


def _timed(run: Callable[[int], list[Any]], number: int) -> float:
    begun = perf_counter()
    found = run(abs(number))
    took = perf_counter() - begun
    assert found  # noqa: S101 -- else there is nothing to measure
    return took


def crash(url: str) -> dict[str, int]:
    """Kill a writer 200 times; return what is left."""
    script = Path(__file__).with_name("_crashes.py")
    command = [sys.executable, str(script), url, "--kills", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


# --- the page --------------------------------------------------------------------------------


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _p99(times: Sequence[float]) -> float:
    return quantiles(times, n=100, method="inclusive")[-1]


def _writers(written: dict[str, Written], size: int) -> list[str]:
    rows = [
        (name, f"{size / w.seconds:.0f}", _ms(median(w.each)), _ms(_p99(w.each)), _ms(max(w.each)))
        for name, w in written.items()
    ]
    return table((f"{size} facts, 8 writers", "facts/s", "p50 ms", "p99 ms", "max ms"), rows)


def _deadlines(late: dict[str, list[float]]) -> list[str]:
    rows = [(name, _ms(median(times)), _ms(max(times))) for name, times in late.items()]
    return table(("a backend that (deadline 2,000 ms)", "median ms", "max ms"), rows)


def _queries(found: dict[str, dict[str, list[float]]]) -> list[str]:
    rows = [
        (f"{database}, {name}", _ms(median(times)), _ms(_p99(times)))
        for database, named in found.items()
        for name, times in named.items()
    ]
    return table(("10,000 facts, query", "p50 ms", "p99 ms"), rows)


def _crash_table(crashes: dict[str, int]) -> list[str]:
    return table(("kill -9", "count"), [(k.replace("_", " "), v) for k, v in crashes.items()])


def requirements(
    late: dict[str, list[float]],
    found: dict[str, dict[str, list[float]]],
    crashes: dict[str, int],
) -> list[Requirement]:
    """Hold the figures against what is demanded."""
    over = (max(map(max, late.values())) - DEADLINE_S) * 1000
    slowest = max(median(named["by entity"]) for named in found.values()) * 1000
    wrong = {key: crashes[key] for key in list(crashes)[-5:]}
    return [
        Requirement(
            "the deadline is never exceeded by more than 100 ms",
            f"{over:+.0f} ms at most",
            over <= MOST_OVER_MS,
        ),
        Requirement(
            "10,000 facts: a query by entity takes less than 10 ms (median)",
            f"{slowest:.1f} ms",
            slowest < MOST_QUERY_MS,
        ),
        Requirement(
            "200 kills lose nothing acknowledged and verify nothing wrongly; the queue resumes",
            ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in wrong.items()),
            not any(wrong.values()),
        ),
    ]


if __name__ == "__main__":
    main()
