"""Numbers in brackets that cite nothing: subscripts, intervals, clauses of an article, lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Text before a subscript, an interval or a list literal.
_INDEXED = re.compile(
    r"(?:\b(?:[a-zA-Z]|arr|array|list|vec|args|argv|data|items?|nums?|matrix|dict|tuple|str)"
    r"|\w_\w*|[a-z][A-Z]\w*|\))\Z"
)
_LITERAL = re.compile(
    r"(?:[=∈<>+*/(]|\b(?:interval|range|list|array|vector|tuple|set|returns?|equals?|is|are|be"
    r"|between|(?:lies?|lay|lying|falls?|fell|[a-z]) in)):?\s*$"
)
# Only figures stand behind it, even where these are ids of sources too.
_INTERVAL = re.compile(r"\b(?:CI|CrI|IQR):?\s*$")
_OPERATOR = re.compile(r"\s*=[^>]|\s*[+*/<^]\s*\w|\.\w|\(")
# A figure, perhaps with its unit: a range around it is its spread, "45 years [30–60]".
_FIGURE = re.compile(r"(?<![\d.,])(?P<figure>\d+(?:\.\d+)?)(?:\s?(?:%|°[CF]|[^\W\d_]+))?\s*\Z")


def is_subscript(before: str, text: str, end: int) -> bool:
    """Return whether what stands around a bracket with a number makes it code: `arr[1]`."""
    return bool(_OPERATOR.match(text, end) or _INDEXED.search(before))


def is_list(before: str) -> bool:
    """Return whether numbers in brackets behind some words are values: `a range of [1, 2]`."""
    return bool(_LITERAL.search(before))


def is_interval(before: str) -> bool:
    """Return whether numbers in brackets behind some words can only be values: `95% CI [1, 2]`."""
    return bool(_INTERVAL.search(before))


def is_spread(before: str, numbers: Sequence[str]) -> bool:
    """Return whether a range of numbers in brackets holds the figure before it."""
    found = _FIGURE.search(before)
    return bool(found) and int(numbers[0]) <= float(found["figure"]) <= int(numbers[-1])  # type: ignore[index]


def is_clause(content: str, before: str) -> bool:
    """Return whether parentheses belong to the word that they touch: `Article 6(1)`, `f(1)`.

    Scripts without spaces and capitals write a citation that way.
    """
    last = before[-1:]
    touches = last == ")" or last.isdecimal() or last.lower() != last.upper()
    return touches and (content.isdecimal() or len(content) == 1)
