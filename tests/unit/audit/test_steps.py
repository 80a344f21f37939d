"""Traces as values, and the resolution of citations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.audit.steps import (
    MOST_STEPS,
    CitationRules,
    Step,
    StepTrace,
    circular,
    parse_trace,
    refuse_duplicates,
)
from veridical.audit.values import Cited
from veridical.core.types import Source
from veridical.errors import InputError, SourceError, TextError

pytestmark = pytest.mark.spec("SPEC-08.23")

GRAPHS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefghxy"), max_size=4), max_size=8
)


def reaches(graph: dict[str, list[str]], start: str, goal: str) -> bool:
    """Walk along the citations, one or more."""
    seen: set[str] = set()
    ahead = list(graph.get(start, ()))
    while ahead:
        node = ahead.pop()
        if node == goal:
            return True
        if node not in seen:
            seen.add(node)
            ahead += graph.get(node, ())
    return False


@given(GRAPHS)
def test_a_citation_is_circular_if_and_only_if_the_way_leads_back(
    graph: dict[str, list[str]],
) -> None:
    expected = {
        (citing, cited)
        for citing, all_cited in graph.items()
        for cited in all_cited
        if cited in graph and (cited == citing or reaches(graph, cited, citing))
    }
    assert circular(graph) == expected


def test_a_circle_of_all_steps_there_may_be_is_found_without_recursion() -> None:
    graph = {str(n): [str((n + 1) % MOST_STEPS)] for n in range(MOST_STEPS)}
    assert len(circular(graph)) == MOST_STEPS


@pytest.mark.parametrize(
    ("cited", "kind"),
    [
        ("S1", Cited.SOURCE),
        ("good", Cited.ENTAILED_STEP),
        ("bad", Cited.FAILED_STEP),
        ("lost", Cited.UNMEASURED_STEP),
        ("later", Cited.FORWARD),
        ("log", Cited.FORWARD),
        ("here", Cited.CYCLIC),
        ("back", Cited.CYCLIC),
        ("nothing", Cited.PHANTOM),
    ],
)
def test_an_id_stands_for_one_thing(cited: str, kind: Cited) -> None:
    ids = ["good", "bad", "lost", "here", "back", "later"]
    steps = [Step(one, "It is so.") for one in ids]
    steps[-1] = Step("later", "It is so.", context=(Source("log", "It is."),))
    rules = CitationRules.of(steps, ["S1"], {"here": ["here", "back"], "back": ["here"]})
    labels = {"good": "ENTAILED", "bad": "CONTRADICTED", "lost": None}
    found = rules.cited("here", cited, labels, {"S1", "good"})  # type: ignore[arg-type]
    assert found.kind is kind
    assert found.fault == (kind in {Cited.FORWARD, Cited.CYCLIC, Cited.PHANTOM})


def test_a_trace_may_be_an_object() -> None:
    trace = parse_trace(
        {
            "schema": "veridical.steps/1",
            "question": "When?",
            "answer": "1998",
            "sources": {"S1": "It opened in 1998."},
            "steps": ["It opened in 1998.", {"id": "b", "claim": "So 1998.", "cites": ["step1"]}],
            "observations": ["log"],
        }
    )
    assert [step.id for step in trace.steps] == ["step1", "b"]
    assert trace.steps[1].cites == ("step1",)
    assert (trace.question, trace.answer) == ("When?", "1998")
    assert trace.sources == (Source("S1", "It opened in 1998."),)
    assert trace.observations == {"log"}
    assert parse_trace(trace) is trace


@pytest.mark.parametrize(
    ("trace", "error"),
    [
        ({}, InputError),
        ({"steps": []}, InputError),
        ({"steps": "x"}, InputError),
        ({"steps": ["x"], "stepz": 1}, InputError),
        ({"steps": ["x"], "schema": "veridical.steps/9"}, InputError),
        ({"steps": ["x"], "observations": "log"}, InputError),
        ({"steps": ["x"], "question": 3}, TextError),
        ({"steps": ["x"], "answer": " "}, TextError),
        ({"steps": ["x"], "sources": "x"}, SourceError),
        (["x"] * (MOST_STEPS + 1), InputError),
        (b"x", InputError),
        (3, InputError),
    ],
)
def test_traces_of_another_shape_are_named_errors(trace: object, error: type) -> None:
    with pytest.raises(error) as raised:
        parse_trace(trace)
    assert raised.value.hint


def test_ids_that_come_twice_are_named_a_few_of_them() -> None:
    steps = parse_trace(["x"] * 20).steps
    with pytest.raises(SourceError, match=r"'step1', 'step10', .* and 15 more"):
        refuse_duplicates(steps, [step.id for step in steps])


def test_no_text_is_in_a_repr() -> None:
    private = "The patient sleeps badly."
    context = (Source("log", private),)
    trace = StepTrace((Step("a", private, context=context),), private, private, context)
    assert private not in repr(trace)
