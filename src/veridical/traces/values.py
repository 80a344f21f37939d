"""Reasoning traces as values: nodes, labelled edges and trees.

Nodes form a tree under a goal; labelled edges are their relations (`EDGES`). Values are immutable:
a new verification is a new node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Status
from veridical.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.core.printing import Document

SCHEMA = "veridical.trace/1"


class NodeKind(StrEnum):
    """Kind of a node of a trace: the decision types of SPEC-16."""

    GOAL = "goal"
    DECISION = "decision"
    OPTION = "option"
    ACTION = "action"
    OUTCOME = "outcome"
    OBSERVATION = "observation"
    CLAIM = "claim"
    VERIFICATION = "verification"


class EdgeLabel(StrEnum):
    """Relation between two nodes of a trace; the last four are those of claims."""

    HAS_SUBGOAL = "has_subgoal"
    HAS_DECISION = "has_decision"
    CONSIDERS = "considers"
    CHOSE = "chose"
    REJECTED = "rejected"
    LEADS_TO = "leads_to"
    OBSERVED = "observed"
    ASSERTS = "asserts"
    CITES = "cites"
    VERIFIES = "verifies"
    REFUTES = "refutes"
    LEAVES_OPEN = "leaves_open"


_K = NodeKind
_DOINGS = (_K.GOAL, _K.DECISION, _K.OPTION, _K.ACTION, _K.OUTCOME, _K.OBSERVATION)

EVIDENCE = (_K.OBSERVATION, _K.OUTCOME)
"""Kinds of nodes that a claim may cite."""

EDGES: Mapping[EdgeLabel, frozenset[tuple[NodeKind, NodeKind]]] = {
    EdgeLabel.HAS_SUBGOAL: frozenset(
        {(_K.GOAL, _K.GOAL), (_K.DECISION, _K.GOAL), (_K.ACTION, _K.GOAL)}
    ),
    EdgeLabel.HAS_DECISION: frozenset({(_K.GOAL, _K.DECISION)}),
    EdgeLabel.CONSIDERS: frozenset({(_K.DECISION, _K.OPTION)}),
    EdgeLabel.CHOSE: frozenset({(_K.DECISION, _K.OPTION)}),
    EdgeLabel.REJECTED: frozenset({(_K.DECISION, _K.OPTION)}),
    EdgeLabel.LEADS_TO: frozenset(
        {
            (_K.GOAL, _K.ACTION),
            (_K.DECISION, _K.ACTION),
            (_K.OPTION, _K.ACTION),
            (_K.ACTION, _K.OUTCOME),
            (_K.GOAL, _K.OUTCOME),
            (_K.OUTCOME, _K.DECISION),
            (_K.OBSERVATION, _K.DECISION),
        }
    ),
    EdgeLabel.OBSERVED: frozenset(
        (kind, _K.OBSERVATION) for kind in (_K.GOAL, _K.DECISION, _K.ACTION, _K.OUTCOME)
    ),
    EdgeLabel.ASSERTS: frozenset((kind, _K.CLAIM) for kind in _DOINGS),
    EdgeLabel.CITES: frozenset((_K.CLAIM, kind) for kind in EVIDENCE),
    EdgeLabel.VERIFIES: frozenset({(_K.VERIFICATION, _K.CLAIM)}),
    EdgeLabel.REFUTES: frozenset({(_K.VERIFICATION, _K.CLAIM)}),
    EdgeLabel.LEAVES_OPEN: frozenset({(_K.VERIFICATION, _K.CLAIM)}),
}
"""Kinds of nodes that each label may join, from and to; others are invalid."""

DRAWN = frozenset({EdgeLabel.CHOSE, EdgeLabel.REJECTED, EdgeLabel.LEADS_TO})
"""Labels of edges between existing nodes; the others are written with a new node."""

_FROM_PARENT = (
    EdgeLabel.HAS_SUBGOAL,
    EdgeLabel.HAS_DECISION,
    EdgeLabel.CONSIDERS,
    EdgeLabel.LEADS_TO,
    EdgeLabel.OBSERVED,
    EdgeLabel.ASSERTS,
)


@dataclass(frozen=True, slots=True)
class TraceNode:
    """Node: its kind and text, its `parent`, and its name if it has one.

    `root` is the root goal of the whole trace. `data` are the fields of its kind: of a claim
    `evidence_ids` and `confidence`, of a verification its result.
    """

    id: str
    kind: NodeKind
    text: str = field(repr=False)
    root: str
    parent: str | None
    created: datetime
    name: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def cited_as(self) -> str:
        """Id by which a claim cites it: its name, else its own id."""
        return self.name or self.id

    def to_dict(self) -> Document:
        """Return the node as part of a JSON object."""
        return {
            "id": self.id,
            "kind": self.kind.value,
            "text": self.text,
            "parent": self.parent,
            "name": self.name,
            "created": self.created.astimezone(UTC).isoformat(),
            "data": dict(self.data),
        }


@dataclass(frozen=True, slots=True)
class TraceEdge:
    """A labelled edge between the ids of two nodes."""

    source: str
    label: EdgeLabel
    target: str

    def to_dict(self) -> Document:
        """Return the edge as part of a JSON object."""
        return {"source": self.source, "label": self.label.value, "target": self.target}


@dataclass(frozen=True)
class Trace:
    """Goal with all its descendants; a node comes after its parent.

    The trace of a sub-goal also holds the evidence that its claims cite from elsewhere, as its
    children.
    """

    goal: str = field(repr=False)
    nodes: tuple[TraceNode, ...]
    edges: tuple[TraceEdge, ...]

    @cached_property
    def by_id(self) -> Mapping[str, TraceNode]:
        """Nodes by id."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def _children(self) -> Mapping[str | None, list[TraceNode]]:
        found: dict[str | None, list[TraceNode]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return found

    def children(self, node_id: str) -> tuple[TraceNode, ...]:
        """Return the children of a node, the oldest first."""
        return tuple(self._children.get(node_id, ()))

    def walk(self) -> Iterator[tuple[int, TraceNode]]:
        """Yield every node with its depth, parents before children."""
        left = [(0, self.by_id[self.goal])]
        while left:
            depth, node = left.pop()
            yield depth, node
            left += [(depth + 1, child) for child in reversed(self.children(node.id))]

    def of_kind(self, kind: NodeKind) -> tuple[TraceNode, ...]:
        """Return the nodes of one kind, the oldest first."""
        return tuple(node for node in self.nodes if node.kind is kind)

    def labels(self, source: str, target: str) -> tuple[EdgeLabel, ...]:
        """Return the labels of the edges from one node to another."""
        return self._labels.get((source, target), ())

    @cached_property
    def _labels(self) -> Mapping[tuple[str, str], tuple[EdgeLabel, ...]]:
        found: dict[tuple[str, str], tuple[EdgeLabel, ...]] = {}
        for edge in self.edges:
            pair = edge.source, edge.target
            found[pair] = (*found.get(pair, ()), edge.label)
        return found

    def to_dict(self) -> Document:
        """Return the trace as a JSON object of schema `veridical.trace/1`."""
        return {
            "schema": SCHEMA,
            "goal": self.goal,
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges],
        }


# --- which edges make sense ------------------------------------------------------------------


def ensure_edge(label: EdgeLabel, source: NodeKind, target: NodeKind) -> None:
    """Raise `InputError` unless an edge of that label may join nodes of these kinds."""
    if (source, target) not in EDGES[label]:
        msg = f"no edge {label.value!r} goes from {_a(source)} to {_a(target)}"
        pairs = sorted(f"{one.value} -> {other.value}" for one, other in EDGES[label])
        raise InputError(msg, hint=f"It joins {', '.join(pairs)}")


def label_under(parent: NodeKind, child: NodeKind) -> EdgeLabel:
    """Return the label of the edge from a parent to a child; `InputError` if there is none.

    >>> label_under(NodeKind.DECISION, NodeKind.OPTION)
    <EdgeLabel.CONSIDERS: 'considers'>
    """
    for label in _FROM_PARENT:
        if (parent, child) in EDGES[label]:
            return label
    above = {one for label in _FROM_PARENT for one, other in EDGES[label] if other is child}
    msg = f"{_a(child)} cannot hang under {_a(parent)}"
    raise InputError(msg, hint=f"It hangs under one of {', '.join(sorted(above)) or 'a claim'}")


def label_of(status: Status) -> EdgeLabel:
    """Return the label of the edge from a verification of this status to its claim.

    A supported claim is `verifies`, a flagged one `refutes`, as in SPEC-16: the status tells
    opposing from missing evidence. A claim that could not be measured, or is too vague, is
    `leaves_open`.
    """
    if status is Status.SUPPORTED:
        return EdgeLabel.VERIFIES
    return EdgeLabel.REFUTES if STATUS_TABLE[status].gap_type else EdgeLabel.LEAVES_OPEN


def _a(kind: NodeKind) -> str:
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind.value}"
