from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.pipeline.reports.escaping import one_line, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_every_code_point_stays_in_its_place(text: str) -> None:
    assert len(visible(text)) == len(text)


@given(ANY_TEXT)
def test_no_control_character_is_left_but_tab_and_line_ends(text: str) -> None:
    controls = {char for char in visible(text) if unicodedata.category(char) in {"Cc", "Cs"}}
    assert controls <= set("\t\n\r")


@given(ANY_TEXT)
def test_making_visible_twice_changes_nothing_more(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "␛[31m"),
        ("a\x00b", "a␀b"),
        ("\x7f", "␡"),
        ("\x9b31m", "\ufffd31m"),
        ("\u202eabc\u2069", "\ufffdabc\ufffd"),
        ("line\r\nline\rline", "line\r\nline␍line"),
        ("\ud800", "\ufffd"),
        ("👩‍🚀 שלום\t<b>\n", "👩‍🚀 שלום\t<b>\n"),
    ],
)
def test_steering_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line_collapses_white_space() -> None:
    assert one_line(" a\n\n\tb\u00a0c ") == "a b c"
