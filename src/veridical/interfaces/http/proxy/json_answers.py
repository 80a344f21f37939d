"""Conversion of a JSON answer to text that can be verified: its assertions, without syntax."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def as_paragraphs(text: str) -> str:
    """Return the values of a JSON text, a paragraph each; any other text as it is.

    A string of several words stands for itself, any other value comes with its key.

        >>> as_paragraphs('{"opened": 1998}')
        'opened: 1998'
    """
    try:
        value = json.loads(text)
        return "\n\n".join(_values(value, ""))
    except (ValueError, RecursionError):
        return text


def _values(value: object, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _values(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, key)
    elif isinstance(value, str) and len(value.split()) > 1:
        yield value.strip()
    elif value is not None and value != "":
        shown = value if isinstance(value, str) else json.dumps(value)
        yield f"{key}: {shown}" if key else shown
