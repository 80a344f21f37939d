"""Retraction and removal of facts, in a transaction that holds the lock `memory.alone`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, exists, select

from veridical.store.memory_tables import (
    DEPENDS_ON,
    all_entities,
    all_facts,
    all_links,
    all_provenance,
    all_queue,
    all_roles,
    all_vectors,
    links,
    sources,
)
from veridical.store.projects import delete_of, update_of

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

_PARTS = (
    *(all_queue.c.fact, all_links.c.source, all_links.c.target),
    *(all_roles.c.fact, all_provenance.c.fact, all_vectors.c.fact),
)


def retract(connection: Connection, numbers: set[int], now: datetime) -> list[str]:
    """Retract facts and their dependents; return their ids, in the order of writing."""
    found: dict[int, str] = {}
    while numbers:
        change = (
            update_of(all_facts)
            .where(all_facts.c.number.in_(numbers), all_facts.c.retracted.is_(None))
            .values(retracted=now)
            .returning(all_facts.c.number, all_facts.c.id)
        )
        new = {row.number: row.id for row in connection.execute(change)}
        found |= new
        depending = select(links.c.source).where(
            links.c.target.in_(new), links.c.label == DEPENDS_ON
        )
        numbers = set(connection.scalars(depending)) if new else set()
    connection.execute(delete_of(all_queue).where(all_queue.c.fact.in_(found)))
    return [found[number] for number in sorted(found)]


def remove(connection: Connection, number: int) -> None:
    """Remove a fact and all its unshared parts."""
    for part in _PARTS:
        connection.execute(delete_of(part.table).where(part == number))
    connection.execute(delete_of(all_facts).where(all_facts.c.number == number))
    unused = ~exists().where(all_provenance.c.hash == sources.c.hash)  # in no project
    connection.execute(delete(sources).where(unused))
    nowhere = ~exists().where(all_roles.c.entity == all_entities.c.number)
    connection.execute(delete_of(all_entities).where(nowhere))
