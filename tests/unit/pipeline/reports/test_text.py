from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from veridical.core.assessment import CascadeUsage
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.verdicts import Certainty
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.text import render, to_plain

if TYPE_CHECKING:
    from veridical.pipeline.reports.report import Report

pytestmark = pytest.mark.spec("SPEC-16.34")


def printed(report: Report, **options: object) -> str:
    console = Console(file=StringIO(), **options)  # type: ignore[arg-type]
    render(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_headline_has_its_denominator(report: Report) -> None:
    first = to_plain(report).splitlines()[0]
    assert first == "Flagged: 5 of 8 checked claims, 3 of them unsure; 1 could not be decided"


def test_headline_says_that_no_error_is_sure(report: Report) -> None:
    unsure = tuple(replace(verdict, certainty=Certainty.UNSURE) for verdict in report.claims)
    first = to_plain(replace(report, claims=unsure)).splitlines()[0]
    assert first == "No sure errors: 5 of 8 checked claims need a look; 1 could not be decided"


def test_headline_of_a_grounded_answer_counts_what_is_unsure(grounded: Report) -> None:
    first = to_plain(grounded).splitlines()[0]
    assert first == "Grounded: 2 checked claims, none flagged; 1 unsure"


def test_unsure_claims_have_a_section_of_their_own(report: Report) -> None:
    sure, unsure = to_plain(report, verbose=True).split("\nFlagged, unsure: please look\n")
    for title in ("✗ c4 contradicted\n", "† c6 phantom citation\n"):
        assert title in sure.split("\nFlagged\n")[1]
    for title in ("?◐ c5 partially supported, unsure\n", "?○ c10 unsupported, unsure\n"):
        assert title in unsure
    assert "unsure, right with a probability of 0.61" in unsure


def test_sure_and_unsure_claims_are_tallied_apart(report: Report) -> None:
    tally = to_plain(report).split("\nSummary\n")[1]
    assert "✓ 1 supported   ?✓ 1 supported, unsure" in tally
    assert "probability that every checked claim is supported: 0.01" in tally


def test_no_two_tones_look_alike() -> None:
    looks = phrases.LOOKS.values()
    for shown in ({look.mark for look in looks}, {look.label for look in looks}):
        assert len(shown) == len(phrases.LOOKS)
    assert sorted(phrases.URGENCY) == sorted(phrases.LOOKS)
    assert len({look.style for look in looks}) == len(phrases.LOOKS)


def test_every_checked_claim_is_marked_in_the_answer(report: Report) -> None:
    text = to_plain(report)
    for mark in (" ✓c2", "?✓c3", " ✗c4", "?◐c5", " †c6", "?c7", " ≈c8", "?○c10"):
        assert mark in text
    assert "c1 " not in text.split("Flagged\n")[0]


def test_details_say_why_and_what_to_do(report: Report) -> None:
    text = to_plain(report, verbose=True)
    assert "The evidence opposes the claim. (rule: contradiction threshold reached)" in text
    assert "gap +1.63" in text
    assert "Correct the claim to what the evidence says" in text


def test_the_short_report_has_the_deciding_evidence_and_no_figures(report: Report) -> None:
    text = to_plain(report)
    assert "The evidence opposes the claim.\n" in text
    assert "Correct the claim to what the evidence says" in text
    assert "S2, line 1: “The colour is International Orange.”" in text
    for left_out in ("rule:", "gap", "  p1 ", "characters", "right with a probability"):
        assert left_out not in text


def test_evidence_is_quoted_with_its_place(report: Report) -> None:
    text = to_plain(report, verbose=True)
    assert "S2, line 1, characters 0-35: “The colour is International Orange.”" in text
    assert "S2, line 2, characters 92-125: “The colour is orange, not blue. 🌉”" in text


def test_phantom_citation_is_named(report: Report) -> None:
    assert "Cites S9, which is not a source of this answer." in to_plain(report)


def test_undetermined_claims_have_a_section_of_their_own(report: Report) -> None:
    text = to_plain(report)
    assert "the backend took too long (timeout)" in text.split("\nUndetermined\n")[1]


def test_totals_say_what_was_skipped_and_why(report: Report) -> None:
    text = to_plain(report)
    assert "8 of 10 claims checked, from 9 sentences; skipped: 1 greeting, 1 question" in text


def test_skipped_nouns_are_in_the_right_number(report: Report) -> None:
    skipped = {"greeting": 1, "heading": 2, "code": 3, "not_sampled": 4}
    text = to_plain(replace(report, summary=replace(report.summary, skipped=skipped)))
    assert "skipped: 1 greeting, 2 headings, 3 code, 4 not sampled" in text


def test_what_a_cascade_saved_is_said(report: Report) -> None:
    saving = CascadeUsage(asked_first=24, asked_second=4, stood_in=1)
    shown = to_plain(replace(report, summary=replace(report.summary, cascade=saving)))
    said = "the second backend was spared 83% (asked 4 of 24 times, the first stood in for 1)"
    assert said in " ".join(shown.split())
    assert "second backend" not in to_plain(report)


def test_answer_without_claims_is_no_success(nothing: Report) -> None:
    assert to_plain(nothing).startswith("Nothing to check")


def test_grounded_report_has_no_flagged_section(grounded: Report) -> None:
    assert "Flagged" not in to_plain(grounded)


def test_plain_text_obeys_nothing_of_what_it_prints(report: Report) -> None:
    text = to_plain(report)
    assert not set(text) & set("\x1b\x00\x07\r\u202e\u202c")
    assert "␛[31mred␛[0m [bold]loud[/bold] ␀␇ �evil�" in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_lines_fit_the_terminal(report: Report, width: int) -> None:
    lines = printed(report, width=width, color_system=None).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_colour_is_used_where_the_terminal_has_it(report: Report) -> None:
    coloured = printed(report, width=100, force_terminal=True, color_system="256", no_color=False)
    assert "\x1b[" in coloured
    assert "\x1b[31mred" not in coloured


def test_no_color_leaves_the_marks(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(report, width=100, force_terminal=True, color_system="256")
    assert "\x1b[38" not in text
    assert "✗" in text


def test_terminal_without_unicode_gets_ascii(report: Report) -> None:
    class Ascii(StringIO):
        encoding = "ascii"

    console = Console(file=Ascii(), width=100, color_system=None)
    render(report, console)
    assert isinstance(console.file, Ascii)
    text = console.file.getvalue()
    assert text.isascii()
    assert "xc4" in text


def test_long_quote_says_how_much_is_left_out(report: Report) -> None:
    evidence = replace(report.claims[3].evidence[0], text="x" * 500)
    verdict = replace(report.claims[3], evidence=(evidence,) * 5)
    text = " ".join(to_plain(replace(report, claims=(verdict,)), verbose=True).split())
    assert "(180 characters more)" in text
    assert "and 2 more pieces of evidence" in text


def test_rich_prints_a_report_directly(report: Report) -> None:
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(report)
    assert isinstance(console.file, StringIO)
    assert "Flagged: 5 of 8" in console.file.getvalue()


@given(st.text(min_size=1))
def test_no_text_can_steer_the_terminal(report: Report, text: str) -> None:
    verdict = report.claims[3]
    claim = replace(verdict.claim, text=text)
    evidence = tuple(replace(piece, text=text) for piece in verdict.evidence)
    hostile = replace(verdict, claim=claim, evidence=evidence)
    plain = to_plain(replace(report, answer=text, claims=(hostile,)))
    assert not set(plain) & set("\x1b\x9b\x07\x08\u202e\u2066\r")


def test_the_words_by_which_a_claim_differs_are_said(report: Report) -> None:
    contradicted = report.claims[3]
    text = "It was painted orange"
    place = replace(contradicted.evidence[0], text=text)
    shown = to_plain(replace(report, claims=(replace(contradicted, evidence=(place,)),)))
    assert "differs" in shown
    assert "“blue” in the claim, “orange” there" in shown


def test_quantities_that_differ_are_both_shown(differing: Report) -> None:
    why = "The claim says “2,737 m” where the evidence says “2,373 m”. (rule: quantity differs)"
    assert why in " ".join(to_plain(differing, verbose=True).split())


def test_a_derived_quantity_is_no_failure_of_the_backend(lost: Report) -> None:
    verdicts = tuple(replace(verdict, rule="derived_quantity") for verdict in lost.claims)
    text = " ".join(to_plain(replace(lost, claims=verdicts)).split())
    assert "A quantity of the claim follows from two of the evidence" in text


def test_the_evidence_may_be_what_is_in_another_language(lost: Report) -> None:
    foreign = Unmeasured(UnmeasuredReason.LANGUAGE_NOT_SUPPORTED)
    verdicts = tuple(replace(verdict, p1=foreign) for verdict in lost.claims)
    text = " ".join(to_plain(replace(lost, claims=verdicts)).split())
    assert "it or its evidence is in a language that the backend does not read" in text
    assert "do Look at it yourself, or check it again with another verifier" in text
