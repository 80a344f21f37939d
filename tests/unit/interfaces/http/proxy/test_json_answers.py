from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.interfaces.http.proxy.json_answers import as_paragraphs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "Two words.", "b": 7, "c": None, "d": ""}, "Two words.\n\nb: 7"),
        ({"a": {"b": ["One.", "Of two."]}}, "b: One.\n\nOf two."),
        (["It is.", True], "It is.\n\ntrue"),
        ({}, ""),
    ],
)
def test_each_value_is_a_paragraph(value: object, text: str) -> None:
    assert as_paragraphs(json.dumps(value)) == text


@pytest.mark.parametrize("text", ["", "It opened in 1998.", "{", "[" * 100_000])
def test_what_is_no_json_stays_as_it_is(text: str) -> None:
    assert as_paragraphs(text) == text


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=5), st.text(alphabet="ab c", max_size=9), max_size=4))
def test_no_string_is_lost(value: dict[str, str]) -> None:
    text = as_paragraphs(json.dumps(value))
    assert all(one.strip() in text for one in value.values())
