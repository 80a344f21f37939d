from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veridical.core.types import Span
from veridical.pipeline.evidence.slices import fit
from veridical.pipeline.evidence.tokens import estimate_tokens


def test_a_sentence_too_long_for_a_window_is_cut_at_white_space() -> None:
    text = "word " * 500
    slices = list(fit(text, Span(0, len(text)), 40))
    assert "".join(span.of(text) for span in slices) == text
    assert all(estimate_tokens(span.of(text)) <= 40 for span in slices)
    assert all(span.of(text).endswith(" ") for span in slices)


@given(st.text(min_size=1), st.integers(2, 40))
def test_slices_lose_nothing_but_white_space(text: str, tokens: int) -> None:
    slices = list(fit(text, Span(0, len(text)), tokens))
    kept = "".join(span.of(text) for span in slices)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(estimate_tokens(span.of(text)) <= tokens for span in slices)
