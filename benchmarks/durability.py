"""Durability: killed processes, failing databases, jumping clocks, and faulty backends.

- Kills: processes write until SIGKILL ends them at a random moment, alone, in pairs and in eights.
  They say what was acknowledged to them. Lost is what was acknowledged and is gone; wrong is what
  was never true: a fact that is verified against its text, a value of another key, a job or a batch
  that ends with other results than an uninterrupted one.
- Failures: each part is used while the database fails in one way. Failed are attempts in which
  something was lost or wrong, a call waited for the other program, or an error was not one of ours.
- Faulty backends: every host is tried with every fault. Failed is an exception, a claim that counts
  as measured, or a sound one that does not. A wait is the time from the first question to a backend
  that hangs until the host has its answer, less the deadline.

The estimates are those of a fake backend: a fact states its own truth. PostgreSQL is a server of
its own, on a local socket.
"""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from _common import Page, Requirement, publish, table
from _crashes import LONGEST_S, begin, end_all
from _failing_databases import (
    DAYS_S,
    Tally,
    clock_jumps,
    damaged,
    first_starts,
    full_disk,
    full_pages,
    locked,
    migrated,
    read_only,
    restarts,
)
from _faulty_backends import (
    DEADLINE_S,
    HANGING,
    HARMLESS,
    HOSTS,
    BackendFault,
    FaultyBackend,
    cases,
)
from _killed_parts import PARTS, Part, Remains
from _postgres import postgresql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    NewUrl = Callable[[], str]

WRITERS = (1, 2, 8)
STARTS, MIGRATION_KILLS, DAMAGES, RESTARTS, ROUNDS = 5, 3, 60, 5, 20
MOST_BEYOND_S = 0.1


@dataclass(frozen=True)
class Killed:
    """Result of the kills of one part, in one database, by so many writers at once."""

    part: str
    database: str
    writers: int
    kills: int
    remains: Remains


@dataclass(frozen=True)
class Survival:
    """Faults of a backend that a host was tried with, and its waits beyond the deadline."""

    faults: Tally
    waits: dict[BackendFault, float]


def main() -> None:
    """Kill, fail, hang, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of each part in each database")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="db") as folder, postgresql() as (on_server, restart):
        urls: dict[str, NewUrl] = {
            "SQLite": lambda: f"sqlite:///{folder}/{uuid4().hex}/kept.db",
            "PostgreSQL": on_server,
        }
        killed = [
            kills(part, database, new_url, writers, chosen.kills, chosen.seed)
            for part in PARTS
            for database, new_url in urls.items()
            if part.on_server or database == "SQLite"
            for writers in (WRITERS if part.several else WRITERS[:1])
        ]
        failures = failing(urls, restart, chosen.seed)
    hosts = {host: survival(host) for host in HOSTS}  # behind the forks: some hosts leave threads
    lines = [*killed_lines(killed), *failure_lines(failures), *host_lines(hosts)]
    publish(Page("Durability", lines, required(killed, failures, hosts)), __doc__, chosen)


# --- kills -----------------------------------------------------------------------------------


def kills(  # noqa: PLR0913, PLR0917 -- a part, its database, and how it is killed
    part: Part, database: str, new_url: NewUrl, writers: int, number: int, seed: int
) -> Killed:
    """Kill writers of one part in turn, a share of all kills for each number of writers at once."""
    url = new_url()
    chance = random.Random(f"{seed} {part.name} {database} {writers}")  # noqa: S311 -- no secret
    shares = len(WRITERS) if part.several else 1
    rounds = max(1, number // (shares * writers))
    said = [line for turn in range(rounds) for line in one_round(part, url, turn, writers, chance)]
    return Killed(part.name, database, writers, rounds * writers, part.look(url, said))


def one_round(
    part: Part, url: str, turn: int, writers: int, chance: random.Random
) -> list[list[str]]:
    """Let writers write, kill each at a moment of its own; return what they had said by then."""
    started = [begin(partial(part.write, url, f"{turn}-{n}")) for n in range(writers)]
    return end_all(started, [chance.uniform(0.0, LONGEST_S) for _ in started])


# --- failures and hanging backends -----------------------------------------------------------


def failing(
    urls: dict[str, NewUrl], restart: Callable[[], object], seed: int
) -> dict[tuple[str, str], Tally]:
    """Return the counts of every kind of failure, by database."""
    sqlite = urls["SQLite"]
    found = {
        ("no page left", "SQLite"): full_pages(sqlite()),
        ("file at its largest size", "SQLite"): full_disk(sqlite()),
        ("damaged", "SQLite"): damaged(sqlite(), DAMAGES, seed),
        ("restarted under load", "PostgreSQL"): restarts(urls["PostgreSQL"](), restart, RESTARTS),
    }
    for database, new_url in urls.items():
        starts = [first_starts(new_url()) for _ in range(STARTS)]
        found |= {
            ("eight first starts at once", database): _sum(starts),
            ("locked by another program", database): locked(new_url()),
            ("read-only", database): read_only(new_url()),
            ("killed while it migrates", database): migrated(new_url, MIGRATION_KILLS, seed),
            ("clock 400 days ahead", database): clock_jumps(new_url(), DAYS_S),
            ("clock 400 days behind", database): clock_jumps(new_url(), -DAYS_S),
        }
    return found


def _sum(tallies: Sequence[Tally]) -> Tally:
    return Tally(sum(one.tried for one in tallies), sum(one.failed for one in tallies))


def survival(host: str) -> Survival:
    """Return how a host survives every fault of a backend; hanging ones are tried several times."""
    faults = [fault for name, fault in cases() if name == host]
    failed = sum(not _survives(host, fault) for fault in faults)
    waits = {fault: max(_beyond(host, fault) for _ in range(ROUNDS)) for fault in HANGING}
    return Survival(Tally(len(faults), failed), waits)


def _survives(host: str, fault: BackendFault) -> bool:
    try:
        return HOSTS[host](FaultyBackend(fault)) is (fault in HARMLESS)
    except Exception:  # noqa: BLE001 -- this is looked for
        return False


def _beyond(host: str, fault: BackendFault) -> float:
    backend = FaultyBackend(fault)
    HOSTS[host](backend)
    return (backend.answered_s or 0.0) - DEADLINE_S


# --- the page --------------------------------------------------------------------------------


def killed_lines(killed: Sequence[Killed]) -> list[str]:
    """Return the table of kills."""
    rows = [
        (
            one.part,
            one.database if one.part != "batch" else "folder",
            one.writers,
            one.kills,
            f"{one.remains.acknowledged:,}",
            one.remains.lost,
            one.remains.wrong,
        )
        for one in killed
    ]
    head = ("part", "database", "writers at once", "kills", "acknowledged", "lost", "wrong")
    return ["## Kills", "", *table(head, rows)]


def failure_lines(failures: dict[tuple[str, str], Tally]) -> list[str]:
    """Return the table of failures."""
    rows = [(*key, tally.tried, tally.failed) for key, tally in sorted(failures.items())]
    return ["## Failures", "", *table(("failure", "database", "tried", "failed"), rows)]


def host_lines(hosts: dict[str, Survival]) -> list[str]:
    """Return the table of hosts."""
    rows = [
        (
            host,
            found.faults.tried,
            found.faults.failed,
            *(f"{found.waits[fault] * 1000:.0f} ms" for fault in HANGING),
        )
        for host, found in hosts.items()
    ]
    said = f"Waits: the longest of {ROUNDS} beyond a deadline of {DEADLINE_S * 1000:.0f} ms."
    head = ("host", "faults", "failed", *HANGING)
    return ["## Faulty backends", "", said, "", *table(head, rows)]


def required(
    killed: Sequence[Killed],
    failures: dict[tuple[str, str], Tally],
    hosts: dict[str, Survival],
) -> list[Requirement]:
    """Return what has to hold."""
    number = sum(one.kills for one in killed)
    told = sum(one.remains.acknowledged for one in killed)
    lost = sum(one.remains.lost for one in killed)
    wrong = sum(one.remains.wrong for one in killed)
    tally = _sum(list(failures.values()))
    faults = _sum([found.faults for found in hosts.values()])
    longest = max(wait for found in hosts.values() for wait in found.waits.values())
    return [
        Requirement(f"{number:,} kills: nothing lost", f"{lost} of {told:,}", lost == 0),
        Requirement("nothing unverified stored as verified, nothing wrong", str(wrong), wrong == 0),
        Requirement(
            "failing databases and clocks survived",
            f"{tally.failed} of {tally.tried} failed",
            not tally.failed,
        ),
        Requirement(
            "faulty backends survived",
            f"{faults.failed} of {faults.tried} failed",
            not faults.failed,
        ),
        Requirement(
            f"waits beyond a deadline: at most {MOST_BEYOND_S * 1000:.0f} ms",
            f"{longest * 1000:.0f} ms",
            longest <= MOST_BEYOND_S,
        ),
    ]


if __name__ == "__main__":
    main()
