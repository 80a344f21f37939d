"""Strict parser of the one JSON value of a model's reply: nothing is repaired or guessed.

The only tolerated deviation is a code fence around the value, and it is reported. Errors name kinds
and places, never a text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from veridical.errors import EvidenceJSONError


class Deviation(StrEnum):
    """Content of a reply besides the JSON it should be."""

    CODE_FENCE = "code_fence"


@dataclass(frozen=True, slots=True)
class ParsedEvidence:
    """Value of a reply, its shape not yet validated, and its harmless deviations."""

    obj: object = field(repr=False)
    deviations: tuple[Deviation, ...] = ()


_FENCE = re.compile(r"(?is)```[ \t]*+(?:json[ \t]*+)?\r?\n(?P<inside>.*)```")
_HINT = "Ask the model again; replies are not repaired"
_IDENTIFIER = re.compile(r"[A-Za-z]\w{0,39}", re.ASCII)


def parse_evidence_json(text: str) -> ParsedEvidence:
    """Return the content of a model's reply: one JSON value, at most in one code fence.

    `EvidenceJSONError` for anything before or after it, keys that come twice, NaN and infinities, a
    byte order mark, and nesting too deep to read.
    """
    _require(isinstance(text, str), f"a reply must be text, not {type(text).__name__}")
    fence = _FENCE.fullmatch(text.strip())
    if fence:
        return ParsedEvidence(strict_json(fence["inside"]), (Deviation.CODE_FENCE,))
    return ParsedEvidence(strict_json(text))


def strict_json(text: str) -> object:
    """Return the one JSON value in `text`; see `parse_evidence_json` for the errors."""
    _require(not text.startswith("\ufeff"), "the JSON begins with a byte order mark")
    failure, violations = "the JSON is nested too deeply", dict[str, str]()
    # The errors of the parser hold the text; raised outside, ours do not hold them.
    try:
        found: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        # What follows a colon in the parser's words may be of the text.
        cause = error.msg.partition(":")[0].removesuffix(" at")
        failure = f"invalid JSON at line {error.lineno}, column {error.colno}: {cause}"
        if error.msg == "Extra data":
            failure = f"text after the JSON at line {error.lineno}, column {error.colno}"
    except _RefusedError as error:
        failure = str(error)
        if error.key is not None:
            violations = {error.key: "Duplicate key"}
    except ValueError:
        failure = "the JSON holds an integer of too many digits"
    except RecursionError:
        pass
    else:
        return found
    raise _error(failure, violations)


def shown_key(key: object, number: int) -> str:
    """Return a key that looks like a name, and of any other, which may be text, its size."""
    if not isinstance(key, str):
        return f"<key {number}: {type(key).__name__}>"
    return key if _IDENTIFIER.fullmatch(key) else f"<key {number}: {len(key)} characters>"


class _RefusedError(Exception):
    """Construct that JSON, or Python's parser, allows and this parser refuses."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def _error(message: str, violations: dict[str, str] | None = None) -> EvidenceJSONError:
    return EvidenceJSONError(message, violations or {"__root__": message}, hint=_HINT)


def _require(held: bool, otherwise: str) -> None:  # noqa: FBT001 -- a condition
    if not held:
        raise _error(otherwise)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for number, (key, value) in enumerate(pairs):
        if key in found:
            msg = "a key comes twice in one object"
            raise _RefusedError(msg, shown_key(key, number))
        found[key] = value
    return found


def _constant(name: str) -> object:
    msg = f"{name} is not JSON"
    raise _RefusedError(msg)


def _float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        msg = "the JSON holds a number too large to represent"
        raise _RefusedError(msg)
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
