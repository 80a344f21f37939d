"""JSON and JSONL documents: records of {id, text}."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from veridical.errors import DocumentError

SHAPES = 'Use {"id": ..., "text": ...}, a list of those, one a line (.jsonl), or {id: text}'
TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Record:
    """Source in a JSON document; `place` is its position."""

    id: str
    text: str = field(repr=False)
    place: str


@dataclass(frozen=True, slots=True)
class NotRecords:
    """Reason why a JSON document holds no records: it is some other kind of JSON."""

    reason: str


@dataclass(slots=True)
class _Problems:
    lines: list[str] = field(default_factory=list)

    def raise_any(self, place: str) -> None:
        if not self.lines:
            return
        more = len(self.lines) - SHOWN
        shown = self.lines[:SHOWN] + ([f"and {more} more"] if more > 0 else [])
        msg = f"{place}: " + "; ".join(shown)
        raise DocumentError(msg, hint=SHAPES)


class _DuplicateKeyError(ValueError):
    """Raised when an object names a key twice."""


def json_records(text: str, place: str) -> list[Record] | NotRecords:
    """Return the records of a JSON document."""
    try:
        value = _parse(text)
    except _DuplicateKeyError:
        msg = f"{place} gives a key twice in one object"
        raise DocumentError(msg, hint="Every key, and every id, may stand there once") from None
    except (ValueError, RecursionError) as error:
        return NotRecords(f"is not valid JSON ({_where(error)})")
    rows = _rows(value)
    if isinstance(rows, NotRecords):
        return rows
    return _records(rows, place)


def jsonl_records(text: str, place: str) -> list[Record]:
    """Return the records of a JSONL document, one object a line."""
    rows: list[tuple[str, object]] = []
    problems = _Problems()
    # Not splitlines(): a JSON string may hold U+2028 and other line breaks that are not "\n".
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append((f"line {number}", _parse(line)))
        except _DuplicateKeyError:
            problems.lines.append(f"line {number} gives a key twice")
        except (ValueError, RecursionError) as error:
            problems.lines.append(f"line {number} is not valid JSON ({_where(error)})")
    return _records(rows, place, problems)


def _parse(text: str) -> object:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise _DuplicateKeyError
    return unique


def _where(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _rows(value: object) -> list[tuple[str, object]] | NotRecords:
    """Return the candidates for records, each with its place, or why there are none."""
    if isinstance(value, list):
        rows = [(f"row {number}", row) for number, row in enumerate(value, start=1)]
        known = not rows or any(_looks_like_record(row) for row in value)
        return rows if known else NotRecords("is a JSON list, but not of records")
    if not isinstance(value, dict):
        return NotRecords(f"is JSON, but only {TYPE_NAMES[type(value)]}")
    if value.keys() & {"id", "text"}:
        return [("the record", value)]
    if value and all(isinstance(text, str) for text in value.values()):
        return [(f"key {number}", _pair(item)) for number, item in enumerate(value.items(), 1)]
    return NotRecords("is a JSON object, but neither a record nor a mapping of ids to texts")


def _pair(item: tuple[str, object]) -> dict[str, object]:
    return {"id": item[0], "text": item[1]}


def _looks_like_record(row: object) -> bool:
    return isinstance(row, dict) and bool(row.keys() & {"id", "text"})


def _records(
    rows: list[tuple[str, object]], place: str, problems: _Problems | None = None
) -> list[Record]:
    problems = problems or _Problems()
    if not rows and not problems.lines:
        problems.lines.append("holds no records")
    records = [_record(where, row, place, problems) for where, row in rows]
    problems.raise_any(place)
    return [record for record in records if record is not None]


def _record(where: str, row: object, place: str, problems: _Problems) -> Record | None:
    if not isinstance(row, dict):
        problems.lines.append(f"{where} must be an object, not {TYPE_NAMES[type(row)]}")
        return None
    wrong = [what for key in ("id", "text") if (what := _problem(row, key))]
    problems.lines += [f"{where}: {what}" for what in wrong]
    return None if wrong else Record(row["id"], row["text"], f"{place}, {where}")


def _problem(row: dict[str, object], key: str) -> str:
    if key not in row:
        return f"key {key!r} is missing"
    value = row[key]
    if not isinstance(value, str):
        return f"key {key!r} must be text, not {TYPE_NAMES[type(value)]}"
    if not value.strip():
        return f"key {key!r} is empty"
    return ""
