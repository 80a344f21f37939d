"""Conversion of trace nodes to database rows and back, for new and imported nodes."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from veridical.core.information import ensure_probability
from veridical.core.types import ensure_text
from veridical.errors import InputError, TextError
from veridical.traces.results import result_from
from veridical.traces.values import (
    EdgeLabel,
    NodeKind,
    Trace,
    TraceEdge,
    TraceNode,
    label_of,
    label_under,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def new_id(kind: NodeKind) -> str:
    """Return a new unique id; it begins with the kind."""
    return f"{kind.value}-{secrets.token_hex(8)}"


def new_node(
    kind: NodeKind,
    text: str,
    parent: TraceNode | None,
    *,
    name: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> TraceNode:
    """Return a new node under `parent`; without one, the root of a trace."""
    ensure_storable(text, f"the text of the {kind.value}")
    node_id, now = new_id(kind), datetime.now(UTC)
    root, above = (node_id, None) if parent is None else (parent.root, parent.id)
    return TraceNode(node_id, kind, text, root, above, now, name, data or {})


def ensure_storable(text: object, what: str) -> None:
    """Raise `TextError` unless it is text that SQLite and PostgreSQL can hold."""
    ensure_text(text, what)
    if "\0" in str(text):
        msg = f"{what} holds a NUL"
        raise TextError(msg, hint="Take the NULs out: databases cannot hold them in texts")


def folded(text: str) -> str:
    """Return text as it is searched: without case, compatible characters as one."""
    return normalize("NFKC", text).casefold()


def to_row(node: TraceNode) -> dict[str, Any]:
    """Return a node as a row."""
    return {
        "id": node.id,
        "root": node.root,
        "parent": node.parent,
        "kind": node.kind.value,
        "name": node.name,
        "text": node.text,
        "folded": folded(node.text),
        "data": dict(node.data),
        "created": node.created,
    }


def to_node(row: Mapping[str, Any]) -> TraceNode:
    """Return a row as a node."""
    created = row["created"]
    # SQLite keeps no time zone; times are written in UTC.
    created = created.replace(tzinfo=UTC) if created.tzinfo is None else created.astimezone(UTC)
    kind = NodeKind(row["kind"])
    return TraceNode(
        id=row["id"],
        kind=kind,
        text=row["text"],
        root=row["root"],
        parent=row["parent"],
        created=created,
        name=row["name"],
        data=row["data"],
    )


def to_edge_row(root: str, edge: TraceEdge) -> dict[str, str]:
    """Return an edge of a trace as a row."""
    return {"root": root, **edge.to_dict()}


def under(goal: TraceNode, nodes: Sequence[TraceNode], edges: Sequence[TraceEdge]) -> Trace:
    """Return the subtree of a goal, with the evidence cited from there."""
    if goal.parent is None:
        return Trace(goal.id, tuple(nodes), tuple(edges))
    inside = {goal.id}
    for node in nodes:  # parents come first
        if node.parent in inside:
            inside.add(node.id)
    cited = {one.target for one in edges if one.label is EdgeLabel.CITES and one.source in inside}
    outside = [node for node in nodes if node.id in cited - inside]
    moved = [replace(node, parent=goal.id, root=goal.id) for node in outside]
    own = [replace(node, root=goal.id) for node in nodes if node.id in inside and node != goal]
    known = inside | cited
    drawn = [one for one in edges if one.source in inside and one.target in known]
    drawn += [TraceEdge(goal.id, label_under(goal.kind, one.kind), one.id) for one in moved]
    top = replace(goal, parent=None, root=goal.id)
    return Trace(goal.id, (top, *moved, *own), tuple(drawn))


# --- import ------------------------------------------------------------------------------


def ensure_importable(node: TraceNode, trace: Trace, place: str) -> None:
    """Raise `InputError` unless a node's data can be stored and read again."""
    ensure_storable(node.id, f"the id of {place}")
    ensure_storable(node.text, f"the text of {place}")
    if node.name is not None:
        ensure_storable(node.name, f"the name of {place}")
    try:
        fine = _readable(node, trace)
    except (KeyError, TypeError, ValueError):
        fine = False
    if not fine:
        msg = f"the data of {place} are not those of a {node.kind.value}"
        raise InputError(msg, hint="veridical traces export GOAL --format json writes such data")


def _readable(node: TraceNode, trace: Trace) -> bool:
    if node.kind is NodeKind.CLAIM:
        ensure_probability(node.data["confidence"], "confidence")
        cited = node.data["evidence_ids"]
        return isinstance(cited, list) and all(isinstance(one, str) and one for one in cited)
    if node.kind is NodeKind.VERIFICATION and node.parent is not None:
        result = result_from(node.id, node.parent, node.created, node.data)
        return trace.labels(node.id, node.parent) == (label_of(result.status),)
    return True
