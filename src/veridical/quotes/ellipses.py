"""Ellipses of quotes: their parts, and the places of these in order."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.quotes.prepared import unwrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.quotes.prepared import PreparedSource

_ELLIPSIS = re.compile(r" ?(?:[\[(] ?(?:\.{2,}|⋯) ?[\])]|\.{3,}|\. \. \.(?: \.)*|⋯) ?")
_MOST_PARTS = 20
_LONGEST_GAP = 300
"""Characters that an ellipsis may stand for."""


def ellipses(text: str) -> int:
    """Return how many ellipses a text has."""
    return len(_ELLIPSIS.findall(text))


def quoted_parts(normal: str) -> list[str]:
    """Return the parts between the ellipses of a normal form; empty without ellipses."""
    pieces = _ELLIPSIS.split(unwrapped(normal))
    return [piece for piece in pieces if piece] if len(pieces) > 1 else []


def chained(parts: Sequence[str], source: PreparedSource) -> tuple[Span, ...]:
    """Return the first places of the parts in order, gaps within the limit; empty if none."""
    if not 0 < len(parts) <= _MOST_PARTS:
        return ()
    chains: list[tuple[Span, ...]] = [
        (Span(place, place + len(parts[0])),) for place in source.places(parts[0])
    ]
    for part in parts[1:]:
        ends = [chain[-1].end for chain in chains]
        longer = []
        for place in source.places(part):
            nearest_before = bisect_right(ends, place) - 1
            if nearest_before >= 0 and place - ends[nearest_before] <= _LONGEST_GAP:
                longer.append((*chains[nearest_before], Span(place, place + len(part))))
        chains = longer
    return chains[0] if chains else ()
