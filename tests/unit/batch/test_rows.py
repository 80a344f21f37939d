"""Rows of a batch: every value is a row or a named fault, and no fault quotes a text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.batch.rows import BatchRow, FaultName, FaultyRow, parse_row
from veridical.core.types import Source

ANSWER = {"id": "r1", "answer": "It is tall.", "sources": {"S1": "It is tall."}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["id", "answer", "sources", "claim", "evidence", "question", "meta", "x"])


def fault_of(**changed: object) -> FaultyRow:
    row = parse_row(ANSWER | changed)
    assert isinstance(row, FaultyRow)
    return row


def test_an_answer_and_a_claim_are_rows() -> None:
    row = parse_row(ANSWER | {"question": "How tall?", "meta": {"n": 1}})
    assert isinstance(row, BatchRow)
    assert (row.id, row.text, row.question) == ("r1", "It is tall.", "How tall?")
    assert (row.sources, row.meta, row.whole) == ((Source("S1", "It is tall."),), {"n": 1}, True)
    claim = parse_row({"id": 7, "claim": "It is tall.", "evidence": "It is tall."})
    assert isinstance(claim, BatchRow)
    assert (claim.id, claim.whole, claim.sources) == ("7", False, (Source("1", "It is tall."),))


@pytest.mark.parametrize(
    "sources",
    [
        "a text",
        ["a text"],
        {"1": "a text"},
        [{"id": "1", "text": "a text"}],
    ],
)
def test_sources_have_the_shapes_of_check(sources: object) -> None:
    row = parse_row(ANSWER | {"sources": sources})
    assert isinstance(row, BatchRow)
    assert row.sources == (Source("1", "a text"),)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"id": None}, FaultName.BAD_ID),
        ({"id": " "}, FaultName.BAD_ID),
        ({"id": True}, FaultName.BAD_ID),
        ({"id": "x" * 600}, FaultName.BAD_ID),
        ({"answer": None}, FaultName.NOT_A_ROW),
        ({"claim": "It is tall."}, FaultName.NOT_A_ROW),
        ({"answer": "  "}, FaultName.BAD_TEXT),
        ({"answer": 5}, FaultName.BAD_TEXT),
        ({"answer": "\ud800"}, FaultName.BAD_TEXT),
        ({"sources": None}, FaultName.BAD_SOURCES),
        ({"sources": []}, FaultName.BAD_SOURCES),
        ({"sources": 5}, FaultName.BAD_SOURCES),
        ({"sources": {"S1": " "}}, FaultName.BAD_SOURCES),
        ({"sources": [{"id": "a", "text": "b"}] * 2}, FaultName.BAD_SOURCES),
        ({"question": 5}, FaultName.BAD_QUESTION),
    ],
)
def test_a_fault_has_a_name(changed: dict[str, object], name: FaultName) -> None:
    assert fault_of(**changed).name is name


def test_a_fault_keeps_the_id_and_the_meta_of_its_row() -> None:
    fault = fault_of(answer=5, meta="m")
    assert (fault.id, fault.meta) == ("r1", "m")
    assert parse_row([]) == parse_row([])
    assert parse_row("text") != parse_row([])


def test_the_digest_changes_with_the_content_and_not_with_the_order_of_keys() -> None:
    same = parse_row(dict(reversed(ANSWER.items())))
    assert same.digest == parse_row(ANSWER).digest
    assert fault_of(answer="").digest != parse_row(ANSWER).digest


def test_arrays_and_missing_values_of_frames_are_read() -> None:
    texts = [f"Text {n}." for n in range(2000)]
    row = parse_row(ANSWER | {"sources": np.array(texts, dtype=object), "question": float("nan")})
    assert isinstance(row, BatchRow)
    assert ([source.text for source in row.sources], row.question) == (texts, None)
    texts[1000] = "Another."
    changed = parse_row(ANSWER | {"sources": np.array(texts, dtype=object), "question": None})
    assert changed.digest != row.digest


@given(JSON | st.dictionaries(KEYS, JSON | st.just("secretsecret")))
def test_any_value_is_a_row_or_a_fault_that_quotes_nothing(value: object) -> None:
    row = parse_row(value)
    assert row.digest == parse_row(value).digest
    json.dumps(row.meta, allow_nan=False)
    if isinstance(row, FaultyRow):
        assert "secretsecret" not in row.detail
