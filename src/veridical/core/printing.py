"""Numbers and texts for JSON and for one line of a terminal."""

from __future__ import annotations

from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""A JSON object: strings, finite numbers, booleans, None, lists and objects of these."""

_DECIMALS = 6
_USD_DECIMALS = 9
_SHOWN = 240


def number(value: float | None, decimals: int = _DECIMALS) -> float | None:
    """Return a number for JSON: rounded, and without a negative zero; None stays None."""
    return None if value is None else round(float(value), decimals) + 0.0


def usd(value: float | None) -> float | None:
    """Return US dollars for JSON: one claim may cost millionths of them."""
    return number(value, _USD_DECIMALS)


def one_line(text: str, limit: int = _SHOWN) -> str:
    """Return text on one line, cut to `limit`; terminal control characters are escaped."""
    line = " ".join(text.split())
    line = line if len(line) <= limit else f"{line[:limit]} …"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
