"""Lines of a file of marks."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import InputError
from veridical.interfaces.cli.feedback_lines import MarkRequest, numbered, parse_line

GIVEN = {"report": "r.json", "verdict": "wrong"}


def test_an_id_takes_what_is_given_for_all_lines() -> None:
    assert parse_line("c3", GIVEN) == MarkRequest("r.json", "c3", right=False)


def test_a_line_of_its_own_says_overrides_what_is_given() -> None:
    line = '{"report": "own.json", "claim": "c3", "verdict": "right", "comment": null}'
    assert parse_line(line, GIVEN) == MarkRequest("own.json", "c3", right=True)
    more = '{"claim": "c3", "actual": "supported", "comment": "because"}'
    assert parse_line(more, GIVEN) == MarkRequest(
        "r.json", "c3", right=False, actual="supported", comment="because"
    )


@pytest.mark.parametrize(
    ("line", "given", "message"),
    [
        ("c3", {}, "names no verdict"),
        ("c3", {"verdict": "right"}, "names no report"),
        ("{}", GIVEN, "names no claim"),
        ('{"claim": ""}', GIVEN, "names no claim"),
        ('{"claim": "c1", "verdict": "maybe"}', GIVEN, "neither 'right' nor 'wrong'"),
        ('{"claim": 3}', GIVEN, "claim is not text"),
        ('{"claim": "c1", "right": true}', GIVEN, "a key that no mark has"),
        ('{"claim": "c1"', GIVEN, "invalid JSON"),
        ('{"claim": "c1", "claim": "c2"}', GIVEN, "twice"),
        ("{" * 5000, GIVEN, "JSON"),
    ],
)
def test_a_wrong_line_is_a_named_error(line: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_line(line, given)
    assert caught.value.hint


@given(st.one_of(st.text(), st.recursive(st.text(), st.lists).map(json.dumps)))
def test_any_line_is_a_mark_or_a_named_error(line: str) -> None:
    with suppress(InputError):
        assert parse_line(line, GIVEN).claim_id


def test_blank_lines_count_and_are_left_out() -> None:
    assert list(numbered("a\r\n\n  \nb\u2028c\n")) == [(1, "a"), (4, "b\u2028c")]
