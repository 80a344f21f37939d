"""Conversion of table rows into claims that can be read without their table."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.pipeline.claims.blocks import cells
from veridical.pipeline.claims.strip_markup import mend, with_holes, without_markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.pipeline.claims.citations import CitationMark


def row_text(row: str, marks: Sequence[CitationMark], header: Sequence[str]) -> str:
    """Return `City: Paris; Population: 2.1 million` for a row under its header."""
    values = [_clean(cell) for cell in cells(with_holes(row, Span(0, len(row)), marks))]
    names = [_clean(name).rstrip(":") for name in header]
    pairs = zip_longest(names[: len(values)], values, fillvalue="")
    return "; ".join(f"{name}: {value}" if name else value for name, value in pairs if value)


def _clean(cell: str) -> str:
    return mend(without_markup(cell))
