"""Table of claim statuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import pytest

from veridical.core import status_table
from veridical.core.certainty import VerdictKind
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.status_table import STATUS_TABLE, GapType, Note, Status, StatusRow, StepLabel
from veridical.core.types import Claim, Exclusion, Span
from veridical.core.verdicts import Budget, Verdict, row_of

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
CLAIM = Claim(id="c1", text="It rains.", span=Span(0, 9), sentence=0)
MISSING = Unmeasured(UnmeasuredReason.DISABLED)


def verdict(status: Status, *notes: Note) -> Verdict:
    return Verdict(CLAIM, status, "rule", (), MISSING, MISSING, Budget(0.95), None, notes)


def every_row() -> list[StatusRow]:
    return [row_of(verdict(status, *notes)) for status in Status for notes in [(), *zip(Note)]]


def test_every_status_has_a_row_and_one_without_stops_the_import() -> None:
    assert set(STATUS_TABLE) == set(Status)
    with pytest.raises(AssertionError, match="forgotten"):
        status_table._row(cast("Status", "forgotten"))


def lists(node: object) -> Iterator[list[object]]:
    """Yield every list of words in a JSON document."""
    if isinstance(node, list) and all(isinstance(each, str) for each in node):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from lists(each)


@pytest.mark.parametrize("name", ["report-1", "audit-1"])
def test_the_schemas_list_every_status(name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    found = [words for words in lists(schema) if Status.PARTIALLY_SUPPORTED in words]
    assert found
    assert all(sorted(words) == sorted(Status) for words in found)


@pytest.mark.parametrize("column", ["label", "mark", "ascii_mark", "meaning", "style", "urgency"])
def test_no_two_statuses_share_a(column: str) -> None:
    assert len({getattr(row, column) for row in STATUS_TABLE.values()}) == len(Status)


@pytest.mark.parametrize("shade", ["light", "light_tint", "dark", "dark_tint"])
def test_no_two_statuses_have_the_same_colour(shade: str) -> None:
    found = {getattr(row.colours, shade) for row in STATUS_TABLE.values()}
    assert len(found) == len(Status)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in found)


def test_the_worst_status_comes_first() -> None:
    assert [*STATUS_TABLE] == sorted(Status, key=lambda status: STATUS_TABLE[status].urgency)
    assert next(iter(STATUS_TABLE)) is Status.CONTRADICTED


def test_only_what_evidence_or_a_citation_decides_is_right_or_wrong() -> None:
    for status, row in STATUS_TABLE.items():
        decided = row.by_probability or status is Status.PHANTOM_CITATION
        assert (row.kind is not None) is decided


def test_every_fault_has_a_level_and_an_action() -> None:
    for row in STATUS_TABLE.values():
        passes = row.kind is VerdictKind.SUPPORTED
        assert (row.level is None) is (row.suggested_action is None) is passes


@pytest.mark.spec("SPEC-16.01")
def test_the_gap_types_are_the_six_of_the_specification() -> None:
    assert set(get_args(GapType)) == {
        "unsupported",
        "partial_support",
        "phantom_citation",
        "contradicted",
        "over_extrapolation",
        "evidence_independent",
    }


@pytest.mark.spec("SPEC-16.01")
def test_every_gap_type_is_that_of_some_verdict_and_no_other_is() -> None:
    assert {entry.gap_type for entry in every_row()} - {None} == {*get_args(GapType)}


@pytest.mark.spec("SPEC-08.24")
def test_every_step_label_is_that_of_some_verdict_and_no_other_is() -> None:
    assert {entry.step_label for entry in every_row()} - {None} == {*get_args(StepLabel)}


def test_only_what_could_not_be_measured_has_no_step_label() -> None:
    unlabelled = {status for status in Status if row_of(verdict(status)).step_label is None}
    assert unlabelled == {Status.UNDETERMINED}


def test_everything_but_plain_support_says_what_to_do() -> None:
    assert {status for status in Status if row_of(verdict(status)).suggested_action is None} == {
        Status.SUPPORTED
    }


def test_every_flagged_status_but_the_unverifiable_has_a_gap_type() -> None:
    for status in Status:
        made = verdict(status)
        expected = made.flagged and status is not Status.UNVERIFIABLE
        assert (row_of(made).gap_type is not None) is expected


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
    assert row_of(verdict(status, Note.PARTLY_SCORED, note)).gap_type == gap_type


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.PHANTOM_CITATION])
def test_what_asserts_nothing_has_neither_gap_nor_label_nor_action(status: Status) -> None:
    silent = replace(verdict(status), claim=replace(CLAIM, excluded=Exclusion.QUESTION))
    row = row_of(silent)
    assert (row.gap_type, row.step_label, row.suggested_action) == (None, None, None)
