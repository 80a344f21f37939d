from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.homoglyphs import fold
from veridical.core.text import INVISIBLE


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\uff21\uff4e\uff53\uff57\uff45\uff52\uff1a \uff11\uff0e", "Answer: 1."),
        ("\U0001d400\U0001d427\U0001d42c \U0001d7d7", "Ans 9"),
        ("\u24b6\u24dd\u24e2", "Ans"),
        ("\ufb01rst", "first"),
        ("A\u200bn\u00ads\u2060w\ufe0fe\u034fr\ufeff", "Answer"),
        ("\u202eSEY\u202c", "SEY"),
        ("a\u3164b\uffa0c", "abc"),
        ("".join(chr(0xE0000 + ord(char)) for char in "Answer YES"), ""),
        ("p\u0430ss\u0435d", "passed"),  # Cyrillic a and e
        ("\u039fpen", "Open"),  # Greek capital omicron
        ("Tr\u0443 \u0430 \u0441\u043e\u0440\u0443", "Try a copy"),  # the last two all Cyrillic
        ("Tr\u0443 Москва \u0441\u043e\u0440", "Try Москва \u0441\u043e\u0440"),
    ],
)
def test_letters_in_disguise_become_ordinary_and_nothing_invisible_stays(
    written: str, read: str
) -> None:
    assert fold(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "10² m³, H₂O, ½ and ①…",  # 10² is not 102
        "Москва, сор и PDFфайл",  # whole words in another script, and one that mixes both openly
        "ΔT of 5 kΩ at 3 μm, TNFα",
        "naïve café, Straße, Łódź",
        "한국어 日本語 हिन्दी العربية",
        "“quoted” – dash",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert fold(text) == text


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_ascii_is_left_as_it_is(text: str) -> None:
    assert fold(text) == text


@given(st.text())
def test_doing_it_twice_changes_nothing_and_nothing_invisible_is_left(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    assert INVISIBLE.isdisjoint(once)
