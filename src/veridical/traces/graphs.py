"""Export of traces: GraphML for graph tools, Mermaid for pages that draw diagrams."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from veridical.pipeline.reports.escaping import one_line, visible
from veridical.traces.values import EdgeLabel, NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.traces.values import Trace, TraceNode

_LABEL_LIMIT = 120

# --- GraphML ---------------------------------------------------------------------------------

_GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">'
)
_NODE_KEYS: Mapping[str, str] = {
    "kind": "string",
    "text": "string",
    "name": "string",
    "created": "string",
    "evidence_ids": "string",
    "confidence": "double",
    "status": "string",
    "p1": "double",
    "budget_gap_bits": "double",
}


def to_graphml(trace: Trace) -> str:
    """Return a trace as GraphML 1.0 (graphml.graphdrawing.org); unknown figures are left out."""
    return "\n".join(_graphml(trace)) + "\n"


def _graphml(trace: Trace) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield _GRAPHML
    for name, kind in _NODE_KEYS.items():
        yield f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>'
    yield '  <key id="label" for="edge" attr.name="label" attr.type="string"/>'
    yield f'  <graph id="{_xml(trace.goal)}" edgedefault="directed">'
    for node in trace.nodes:
        yield f'    <node id="{_xml(node.id)}">'
        for name, value in _attributes(node).items():
            yield f'      <data key="{name}">{_xml(value)}</data>'
        yield "    </node>"
    for edge in trace.edges:
        yield f'    <edge source="{_xml(edge.source)}" target="{_xml(edge.target)}">'
        yield f'      <data key="label">{edge.label.value}</data>'
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def _attributes(node: TraceNode) -> Mapping[str, str]:
    found = {
        "kind": node.kind.value,
        "text": node.text,
        "name": node.name,
        "created": node.created.isoformat(),
    }
    if node.kind is NodeKind.CLAIM:
        found["evidence_ids"] = json.dumps(node.data["evidence_ids"], ensure_ascii=False)
        found["confidence"] = repr(float(node.data["confidence"]))
    if node.kind is NodeKind.VERIFICATION:
        verified = node.data["verification"]
        figures = {"p1": verified["p1"], "budget_gap_bits": verified["budget_gap"]}
        found["status"] = verified["status"]
        found |= {name: repr(float(one)) for name, one in figures.items() if one is not None}
    return {name: value for name, value in found.items() if value is not None}


def _xml(text: str) -> str:
    """Return text that may stand in XML 1.0, which has no control characters at all."""
    return html.escape(visible(text).replace("\r\n", "\n"))


# --- Mermaid ---------------------------------------------------------------------------------

_SHAPES: Mapping[NodeKind, tuple[str, str]] = {
    NodeKind.GOAL: ("([", "])"),
    NodeKind.DECISION: ("{{", "}}"),
    NodeKind.OPTION: ("(", ")"),
    NodeKind.ACTION: ("[[", "]]"),
    NodeKind.OUTCOME: ("[", "]"),
    NodeKind.OBSERVATION: ("[(", ")]"),
    NodeKind.CLAIM: (">", "]"),
    NodeKind.VERIFICATION: ("((", "))"),
}
_CLASSES = (
    "classDef verifies stroke:#2e7d32,stroke-width:2px",
    "classDef refutes stroke:#c62828,stroke-width:2px",
    "classDef leaves_open stroke:#6a1b9a,stroke-width:2px",
)
_DASHED = frozenset({EdgeLabel.CITES, EdgeLabel.VERIFIES, EdgeLabel.REFUTES, EdgeLabel.LEAVES_OPEN})


def to_mermaid(trace: Trace) -> str:
    """Return a trace as a Mermaid flowchart, with all markup in texts escaped."""
    return "\n".join(_mermaid(trace)) + "\n"


def _mermaid(trace: Trace) -> Iterator[str]:
    names = {node.id: f"n{number}" for number, node in enumerate(trace.nodes)}
    yield "flowchart TD"
    for node in trace.nodes:
        left, right = _SHAPES[node.kind]
        yield f'  {names[node.id]}{left}"{_mermaid_label(node)}"{right}'
    for edge in trace.edges:
        arrow = "-.->" if edge.label in _DASHED else "-->"
        yield f'  {names[edge.source]} {arrow}|"{edge.label.value}"| {names[edge.target]}'
    yield from (f"  {line}" for line in _CLASSES)
    for edge in trace.edges:
        if trace.by_id[edge.source].kind is NodeKind.VERIFICATION:
            yield f"  class {names[edge.source]} {edge.label.value}"


def _mermaid_label(node: TraceNode) -> str:
    text = one_line(node.text)
    text = text if len(text) <= _LABEL_LIMIT else f"{text[:_LABEL_LIMIT]} …"
    name = "" if node.name is None else f" {_mermaid_text(one_line(node.name)[:_LABEL_LIMIT])}"
    return f"{node.kind.value}{name}<br/>{_mermaid_text(text)}"


def _mermaid_text(text: str) -> str:
    """Return text with all but letters and digits as Mermaid entity codes."""
    return "".join(char if char.isalnum() or char == " " else f"#{ord(char)};" for char in text)
