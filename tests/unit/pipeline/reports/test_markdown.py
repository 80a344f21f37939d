"""Reports as Markdown, read back by a parser of Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from veridical.pipeline.reports import Report
from veridical.pipeline.reports.escaping import one_line
from veridical.pipeline.reports.markdown import escaped

OBEYED = st.sampled_from("\\`*_{}[]()<>#+-.!|~$&;\"'=:/ \n\t\x00a1")
TEXTS = st.one_of(
    st.text(OBEYED, min_size=1),
    st.text(min_size=1),
    st.sampled_from(["<img src=x onerror=y>", "[a](b)", "![a](b)", "&amp;", "# a", "|a|b|", "- a"]),
)


def tokens(text: str) -> list[tuple[str, str]]:
    """Return the kinds of inline tokens of a Markdown text, each with its text."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    inner = (token.children for token in reader.parse(text) if token.type == "inline")
    return [(token.type, token.content) for children in inner for token in children or ()]


@given(TEXTS)
def test_a_text_is_nothing_but_text_in_a_line_and_in_a_cell(text: str) -> None:
    shown = one_line(text)
    for page in (f"- Claim: {escaped(text)}.", f"| a |\n|---|\n| x{escaped(text)}x |"):
        read = tokens(page)
        assert {kind for kind, _ in read} == {"text"}
        assert shown in "".join(content for _, content in read)


def test_all_checked_claims_have_a_row_and_the_flagged_ones_their_evidence(report: Report) -> None:
    lines = report.to_markdown().splitlines()
    checked = [verdict for verdict in report.claims if verdict.checked]
    rows = [line for line in lines if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) == len(checked)
    heads = [line for line in lines if line.startswith("### ")]
    for verdict in report.flagged:
        assert sum(verdict.claim.id in head.split() for head in heads) == 1
    assert sum(line.startswith("- Contradicts, ") for line in lines) == 1
    assert lines[0].startswith("## Flagged: ")


def test_hostile_texts_of_a_report_open_no_element(report: Report) -> None:
    reader = MarkdownIt("commonmark").enable("table")
    kinds = {token.type for token in reader.parse(report.to_markdown())}
    assert not kinds & {"html_block", "fence", "code_block", "blockquote_open", "hr"}
    inline = {kind for kind, _ in tokens(report.to_markdown())}
    assert inline <= {"text"}


@pytest.mark.parametrize("which", ["grounded", "nothing", "lost"])
def test_every_outcome_has_its_headline(which: str, request: pytest.FixtureRequest) -> None:
    found: Report = request.getfixturevalue(which)
    head = found.to_markdown().splitlines()[0].replace("\\", "")
    assert head == f"## {found.render('text').splitlines()[0]}"


def test_a_claim_with_lines_stays_in_its_row(report: Report) -> None:
    first = report.flagged[0]
    told = replace(first, claim=replace(first.claim, text="a\n\n| b |\n# c"))
    page = replace(report, claims=(told,)).to_markdown()
    assert "\n# c" not in page
    assert "a \\| b \\| \\# c" in page
