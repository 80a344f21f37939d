"""Table of the names of a status in other schemas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core import status_table
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.status_table import View, view
from veridical.core.types import Claim, Exclusion, Span
from veridical.core.verdicts import Budget, Note, Status, Verdict

GAP_TYPES = {
    "unsupported",
    "partial_support",
    "phantom_citation",
    "contradicted",
    "over_extrapolation",
    "evidence_independent",
}
STEP_LABELS = {"ENTAILED", "CONTRADICTED", "NOT_IN_CONTEXT", "UNVERIFIABLE"}
CLAIM = Claim(id="c1", text="It rains.", span=Span(0, 9), sentence=0)
MISSING = Unmeasured(UnmeasuredReason.DISABLED)


def verdict(status: Status, *notes: Note) -> Verdict:
    return Verdict(CLAIM, status, "rule", (), MISSING, MISSING, Budget(0.95), None, notes)


def every_view() -> list[View]:
    return [view(verdict(status, *notes)) for status in Status for notes in [(), *zip(Note)]]


def test_every_status_has_an_entry() -> None:
    assert set(status_table.VIEWS) == set(Status)


@pytest.mark.spec("SPEC-16.01")
def test_every_gap_type_is_the_view_of_some_verdict_and_no_other_is() -> None:
    assert {entry.gap_type for entry in every_view()} - {None} == GAP_TYPES


@pytest.mark.spec("SPEC-08.24")
def test_every_step_label_is_the_view_of_some_verdict_and_no_other_is() -> None:
    assert {entry.step_label for entry in every_view()} - {None} == STEP_LABELS


def test_only_what_could_not_be_measured_has_no_step_label() -> None:
    unlabelled = {status for status in Status if view(verdict(status)).step_label is None}
    assert unlabelled == {Status.UNDETERMINED}


def test_everything_but_plain_support_says_what_to_do() -> None:
    assert {status for status in Status if view(verdict(status)).action is None} == {
        Status.SUPPORTED
    }


def test_every_flagged_status_but_the_unverifiable_has_a_gap_type() -> None:
    for status in Status:
        made = verdict(status)
        expected = made.flagged and status is not Status.UNVERIFIABLE
        assert (view(made).gap_type is not None) is expected


@pytest.mark.parametrize(
    ("status", "note", "gap_type"),
    [
        (Status.SUPPORTED, Note.EVIDENCE_INDEPENDENT, "evidence_independent"),
        (Status.PARTIALLY_SUPPORTED, Note.OVER_EXTRAPOLATION, "over_extrapolation"),
        (Status.CONTRADICTED, Note.EVIDENCE_INDEPENDENT, "contradicted"),
        (Status.UNSUPPORTED, Note.OVER_EXTRAPOLATION, "unsupported"),
    ],
)
def test_a_note_refines_only_the_status_it_belongs_to(
    status: Status, note: Note, gap_type: str
) -> None:
    assert view(verdict(status, Note.PARTLY_SCORED, note)).gap_type == gap_type


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.PHANTOM_CITATION])
def test_what_asserts_nothing_has_no_view(status: Status) -> None:
    silent = replace(verdict(status), claim=replace(CLAIM, excluded=Exclusion.QUESTION))
    assert view(silent) == View(None, None, None)
