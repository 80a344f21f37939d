"""Positions in a text: line and column of an offset, stretches between boundaries."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.core.types import Source


@dataclass(frozen=True, slots=True)
class Position:
    """Line and column, both counted from 1, in code points."""

    line: int
    column: int


class Lines:
    """Line starts of one text, found once and looked up many times."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> Position:
        """Return the position of a code point offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)


class SourceLines:
    """Lines of several sources, each found when it is first asked for."""

    def __init__(self) -> None:
        self._lines: dict[str, Lines] = {}

    def of(self, source: Source) -> Lines:
        """Return the lines of a source."""
        if source.id not in self._lines:
            self._lines[source.id] = Lines(source.text)
        return self._lines[source.id]


@dataclass(frozen=True, slots=True)
class Segment:
    """Stretch of a text over which the same spans lie; `owners` are their indices, in order."""

    span: Span
    owners: tuple[int, ...]


def segments(within: Span, spans: Sequence[Span]) -> Iterator[Segment]:
    """Yield `within` cut at every boundary of `spans`, which may overlap, nest or stick out."""
    events = sorted(_events(within, spans))
    open_spans: set[int] = set()
    start = within.start
    for offset, opens, index in [*events, (within.end, False, -1)]:
        if offset > start:
            yield Segment(Span(start, offset), tuple(sorted(open_spans)))
            start = offset
        if opens:
            open_spans.add(index)
        else:
            open_spans.discard(index)


def _events(within: Span, spans: Sequence[Span]) -> Iterator[tuple[int, bool, int]]:
    for index, span in enumerate(spans):
        start, end = max(span.start, within.start), min(span.end, within.end)
        if start < end:
            yield start, True, index
            yield end, False, index
