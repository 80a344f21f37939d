"""Tables of the memory's verification queue and rejections."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING

from sqlalchemy import and_, func, insert, or_, select

from veridical.store.memory import Row, alone, beside_others, put_links
from veridical.store.memory_removal import remove, retract
from veridical.store.memory_tables import (
    TIERS,
    all_facts,
    all_queue,
    all_rejections,
    facts,
    queue,
    rejections,
)
from veridical.store.projects import delete_of, update_of
from veridical.store.tables import LONGEST_WAIT_S, fetched, has_passed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from veridical.store.database import Store


@dataclass(frozen=True, slots=True)
class Settled:
    """Change of a fact after its verification, applied as a whole or not at all.

    `changes` are its new columns, `queue` its new row in the queue (None: removed from it),
    `links` (label, id of another fact). A fact with `keeps_place` stays in the queue as before. A
    removed fact takes its dependents along. A fact never gets a lower tier than it has, nor than
    the one that it waits for in the queue; a row that replaces the one there keeps that tier.
    """

    changes: Row = field(default_factory=dict)
    queue: Row | None = None
    keeps_place: bool = False
    rejection: Row | None = None
    links: Sequence[tuple[str, str]] = ()
    removed_at: datetime | None = None


def new_queue_row(reason: str, *, wait_s: float = 0.0) -> Row:
    """Return the row of a newly queued fact; it is due in `wait_s` seconds."""
    now = time()
    return {
        "tier": None,
        "reason": reason,
        "created": now,
        "due": now + wait_s,
        "attempts": 0,
        "given_up": False,
    }


class MemoryQueue:
    """Queue of a project for any number of workers; a fact is claimed by one of them at a time.

    Times are seconds since 1970.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(
        self, worker: str, *, now: float, until: float, early_before: float | None = None
    ) -> Row | None:
        """Claim for a worker the fact that is due first, until a time; None if there is none.

        With `early_before` also a fact that is not due or was given up, unless it was tried since
        then.
        """
        free = or_(queue.c.claimed_until.is_(None), has_passed(queue.c.claimed_until, now))
        ready = and_(has_passed(queue.c.due, now), queue.c.given_up.is_(False))
        if early_before is not None:
            tried, ahead = queue.c.tried, now + LONGEST_WAIT_S
            ready = or_(tried.is_(None), tried < early_before, tried > ahead)
        wanted = select(queue.c.fact).where(free, ready).order_by(queue.c.due, queue.c.fact)
        with self._store.read() as connection:  # a reader at this moment locks nobody out
            if connection.scalar(wanted.limit(1)) is None:
                return None
        with self._store.write() as connection:
            number = connection.scalar(wanted.limit(1).with_for_update(skip_locked=True))
            if number is None:
                return None
            mine = {"claimed_by": worker, "claimed_until": until}
            taken = update_of(all_queue).where(all_queue.c.fact == number)
            connection.execute(taken.values(**mine))
            found = select(facts.c.id, queue).join(facts, facts.c.number == queue.c.fact)
            row = connection.execute(found.where(queue.c.fact == number)).mappings().one()
            return dict(row)

    def settle(self, fact_id: str, done: Settled, *, worker: str | None = None) -> bool:
        """Write the change of a fact, and return whether it was written.

        Not if the fact is gone or retracted, nor if it is no longer claimed by this worker.
        """
        with self._store.write() as connection:
            (beside_others if done.removed_at is None else alone)(connection)
            wanted = select(facts.c.number, facts.c.tier).where(
                facts.c.id == fact_id, facts.c.retracted.is_(None)
            )
            found = connection.execute(wanted.with_for_update()).one_or_none()
            if found is None or not _is_claimed(connection, found.number, worker):
                return False
            _settle(connection, found.number, found.tier, done)
            return True

    def reject(self, row: Row) -> None:
        """Record that a fact was rejected before it was written."""
        with self._store.write() as connection:
            connection.execute(insert(all_rejections).values(**row))

    def rejections(self, limit: int) -> list[Row]:
        """Return the rejections, the newest first."""
        wanted = select(rejections).order_by(rejections.c.number.desc()).limit(limit)
        with self._store.read() as connection:
            return fetched(connection, wanted)

    def counts(self) -> dict[str, int]:
        """Return the numbers of queued facts by project, whatever the project of this queue."""
        project = all_queue.c.project
        wanted = select(project, func.count()).group_by(project).order_by(project)
        with self._store.read() as connection:
            return {row[0]: row[1] for row in connection.execute(wanted)}

    def row(self, fact_id: str) -> Row | None:
        """Return the row of a fact; None if it is not queued."""
        wanted = select(queue).join(facts, facts.c.number == queue.c.fact)
        with self._store.read() as connection:
            found = fetched(connection, wanted.where(facts.c.id == fact_id))
        return found[0] if found else None

    def rows(self) -> list[Row]:
        """Return the queued rows with the `id` of their facts, by due time."""
        wanted = select(facts.c.id, queue).join(facts, facts.c.number == queue.c.fact)
        wanted = wanted.order_by(queue.c.given_up, queue.c.due, queue.c.fact)
        with self._store.read() as connection:
            return fetched(connection, wanted)


def _is_claimed(connection: Connection, number: int, worker: str | None) -> bool:
    if worker is None:
        return True
    wanted = select(queue.c.claimed_by).where(queue.c.fact == number).with_for_update()
    return connection.scalar(wanted) == worker


def _highest(*tiers: str | None) -> str | None:
    """Return the highest of some tiers; None stands for no tier."""
    return max((tier for tier in tiers if tier is not None), key=TIERS.index, default=None)


def _settle(connection: Connection, number: int, tier: str, done: Settled) -> None:
    if done.rejection is not None:
        connection.execute(insert(all_rejections).values(**done.rejection))
    if done.removed_at is not None:
        retract(connection, {number}, done.removed_at)
        remove(connection, number)
        return
    goal = None  # of a promotion that waits
    if not done.keeps_place:
        goal = connection.scalar(select(queue.c.tier).where(queue.c.fact == number))
    changes = dict(done.changes)
    if "tier" in changes:
        # Another writer may have moved it up since it was read.
        changes["tier"] = _highest(changes["tier"], tier, goal)
    if changes:
        change = update_of(all_facts).where(all_facts.c.number == number)
        connection.execute(change.values(**changes))
    if not done.keeps_place:
        connection.execute(delete_of(all_queue).where(all_queue.c.fact == number))
    if done.queue is not None:
        waits = done.queue | {"tier": _highest(done.queue["tier"], goal)}
        connection.execute(insert(all_queue).values(fact=number, **waits))
    ids = [target for _, target in done.links]
    known = select(facts.c.id, facts.c.number).where(facts.c.id.in_(ids))
    numbers = {row.id: row.number for row in connection.execute(known)} if ids else {}
    put_links(
        connection,
        number,
        [(label, numbers[target]) for label, target in done.links if target in numbers],
    )
