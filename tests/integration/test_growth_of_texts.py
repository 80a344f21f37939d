"""Growth of the time of text stages and of regular expressions on adversarial texts, up to 1 MB.

Processor time beside a loop of known work; a text counts only if it takes several times as long as
the clock can tell, and is measured again before it fails. Quadratic time would be four times as
long for twice the text.
"""

from __future__ import annotations

import re

import pytest

pytest.importorskip("mcp")
pytest.importorskip("fastapi")

from _growth import MOST_GROWTH, STAGES, TEXTS, growth
from _patterns import BOUNDED, patterns, steep

pytestmark = pytest.mark.slow

ATTACK, PLAIN = 250_000, 62_500
"""Characters of the shorter text; the longer one has four times as many.

Plain texts are shorter: those of 1 MB leave the processor's cache, which takes time of its own.
"""

KNOWN_ATTACKS = (
    ("HTML", "'<div>'"),
    ("HTML", "'<select><option>'"),
    ("HTML", "attributes"),
    ("HTML", "options"),
    ("HTML", "formatting"),
    ("subtitles", "'<v.'"),
    ("JSON evidence", "fence"),
    ("claims", "'؟'"),
    ("claims", "'?!'"),
    ("claims", "'[a](  '"),
    ("server-sent events", "'a'"),
)
"""Stages that once took more than linear time, with the text that showed it."""


def grows(stage: str, text: str, size: int) -> float:
    """Return the growth, twice measured if it is much: the machine may be busy elsewhere once."""
    found = growth(STAGES[stage], TEXTS[text], size)
    return found if found <= MOST_GROWTH else growth(STAGES[stage], TEXTS[text], size)


@pytest.mark.parametrize(("stage", "text"), KNOWN_ATTACKS)
def test_a_stage_that_once_was_slow_takes_time_in_proportion_to_the_text(
    stage: str, text: str
) -> None:
    assert grows(stage, text, ATTACK) <= MOST_GROWTH


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_takes_time_in_proportion_to_a_text_of_other_words(stage: str) -> None:
    assert grows(stage, "words", PLAIN) <= MOST_GROWTH


def test_growth_tells_quadratic_from_linear_time() -> None:
    quadratic = growth(lambda text: max(one for one in text for _ in text), "a".__mul__, 400)
    assert quadratic > MOST_GROWTH


def test_an_expression_that_backtracks_is_found() -> None:
    assert steep("veridical.core.text._none", re.compile(r"\s+x"), 800)
    assert not steep("veridical.core.text._none", re.compile(r"(?<!\s)\s++x"), 800)


def test_no_expression_takes_more_than_linear_time_for_long_texts() -> None:
    long = {name: each for name, each in patterns().items() if name not in BOUNDED}
    assert len(long) > 300
    # Seen twice: a machine that is busy elsewhere may seem steep once.
    assert [name for name, each in long.items() if steep(name, each) and steep(name, each)] == []


def test_expressions_of_short_texts_are_still_there() -> None:
    assert BOUNDED.keys() <= patterns().keys()
