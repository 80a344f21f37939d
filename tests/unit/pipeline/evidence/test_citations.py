from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.sources import as_sources
from veridical.core.types import CitationRef, Span
from veridical.pipeline.evidence import resolve_citations
from veridical.pipeline.reports.positions import Lines

SOURCES = as_sources({"S1": "One.", "S12": "Twelve.", "a.py": "x = 1\ny = 2\nz = 3\n", "doc": "D."})


def resolved(cited: str) -> str | None:
    (citation,) = resolve_citations([CitationRef(cited, Span(0, 1))], SOURCES)
    return citation.source


@pytest.mark.parametrize("cited", ["S1", "S12", "a.py", "doc"])
def test_an_exact_id_resolves_to_itself(cited: str) -> None:
    assert resolved(cited) == cited


@pytest.mark.parametrize("cited", ["s1", "S", "S123", "do", "doc.md", "e", "py", "", "S1 "])
def test_part_of_an_id_or_another_spelling_is_a_phantom(cited: str) -> None:
    assert resolved(cited) is None


@pytest.mark.parametrize(("cited", "source"), [("1", "S1"), ("01", "S1"), ("12", "S12")])
def test_a_bare_number_means_the_one_id_with_that_number(cited: str, source: str) -> None:
    assert resolved(cited) == source


def test_a_bare_number_is_no_position_in_the_list() -> None:
    assert resolved("2") is None


def test_a_bare_number_that_two_ids_carry_is_a_phantom() -> None:
    sources = as_sources({"S1": "a", "D1": "b"})
    (citation,) = resolve_citations([CitationRef("1", Span(0, 1))], sources)
    assert not citation.resolved


def test_an_id_that_is_a_number_wins_over_one_that_carries_it() -> None:
    sources = as_sources({"S1": "a", "1": "b"})
    (citation,) = resolve_citations([CitationRef("1", Span(0, 1))], sources)
    assert citation.source == "1"


@pytest.mark.parametrize(
    ("cited", "region"),
    [("a.py:2", "y = 2\n"), ("a.py:1-2", "x = 1\ny = 2\n"), ("a.py:3", "z = 3\n")],
)
def test_a_line_citation_covers_just_those_lines(cited: str, region: str) -> None:
    (citation,) = resolve_citations([CitationRef(cited, Span(0, 1))], SOURCES)
    assert citation.region is not None
    assert citation.region.of(SOURCES["a.py"].text) == region


def test_lines_are_those_that_the_reports_count() -> None:
    text = "one\x0cpage\u2028still one\r\ntwo\n"
    (citation,) = resolve_citations([CitationRef("a.py:2", Span(0, 1))], as_sources({"a.py": text}))
    assert citation.region is not None
    assert citation.region.of(text) == "two\n"
    assert Lines(text).at(citation.region.start).line == 2


@pytest.mark.parametrize("cited", ["a.py:0", "a.py:4", "a.py:3-2", "a.py:999999999", "b.py:1"])
def test_lines_that_do_not_exist_are_a_phantom(cited: str) -> None:
    assert resolved(cited) is None


@given(st.text())
def test_whatever_is_cited_resolves_to_a_source_that_exists_or_to_none(cited: str) -> None:
    assert resolved(cited) in {None, *SOURCES}
