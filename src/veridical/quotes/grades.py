"""Grades of difference between quotes and their source."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.types import Span

_AS_WRITTEN = re.compile(
    r"(?:(?<!\s)\s++)?(?:[\[(]\s?(?:\.{2,}|…|⋯)\s?[\])]|\.{3,}|\. \. \.(?: \.)*|…|⋯)\s*+"
)
_OUTER_MARKS = "\"'`“”„‟‘’‚‛«»‹›「」『』《》"
_TAG = re.compile(r"<[^<>]*>")


class Grade(StrEnum):
    """Difference between a quote and its source, the lightest first; each allows earlier ones."""

    EXACT = "exact"
    WHITESPACE = "whitespace"
    TYPOGRAPHY = "typography"
    """Quotation marks, dashes, ligatures, invisible characters, non-verbal tags."""
    CASE = "case"
    FUZZY = "fuzzy"
    """Letters or words."""


def grade_of_parts(quote: str, spans: Sequence[Span], text: str) -> Grade:
    """Return the grade of the part that differs most."""
    bare = quote.strip().strip(_OUTER_MARKS)
    pieces = [piece for piece in _AS_WRITTEN.split(bare) if piece]
    if len(pieces) != len(spans):
        return Grade.TYPOGRAPHY
    grades = [grade(piece, span.of(text)) for piece, span in zip(pieces, spans, strict=True)]
    return max(grades, key=list(Grade).index)


def grade(quote: str, original: str) -> Grade:
    """Return the grade of difference between a quote and an original of the same normal form."""
    quote = quote.strip()
    if quote == original or quote[1:-1].strip() == original:
        return Grade.EXACT
    bare = " ".join(quote.split())
    if " ".join(original.split()) in {bare, bare[1:-1].strip()}:
        return Grade.WHITESPACE
    return Grade.TYPOGRAPHY if _capitals(quote) == _capitals(original) else Grade.CASE


def _capitals(text: str) -> list[bool]:
    """Return for each letter whether it is a capital; tags are left out."""
    folded = unicodedata.normalize("NFKC", _TAG.sub("", text))
    return [char.isupper() or char.istitle() for char in folded if char.isalpha()]
