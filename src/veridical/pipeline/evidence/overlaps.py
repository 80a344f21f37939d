"""Search for the spans that a stretch touches, among spans in order that do not overlap."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.types import Span


def overlapping(spans: Sequence[Span], wanted: Span) -> list[Span]:
    """Return those of the spans that overlap another one; they are in order and disjoint."""
    first = bisect_right(spans, wanted.start, key=lambda span: span.end) if spans else 0
    found = []
    for at in range(first, len(spans)):
        if not spans[at].overlaps(wanted):
            break
        found.append(spans[at])
    return found
