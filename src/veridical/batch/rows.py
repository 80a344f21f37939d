"""Rows of a batch: an answer with its sources, or a claim with its evidence; or a named fault.

Faults name keys and types, never a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from math import isnan
from typing import Any, TypeAlias

from veridical.core.sources import as_sources
from veridical.core.types import Source, ensure_text
from veridical.errors import InputError

_DIGITS = 16
_LONGEST_ID = 512


class FaultName(StrEnum):
    """Reason why a row cannot be checked."""

    UNREADABLE = "unreadable"
    """Not JSON, not UTF-8, too long, or with another number of cells than the header."""
    NOT_A_ROW = "not_a_row"
    """Neither an answer nor a claim, or both."""
    BAD_ID = "bad_id"
    BAD_TEXT = "bad_text"
    BAD_SOURCES = "bad_sources"
    BAD_QUESTION = "bad_question"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Row to be checked; `digest` identifies its content, `whole` is false for a single claim."""

    id: str
    digest: str
    text: str = field(repr=False)
    sources: tuple[Source, ...] = field(repr=False)
    question: str | None = field(default=None, repr=False)
    meta: object = field(default=None, repr=False)
    whole: bool = True


@dataclass(frozen=True, slots=True)
class FaultyRow:
    """Row that cannot be checked; `id` is None if that is missing, too."""

    id: str | None
    digest: str
    name: FaultName
    detail: str
    meta: object = field(default=None, repr=False)


AnyRow: TypeAlias = BatchRow | FaultyRow


class _FaultError(Exception):
    """Fault of a row, on its way out of the parser."""

    def __init__(self, name: FaultName, detail: str) -> None:
        super().__init__(detail)
        self.name = name
        self.detail = detail


def parse_row(value: object) -> AnyRow:
    """Return a row, or its first fault."""
    digest = digest_of(value)
    if not isinstance(value, Mapping):
        detail = f"a row must be an object, not {type(value).__name__}"
        return FaultyRow(None, digest, FaultName.NOT_A_ROW, detail)
    given = {str(key): one for key, one in value.items() if not _missing(one)}
    try:
        return _row(given, digest)
    except _FaultError as fault:
        return FaultyRow(
            _id_or_none(given), digest, fault.name, fault.detail, _plain(given.get("meta"))
        )


def digest_of(value: object) -> str:
    """Return hexadecimal digits that identify the content of a row."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=_printed)
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def unreadable(data: bytes, detail: str) -> FaultyRow:
    """Return the fault of a row that cannot be read at all."""
    digest = sha256(data).hexdigest()[:_DIGITS]
    return FaultyRow(None, digest, FaultName.UNREADABLE, detail)


def _printed(value: object) -> object:
    """Return a value that JSON does not know, such as an array, or a date of a Parquet file."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return f"{type(value).__name__}:{value}"


def _missing(value: object) -> bool:
    """Return whether a value stands for none: the frames of pandas have NaN for it."""
    return value is None or (isinstance(value, float) and isnan(value))


def _row(given: dict[str, Any], digest: str) -> BatchRow:
    row_id = _id(given)
    keys = _keys(given)
    try:
        ensure_text(given[keys[0]], f"key {keys[0]!r}")
    except InputError as error:
        raise _FaultError(FaultName.BAD_TEXT, error.message) from None
    question = _question(given)
    sources = _sources(given, keys[1])
    whole = keys[0] == "answer"
    return BatchRow(
        row_id, digest, given[keys[0]], sources, question, _plain(given.get("meta")), whole
    )


def _keys(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the keys of the text and of its sources."""
    pairs = [pair for pair in (("answer", "sources"), ("claim", "evidence")) if pair[0] in given]
    if len(pairs) != 1:
        detail = "a row has either an 'answer' or a 'claim'"
        raise _FaultError(FaultName.NOT_A_ROW, detail)
    return pairs[0]


def _id(given: Mapping[str, Any]) -> str:
    row_id = _id_or_none(given)
    if row_id is None:
        detail = f"key 'id' must be text or a whole number, of up to {_LONGEST_ID} characters"
        raise _FaultError(FaultName.BAD_ID, detail)
    return row_id


def _id_or_none(given: Mapping[str, Any]) -> str | None:
    value = given.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        found = str(value)
        ensure_text(found, "key 'id'")
    except ValueError:  # an `InputError`, or an integer of too many digits
        return None
    return found if len(found) <= _LONGEST_ID else None


def _question(given: Mapping[str, Any]) -> str | None:
    question: str | None = given.get("question")
    # An empty cell of a table is no question.
    if question is None or question == "":
        return None
    try:
        ensure_text(question, "key 'question'")
    except InputError as error:
        raise _FaultError(FaultName.BAD_QUESTION, error.message) from None
    return question


def _sources(given: Mapping[str, Any], key: str) -> tuple[Source, ...]:
    value = given.get(key)
    if value is None:
        raise _FaultError(FaultName.BAD_SOURCES, f"key {key!r} is missing")
    try:
        return tuple(as_sources([value] if isinstance(value, str) else value).values())
    except InputError as error:
        raise _FaultError(FaultName.BAD_SOURCES, f"key {key!r}: {error.message}") from None


def _plain(meta: object) -> object:
    """Return what the output, which is strict JSON, can hold of `meta`."""
    return json.loads(json.dumps(meta, default=str), parse_constant=str)
