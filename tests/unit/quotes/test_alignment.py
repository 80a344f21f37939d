"""The search for the best window: the score of `partial_ratio`, in bounded time."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from veridical.core.cancellation import cancellable
from veridical.errors import TimeLimitError
from veridical.quotes.alignment import WindowSearch, best_window
from veridical.quotes.matching import Rejection, ground_quotes

pytestmark = pytest.mark.spec("053.fuzzy")

texts = st.text("ab", min_size=1, max_size=60) | st.text("abcdef' ", min_size=1, max_size=60)


@given(texts, texts)
@example("aab", "baaba")
def test_best_window_has_the_partial_ratio(one: str, other: str) -> None:
    quote, text = sorted((one, other), key=len)
    if len(quote) == len(text):
        text += "a"
    window = WindowSearch(quote, text).best(0.0)
    assert window is not None
    assert window.score == pytest.approx(fuzz.partial_ratio(quote, text) / 100)
    assert window.score == pytest.approx(fuzz.ratio(quote, text[window.start : window.end]) / 100)


@pytest.mark.parametrize("kept", [3000, 2900])
def test_long_texts_have_the_partial_ratio_whichever_is_longer(kept: int) -> None:
    chosen = random.Random(5)  # noqa: S311 -- texts for a test, the same each time
    text = "".join(chosen.choices("abcdefg '", k=3000))
    quote = "".join(char for char in text if chosen.random() > 0.05)[:kept].ljust(kept, "z")
    for pair in ((quote, text), (text, quote)):
        window = best_window(*pair, 0.5)
        assert window is not None
        assert window.score == pytest.approx(fuzz.partial_ratio(*pair) / 100)


def plateau(size: int) -> tuple[str, str]:
    """Return a quote and a text in which all windows are about as similar to it."""
    return "'" * (size // 2) + "a'" * (size // 4), "'" * size + "b"


def test_time_for_a_long_quote_of_apostrophes_does_not_grow_with_its_cube() -> None:
    def processor_time(size: int) -> float:
        quote, text = plateau(size)
        began = time.process_time()
        (match,) = ground_quotes([quote], text, mode="fuzzy")
        assert match.accepted
        return time.process_time() - began

    processor_time(4000)
    assert processor_time(16_000) < 20 * max(processor_time(4000), 0.01)  # 64 with the cube


def test_pair_too_long_to_compare_is_said_not_to_be_checked() -> None:
    quote, text = plateau(400_000)
    (match,) = ground_quotes([quote], text, mode="fuzzy")
    assert (match.accepted, match.reason) == (False, Rejection.TOO_LONG)


def test_search_ends_at_its_deadline() -> None:
    with cancellable(0.0), pytest.raises(TimeLimitError):
        WindowSearch("ab" * 9, "abc" * 90).best(0.5)
