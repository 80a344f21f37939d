"""Evidence is lists of texts under known keys, and nothing is made to fit."""

from __future__ import annotations

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ConfigurationError, EvidenceSchemaError
from veridical.quotes.schema import PHQ8_DOMAIN_KEYS, validate_evidence_schema

SECRET = "i think about ending it all every single night"  # noqa: S105 -- a patient's words


def violations(obj: object) -> dict[str, str]:
    with pytest.raises(EvidenceSchemaError) as caught:
        validate_evidence_schema(obj)
    for said in (str(caught.value), repr(caught.value), str(caught.value.violations)):
        assert "ending it" not in said
    return caught.value.violations


@pytest.mark.spec("054.root")
@pytest.mark.parametrize("obj", [None, [], "{}", 3, [{"PHQ8_Sleep": []}]])
def test_what_is_no_object_violates_the_root(obj: object) -> None:
    assert violations(obj) == {"__root__": f"Expected object, got {type(obj).__name__}"}


@pytest.mark.spec("054.list", "054.privacy")
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (SECRET, "str"),
        ({"quote": SECRET}, "dict"),
        (42, "int"),
        (True, "bool"),
        (False, "bool"),
        (0, "int"),
        ("", "str"),
        (float("nan"), "float"),
        ((SECRET,), "tuple"),
        ({SECRET}, "set"),
    ],
)
def test_a_value_that_is_no_list_violates_and_is_not_shown(value: object, kind: str) -> None:
    assert violations({"PHQ8_Sleep": value}) == {"PHQ8_Sleep": f"Expected list, got {kind}"}


@pytest.mark.spec("054.items", "054.privacy")
def test_every_item_that_is_no_text_is_named_by_index_and_type() -> None:
    items = [SECRET, 1, None, True, {SECRET: SECRET}]
    assert violations({"PHQ8_Tired": items}) == {
        "PHQ8_Tired": "Expected list[str] but element 1 was int, element 2 was NoneType, "
        "element 3 was bool, element 4 was dict"
    }


def test_many_wrong_items_are_counted() -> None:
    found = violations({"PHQ8_Tired": [1] * 1000})["PHQ8_Tired"]
    assert found.endswith("element 4 was int, and 995 more")


@pytest.mark.spec("054.collect")
def test_all_violations_are_reported_at_once() -> None:
    found = violations({"PHQ8_Sleep": SECRET, "PHQ8_Tired": [1], "PHQ8_Sleeping": [], SECRET: []})
    assert found == {
        "PHQ8_Sleep": "Expected list, got str",
        "PHQ8_Tired": "Expected list[str] but element 0 was int",
        "PHQ8_Sleeping": "Unknown key; did you mean PHQ8_Sleep?",
        f"<key 3: {len(SECRET)} characters>": "Unknown key",
    }


@pytest.mark.parametrize("key", ["phq8_sleep", "PHQ8_Sleeep", "Sleep", "PHQ8 Sleep", "PHQ8_Slеep"])
def test_a_misspelt_key_is_a_violation_even_without_evidence(key: str) -> None:
    assert len(violations({key: None})) == 1


def test_a_key_that_is_no_text_is_named_by_place_and_type() -> None:
    assert violations({3: []}) == {"<key 0: int>": "Unknown key"}


@pytest.mark.spec("054.missing", "054.all_keys")
def test_missing_and_null_keys_have_no_evidence_and_all_keys_are_there() -> None:
    found = validate_evidence_schema({"PHQ8_Sleep": None})
    assert found == {key: [] for key in PHQ8_DOMAIN_KEYS}
    assert list(found) == list(PHQ8_DOMAIN_KEYS)
    assert len({id(quotes) for quotes in found.values()}) == len(found), "no shared lists"


@pytest.mark.spec("054.blank", "054.dedupe")
def test_quotes_are_stripped_blank_ones_left_out_and_none_comes_twice() -> None:
    quotes = [" b ", "a", "", "\u2003", "b", "B", "a\n", "a\u200b"]
    found = validate_evidence_schema({"PHQ8_Sleep": quotes})
    assert found["PHQ8_Sleep"] == ["b", "a", "B", "a\u200b"]


def test_the_keys_can_be_others() -> None:
    assert validate_evidence_schema({"b": ["x"]}, ("a", "b")) == {"a": [], "b": ["x"]}


@pytest.mark.parametrize("keys", ["abc", ("a", ""), ("a", 1), None, 5])
def test_keys_that_are_no_names_are_refused(keys: object) -> None:
    with pytest.raises(ConfigurationError):
        validate_evidence_schema({}, keys)  # type: ignore[arg-type]


class _Quote(StrEnum):
    ONE = "one"


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.sampled_from(_Quote)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip
objects = st.dictionaries(st.sampled_from(PHQ8_DOMAIN_KEYS) | st.text(max_size=5), anything)
usual = st.dictionaries(
    st.sampled_from(PHQ8_DOMAIN_KEYS),
    st.lists(st.text(max_size=3) | st.sampled_from(_Quote) | st.just("\ud800"), max_size=5),
)


@pytest.mark.spec("054.loud")
@given(objects | usual | anything)
def test_only_lists_of_plain_texts_come_out_and_only_named_errors(obj: object) -> None:
    try:
        found = validate_evidence_schema(obj)
    except EvidenceSchemaError as error:
        assert error.violations  # noqa: PT017 -- both outcomes are fine
        return
    assert tuple(found) == PHQ8_DOMAIN_KEYS
    for key, quotes in found.items():
        assert type(quotes) is list
        assert all(type(quote) is str and quote == quote.strip() != "" for quote in quotes)
        given_quotes = (obj.get(key) if isinstance(obj, dict) else None) or []
        assert set(quotes) == {str(quote).strip() for quote in given_quotes} - {""}


@given(usual)
def test_validating_twice_changes_nothing(obj: object) -> None:
    once = validate_evidence_schema(obj)
    assert validate_evidence_schema(once) == once
