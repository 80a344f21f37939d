from __future__ import annotations

import pytest

from veridical.core.sources import as_sources
from veridical.core.types import Source
from veridical.errors import SourceError, TextError


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"S2": "b", "S1": "a"}, ["S2", "S1"]),
        ([Source("S1", "a"), Source("S2", "b")], ["S1", "S2"]),
        ([{"id": "x", "text": "a", "score": 0.3}], ["x"]),
        (["a", "b"], ["1", "2"]),
    ],
)
def test_every_documented_shape_is_understood(given: object, ids: list[str]) -> None:
    assert list(as_sources(given)) == ids  # type: ignore[arg-type]


def test_sources_may_come_one_by_one() -> None:
    assert list(as_sources(text for text in ["a", "b"])) == ["1", "2"]


@pytest.mark.parametrize(
    "given",
    [{}, [], "one text", b"bytes", 7, None, [7], [{"id": "x"}], [{"id": 1, "text": "a"}]],
)
def test_another_shape_is_a_named_error(given: object) -> None:
    with pytest.raises(SourceError):
        as_sources(given)  # type: ignore[arg-type]


def test_the_missing_key_of_a_record_is_named() -> None:
    with pytest.raises(SourceError, match="source 2 has no 'id'"):
        as_sources([{"id": "x", "text": "a"}, {"text": "b"}])
    with pytest.raises(SourceError, match="source 1 has no 'id' and no 'text'"):
        as_sources([{"page_content": "a"}])


def test_two_sources_with_one_id_are_refused() -> None:
    with pytest.raises(SourceError, match="S1") as raised:
        as_sources([Source("S2", "a"), Source("S1", "a"), Source("S1", "b")])
    assert raised.value.unquoted == "sources 2 and 3 have the same id"


@pytest.mark.parametrize("text", ["", "  ", None, 3, "\udc80"])
def test_a_source_without_text_is_refused(text: object) -> None:
    with pytest.raises(TextError, match="S1") as raised:
        as_sources({"S1": text})  # type: ignore[dict-item]
    assert raised.value.unquoted.startswith("source 1: the text of a source ")
