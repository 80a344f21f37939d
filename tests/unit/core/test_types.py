"""Values hold their invariants from construction on."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import (
    Citation,
    Confidence,
    Passage,
    Source,
    SourceSpan,
    Span,
    ensure_text,
)
from veridical.errors import InputError, SourceError, TextError

spans = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: Span(*sorted(ends)))


# --- spans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (-2, -1), (1, 0), (5, 4)])
def test_a_span_starts_inside_and_ends_after_its_start(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(start, end)


@given(spans, st.text(min_size=50))
def test_a_span_covers_as_many_code_points_as_it_is_long(span: Span, text: str) -> None:
    assert len(span.of(text)) == len(span) == span.end - span.start


@given(spans, st.text(min_size=50, max_size=60), st.text(max_size=20))
def test_a_shifted_span_covers_the_same_text_behind_a_prefix(
    span: Span, text: str, prefix: str
) -> None:
    assert span.shift(len(prefix)).of(prefix + text) == span.of(text)


def test_a_span_cannot_be_shifted_before_the_text() -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(1, 2).shift(-2)


@given(spans, spans)
def test_spans_overlap_if_and_only_if_they_share_a_code_point(one: Span, other: Span) -> None:
    shared = set(range(one.start, one.end)) & set(range(other.start, other.end))
    if len(one) and len(other):
        assert one.overlaps(other) is other.overlaps(one) is bool(shared)
        if shared:
            assert one.common(other) == Span(min(shared), max(shared) + 1)


def test_spans_that_do_not_meet_have_nothing_in_common() -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(0, 2).common(Span(3, 4))


@given(st.lists(spans))
def test_spans_sort_in_text_order(several: list[Span]) -> None:
    starts = [span.start for span in sorted(several)]
    assert starts == sorted(starts)


# --- sources and texts -----------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["", " ", "\t\n", None, 1, b"S1"], ids=repr)
def test_a_source_needs_an_id(wrong: str) -> None:
    with pytest.raises(SourceError, match="a source id must be a non-empty string"):
        Source(wrong, "text")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        (" \n\u2003", "is empty"),
        (None, "must be text, not NoneType"),
        (b"text", "must be text, not bytes"),
        ("abc\ud800", "holds a lone surrogate at offset 3"),
    ],
    ids=repr,
)
def test_a_source_needs_text_that_can_be_encoded(text: str, complaint: str) -> None:
    with pytest.raises(TextError, match=f"^source 'S1' {complaint}"):
        Source("S1", text)


def test_a_source_id_must_be_encodable_too() -> None:
    with pytest.raises(InputError, match="lone surrogate at offset 1"):
        Source("S\udfff", "text")


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_other_text_is_accepted(text: str) -> None:
    if text.strip():
        ensure_text(text, "the answer")


def test_a_refused_text_is_not_quoted() -> None:
    with pytest.raises(TextError) as caught:
        Source("S1", "secret\ud800")
    assert "secret" not in str(caught.value)


# --- confidence ------------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.08")
@given(st.floats(0.0, 1.0))
def test_a_stated_confidence_is_kept_as_it_is(value: float) -> None:
    assert Confidence(value, stated=True).value == value


@pytest.mark.parametrize("wrong", [nan, inf, -0.01, 1.01, 80, True, "0.8", None], ids=repr)
def test_a_confidence_outside_zero_to_one_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="confidence must be a number from 0 to 1"):
        Confidence(wrong)


def test_a_confidence_in_percent_is_refused_with_its_value() -> None:
    with pytest.raises(ValueError, match=r"not 95$"):
        Confidence(95)


def test_a_refused_confidence_is_not_quoted_if_it_is_text() -> None:
    with pytest.raises(ValueError, match="not this str") as caught:
        Confidence("he said he was sure")  # type: ignore[arg-type]  # this is what is tested
    assert "sure" not in str(caught.value)


# --- small facts -----------------------------------------------------------------------------


def test_a_citation_of_no_source_is_not_resolved() -> None:
    assert Citation("S1", Span(0, 4), source="S1").resolved
    assert not Citation("S9", Span(0, 4), source=None).resolved


@given(spans, spans)
def test_a_piece_covers_what_lies_within_it_in_the_same_source(one: Span, other: Span) -> None:
    inside = one.start <= other.start and other.end <= one.end
    assert SourceSpan("S1", one).covers(SourceSpan("S1", other)) is inside
    assert not SourceSpan("S1", one).covers(SourceSpan("S2", other))
    assert SourceSpan("S1", one).covers(SourceSpan("S1", one))


def test_a_passage_of_several_pieces_is_stitched() -> None:
    piece = SourceSpan("S1", Span(0, 4))
    assert not Passage("text", (piece,)).stitched
    assert Passage("text text", (piece, piece)).stitched
