from __future__ import annotations

import json

import pytest

from veridical.errors import DocumentError
from veridical.readers.records import NotRecords, json_records, jsonl_records

ONE = {"id": "a", "text": "first"}
TWO = {"id": "b", "text": "second", "page": 3}


@pytest.mark.parametrize("value", [[ONE, TWO], {"a": "first", "b": "second"}])
def test_a_list_and_a_mapping_hold_records(value: object) -> None:
    records = json_records(json.dumps(value), "x.json")
    assert isinstance(records, list)
    assert [(r.id, r.text) for r in records] == [("a", "first"), ("b", "second")]


def test_one_object_is_one_record() -> None:
    records = json_records(json.dumps(TWO), "x.json")
    assert isinstance(records, list)
    assert [(r.id, r.text) for r in records] == [("b", "second")]


def test_lines_hold_a_record_each() -> None:
    records = jsonl_records(f"{json.dumps(ONE)}\r\n\n{json.dumps(TWO)}\n", "x.jsonl")
    assert [(r.id, r.place) for r in records] == [
        ("a", "x.jsonl, line 1"),
        ("b", "x.jsonl, line 3"),
    ]


def test_unusual_line_breaks_inside_a_string_do_not_end_a_line() -> None:
    line = json.dumps({"id": "a", "text": "one\u2028two\x85"}, ensure_ascii=False)
    assert jsonl_records(line, "x")[0].text == "one\u2028two\x85"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([ONE, {"id": "b"}], "row 2: key 'text' is missing"),
        ([ONE, {"id": 7, "text": "x"}], "row 2: key 'id' must be text, not a number"),
        ([ONE, {"id": True, "text": ["x"]}], "'id' must be text, not true or false"),
        ([ONE, "SECRET"], "row 2 must be an object, not text"),
        ({"id": "a", "text": {"SECRET": 1}}, "the record: key 'text' must be text, not an object"),
        ({"id": "a"}, "the record: key 'text' is missing"),
        ({"a": "  "}, "key 1: key 'text' is empty"),
        ([], "holds no records"),
    ],
)
def test_a_wrong_record_is_named_by_row_key_and_type_only(value: object, problem: str) -> None:
    with pytest.raises(DocumentError, match=r"^x\.json: ") as caught:
        json_records(json.dumps(value), "x.json")
    assert problem in caught.value.message
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "x", "version": 1}', "neither a record nor a mapping"),
        ("[1, 2]", "not of records"),
        ("3", "only a number"),
        ("null", "only null"),
        ("{}", "neither a record nor a mapping"),
        ("{SECRET", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 10_000, "a number is too long"),
    ],
)
def test_other_json_says_why_it_holds_no_records(text: str, reason: str) -> None:
    result = json_records(text, "x.json")
    assert isinstance(result, NotRecords)
    assert reason in result.reason
    assert "SECRET" not in result.reason


@pytest.mark.parametrize("text", ['{"id": "a", "text": "x", "text": "y"}', '{"a": "x", "a": "y"}'])
def test_a_key_given_twice_is_an_error(text: str) -> None:
    with pytest.raises(DocumentError, match="gives a key twice"):
        json_records(text, "x.json")
    with pytest.raises(DocumentError, match="line 1 gives a key twice"):
        jsonl_records(text, "x.jsonl")


def test_all_wrong_lines_are_counted_and_the_first_ones_named() -> None:
    with pytest.raises(DocumentError) as caught:
        jsonl_records("{\n" * 8, "x.jsonl")
    assert "line 5 is not valid JSON" in caught.value.message
    assert caught.value.message.endswith("and 3 more")


def test_an_empty_jsonl_holds_no_records() -> None:
    with pytest.raises(DocumentError, match="holds no records"):
        jsonl_records("\n", "x.jsonl")
