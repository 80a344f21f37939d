from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from veridical.core.assessment import CascadeUsage
from veridical.core.types import Exclusion, Source, SourceSpan, Span
from veridical.core.verdicts import EvidenceSpan, Role, Status
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.escaping import visible
from veridical.pipeline.reports.excerpts import WHOLE
from veridical.pipeline.reports.templates import page_style, resource

if TYPE_CHECKING:
    from veridical.pipeline.reports.report import Report

HOSTILE_ALPHABET = st.sampled_from("<>&\"'/=- \n\r\t\x00\x1b\u202e\ufffe{}%#ab🌉שé`")
TEXT = st.text(st.one_of(HOSTILE_ALPHABET, st.characters(exclude_categories=())), min_size=1)


def parsed(report: Report) -> LexborHTMLParser:
    return LexborHTMLParser(report.to_html())


def text_of(page: LexborHTMLParser, selector: str) -> str:
    return "".join(node.text() for node in page.css(selector))


def shown(text: str) -> str:
    return visible(text).replace("\r", "")


def classes(page: LexborHTMLParser, selector: str) -> list[str]:
    return [node.attributes.get("class") or "" for node in page.css(selector)]


def test_answer_pane_holds_the_answer_and_nothing_else(report: Report) -> None:
    assert text_of(parsed(report), "#answer-text") == shown(report.answer)


def test_source_panes_hold_the_sources_and_nothing_else(report: Report) -> None:
    page = parsed(report)
    for number, source in enumerate(report.sources.values(), start=1):
        assert text_of(page, f"#source-{number} .text") == shown(source.text)


@settings(max_examples=60)
@given(answer=TEXT, source=TEXT, cuts=st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_any_text_comes_back_from_the_page(
    report: Report, answer: str, source: str, cuts: list[int]
) -> None:
    first, second = Span(*sorted(cuts[:2])), Span(*sorted(cuts[2:]))
    verdict, other = report.claims[3], report.claims[5]
    evidence = tuple(
        EvidenceSpan("S1", span, span.of(source), Role.SUPPORTS) for span in (first, second)
    )
    claims = (
        replace(verdict, claim=replace(verdict.claim, text=answer, span=first), evidence=evidence),
        replace(other, claim=replace(other.claim, span=second), evidence=evidence[:1]),
    )
    sources = {"S1": Source.__new__(Source)}
    for name, value in (("id", "S1"), ("text", source), ("path", source)):
        object.__setattr__(sources["S1"], name, value)  # past the checks: any text at all
    page = parsed(replace(report, answer=answer, sources=sources, claims=claims, question=answer))
    assert text_of(page, "#answer-text") == shown(answer)
    assert text_of(page, "#source-1 .text") == shown(source)
    assert text_of(page, ".question") == shown(answer)
    assert len(page.css("script")) == 1
    assert not page.css("img, iframe, object, embed, form, base")


def test_page_needs_nothing_from_elsewhere(report: Report) -> None:
    page = parsed(report)
    links = [node.attributes.get("href") or "" for node in page.css("[href]")]
    assert all(link.startswith("#") for link in links if link != "data:,")
    assert not page.css("[src], [style], [onclick]")
    css = page.css_first("style").text()
    assert "url(" not in css
    assert "@import" not in css


def test_policy_allows_exactly_the_pages_own_style_and_script(report: Report) -> None:
    page = parsed(report)
    policy = page.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        digest = b64encode(sha256(page.css_first(tag).text().encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_every_link_inside_the_page_has_its_target(report: Report) -> None:
    page = parsed(report)
    ids = [node.attributes["id"] for node in page.css("[id]")]
    targets = {(node.attributes["href"] or "")[1:] for node in page.css("a[href^='#']")}
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)


def test_each_checked_claim_has_one_labelled_badge(report: Report) -> None:
    labels = [node.attributes["aria-label"] for node in parsed(report).css("#answer-text .badge")]
    assert labels[3] == "Claim c4: contradicted"
    assert len(labels) == 10


def test_a_skipped_sentence_is_marked_and_a_heading_is_not(report: Report) -> None:
    marked = "#answer-text .badge.t-excluded"
    first, *others = report.claims
    heading = replace(first, claim=replace(first.claim, excluded=Exclusion.HEADING))
    assert len(parsed(report).css(marked)) == 2
    assert len(parsed(replace(report, claims=(heading, *others))).css(marked)) == 1


def test_the_sentence_that_decides_stands_beside_the_claim(report: Report) -> None:
    contradicted = next(v for v in report.claims if v.status is Status.CONTRADICTED)
    decides = contradicted.evidence[0]
    nearest = replace(decides, role=Role.NEAREST, text="It opened.")
    changed = replace(contradicted, evidence=(nearest, decides))
    page = parsed(replace(report, claims=(changed,)))
    assert decides.text in text_of(page, ".card .compare q")
    assert "It opened." in text_of(page, ".card .figures .evidence q")


def test_every_size_of_type_is_one_of_the_scale() -> None:
    styles = [page_style(), resource("veridical.audit", "audit.css")]
    for style in styles:
        assert re.findall(r"font(?:-size)?:[^;}]*\d(?:rem|em|px)[^;}]*", style) in (
            [],
            ["font: 16px/1.55 var(--sans)"],
        )
    assert len(re.findall(r"--size-\d:", styles[0])) <= 6


def test_a_sure_and_an_unsure_claim_look_different(report: Report) -> None:
    page = parsed(report)
    badges = classes(page, "#answer-text .badge")
    assert badges[1:5] == [
        "badge t-supported",
        "badge t-supported_unsure",
        "badge t-contradicted",
        "badge t-partially_supported_unsure",
    ]
    cards = {card.attributes["id"]: card.text() for card in page.css(".card")}
    assert [name for name, text in cards.items() if "please look" in text] == ["c3", "c5", "c10"]
    assert "unsure, right with a probability of 0.83" in cards["c3"]
    assert (
        "probability that every checked claim is supported: 0.01"
        in page.css_first(".made-by").text()
    )


def test_every_tone_has_a_style_of_its_own() -> None:
    style = page_style()
    for tone in phrases.LOOKS:
        assert re.search(rf"\.t-{tone}\b[^{{}}]*\{{ --tone:", style), tone
    assert ".top.unsure" in style


def test_excluded_spans_are_dimmed(report: Report) -> None:
    assert classes(parsed(report), "#answer-text .mark")[0] == "mark t-excluded"


def test_overlapping_evidence_carries_every_claim(report: Report) -> None:
    page = parsed(report)
    owners = {node.text(): node.attributes["data-claims"] for node in page.css("#source-2 a.mark")}
    assert owners["Many tourists visit the bridge; "] == "4"
    assert owners["the toll is 9 dollars"] == "5 4"


def test_claims_that_share_a_stretch_share_its_mark(report: Report) -> None:
    whole, inner = report.claims[3], report.claims[5]
    nested = replace(inner, claim=replace(inner.claim, span=Span(76, 79)))
    marks = parsed(replace(report, claims=(whole, nested))).css("#answer-text .mark")
    assert [mark.attributes["data-claims"] for mark in marks] == ["0", "0 1", "0"]


def test_details_list_status_rule_action_and_evidence(report: Report) -> None:
    card = re.sub(r"\s+", " ", parsed(report).css_first("#c4").text())
    for part in (
        "Contradicted",
        "The evidence opposes the claim.",
        "contradiction threshold reached",
        "Correct the claim to what the evidence says.",
        "S2, line 1",
        "+1.63",
        "The evidence does not pay for the confidence of the claim.",
        "2 of 5 windows",
    ):
        assert part in card


@pytest.mark.parametrize(
    ("windows", "sentences", "said"),
    [
        (1, 0, "1 of 5 windows: S1 0–9"),
        (1, 2, "1 of 5 windows: S1 0–9; and 2 sentences joined into passages"),
        (0, 1, "1 sentence joined into passages, out of 5 windows"),
        (0, 0, "0 of 5 windows: none"),
    ],
)
def test_it_is_said_how_much_of_the_evidence_was_scored(
    report: Report, windows: int, sentences: int, said: str
) -> None:
    pieces = [SourceSpan("S1", Span(start, start + 9)) for start in range(2)]
    verdict = replace(
        report.claims[3],
        windows_scored=tuple(pieces[:windows]),
        stitched_scored=tuple(pieces[:sentences]),
    )
    assert phrases.windows(verdict) == said


def test_what_a_cascade_saved_is_said(report: Report) -> None:
    saving = CascadeUsage(asked_first=24, asked_second=4)
    page = parsed(replace(report, summary=replace(report.summary, cascade=saving)))
    said = "the second backend was spared 83% (asked 4 of 24 times)"
    assert said in text_of(page, ".made-by")
    assert "second backend" not in text_of(parsed(report), ".made-by")


def test_phantom_citation_is_named(report: Report) -> None:
    assert "S9 (no such source)" in parsed(report).css_first("#c6").text()


@pytest.mark.parametrize("which", ["grounded", "nothing", "lost"])
def test_every_outcome_has_its_page(which: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(which)
    header = parsed(report).css_first("header").attributes["class"]
    assert header == f"top o-{report.summary.outcome.value}"


def test_long_source_is_excerpted_and_says_what_it_leaves_out(report: Report) -> None:
    quote = "the needle of evidence"
    text = "hay " * WHOLE + quote + " hay" * WHOLE
    start = text.index(quote)
    evidence = EvidenceSpan("S1", Span(start, start + len(quote)), quote, Role.SUPPORTS)
    claim = replace(report.claims[1], evidence=(evidence,))
    html = replace(report, sources={"S1": Source("S1", text)}, claims=(claim,)).to_html()
    page = LexborHTMLParser(html)
    left_out = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) characters not shown", html)]
    excerpt = text_of(page, "#source-1 .text")
    assert quote in excerpt
    assert len(left_out) == 2
    assert sum(left_out) + len(excerpt) == len(text)
    assert len(html) < 100_000


def test_long_source_without_evidence_shows_its_head(report: Report) -> None:
    text = "hay " * WHOLE
    sources = {"S1": Source("S1", text)}
    page = parsed(replace(report, sources=sources, claims=report.claims[:1]))
    assert text_of(page, "#source-1 .text") == text[:2_000]
    assert "798,000 characters not shown" in page.html


def test_many_sources_that_are_long_together_are_excerpted(report: Report) -> None:
    sources = {f"D{n}": Source(f"D{n}", "hay " * 25_000) for n in range(21)}
    page = parsed(replace(report, sources=sources, claims=report.claims[:1]))
    assert len(page.css(".gap")) == 21


def test_page_is_the_same_each_time(report: Report) -> None:
    assert report.to_html() == report.to_html()


def test_quantities_that_differ_are_both_shown(differing: Report) -> None:
    assert "The claim says “2,737 m” where the evidence says “2,373 m”." in differing.to_html()
