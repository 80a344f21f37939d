"""Import of traces from JSON documents of schema `veridical.trace/1`, with validation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

from veridical.errors import InputError
from veridical.traces.values import (
    SCHEMA,
    EdgeLabel,
    NodeKind,
    Trace,
    TraceEdge,
    TraceNode,
    ensure_edge,
    label_under,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_NODE_KEYS = frozenset({"id", "kind", "text", "parent", "name", "created", "data"})
_EDGE_KEYS = frozenset({"source", "label", "target"})
_HINT = "veridical traces export GOAL --format json writes such a document"


def trace_from_document(document: object) -> Trace:
    """Return the trace of a JSON object of schema `veridical.trace/1`.

    Validated are its shape, its ids, the order of nodes (parents first), and the labels of edges;
    not the data of its nodes. `InputError` names the place.
    """
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        _refuse(f"this is not a document of schema {SCHEMA}")
    goal, nodes, edges = (document.get(key) for key in ("goal", "nodes", "edges"))
    if not isinstance(goal, str) or not isinstance(nodes, list) or not isinstance(edges, list):
        _refuse("the trace lacks its goal, its nodes or its edges")
    reader = _Reader(goal)
    for number, node in enumerate(nodes):
        reader.read_node(node, f"node {number}")
    if goal not in reader.nodes:
        _refuse("the trace has no node of the id of its goal")
    drawn = [reader.edge(edge, f"edge {number}") for number, edge in enumerate(edges)]
    _ensure_joined(tuple(reader.nodes.values()), drawn)
    return Trace(goal, tuple(reader.nodes.values()), tuple(dict.fromkeys(drawn)))


class _Reader:
    """Reader of nodes in their order, and then of the edges between them."""

    def __init__(self, goal: str) -> None:
        self.goal = goal
        self.nodes: dict[str, TraceNode] = {}
        self._names: set[str] = set()

    def read_node(self, node: object, place: str) -> None:
        if not isinstance(node, dict) or not node.keys() <= _NODE_KEYS:
            _refuse(f"{place} has an unknown shape")
        node_id, text, data = node.get("id"), node.get("text"), node.get("data", {})
        if not isinstance(node_id, str) or not node_id or not isinstance(text, str):
            _refuse(f"{place} lacks its id or its text")
        if not isinstance(data, dict):
            _refuse(f"the data of {place} is no object")
        if node_id in self.nodes:
            _refuse(f"the id of {place} comes twice")
        kind, parent = _kind(node.get("kind"), place), node.get("parent")
        self._ensure_place(node_id, kind, parent, place)
        name, created = self._name(node.get("name"), place), _created(node.get("created"), place)
        self.nodes[node_id] = TraceNode(node_id, kind, text, self.goal, parent, created, name, data)

    def _ensure_place(self, node_id: str, kind: NodeKind, parent: object, place: str) -> None:
        if node_id == self.goal:
            if parent is not None or kind is not NodeKind.GOAL:
                _refuse(f"{place}, with which the trace begins, is no goal without a parent")
            return
        above = self.nodes.get(parent) if isinstance(parent, str) else None
        if above is None:
            _refuse(f"{place} does not come after the node that it hangs under")
        if kind is not NodeKind.VERIFICATION:
            label_under(above.kind, kind)
        elif above.kind is not NodeKind.CLAIM:
            _refuse(f"{place} is a verification and does not hang under a claim")

    def _name(self, name: object, place: str) -> str | None:
        if name is None:
            return None
        if not isinstance(name, str) or not name.strip() or name in self._names:
            _refuse(f"the name of {place} is no text, or comes twice")
        self._names.add(name)
        return name

    def edge(self, edge: object, place: str) -> TraceEdge:
        if not isinstance(edge, dict) or edge.keys() != _EDGE_KEYS:
            _refuse(f"{place} has an unknown shape")
        label = edge["label"]
        if not isinstance(label, str) or label not in set(EdgeLabel):
            _refuse(f"{place} has no label that there is")
        source, target = (self._end(edge[key], place) for key in ("source", "target"))
        ensure_edge(EdgeLabel(label), source.kind, target.kind)
        return TraceEdge(source.id, EdgeLabel(label), target.id)

    def _end(self, end: object, place: str) -> TraceNode:
        node = self.nodes.get(end) if isinstance(end, str) else None
        if node is None:
            _refuse(f"{place} joins a node that is not there")
        return node


def _kind(kind: object, place: str) -> NodeKind:
    if not isinstance(kind, str) or kind not in set(NodeKind):
        _refuse(f"{place} is of no kind that there is")
    return NodeKind(kind)


def _created(created: object, place: str) -> datetime:
    try:
        found = datetime.fromisoformat(str(created))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        _refuse(f"{place} does not say when it was made, as in 2026-01-31T12:00:00Z")


def _ensure_joined(nodes: Sequence[TraceNode], edges: Sequence[TraceEdge]) -> None:
    """Raise `InputError` unless an edge joins each node to its parent."""
    pairs = {frozenset((edge.source, edge.target)) for edge in edges}
    for number, node in enumerate(nodes):
        if node.parent is not None and frozenset((node.id, node.parent)) not in pairs:
            _refuse(f"no edge joins node {number} to the node that it hangs under")


def _refuse(message: str) -> NoReturn:
    raise InputError(message, hint=_HINT) from None
