"""Output of a notebook's cell: what it shows, and that no text in it acts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

import veridical
from veridical.pipeline.reports import Report
from veridical.pipeline.reports.escaping import visible
from veridical.testing import FakeBackend, fake_estimate

ELEMENTS = {"div", "p", "strong", "br", "span", "table", "tbody", "tr", "td", "q", "u"}
ATTRIBUTES = {"style", "dir"}


def fragment(report: Report) -> LexborHTMLParser:
    return LexborHTMLParser(report._repr_html_())


def ensure_harmless(page: LexborHTMLParser) -> None:
    assert page.body is not None
    for node in page.body.css("*"):
        assert node.tag in ELEMENTS | {"body"}
        assert set(node.attributes) <= ATTRIBUTES


def test_a_notebook_shows_the_headline_and_the_claims_to_look_at(report: Report) -> None:
    page = fragment(report)
    ensure_harmless(page)
    assert page.css_first("strong").text() == report.render("text").splitlines()[0]
    listed = [row.css_first("td").text() for row in page.css("tr")]
    assert sorted(text.split()[1][: len("c10")] for text in listed)
    assert len(listed) == len(report.flagged) + sum(
        verdict.checked and verdict.status.value == "undetermined" for verdict in report.claims
    )


@pytest.mark.parametrize("which", ["grounded", "nothing"])
def test_nothing_to_look_at_is_no_table(which: str, request: pytest.FixtureRequest) -> None:
    page = fragment(request.getfixturevalue(which))
    assert page.css_first("table") is None
    ensure_harmless(page)


@given(st.text(st.sampled_from("<>&\"'/= \n\x1b{}%aש"), min_size=1))
def test_any_text_is_shown_and_none_acts(text: str) -> None:
    told = base()
    flagged = told.claims[0]
    hostile = replace(flagged, claim=replace(flagged.claim, text=f"x{text}x"))
    page = fragment(replace(told, claims=(hostile,)))
    ensure_harmless(page)
    shown = page.css("td")[1].css_first("span").text()
    assert shown == f"x{visible(text)}x"


def test_a_long_list_is_cut_and_says_so() -> None:
    told = base()
    page = fragment(replace(told, claims=told.claims * 60))
    assert len(page.css("tr")) == 50
    assert page.css("p")[-1].text() == "and 10 more claims"


def base() -> Report:
    """Return a report on one flagged claim."""
    backend = FakeBackend(lambda _query: fake_estimate(0.02, 0.95))
    return veridical.check("It is red [S1].", {"S1": "It is blue."}, backend=backend)
