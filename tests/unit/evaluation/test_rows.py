from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from veridical.core.types import Source
from veridical.evaluation.rows import Label3, Malformed, Row, SkippedRow, SkipReason, parse

Record = Callable[..., dict[str, Any]]
TWO = [{"id": "S1", "text": "One."}, {"id": "S2", "text": " "}]


def row(record: dict[str, Any]) -> Row:
    found = parse(json.dumps(record))
    assert isinstance(found, Row), found
    return found


@pytest.mark.parametrize(
    ("evidence", "sources"),
    [
        ("One.", [("1", "One.")]),
        (["One.", "", "Two."], [("1", "One."), ("3", "Two.")]),
        (TWO, [("S1", "One.")]),
        ([TWO[0], TWO[0]], [("S1", "One.")]),
    ],
)
def test_evidence_comes_in_three_shapes(
    record: Record, evidence: object, sources: list[tuple[str, str]]
) -> None:
    found = row(record(1, evidence=evidence))
    assert found.sources == tuple(Source(key, text) for key, text in sources)
    assert found.evidence == found.sources


@pytest.mark.parametrize("where", [{"cites": ["S1"]}, {"extra": {"cites": ["S1"]}}])
def test_only_cited_evidence_counts(record: Record, where: dict[str, Any]) -> None:
    evidence = [{"id": "S1", "text": "One."}, {"id": "S3", "text": "Three."}]
    found = row(record(1, evidence=evidence, **where))
    assert found.cites == ("S1",)
    assert [source.id for source in found.evidence] == ["S1"]


def test_a_citation_that_does_not_exist_is_kept(record: Record) -> None:
    assert row(record(1, evidence=TWO, cites=["S1", "S9"])).cites == ("S1", "S9")


def test_citing_empty_evidence_is_no_phantom_citation(record: Record) -> None:
    assert row(record(1, evidence=TWO, cites=["S1", "S2"])).cites == ("S1",)
    skipped = parse(json.dumps(record(1, evidence=TWO, cites=["S2"])))
    assert skipped == SkippedRow("r1", SkipReason.CITED_EVIDENCE_EMPTY)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"extra": {"ambiguous": True}}, SkipReason.AMBIGUOUS),
        ({"evidence": ""}, SkipReason.NO_EVIDENCE),
        ({"evidence": []}, SkipReason.NO_EVIDENCE),
        ({"evidence": [" ", "\n"]}, SkipReason.NO_EVIDENCE),
    ],
)
def test_a_row_that_cannot_be_judged_is_skipped_with_its_reason(
    record: Record, changes: dict[str, Any], reason: SkipReason
) -> None:
    assert parse(json.dumps(record(1, **changes))) == SkippedRow("r1", reason)


def test_the_labels_are_read(record: Record) -> None:
    assert row(record(1, label3=None)).label3 is None
    found = row(record(3, label3="not_in_context"))
    assert (found.supported, found.label3) == (False, Label3.NOT_IN_CONTEXT)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": 7}, "key 'id' must be text, not int"),
        ({"id": ""}, "key 'id' is empty"),
        ({"claim": None}, "key 'claim' must be text, not NoneType"),
        ({"claim": "SECRET \ud800"}, "key 'claim' holds a lone surrogate at offset 7"),
        ({"label": "yes"}, "key 'label' must be 'supported' or 'not_supported'"),
        ({"label": ["supported"]}, "key 'label' must be 'supported' or 'not_supported'"),
        ({"label3": "SECRET"}, "key 'label3' must be null or one of supported, contradicted"),
        ({"label3": "contradicted"}, "keys 'label' and 'label3' say different things"),
        ({"cites": "S1"}, "key 'cites' must be a list of evidence ids"),
        ({"cites": [1]}, "key 'cites' must be a list of evidence ids"),
        ({"extra": ["SECRET"]}, "key 'extra' must be an object, not a list"),
        ({"evidence": None}, "evidence 1 must be text or {'id', 'text'}"),
        ({"evidence": ["One.", 2]}, "evidence 2 must be text or {'id', 'text'}"),
        ({"evidence": [{"id": 1, "text": "SECRET"}]}, "evidence 1 must be text or"),
        ({"evidence": [{"id": "S1"}]}, "evidence 1 must be text or"),
        ({"evidence": ["SECRET \ud800"]}, "evidence 1 holds a lone surrogate"),
        (
            {"evidence": [TWO[0], {"id": "S1", "text": "SECRET"}]},
            "evidence 2 has the id of another",
        ),
    ],
)
def test_what_is_wrong_is_named_without_its_text(
    record: Record, changes: dict[str, Any], problem: str
) -> None:
    found = parse(json.dumps(record(1, **changes)))
    assert isinstance(found, Malformed)
    assert "SECRET" not in str(found)
    assert any(one.startswith(problem) for one in found.problems), found


def test_everything_that_is_wrong_with_a_row_is_named_at_once() -> None:
    found = parse("{}")
    assert isinstance(found, Malformed)
    assert len(found.problems) == 4


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{SECRET", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[1]", "must be an object, not a list"),
        ("null", "must be an object, not null"),
    ],
)
def test_a_line_that_is_no_row_is_named(line: str, problem: str) -> None:
    assert parse(line) == Malformed((problem,))
