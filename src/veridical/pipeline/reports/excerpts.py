"""Excerpts of long sources for the HTML page, with marked gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.assessment import Assessment

WHOLE = 200_000
"""A source of more characters is shown in excerpts."""
WHOLE_TOGETHER = 2_000_000
"""Where all sources have more characters, each longer than `WHOLE_CROWDED` is excerpted."""
WHOLE_CROWDED = 20_000
_AROUND = 1_000
_HEAD = 2_000


@dataclass(frozen=True, slots=True)
class Gap:
    """Number of characters that are not shown."""

    length: int


def excerpts(assessment: Assessment) -> Mapping[str, Sequence[Gap | Span]]:
    """Return for each source id the shown stretches, in order, and the gaps between them."""
    sources = assessment.sources.values()
    crowded = sum(len(source.text) for source in sources) > WHOLE_TOGETHER
    limit = WHOLE_CROWDED if crowded else WHOLE
    spans: dict[str, list[Span]] = {source.id: [] for source in sources}
    for verdict in assessment.claims:
        for evidence in verdict.shown:
            spans.setdefault(evidence.source, []).append(evidence.span)
    return {
        source.id: tuple(_stretches(len(source.text), spans[source.id], limit))
        for source in sources
    }


def _stretches(length: int, evidence: Sequence[Span], limit: int) -> Iterator[Gap | Span]:
    if length <= limit:
        yield Span(0, length)
        return
    end = 0
    for span in _merged(length, evidence):
        if span.start > end:
            yield Gap(span.start - end)
        yield span
        end = span.end
    if end < length:
        yield Gap(length - end)


def _merged(length: int, evidence: Sequence[Span]) -> list[Span]:
    """Return the evidence with its surroundings; the head of the source if it has none."""
    merged: list[Span] = []
    for span in sorted(evidence):
        start, end = max(0, span.start - _AROUND), min(length, span.end + _AROUND)
        if merged and start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, end))
        elif start < end:
            merged.append(Span(start, end))
    return merged or [Span(0, min(length, _HEAD))]
