"""Tables `trace_nodes` and `trace_edges`.

A row is written once and never changed; a whole trace can be removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    case,
    func,
    insert,
    select,
)

from veridical.store.projects import delete_of, project_column, rows_of
from veridical.store.tables import dialect, fetched, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Select

    from veridical.store.database import Store


def _within_project(column: str) -> ForeignKeyConstraint:
    """Return the constraint that a column names a node of the same project."""
    return ForeignKeyConstraint(
        ["project", column],
        ["trace_nodes.project", "trace_nodes.id"],
        name=f"fk_{'trace_nodes' if column == 'parent' else 'trace_edges'}_{column}_trace_nodes",
    )


all_nodes = Table(
    "trace_nodes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),  # the order of writing
    Column("id", String, nullable=False),
    project_column(),
    Column("root", String, nullable=False, index=True),
    Column("parent", String, index=True),
    Column("kind", String, nullable=False),
    Column("name", String),
    Column("text", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("data", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    UniqueConstraint("project", "id"),  # a trace may be imported into several projects
    UniqueConstraint("project", "root", "name"),
    _within_project("parent"),
)
all_edges = Table(
    "trace_edges",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    project_column(),
    Column("root", String, nullable=False, index=True),
    Column("source", String, nullable=False),
    Column("label", String, nullable=False),
    Column("target", String, nullable=False, index=True),
    UniqueConstraint("project", "source", "label", "target"),
    _within_project("source"),
    _within_project("target"),
)
trace_nodes, trace_edges = rows_of(all_nodes), rows_of(all_edges)

Row: TypeAlias = dict[str, Any]
_AT_ONCE = 500
"""Ids in one query; SQLite of old takes 999."""

_SHOWN = [column for column in trace_nodes.c if column.name != "folded"]


class TraceTables:
    """Nodes and edges of a project's traces; `root` is the id of the goal a trace began with."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, nodes: Sequence[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> None:
        """Write nodes, parents first, and edges, all or nothing; an edge that is there stays."""
        with self._store.write() as connection:
            if nodes:
                connection.execute(insert(all_nodes), [dict(node) for node in nodes])
            _put_edges(connection, edges)

    def put_named(self, node: Mapping[str, Any], edges: Iterable[Mapping[str, Any]]) -> Row:
        """Write a node with its edges unless the trace has its name; return the stored one."""
        with self._store.write() as connection:
            new = dialect(connection).insert(all_nodes).values(**node)
            new = new.on_conflict_do_nothing(index_elements=["project", "root", "name"])
            if connection.execute(new.returning(all_nodes.c.id)).first() is not None:
                _put_edges(connection, edges)
            same = (trace_nodes.c.root == node["root"]) & (trace_nodes.c.name == node["name"])
            return fetched(connection, select(*_SHOWN).where(same))[0]

    def node(self, node_id: str) -> Row | None:
        """Return the node of an id."""
        found = self._select(select(*_SHOWN).where(trace_nodes.c.id == node_id))
        return found[0] if found else None

    def beginning_with(self, start: str, kind: str, limit: int = 2) -> list[str]:
        """Return ids of that kind that begin like this."""
        wanted = trace_nodes.c.id.startswith(start, autoescape=True) & (trace_nodes.c.kind == kind)
        found = self._select(select(trace_nodes.c.id).where(wanted).limit(limit))
        return [row["id"] for row in found]

    def any_of(self, ids: Sequence[str]) -> bool:
        """Return whether there is a node of one of these ids."""
        with self._store.read() as connection:
            parts = (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
            found = (select(trace_nodes.c.id).where(trace_nodes.c.id.in_(part)) for part in parts)
            return any(connection.execute(one.limit(1)).first() for one in found)

    def children(self, node_id: str) -> list[Row]:
        """Return the nodes whose parent this is, in the order in which they were written."""
        wanted = select(*_SHOWN).where(trace_nodes.c.parent == node_id)
        return self._select(wanted.order_by(trace_nodes.c.number))

    def path(self, node_id: str) -> list[Row]:
        """Return the nodes from the root to this one; none if there is no such node."""
        start = select(trace_nodes.c.id, trace_nodes.c.parent).where(trace_nodes.c.id == node_id)
        above = start.cte("above", recursive=True)
        up = select(trace_nodes.c.id, trace_nodes.c.parent)
        above = above.union_all(up.where(trace_nodes.c.id == above.c.parent))
        wanted = select(*_SHOWN).where(trace_nodes.c.id.in_(select(above.c.id)))
        # A parent is always written before its children.
        return self._select(wanted.order_by(trace_nodes.c.number))

    def trace(self, root: str) -> tuple[list[Row], list[Row]]:
        """Return all nodes and edges of a trace, in the order in which they were written."""
        nodes = select(*_SHOWN).where(trace_nodes.c.root == root).order_by(trace_nodes.c.number)
        edges = select(trace_edges).where(trace_edges.c.root == root)
        with self._store.read() as connection:
            found = fetched(connection, nodes)
            known = {node["id"] for node in found}
            drawn = fetched(connection, edges.order_by(trace_edges.c.number))
        # PostgreSQL may show edges of a node that was written between the two reads.
        return found, [one for one in drawn if {one["source"], one["target"]} <= known]

    def of_kinds(self, root: str, kinds: Iterable[str]) -> list[Row]:
        """Return the nodes of a trace that are of one of these kinds."""
        wanted = (trace_nodes.c.root == root) & trace_nodes.c.kind.in_(list(kinds))
        return self._select(select(*_SHOWN).where(wanted).order_by(trace_nodes.c.number))

    def called(self, root: str, ids: Sequence[str]) -> list[Row]:
        """Return the nodes of a trace that have one of these ids or names."""
        either = trace_nodes.c.id.in_(ids) | trace_nodes.c.name.in_(ids)
        return self._select(select(*_SHOWN).where((trace_nodes.c.root == root) & either))

    def roots(self) -> list[Row]:
        """Return the node each trace began with, with how many `nodes` and `claims` it has."""
        claims = func.sum(case((trace_nodes.c.kind == "claim", 1), else_=0)).label("claims")
        counts = select(trace_nodes.c.root, func.count().label("nodes"), claims)
        counted = counts.group_by(trace_nodes.c.root).subquery()
        wanted = select(*_SHOWN, counted.c.nodes, counted.c.claims)
        wanted = wanted.join(counted, counted.c.root == trace_nodes.c.id)
        return self._select(wanted.order_by(trace_nodes.c.number))

    def search(
        self, words: Iterable[str], *, root: str | None, kind: str | None, limit: int
    ) -> list[Row]:
        """Return nodes whose folded text holds all the words, the newest first."""
        wanted = select(*_SHOWN)
        for word in words:
            wanted = wanted.where(trace_nodes.c.folded.contains(word, autoescape=True))
        if root is not None:
            wanted = wanted.where(trace_nodes.c.root == root)
        if kind is not None:
            wanted = wanted.where(trace_nodes.c.kind == kind)
        return self._select(wanted.order_by(trace_nodes.c.number.desc()).limit(limit))

    def remove(self, root: str) -> int:
        """Remove a trace, and return how many nodes it had."""
        with self._store.write() as connection:
            connection.execute(delete_of(all_edges).where(all_edges.c.root == root))
            gone = delete_of(all_nodes).where(all_nodes.c.root == root)
            return connection.execute(gone).rowcount

    def _select(self, wanted: Select[Any]) -> list[Row]:
        with self._store.read() as connection:
            return fetched(connection, wanted)


def _put_edges(connection: Connection, edges: Iterable[Mapping[str, Any]]) -> None:
    rows = [dict(edge) for edge in edges]
    if rows:
        new = dialect(connection).insert(all_edges)
        connection.execute(new.on_conflict_do_nothing(), rows)
