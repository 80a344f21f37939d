"""Marks and the legend: nothing of the answer is lost, and Markdown still reads as it did."""

from __future__ import annotations

import re
from dataclasses import replace
from types import ModuleType

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import Report
from veridical.core.measurements import Query
from veridical.core.verdicts import Certainty
from veridical.orchestrator import annotate, annotation
from veridical.orchestrator.annotation import _after_markup, _insert, _signs, _whole_spans
from veridical.testing import fake_estimate

pytestmark = pytest.mark.spec("SPEC-16.23")

MARKDOWN = """# The bridge

The **bridge** never opened. It carries `nine()` vehicles. See it at https://example.org/b

- It never had six lanes [S1]
- A [link](https://example.org/c) is never there [S9].

| City | Lanes |
|------|-------|
| Rome | never six |
| Oslo | never \\| |

```python
lanes = 6  # never [S8]
```

> It never sank (twice).
"""


def against(bridge: ModuleType, answer: str, sources: dict[str, str] | None = None) -> Report:
    """Check an answer with a backend that is against everything."""

    def never(_: Query) -> object:
        return fake_estimate(0.01, 0.98)

    async def run() -> Report:
        found: Report = await bridge.verifier(never).check(answer, sources or bridge.SOURCES)
        return found

    return anyio.run(run)


def body(annotated: str) -> str:
    return annotated.rpartition("\n\n---\n\n")[0]


def without(text: str, answer: str) -> str:
    """Return a marked text without the marks that `annotate` gives to `answer`."""
    return re.sub(marks_of(answer), "", text)


def marks_of(answer: str) -> str:
    return rf"\[(?:{'|'.join(map(re.escape, _signs(answer)))})(\d+)\]"


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


def test_an_answer_without_flags_is_returned_as_it_is(bridge: ModuleType) -> None:
    report = anyio.run(bridge.verifier().check, bridge.GOOD, bridge.SOURCES)
    assert annotate(report) == bridge.GOOD


def test_markdown_keeps_its_structure(bridge: ModuleType) -> None:
    marked = body(annotate(against(bridge, MARKDOWN)))
    assert without(marked, MARKDOWN).replace(" ", "") == MARKDOWN.replace(" ", "")
    lines = marked.splitlines()
    assert "|------|-------|" in lines
    assert "lanes = 6  # never [S8]" in lines
    assert any(re.fullmatch(r"\| Rome \| never six \[!\d+\] \|", line) for line in lines)
    assert any(re.match(r"- It never had six lanes \[S1\]\[!\d+\]$", line) for line in lines)


def test_a_mark_stands_behind_what_it_would_break(bridge: ModuleType) -> None:
    for text in (
        "The **bridge never opened.** So.",
        "It is `never.` So.",
        "It is <b>never.</b> So.",
    ):
        marked = body(annotate(against(bridge, text)))
        assert without(marked, text) == text
        assert not re.search(r"\[!\d+\](\*|`|</b>)", marked), marked


def test_code_is_left_alone_and_named_in_the_legend(bridge: ModuleType) -> None:
    text = "The bridge never opened.\n\n```\nopen(bridge) # [S9]\n```"
    annotated = annotate(against(bridge, text))
    assert "```\nopen(bridge) # [S9]\n```" in annotated
    if "phantom" in annotated:
        assert "(“open(bridge)" in annotated


def test_a_mark_that_the_answer_has_already_gets_another_form(bridge: ModuleType) -> None:
    annotated = annotate(against(bridge, "The bridge [?1] never opened."))
    assert "[!!1]" in annotated


def test_a_mark_and_its_legend_say_what_is_unsure(bridge: ModuleType) -> None:
    report = against(bridge, "The bridge never opened. The ferry never sank.")
    first, second = report.flagged
    unsure = replace(second, certainty=Certainty.UNSURE)
    annotated = annotate(replace(report, claims=(first, unsure)))
    assert "never opened.[!1] The ferry never sank.[?2]\n" in annotated
    assert "- [!1] contradicted; S1 says" in annotated
    assert "- [?2] contradicted, unsure: please look; S" in annotated


def test_a_mark_never_becomes_a_link(bridge: ModuleType) -> None:
    report = against(bridge, "The bridge never opened.")
    (verdict,) = report.flagged
    text = "The bridge never opened.(See below.)"
    claim = replace(verdict.claim, span=replace(verdict.claim.span, end=24))
    moved = replace(report, answer=text, claims=(replace(verdict, claim=claim),))
    assert "[!1](" not in annotate(moved)


def test_several_claims_of_one_sentence_have_their_marks_in_order(bridge: ModuleType) -> None:
    text = "The bridge never opened in 1998 and the ferry never sank in 2003."
    annotated = annotate(against(bridge, text))
    numbers = re.findall(r"\[!(\d+)\]", body(annotated))
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]


def test_evidence_in_the_legend_can_be_no_link_and_no_tag(bridge: ModuleType) -> None:
    evil = {"S1": "The bridge ![x](https://evil.example/p.png) <img src=x> `never` opened."}
    legend = annotate(against(bridge, "The bridge never opened.", evil)).rpartition("---")[2]
    assert not re.search(r"(?<!\\)\[x\]|(?<!\\)<img|(?<!\\)`", legend)


def test_a_legend_does_not_make_a_heading_of_the_last_line(bridge: ModuleType) -> None:
    assert "[!1]\n\n---\n\nThis claim" in annotate(against(bridge, "The bridge never opened."))


def test_an_annotated_answer_that_is_checked_again_has_no_phantoms(bridge: ModuleType) -> None:
    annotated = annotate(against(bridge, "The bridge never opened in 1998 [S1]."))
    again = against(bridge, annotated)
    assert not [cite for verdict in again.claims for cite in verdict.citations if not cite.resolved]


texts = st.text(
    st.sampled_from("ab .|`*_[]()<>#?!\n\\/:é😀1") | st.characters(exclude_categories=["Cs"]),
    max_size=60,
)


@given(texts, st.data())
def test_marks_change_no_code_point(text: str, data: st.DataObject) -> None:
    place = st.none() | st.integers(0, len(text))
    places = data.draw(st.lists(place, max_size=6))
    signs = _signs(text)
    marks = [f"[{signs[n % 2]}{n}]" for n in range(1, len(places) + 1)]
    marked = _insert(text, places, marks)
    assert is_subsequence(text, marked)
    bare = without(marked, text)
    assert bare.replace(" ", "") == text.replace(" ", "")
    found = re.findall(marks_of(text), marked)
    assert sorted(map(int, found)) == [n for n, at in enumerate(places, 1) if at is not None]


def after_markup_of_the_line(text: str, place: int) -> int:
    """Return the place of a mark by looking at all markup of its line."""
    closing = annotation._CLOSING.match(text, place)
    place = closing.end() if closing else place
    line = text.rfind("\n", 0, place) + 1
    for whole in annotation._WHOLE.finditer(text, line):
        if whole.start() >= place:
            break
        place = max(place, whole.end())
    return place


pieces = st.sampled_from(
    [
        "`a`",
        "``b`",
        "[a](b)",
        "![a]",
        "(c)",
        "<b>",
        "https://a.b/c",
        "`",
        "[",
        "<",
        "\n",
        "``",
        " x",
    ]
)


@given(st.lists(pieces | texts, max_size=12).map("".join), st.data())
def test_a_mark_stands_where_the_markup_of_its_line_has_it(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    assert _after_markup(text, place, _whole_spans(text)) == after_markup_of_the_line(text, place)


def test_markup_is_looked_for_once_however_many_claims_are_flagged(
    bridge: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def counted(text: str) -> list[tuple[int, int]]:
        searched.append(text)
        return _whole_spans(text)

    monkeypatch.setattr(annotation, "_whole_spans", counted)
    report = against(bridge, "It never opened in `1998`. It never sank. It never had lanes.")
    assert len(report.to_mark) == 3
    annotate(report)
    assert searched == [report.answer]


@given(st.lists(st.sampled_from(MARKDOWN.split("\n")) | texts, min_size=1, max_size=8))
def test_annotation_keeps_every_code_point_of_an_answer(
    bridge: ModuleType, lines: list[str]
) -> None:
    answer = "\n".join(lines)
    if not answer.strip():
        return
    report = against(bridge, answer, {"S1": "The bridge opened."})
    annotated = annotate(report)
    if not report.flagged:
        assert annotated == answer
        return
    bare = without(body(annotated), answer)
    assert bare.replace(" ", "") == answer.replace(" ", "")
    assert is_subsequence(answer, annotated)


def test_a_legend_line_names_the_phantom(bridge: ModuleType) -> None:
    annotated = annotate(against(bridge, "The bridge opened in 1998 [S77]."))
    assert "- [!1] phantom citation; no source S77" in annotated
