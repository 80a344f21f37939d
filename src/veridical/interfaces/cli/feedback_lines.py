"""Marks in a file: lines of JSON objects, or of claim ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.strict_json import strict_json
from veridical.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIRED = ("claim", "verdict", "report")
_KEYS = (*REQUIRED, "actual", "comment")
_RIGHT = {"right": True, "wrong": False}


@dataclass(frozen=True, slots=True)
class MarkRequest:
    """Mark as a line asks for it: the report's path, the claim's id and the judgement."""

    report: str
    claim_id: str
    right: bool
    actual: str | None = None
    comment: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """Line that made no mark, by its number in the file, with the reason."""

    line: int
    message: str
    hint: str


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.strip()


def parse_line(line: str, given: dict[str, str]) -> MarkRequest:
    """Return the mark of a line; `given` holds what the line need not say. `InputError` if wrong.

    A line that begins with a brace is a JSON object, any other is the id of a claim.
    """
    value = strict_json(line) if line.startswith("{") else {"claim": line}
    named = given | _texts(value)
    for key in REQUIRED:
        if not named.get(key):
            msg = f"it names no {key}"
            raise InputError(msg, hint=f"Add {key!r} to the line, or give --{key}")
    if named["verdict"] not in _RIGHT:
        msg = "its verdict is neither 'right' nor 'wrong'"
        raise InputError(msg, hint="Judge the verdict of the report: right or wrong")
    return MarkRequest(
        named["report"],
        named["claim"],
        _RIGHT[named["verdict"]],
        named.get("actual"),
        named.get("comment"),
    )


def _texts(value: object) -> dict[str, str]:
    """Return the keys of a line with their texts; null is as good as no key."""
    known = f"The keys are {', '.join(_KEYS)}"
    if not isinstance(value, dict):
        msg = "it is no JSON object"
        raise InputError(msg, hint=known)
    found = {key: text for key, text in value.items() if text is not None}
    if not found.keys() <= set(_KEYS):
        msg = "it has a key that no mark has"
        raise InputError(msg, hint=known)
    wrong = [key for key, text in found.items() if not isinstance(text, str)]
    if wrong:
        msg = f"{wrong[0]} is not text"
        raise InputError(msg, hint=known)
    return found
