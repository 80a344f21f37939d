"""Passages of a claim as one text, for backends that read more than a passage at once.

A language model that is shown a claim's passages one by one answers NO to an unrelated one, and a
NO is decisive; shown all of them together, it need not (docs/decisions/0013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.types import Passage, SourceSpan, Span
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from veridical.core.types import Source

ROOM = 1000
"""Estimated tokens of a text; more passages than fit make several."""

_Part = tuple[SourceSpan, str]


def join_passages(
    passages: Sequence[Passage], sources: Mapping[str, Source]
) -> tuple[Passage, ...]:
    """Return the content of the passages as few passages, in source order, nothing twice."""
    if len(passages) < 2:  # noqa: PLR2004 -- nothing to join
        return tuple(passages)
    nearest = max(passages, key=lambda passage: passage.stitched)
    relevance = max(passage.relevance for passage in passages)
    return tuple(
        _passage(group, nearest.focus, relevance)
        for group in _groups(_without_overlaps(_in_order(passages, sources), sources))
    )


def _in_order(passages: Sequence[Passage], sources: Mapping[str, Source]) -> list[_Part]:
    """Return windows, and the stitched pieces that are in none of them."""
    windows = [(p.pieces[0], p.text) for p in passages if len(p.pieces) == 1]
    stitched = (
        piece for passage in passages if len(passage.pieces) > 1 for piece in passage.pieces
    )
    others = [
        (piece, piece.span.of(sources[piece.source].text))
        for piece in dict.fromkeys(stitched)
        if not any(window.covers(piece) for window, _ in windows)
    ]
    order = {source: number for number, source in enumerate(sources)}
    return sorted([*windows, *others], key=lambda part: (order[part[0].source], part[0].span))


def _without_overlaps(parts: Iterable[_Part], sources: Mapping[str, Source]) -> Iterator[_Part]:
    """Yield the parts, each without the end of the one before it; scrubbed ones as they are."""
    source, end = "", 0
    for piece, text in parts:
        start = max(piece.span.start, end) if piece.source == source else piece.span.start
        rest = SourceSpan(piece.source, Span(min(start, piece.span.end), piece.span.end))
        source, end = piece.source, max(start, piece.span.end)
        if text != piece.span.of(sources[piece.source].text):
            yield piece, text
        elif len(rest.span):
            yield rest, rest.span.of(sources[piece.source].text)


def _groups(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts in groups that have room in one text."""
    group: list[_Part] = []
    used = 0
    for part in parts:
        tokens = estimate_tokens(part[1])
        if group and used + tokens > ROOM:
            yield group
            group, used = [], 0
        group.append(part)
        used += tokens
    if group:
        yield group


def _passage(group: Sequence[_Part], focus: Iterable[SourceSpan], relevance: float) -> Passage:
    pieces = tuple(piece for piece, _ in group)
    return Passage(
        "\n".join(text.strip() for _, text in group),
        pieces,
        tuple(near for near in focus if any(piece.covers(near) for piece in pieces)),
        relevance,
    )
