"""Numbers in brackets that cite nothing: subscripts, intervals, clauses of an article, lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from veridical.core.types import Span

# Among the known ids: `[0]` is a citation here, because numbers are the ids of this answer.
ZERO_BASED = "[0]"

_REACH = 30
_DASH = re.compile("[-–—]")
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


def are_literal(ids: Sequence[str], text: str, span: Span, known: Collection[str]) -> bool:
    """Return whether numbers in the brackets at `span` are a subscript, an interval or a list."""
    if not ids or not all(each.isdecimal() for each in ids):
        return False
    before = text[max(0, span.start - _REACH) : span.start]
    several = len(ids) > 1
    if several and _INTERVAL.search(before):
        return True
    is_list = several and bool(_LITERAL.search(before))
    if any(each in known for each in ids):
        return is_list and not all(each in known for each in ids)
    if "0" in ids and not (list(ids) == ["0"] and ZERO_BASED in known):
        return True
    if several and _DASH.search(span.of(text)) and _is_spread(before, ids):
        return True
    return is_list or bool(_OPERATOR.match(text, span.end) or _INDEXED.search(before))


def _is_spread(before: str, numbers: Sequence[str]) -> bool:
    """Return whether a range of numbers holds the figure before it."""
    found = _FIGURE.search(before)
    return bool(found) and int(numbers[0]) <= float(found["figure"]) <= int(numbers[-1])  # type: ignore[index]


def is_clause(content: str, before: str) -> bool:
    """Return whether parentheses belong to the word that they touch: `Article 6(1)`, `f(1)`.

    Scripts without spaces and capitals write a citation that way.
    """
    last = before[-1:]
    touches = last == ")" or last.isdecimal() or last.lower() != last.upper()
    return touches and (content.isdecimal() or len(content) == 1)
