"""Traces as GraphML and Mermaid: read again by a parser, whatever is in their texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from veridical.pipeline.reports.escaping import visible
from veridical.traces.graphs import to_graphml, to_mermaid
from veridical.traces.values import EdgeLabel, NodeKind, Trace, TraceEdge, TraceNode

NOW = datetime(2026, 1, 2, tzinfo=UTC)
NS = "{http://graphml.graphdrawing.org/xmlns}"
HOSTILE = 'end"] --> n9; <b onload=x>&amp;</b> `1. a` %%{init}%% \x1b[31m #35; \u202e\n- b | {{c}}'
FIGURES = {"status": "supported", "p1": 0.0, "budget_gap": None}


def trace(text: str, name: str = "S1") -> Trace:
    claim = {"evidence_ids": [name, "S9"], "confidence": 0.5}
    nodes = (
        TraceNode("g", NodeKind.GOAL, text, "g", None, NOW),
        TraceNode("o", NodeKind.OBSERVATION, text, "g", "g", NOW, name),
        TraceNode("c", NodeKind.CLAIM, text, "g", "g", NOW, data=claim),
        TraceNode("v", NodeKind.VERIFICATION, "x", "g", "c", NOW, data={"verification": FIGURES}),
    )
    edges = (
        TraceEdge("g", EdgeLabel.OBSERVED, "o"),
        TraceEdge("g", EdgeLabel.ASSERTS, "c"),
        TraceEdge("c", EdgeLabel.CITES, "o"),
        TraceEdge("v", EdgeLabel.VERIFIES, "c"),
    )
    return Trace("g", nodes, edges)


def read(graphml: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, str]]]:
    """Read GraphML as its specification has it: every datum has a declared key of its domain."""
    root = ET.fromstring(graphml.encode())  # noqa: S314 -- what was written here
    assert root.tag == f"{NS}graphml"
    keys = {
        key.attrib["id"]: (key.attrib["for"], key.attrib["attr.type"])
        for key in root.findall(f"{NS}key")
    }
    (graph,) = root.findall(f"{NS}graph")
    assert graph.attrib["edgedefault"] == "directed"
    nodes, edges = {}, []
    for one in graph.findall(f"{NS}node"):
        data = {each.attrib["key"]: each.text or "" for each in one.findall(f"{NS}data")}
        assert all(keys[key][0] == "node" for key in data)
        assert all(float(data[key]) >= 0 for key in data if keys[key][1] == "double")
        nodes[one.attrib["id"]] = data
    for one in graph.findall(f"{NS}edge"):
        (label,) = one.findall(f"{NS}data")
        assert keys[label.attrib["key"]][0] == "edge"
        assert {one.attrib["source"], one.attrib["target"]} <= nodes.keys()
        edges.append((one.attrib["source"], label.text or "", one.attrib["target"]))
    return nodes, edges


@given(st.text(min_size=1) | st.just(HOSTILE), st.text(min_size=1))
def test_graphml_holds_every_node_edge_and_text(text: str, name: str) -> None:
    made = trace(text, name)
    nodes, edges = read(to_graphml(made))
    assert edges == [(one.source, one.label.value, one.target) for one in made.edges]
    assert nodes.keys() == made.by_id.keys()
    assert nodes["g"]["text"] == visible(text).replace("\r\n", "\n")
    assert nodes["v"] | {"p1": "0.0", "status": "supported"} == nodes["v"]
    assert "budget_gap_bits" not in nodes["v"]


NODE = re.compile(
    r'  n\d+(\(\[|\{\{|\(|\[\[|\[|\[\(|>|\(\()"([^"]*)"(\]\)|\}\}|\)|\]\]|\]|\)\]|\)\))'
)
EDGE = re.compile(r'  n\d+ (-->|-\.->)\|"[a-z_]+"\| n\d+')
REST = re.compile(r"flowchart TD|  classDef \w+ [\w:#,-]+|  class n\d+ \w+")
CODE = re.compile(r"#\d+;")


@given(st.text(min_size=1) | st.just(HOSTILE), st.text(min_size=1))
def test_nothing_in_a_text_is_markup_in_mermaid(text: str, name: str) -> None:
    lines = to_mermaid(trace(text, name)).splitlines()
    labels = [match[2] for line in lines if (match := NODE.fullmatch(line))]
    assert len(labels) == 4
    assert all(
        NODE.fullmatch(line) or EDGE.fullmatch(line) or REST.fullmatch(line) for line in lines
    )
    for label in labels:
        kind, _, said = CODE.sub("", label).partition("<br/>")
        assert all(char.isalnum() or char == " " for char in kind + said)


def test_mermaid_says_what_a_text_says() -> None:
    written = to_mermaid(trace("It is 5 < 6."))
    assert '"goal<br/>It is 5 #60; 6#46;"' in written
    assert 'n3 -.->|"verifies"| n2' in written
