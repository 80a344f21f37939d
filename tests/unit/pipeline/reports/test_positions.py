from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import Span
from veridical.pipeline.reports.positions import Lines, Position, segments


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    bounds = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8))
    return [Span(min(pair), max(pair)) for pair in bounds]


@given(st.integers(0, 30), st.integers(0, 30), spans())
def test_segments_cover_the_text_once_and_name_every_owner(
    a: int, b: int, marked: list[Span]
) -> None:
    within = Span(min(a, b), max(a, b))
    pieces = list(segments(within, marked))
    covered = [offset for piece in pieces for offset in range(piece.span.start, piece.span.end)]
    assert covered == list(range(within.start, within.end))
    for piece in pieces:
        owners = tuple(i for i, span in enumerate(marked) if span and span.overlaps(piece.span))
        assert piece.owners == owners


def test_equal_spans_share_one_segment() -> None:
    (piece,) = segments(Span(0, 4), [Span(0, 4), Span(0, 4)])
    assert piece.owners == (0, 1)


@given(st.text(alphabet="ab\n🌉\r"), st.data())
def test_position_counts_lines_and_code_points_from_one(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    before = text[:offset]
    position = Lines(text).at(offset)
    assert position == Position(before.count("\n") + 1, len(before.rsplit("\n", 1)[-1]) + 1)
