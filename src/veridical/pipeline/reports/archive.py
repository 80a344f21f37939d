"""Serialisation of reports to bytes: compressed JSON with the name of each value's type.

Only types of this package are constructed on reading, so that data in a database cannot run code.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from veridical.core import assessment, certainty, measurements, policy, types, verdicts
from veridical.pipeline.reports.report import Report

_FAILURES = (KeyError, TypeError, ValueError, AttributeError, RecursionError, zlib.error)


def to_bytes(report: Report) -> bytes:
    """Return a report as bytes, with all the data of its formats."""
    return zlib.compress(json.dumps(_written(report), separators=(",", ":")).encode(), 1)


def from_bytes(data: bytes) -> Report | None:
    """Return the report; None if the data are damaged, or of a version with other fields."""
    try:
        found = _read(json.loads(zlib.decompress(data)))
    except _FAILURES:
        return None
    return found if isinstance(found, Report) else None


@cache
def _types() -> Mapping[str, type]:
    """Return the types that a report is made of, by name."""
    modules = (assessment, certainty, measurements, policy, types, verdicts)
    known = [value for module in modules for value in vars(module).values()]
    found = [one for one in known if isinstance(one, type) and _ours(one)]
    return {one.__name__: one for one in (*found, Report)}


def _ours(one: type) -> bool:
    return is_dataclass(one) or (issubclass(one, Enum) and one.__module__.startswith("veridical."))


def _written(value: object) -> object:
    """Return a value as JSON: atoms as they are, of all else a list that begins with its kind."""
    name = type(value).__name__
    if isinstance(value, Enum):
        return [name, value.value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return ["{}", [[_written(key), _written(one)] for key, one in value.items()]]
    if isinstance(value, tuple | list | frozenset):
        return [{"tuple": "()", "list": "[]"}.get(name, "<>"), [_written(one) for one in value]]
    if name not in _types():
        msg = f"a report holds a {name}"
        raise TypeError(msg)
    return [name, {one.name: _written(getattr(value, one.name)) for one in fields(_data(value))}]


def _data(value: object) -> Any:  # noqa: ANN401 -- an instance of a dataclass, which has no name
    return value


def _read(value: object) -> Any:  # noqa: ANN401 -- whatever was written
    if not isinstance(value, list):
        return value
    kind, held = value
    if kind == "{}":
        return {_read(key): _read(one) for key, one in held}
    made = {"()": tuple, "[]": list, "<>": frozenset}.get(kind)
    if made is not None:
        return made(map(_read, held))
    found = _types()[kind]
    if isinstance(held, dict):
        return found(**{name: _read(one) for name, one in held.items()})
    return found(held)
