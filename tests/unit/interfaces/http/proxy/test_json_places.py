from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.interfaces.http.proxy.json_places import (
    edited,
    elements,
    member,
    members,
    with_last,
    without,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)
LAYOUTS = st.sampled_from([None, 0, 2, "\t"])


def written(value: object, indent: int | str | None, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


@settings(max_examples=50)
@given(OBJECTS, LAYOUTS, st.booleans())
def test_members_are_those_that_the_json_module_reads(
    value: dict[str, object], indent: int | str | None, ascii_only: bool
) -> None:
    text = f" {written(value, indent, ascii_only)}\n"
    found = members(text, whole=True)
    assert {place.key: place.value for place in found} == value
    for place in found:
        assert json.loads(text[place.start : place.end]) == place.value
        assert text[place.begin] == '"'


@settings(max_examples=50)
@given(OBJECTS, LAYOUTS, st.booleans(), st.integers(0, 6), VALUES)
def test_a_member_is_taken_out_and_nothing_else_changes(
    value: dict[str, object], indent: int | str | None, ascii_only: bool, at: int, ours: object
) -> None:
    value.pop("veridical", None)
    items = list(value.items())
    items.insert(at, ("veridical", ours))
    text = written(dict(items), indent, ascii_only)
    places = members(text, whole=True)
    (place,) = [one for one in places if one.key == "veridical"]
    left = without(text, places, place)
    assert json.loads(left) == value
    for key, kept in value.items():
        assert written({key: kept}, indent, ascii_only).strip("{} \n\t") in left


@settings(max_examples=50)
@given(OBJECTS, LAYOUTS, VALUES)
def test_a_member_is_added_behind_all_others(
    value: dict[str, object], indent: int | str | None, ours: object
) -> None:
    value.pop("veridical", None)
    text = written(value, indent, ascii_only=False)
    edit = with_last(text, json.dumps(ours), key="veridical")
    assert edit.start == edit.end
    assert json.loads(edited(text, [edit])) == {**value, "veridical": ours}


@settings(max_examples=50)
@given(st.lists(VALUES, max_size=5), LAYOUTS, VALUES)
def test_an_element_is_added_behind_all_others(
    value: list[object], indent: int | str | None, more: object
) -> None:
    text = written(value, indent, ascii_only=False)
    assert [place.value for place in elements(text, 0)] == value
    assert json.loads(edited(text, [with_last(text, json.dumps(more))])) == [*value, more]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1}x', "{1:2}", '{"a":1 "b":2}']
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- it says nothing, and nobody reads it
        members(text, whole=True)


def test_of_two_members_of_a_name_the_last_one_counts() -> None:
    found = member('{"a": 1, "b": 2, "a": 3}', 0, "a")
    assert found is not None
    assert found.value == 3
    assert member("{}", 0, "a") is None
