"""A reply is one strict JSON value, or a named error without its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.strict_json import Deviation, parse_evidence_json
from veridical.errors import EvidenceJSONError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(values)
def test_what_json_writes_is_read_back(value: object) -> None:
    import json

    parsed = parse_evidence_json(f" \n{json.dumps(value)}\n")
    assert parsed.obj == value
    assert parsed.deviations == ()


@pytest.mark.parametrize("opening", ["```json", "```", "``` JSON", "```json\r"])
def test_a_code_fence_is_looked_past_and_named(opening: str) -> None:
    parsed = parse_evidence_json(f'\n{opening}\n{{"a": ["x"]}}\n```\n')
    assert parsed.obj == {"a": ["x"]}
    assert parsed.deviations == (Deviation.CODE_FENCE,)


@pytest.mark.spec("054.loud")
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ('{"PHQ8_Sleep": [], "PHQ8_Sleep": []}', "a key comes twice"),
        ('{"a": {"b": 1, "b": 1}}', "a key comes twice"),
        ('{"a": []} Hope this helps', "text after the JSON at line 1, column 11"),
        ('Here it is: {"a": []}', "invalid JSON at line 1, column 1: Expecting value"),
        ('{"a": ["SECRET]}', "invalid JSON at line 1, column 8: Unterminated string starting"),
        (r'{"a": ["\SECRET"]}', "invalid JSON at line 1, column 9: Invalid .escape"),
        ('```json\n{"a": []}\n```\nHope this helps', "invalid JSON"),
        ('```json\n{"a": []}', "invalid JSON"),
        ("```json\n{}\n```\n```json\n{}\n```", "text after the JSON"),
        ("{'a': []}", "invalid JSON"),
        ('{"a": [],}', "invalid JSON"),
        ('{"a": "line\nbreak"}', "invalid JSON"),
        ('{"a": [NaN]}', "NaN is not JSON"),
        ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "too large"),
        (f'{{"a": {"9" * 5000}}}', "too many digits"),
        ("\ufeff{}", "byte order mark"),
        ("[" * 100_000, "nested too deeply"),
        ("", "invalid JSON"),
    ],
)
def test_anything_else_is_an_error_that_names_kind_and_place(reply: str, says: str) -> None:
    with pytest.raises(EvidenceJSONError, match=says) as caught:
        parse_evidence_json(reply)
    assert caught.value.violations
    assert caught.value.__context__ is None, "the parser's error holds the reply"


@pytest.mark.parametrize("reply", [None, b"{}", {}, 3])
def test_what_is_no_text_is_an_error(reply: object) -> None:
    with pytest.raises(EvidenceJSONError, match="a reply must be text"):
        parse_evidence_json(reply)  # type: ignore[arg-type]


def test_a_key_that_comes_twice_is_shown_only_if_it_looks_like_a_name() -> None:
    with pytest.raises(EvidenceJSONError) as caught:
        parse_evidence_json('{"x": 1, "PHQ8_Sleep": 1, "PHQ8_Sleep": 2}')
    assert caught.value.violations == {"PHQ8_Sleep": "Duplicate key"}
    with pytest.raises(EvidenceJSONError) as caught:
        parse_evidence_json('{"i sleep": 1, "i sleep": 2}')
    assert caught.value.violations == {"<key 1: 7 characters>": "Duplicate key"}


def test_the_representation_of_a_reply_does_not_show_it() -> None:
    assert "secret" not in repr(parse_evidence_json('{"secret": ["secret"]}'))


@given(st.text(max_size=30) | st.text(alphabet='{}[]",:`1aeE.- \n\ufeffnul', max_size=30))
def test_any_text_is_read_or_refused_by_name(reply: str) -> None:
    try:
        parse_evidence_json(reply)
    except EvidenceJSONError as error:
        assert error.violations  # noqa: PT017 -- reading it is just as well
