"""Overlaps of stretches of text that are in order: of one with several, and of all with some."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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


class Stretches:
    """Stretches of each source, numbered through: their starts ascend, and their ends."""

    def __init__(self, ranges: Mapping[str, range], stretches: Iterable[Span]) -> None:
        self._bounds = _bounds(stretches)
        self._ranges = ranges

    def overlapping(self, spans: Mapping[str, Sequence[Span]]) -> Overlaps:
        """Return the stretches that the spans of their sources overlap; these are in order."""
        import numpy as np

        several: list[Span] = []
        found = [(np.empty(0, np.intp), np.empty(0, np.intp))]
        for source, range_ in self._ranges.items():
            of_source = spans.get(source, ())
            found.append(self._between(range_, of_source, len(several)))
            several += of_source
        numbers, places = map(np.concatenate, zip(*found, strict=True))
        inner, outer = self._bounds[numbers], _bounds(several)[places]
        cut = (inner[:, 0] < outer[:, 0]) | (inner[:, 1] > outer[:, 1])
        return Overlaps(numbers, [several[place] for place in places.tolist()], cut)

    def outside(self, spans: Mapping[str, Sequence[Span]]) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Return the numbers of the stretches that no span overlaps."""
        import numpy as np

        left = np.ones(len(self._bounds), dtype=bool)
        left[self.overlapping(spans).numbers] = False
        return np.flatnonzero(left)

    def _between(self, numbers: range, spans: Sequence[Span], offset: int) -> tuple[Any, Any]:
        """Return the stretches of a source that spans overlap, and the numbers of these spans."""
        import numpy as np

        starts, ends = self._bounds[numbers.start : numbers.stop].T
        wanted = _bounds(spans)
        first = ends.searchsorted(wanted[:, 0], side="right")
        last = np.maximum(first, starts.searchsorted(wanted[:, 1], side="left"))
        counts = last - first
        places = np.repeat(np.arange(len(spans)), counts)
        before = np.cumsum(counts) - counts
        found = np.arange(len(places)) + (first - before)[places]
        order = np.argsort(found, kind="stable")
        return found[order] + numbers.start, places[order] + offset


def _bounds(spans: Iterable[Span]) -> Any:  # noqa: ANN401 -- see above
    """Return the starts and ends of spans: an array of two columns."""
    import numpy as np

    return np.asarray([(span.start, span.end) for span in spans], dtype=np.intp).reshape(-1, 2)
