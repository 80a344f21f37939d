from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from veridical.core.sources import as_sources
from veridical.core.types import Span
from veridical.pipeline.evidence import Binder, Corpus


def split_at_full_stops(text: str) -> list[Span]:
    """Cut after full stops and at line breaks: enough for texts written for these tests."""
    return [Span(m.start(), m.end()) for m in re.finditer(r"[^\s.][^.\n]*\.?", text)]


@pytest.fixture
def corpus() -> Callable[..., Corpus]:
    def build(sources: Mapping[str, str], window_tokens: int = 40) -> Corpus:
        return Corpus(as_sources(sources), split_at_full_stops, window_tokens=window_tokens)

    return build


@pytest.fixture
def binder(corpus: Callable[..., Corpus]) -> Callable[..., Binder]:
    def build(sources: Mapping[str, str], windows: int = 3, window_tokens: int = 40) -> Binder:
        return Binder(corpus(sources, window_tokens), windows=windows)

    return build
