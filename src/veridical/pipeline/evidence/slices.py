"""Slices of a stretch of text that is too long for a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 8
"""Characters of a token, at most, in a sentence that is not cut."""


def fit(text: str, span: Span, tokens: int) -> Iterator[Span]:
    """Yield `span` in slices of about `tokens` tokens, cut at white space where there is any."""
    start = span.start
    while estimate_tokens(text[start : min(span.end, start + LONGEST * tokens)]) > tokens or (
        span.end - start > LONGEST * tokens
    ):
        end = _cut(text, start, span.end, tokens)
        if text[start:end].strip():
            yield Span(start, end)
        start = end
    if text[start : span.end].strip():
        yield Span(start, span.end)


def _cut(text: str, start: int, end: int, tokens: int) -> int:
    """Return the largest cut with at most `tokens` tokens before it, at white space if possible."""
    low, high = start + 1, min(end, start + LONGEST * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if estimate_tokens(text[start:middle]) <= tokens else (low, middle - 1)
        )
    spaces = [
        i
        for i in range(low, max(start + (low - start) // 2, start + 1), -1)
        if text[i - 1].isspace()
    ]
    return spaces[0] if spaces else low
