"""Overlaps of stretches of text that are in order: of one with several, and of all with some."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


@dataclass(frozen=True)
class Overlaps:
    """Numbers of stretches, in order, each with a span that overlaps it, and whether it is cut.

    A stretch is as often there as spans overlap it. It is `cut` if some of it is outside the span.
    """

    numbers: Any
    spans: Sequence[Span]
    cut: Any


_APART = 2**40
"""Distance between the starts of two sources, as if all were one text; none is that long."""


class Stretches:
    """Stretches of each source, numbered through: their starts ascend, and their ends."""

    def __init__(self, stretches: Mapping[str, Sequence[Span]]) -> None:
        self._places = {source: place for place, source in enumerate(stretches)}
        self._bounds = self._placed(stretches)

    def overlapping(self, spans: Mapping[str, Sequence[Span]]) -> Overlaps:
        """Return the stretches that the spans of their sources overlap; these are in order."""
        import numpy as np

        ordered = sorted(spans, key=self._places.__getitem__)
        outer = self._placed({source: spans[source] for source in ordered})
        starts, ends = self._bounds.T
        first = ends.searchsorted(outer[:, 0], side="right")
        last = np.maximum(first, starts.searchsorted(outer[:, 1], side="left"))
        counts = last - first
        places = np.repeat(np.arange(len(outer)), counts)
        numbers = np.arange(len(places)) + (first - (np.cumsum(counts) - counts))[places]
        order = np.argsort(numbers, kind="stable")
        numbers, places = numbers[order], places[order]
        inner, outer = self._bounds[numbers], outer[places]
        cut = (inner[:, 0] < outer[:, 0]) | (inner[:, 1] > outer[:, 1])
        several = [span for source in ordered for span in spans[source]]
        return Overlaps(numbers, [several[place] for place in places.tolist()], cut)

    def outside(self, spans: Mapping[str, Sequence[Span]]) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Return the numbers of the stretches that no span overlaps."""
        import numpy as np

        left = np.ones(len(self._bounds), dtype=bool)
        left[self.overlapping(spans).numbers] = False
        return np.flatnonzero(left)

    def _placed(self, spans: Mapping[str, Sequence[Span]]) -> Any:  # noqa: ANN401 -- see above
        """Return the starts and ends of spans, in two columns, as if the sources were one text."""
        import numpy as np

        bounds = [
            (start + span.start, start + span.end)
            for source, several in spans.items()
            for start in [_APART * self._places[source]]
            for span in several
        ]
        return np.asarray(bounds, dtype=np.int64).reshape(-1, 2)
