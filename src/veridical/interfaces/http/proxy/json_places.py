"""Places of values in a JSON text, for edits that keep the rest byte for byte.

All functions raise `ValueError` (or `RecursionError`) for text that is no JSON of that kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json import JSONDecoder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SPACE = re.compile(r"[ \t\n\r]*")
_read = JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class JsonValue:
    """Value and its place; of a member, `key` and its start (else `start`)."""

    start: int
    end: int
    value: Any = field(repr=False)
    key: str = ""
    begin: int = 0


@dataclass(frozen=True, slots=True)
class Edit:
    """Text to put in the place of a range."""

    start: int
    end: int
    text: str = field(repr=False)


def members(text: str, start: int = 0, *, whole: bool = False) -> list[JsonValue]:
    """Return the members of the object at `start`, in order; `whole` if the text ends with it."""
    return list(_items(text, start, "{", "}", whole=whole))


def elements(text: str, start: int) -> list[JsonValue]:
    """Return the elements of the array at `start`."""
    return list(_items(text, start, "[", "]", whole=False))


def member(text: str, start: int, key: str) -> JsonValue | None:
    """Return the member of the object at `start` that counts: the last one of that name."""
    found = [place for place in members(text, start) if place.key == key]
    return found[-1] if found else None


def without(text: str, places: list[JsonValue], gone: JsonValue) -> str:
    """Return an object's text without one of its members, and without the comma that parted it."""
    at = places.index(gone)
    if at + 1 < len(places):
        cut = Edit(gone.begin, places[at + 1].begin, "")
    else:
        cut = Edit(places[at - 1].end if at else gone.begin, gone.end, "")
    return edited(text, [cut])


def with_last(text: str, value: str, *, key: str | None = None, start: int = 0) -> Edit:
    """Return the edit that adds a last member or element, JSON text itself."""
    opened = _skip(text, start)
    kind = "{}" if text[opened] == "{" else "[]"
    items = list(_items(text, opened, *kind, whole=False))
    place = items[-1].end if items else opened + 1
    named = value if key is None else f'"{key}":{value}'
    return Edit(place, place, ("," if items else "") + named)


def with_member(text: str, start: int, key: str, value: str) -> Edit:
    """Return the edit that gives a member of the object at `start` a value, JSON text itself."""
    place = member(text, start, key)
    if place is None:
        return with_last(text, value, key=key, start=start)
    return Edit(place.start, place.end, value)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits, which do not overlap."""
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _items(
    text: str, start: int, opening: str, closing: str, *, whole: bool
) -> Iterator[JsonValue]:
    at = _expect(text, _skip(text, start), opening)
    more = text[at : at + 1] != closing
    while more:
        begin, key = at, ""
        if opening == "{":
            key, at = _read(text, at)
            if not isinstance(key, str):
                raise ValueError
            at = _expect(text, _skip(text, at), ":")
        value, end = _read(text, at)
        yield JsonValue(at, end, value, key, begin)
        at = _skip(text, end)
        more = text[at : at + 1] == ","
        at = _skip(text, at + 1) if more else at
    end = _expect(text, at, closing)
    if whole and end != len(text):
        raise ValueError


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, sign: str) -> int:
    """Return the place after a sign."""
    if text[at : at + 1] != sign:
        raise ValueError
    return _skip(text, at + 1)
