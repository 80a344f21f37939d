from __future__ import annotations

import pytest

from veridical.pipeline.evidence.tokens import estimate_tokens, words

TEXT = "The bridge has eleven arches of sandstone."


@pytest.mark.parametrize("sign", ["\u200b", "\xad", "\u2060", "\ufe0f", "\u3164", "\u0336"])
def test_what_nobody_sees_hides_no_word_and_costs_no_token(sign: str) -> None:
    hidden = sign.join(TEXT)
    assert words(hidden) == words(TEXT)
    assert estimate_tokens(hidden) == estimate_tokens(TEXT)


def test_bold_and_accented_letters_are_letters() -> None:
    bold = TEXT.translate({ord("a") + i: 0x1D41A + i for i in range(26)})
    assert words(bold) == words(TEXT)
    assert estimate_tokens(bold) == estimate_tokens(TEXT)
    assert words("Kováč") == words("Kovac")


def test_thousands_of_marks_in_a_row_are_no_hindrance() -> None:
    assert words("a" + "\u0301\u0316" * 50_000) == words("a")
