"""Traces as values: which edges make sense, documents, random trees."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.verdicts import Status
from veridical.errors import InputError
from veridical.traces.document import trace_from_document
from veridical.traces.values import (
    EDGES,
    EdgeLabel,
    NodeKind,
    Trace,
    TraceEdge,
    TraceNode,
    ensure_edge,
    label_of,
    label_under,
)

START = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
TEXT = st.text(min_size=1, max_size=30)
UNDER = [
    (above, below)
    for above in NodeKind
    for below in NodeKind
    if any((above, below) in pairs for pairs in EDGES.values())
    and below is not NodeKind.VERIFICATION
    and above not in {NodeKind.CLAIM, NodeKind.VERIFICATION}
]


@st.composite
def trees(draw: st.DrawFn) -> Trace:
    """Draw a trace of any shape, with claims, evidence and edges between them."""
    nodes = [TraceNode("n0", NodeKind.GOAL, draw(TEXT), "n0", None, START)]
    edges = []
    for number in range(1, draw(st.integers(0, 25)) + 1):
        parent = draw(st.sampled_from(nodes))
        kinds = [below for above, below in UNDER if above is parent.kind]
        if not kinds:
            continue
        kind, node_id = draw(st.sampled_from(kinds)), f"n{number}"
        created = START + timedelta(seconds=number)
        name = f"S{number}" if kind is NodeKind.OBSERVATION and draw(st.booleans()) else None
        data = {"evidence_ids": [], "confidence": 0.5} if kind is NodeKind.CLAIM else {}
        node = TraceNode(node_id, kind, draw(TEXT), "n0", parent.id, created, name, data)
        nodes.append(node)
        edges.append(TraceEdge(parent.id, label_under(parent.kind, kind), node_id))
        if kind is NodeKind.CLAIM:
            seen = [one for one in nodes if one.kind in {NodeKind.OBSERVATION, NodeKind.OUTCOME}]
            for one in draw(st.lists(st.sampled_from(seen), unique_by=id)) if seen else ():
                data["evidence_ids"].append(one.cited_as)  # type: ignore[attr-defined]
                edges.append(TraceEdge(node_id, EdgeLabel.CITES, one.id))
    return Trace("n0", tuple(nodes), tuple(edges))


@given(trees())
def test_every_node_of_a_tree_is_reached_once_and_after_its_parent(trace: Trace) -> None:
    depths = {}
    for depth, node in trace.walk():
        assert node.id not in depths
        assert depth == (0 if node.parent is None else depths[node.parent] + 1)
        depths[node.id] = depth
    assert depths.keys() == trace.by_id.keys()


@given(trees())
def test_a_trace_comes_back_from_its_document(trace: Trace) -> None:
    written = json.dumps(trace.to_dict(), allow_nan=False)
    assert trace_from_document(json.loads(written)) == trace


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)


@given(trees(), st.data())
def test_a_document_with_something_else_in_one_place_is_read_or_a_named_error(
    trace: Trace, data: st.DataObject
) -> None:
    document = deepcopy(trace.to_dict())
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JUNK)
    try:
        found = trace_from_document(document)
    except InputError as error:
        assert error.hint  # noqa: PT017 -- either way is right; neither is another exception
    else:
        assert len(list(found.walk())) == len(found.nodes)


def node(node_id: str, kind: str, parent: str | None, **more: object) -> dict[str, object]:
    return {"id": node_id, "kind": kind, "text": "SECRET", "parent": parent} | {
        "created": "2026-01-02T03:04:05Z",
        **more,
    }


def edge(source: str, label: str, target: str) -> dict[str, str]:
    return {"source": source, "label": label, "target": target}


GOAL = node("g", "goal", None)
DECISION = node("d", "decision", "g")
HAS = edge("g", "has_decision", "d")


@pytest.mark.parametrize(
    ("nodes", "edges", "says"),
    [
        ([], [], "goal"),
        ([DECISION, GOAL], [HAS], "node 0"),
        ([GOAL, DECISION], [], "node 1"),
        ([GOAL, DECISION, DECISION], [HAS], "node 2"),
        ([GOAL, node("d", "thought", "g")], [HAS], "node 1"),
        ([GOAL, node("d", "decision", "x")], [HAS], "node 1"),
        ([GOAL, node("d", "decision", None)], [HAS], "node 1"),
        ([GOAL, node("d", "option", "g")], [HAS], "an option cannot hang under a goal"),
        ([GOAL, node("d", "verification", "g")], [], "node 1"),
        ([GOAL, node("d", "decision", "g", created="today")], [HAS], "node 1"),
        ([GOAL, node("d", "decision", "g", name=3)], [HAS], "node 1"),
        ([GOAL, node("d", "decision", "g", data=[])], [HAS], "node 1"),
        ([GOAL, node("d", "decision", "g", more=1)], [HAS], "node 1"),
        ([node("g", "decision", None)], [], "node 0"),
        ([GOAL, DECISION], [HAS, edge("g", "cites", "d")], "no edge 'cites' goes from a goal"),
        ([GOAL, DECISION], [HAS, edge("g", "likes", "d")], "edge 1"),
        ([GOAL, DECISION], [HAS, edge("g", "has_decision", "x")], "edge 1"),
        ([GOAL, DECISION], [HAS, {"source": "g"}], "edge 1"),
    ],
)
def test_a_document_that_makes_no_sense_is_refused_by_place(
    nodes: list[object], edges: list[object], says: str
) -> None:
    document = {"schema": "veridical.trace/1", "goal": "g", "nodes": nodes, "edges": edges}
    with pytest.raises(InputError) as caught:
        trace_from_document(document)
    assert says in caught.value.message
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("document", [None, [], {}, {"schema": "veridical.trace/2"}])
def test_what_is_no_document_of_a_trace_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="veridical"):
        trace_from_document(document)


@pytest.mark.spec("SPEC-16.13", "SPEC-16.14")
def test_labels_are_a_closed_set_and_each_joins_certain_kinds_only() -> None:
    assert EDGES.keys() == set(EdgeLabel)
    for label, pairs in EDGES.items():
        for source in NodeKind:
            for target in NodeKind:
                if (source, target) in pairs:
                    ensure_edge(label, source, target)
                else:
                    with pytest.raises(InputError):
                        ensure_edge(label, source, target)


def test_only_support_verifies_and_what_is_open_refutes_nothing() -> None:
    found = {status: label_of(status) for status in Status}
    assert [status for status, one in found.items() if one is EdgeLabel.VERIFIES] == [
        Status.SUPPORTED
    ]
    assert {status for status, one in found.items() if one is EdgeLabel.LEAVES_OPEN} == {
        Status.UNDETERMINED,
        Status.UNVERIFIABLE,
    }
