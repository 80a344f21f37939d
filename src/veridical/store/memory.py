"""Tables of the memory's facts, entities, sources and links.

A fact is an edge between any number of entities. Facts are written whole, and read with their roles
and their provenance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import (
    bindparam,
    cast,
    column,
    func,
    insert,
    intersect,
    literal_column,
    or_,
    select,
    table,
    text,
)
from sqlalchemy.dialects import postgresql

from veridical.store.memory_removal import remove, retract
from veridical.store.memory_tables import (
    all_entities,
    all_facts,
    all_links,
    all_provenance,
    all_queue,
    all_roles,
    entities,
    facts,
    links,
    provenance,
    roles,
    sources,
)
from veridical.store.tables import dialect, fetched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Select

    from veridical.store.database import Store

Row: TypeAlias = dict[str, Any]

_LOCK = 0x7E71D1CB
"""Advisory lock of writers on PostgreSQL while facts are removed or retracted."""

_BY_LENGTH = 2  # for ts_rank: of two facts with these words the shorter one is the better match
_SHOWN = [column_ for column_ in facts.c if column_.name not in {"words", "key"}]
_index = table("memory_text", column("rowid"), column("rank"))
_VECTOR = "array_to_tsvector(string_to_array(memory_facts.words, ' '))"  # as in the index


@dataclass(frozen=True, slots=True)
class NewFact:
    """Rows of a new fact, written at once: fact, entities, provenance, links and queue.

    `roles` are (role, key, name) of entities, in order; `origins` rows of the provenance, each with
    the `text` of its source; `links` (label, id of another fact); `queue` its row there, if any.
    """

    fact: Row
    roles: Sequence[tuple[str, str, str]] = ()
    origins: Sequence[Row] = ()
    links: Sequence[tuple[str, str]] = ()
    queue: Row | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on facts; an omitted condition always holds.

    A fact has all of the `entities` (keys), and all of the `words`, or with `any_word` one of
    them. `at` is the time at which it has to be valid. Of `states`, None means all.
    """

    ids: Collection[str] | None = None
    key: str | None = None
    entities: Collection[str] = ()
    any_entity: bool = False
    words: Sequence[str] = field(default=(), repr=False)
    any_word: bool = False
    source: str | None = None
    tier: str | None = None
    relation: str | None = field(default=None, repr=False)
    states: Collection[str] | None = None
    at: datetime | None = None
    retracted: bool | None = None
    limit: int = field(default=100)


@dataclass(frozen=True, slots=True)
class Put:
    """Obstacle to writing a fact: ids that are missing, or the id of the same fact."""

    missing: frozenset[str] = frozenset()
    same: str | None = None


class MemoryTables:
    """Facts of a project, their entities and sources, and the links between them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, new: NewFact) -> Put:
        """Write a fact, unless a linked fact is missing or the same fact is stored already.

        A retracted fact counts as missing.
        """
        with self._store.turn(), self._store.write() as connection:
            beside_others(connection)
            wanted = {target for _, target in new.links}
            targets = _numbers(connection, wanted)
            if missing := wanted - targets.keys():
                return Put(missing=frozenset(missing))
            return Put(same=_put(connection, new, targets))

    def find(self, wanted: Filter) -> list[Row]:
        """Return facts with their `roles` and `provenance`.

        The best match for the words first, else the newest.
        """
        with self._store.read() as connection:
            return _with_parts(connection, fetched(connection, _query(connection, wanted)))

    def brief(self, wanted: Filter) -> dict[str, str]:
        """Return the texts of facts by their ids, in the order of `find`."""
        with self._store.read() as connection:
            rows = connection.execute(_query(connection, wanted)).mappings()
            return {row["id"]: row["text"] for row in rows}

    def texts(self, fact_id: str) -> dict[str, bytes]:
        """Return the texts of a fact's sources by their ids, in order."""
        wanted = (
            select(provenance.c.source, sources.c.text)
            .join(sources, sources.c.hash == provenance.c.hash)
            .join(facts, facts.c.number == provenance.c.fact)
            .where(facts.c.id == fact_id)
            .order_by(provenance.c.position)
        )
        with self._store.read() as connection:
            return {row.source: row.text for row in connection.execute(wanted)}

    def links(self, fact_id: str) -> list[Row]:
        """Return the links of a fact as rows of `source`, `label`, `target`: ids of facts."""
        first, second = facts.alias(), facts.alias()
        wanted = (
            select(first.c.id.label("source"), links.c.label, second.c.id.label("target"))
            .select_from(links)
            .join(first, first.c.number == links.c.source)
            .join(second, second.c.number == links.c.target)
            .where(or_(first.c.id == fact_id, second.c.id == fact_id))
            .order_by(links.c.source, links.c.label, links.c.target)
        )
        with self._store.read() as connection:
            return fetched(connection, wanted)

    def link(self, source: str, label: str, target: str) -> set[str]:
        """Link two facts, unless they are linked already; return missing ids."""
        with self._store.write() as connection:
            beside_others(connection)
            found = _numbers(connection, {source, target})
            if missing := {source, target} - found.keys():
                return missing
            put_links(connection, found[source], [(label, found[target])])
        return set()

    def retract(self, fact_id: str, now: datetime) -> list[str]:
        """Retract a fact and all its dependents; return the ids, in the order of writing.

        Facts that are retracted already are not among them.
        """
        with self._store.write() as connection:
            alone(connection)
            number = connection.scalar(select(facts.c.number).where(facts.c.id == fact_id))
            return [] if number is None else retract(connection, {number}, now)

    def delete(self, fact_id: str, now: datetime) -> list[str]:
        """Remove a fact and its unshared parts; return the ids of its dependents, retracted now."""
        with self._store.turn(), self._store.write() as connection:
            alone(connection)
            number = connection.scalar(select(facts.c.number).where(facts.c.id == fact_id))
            if number is None:
                return []
            gone = retract(connection, {number}, now)
            remove(connection, number)
            return [each for each in gone if each != fact_id]


# --- locks -----------------------------------------------------------------------------------


def beside_others(connection: Connection) -> None:
    """Take the shared lock: others may write, but not remove linked facts."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock_shared(:key)"), {"key": _LOCK})


def alone(connection: Connection) -> None:
    """Take the exclusive lock on facts, until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


# --- writing ---------------------------------------------------------------------------------


def _put(connection: Connection, new: NewFact, targets: Mapping[str, int]) -> str | None:
    """Write a fact; return the id of the same fact if there is one, and then write nothing."""
    made = dialect(connection).insert(all_facts).values(**new.fact).on_conflict_do_nothing()
    number = connection.scalar(made.returning(all_facts.c.number))
    if number is None:
        either = (facts.c.key == new.fact.get("key")) & facts.c.retracted.is_(None)
        same = select(facts.c.id).where(or_(either, facts.c.id == new.fact["id"]))
        return connection.scalar(same)
    _put_origins(connection, number, new.origins)
    _put_roles(connection, number, new.roles)
    put_links(connection, number, [(label, targets[target]) for label, target in new.links])
    if new.queue is not None:
        connection.execute(insert(all_queue).values(fact=number, **new.queue))
    return None


def _put_origins(connection: Connection, number: int, origins: Sequence[Row]) -> None:
    if not origins:
        return
    texts = {row["hash"]: row["text"] for row in origins}
    # Sorted, so that writers at the same time wait for each other in one order.
    rows = [{"hash": key, "text": texts[key]} for key in sorted(texts)]
    connection.execute(dialect(connection).insert(sources).on_conflict_do_nothing(), rows)
    connection.execute(
        insert(all_provenance),
        [
            {"fact": number, "position": i}
            | {key: value for key, value in row.items() if key != "text"}
            for i, row in enumerate(origins)
        ],
    )


def _put_roles(connection: Connection, number: int, named: Sequence[tuple[str, str, str]]) -> None:
    if not named:
        return
    names = {key: name for _, key, name in reversed(named)}
    rows = [{"key": key, "name": names[key]} for key in sorted(names)]
    connection.execute(dialect(connection).insert(all_entities).on_conflict_do_nothing(), rows)
    wanted = select(entities.c.key, entities.c.number).where(entities.c.key.in_(names))
    numbers = {row.key: row.number for row in connection.execute(wanted)}
    connection.execute(
        insert(all_roles),
        [
            {"fact": number, "position": i, "role": role, "entity": numbers[key]}
            for i, (role, key, _) in enumerate(named)
        ],
    )


def put_links(connection: Connection, number: int, labelled: Iterable[tuple[str, int]]) -> None:
    """Link a fact to others; links that are there stay."""
    rows = [{"source": number, "label": label, "target": target} for label, target in labelled]
    if rows:
        connection.execute(dialect(connection).insert(all_links).on_conflict_do_nothing(), rows)


# --- reading ---------------------------------------------------------------------------------


def _query(connection: Connection, wanted: Filter) -> Select[Any]:
    found = _searched(connection, matching(wanted), wanted)
    return found.order_by(facts.c.number.desc()).limit(wanted.limit)


def matching(wanted: Filter) -> Select[Any]:
    """Return the query for the facts of a filter, whatever their words."""
    query = select(*_SHOWN)
    if wanted.ids is not None:
        query = query.where(facts.c.id.in_(wanted.ids))
    if wanted.key is not None:
        query = query.where(facts.c.key == wanted.key)
    if keys := wanted.entities:
        parts = [keys] if wanted.any_entity else [[key] for key in keys]
        # Not an IN for each: PostgreSQL cannot know which entity is rare, and tries each fact.
        query = query.where(facts.c.number.in_(intersect(*map(_about, parts))))
    if wanted.source is not None:
        from_it = or_(provenance.c.source == wanted.source, provenance.c.hash == wanted.source)
        query = query.where(facts.c.number.in_(select(provenance.c.fact).where(from_it)))
    for name in ("tier", "relation"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(facts.c[name] == value)
    if wanted.states is not None:
        query = query.where(facts.c.state.in_(wanted.states))
    if wanted.retracted is not None:
        known = facts.c.retracted.is_not(None)
        query = query.where(known if wanted.retracted else ~known)
    if wanted.at is not None:
        query = query.where(
            or_(facts.c.valid_from.is_(None), facts.c.valid_from <= wanted.at),
            or_(facts.c.valid_to.is_(None), facts.c.valid_to > wanted.at),
        )
    return query


def _about(keys: Collection[str]) -> Select[Any]:
    """Return the numbers of the facts that have one of the entities."""
    return (
        select(roles.c.fact)
        .join(entities, entities.c.number == roles.c.entity)
        .where(entities.c.key.in_(keys))
    )


def _searched(connection: Connection, query: Select[Any], wanted: Filter) -> Select[Any]:
    """Return the query for facts with these words, the best match first."""
    if not wanted.words:
        return query
    if connection.dialect.name == "sqlite":
        joint = " OR " if wanted.any_word else " "
        match = literal_column("memory_text").op("MATCH")
        searched = match(joint.join(f'"{word}"' for word in wanted.words))
        joined = query.join(_index, _index.c.rowid == facts.c.number)
        return joined.where(searched).order_by(_index.c.rank)
    joint = " | " if wanted.any_word else " & "
    terms: Any = bindparam("terms", joint.join(f"'{word}'" for word in wanted.words))
    vector: Any = literal_column(_VECTOR)
    search = cast(terms, postgresql.TSQUERY)
    ranked = func.ts_rank(vector, search, _BY_LENGTH).desc()
    return query.where(vector.op("@@")(search)).order_by(ranked)


def _with_parts(connection: Connection, rows: list[Row]) -> list[Row]:
    by_number = {row["number"]: row | {"roles": [], "provenance": []} for row in rows}
    named = (
        select(roles.c.fact, roles.c.role, entities.c.name)
        .join(entities, entities.c.number == roles.c.entity)
        .where(roles.c.fact.in_(by_number))
        .order_by(roles.c.fact, roles.c.position)
    )
    origins = (
        select(provenance)
        .where(provenance.c.fact.in_(by_number))
        .order_by(provenance.c.fact, provenance.c.position)
    )
    for key, wanted in (("roles", named), ("provenance", origins)) if by_number else ():
        for part in fetched(connection, wanted):
            by_number[part["fact"]][key].append(part)
    return list(by_number.values())


def _numbers(connection: Connection, ids: Collection[str]) -> dict[str, int]:
    """Return the numbers of the facts of these ids, without retracted ones."""
    wanted = select(facts.c.id, facts.c.number)
    wanted = wanted.where(facts.c.id.in_(ids), facts.c.retracted.is_(None))
    return {row.id: row.number for row in connection.execute(wanted)} if ids else {}
