"""Normalisation: equal to a plain reference, idempotent, and every offset leads back."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core import text as unit
from veridical.core.text import normalise
from veridical.core.types import Span

pytestmark = pytest.mark.spec("053.normalise")

# --- hostile text ----------------------------------------------------------------------------

PIECES = [
    *"aAbBzZ1239.,'\"-_/ =<>\t\n\r\x0b\x1c\x00\x7f\x85",
    *"ﬁﬃŉǆ½²％ａＡ１３＜＞Ⅷ㎏㍿㌀Å\u212b\u2126\u1e9b豈﷼ﷺ",  # compatibility characters
    *"ßẞıİΣςσϴµſ",  # characters with a case of their own
    *"éȩ\u0300\u0301\u0302\u0307\u0308\u030a\u030c\u0323\u0327\u0331\u0338\u0345\u0344\u20d0",
    *"HTWYJjiIqΪϊωΩ",  # bases that compose in lower case only, or never
    *"각가각ㄱㅏㆍ\u115f\u1160\u3099カﾞﾊﾟ",
    *"क\u093cि\u09c7\u09be\u0b47\u0b3e\u0dd9\u0dcf\u0dca\u0f73\u0f71\u0f72\u1100\u1161\u11a8",
    *"\u00ad\u034f\u200b\u200c\u200d\u200e\u202e\u2060\ufeff\ufe0f\ufffe\uffff\U000e0041",
    *"\xa0\u1680\u2003\u2028\u202f\u3000“”„‘’‚‛′″«»‹›´\u1ffd`˜΄–—―‐‑−⸺…",
    *"👩🏽❤🇬🇧🏴\ud800\udfff",
    *("<laughter>", "<deep breath>", "<b and c>", "<a", "<br/>", "</b>", "<a<b>c>", "<3", " < "),
    *(
        "don’t",
        "so\u00adft",
        "x<y and y>z",
        "<LAUGHTER>",
        "＜ma＞",
        "<la\u200bugh>",
        "a\u0301\u0323",
    ),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=20)


# --- the plain reference ---------------------------------------------------------------------

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]"
)
UNIFIED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′‵‹›ʼ´\u1ffd", "'"),
        **dict.fromkeys("“”„‟″‶«»", '"'),
        **dict.fromkeys("‐‑‒–—―−⸺⸻", "-"),
        **dict.fromkeys("Σς", "σ"),
    }
)


def plainly(text: str) -> str:
    """Normalise the whole text step by step, without any offsets."""
    text = INVISIBLE.sub("", text).translate(UNIFIED)
    text = unicodedata.normalize("NFKC", text).translate(UNIFIED).lower()
    text = re.sub(r"\s", " ", unicodedata.normalize("NFKC", text))
    return re.sub(r" +", " ", unit._blank_tags(text)).strip(" ")


@given(hostile)
@example("H\u0331")
@example("<a<b>c>")
@example("e\u200b\u0301")
@example("\ufffe\u0301")
def test_text_equals_the_plain_reference(text: str) -> None:
    assert normalise(text).text == plainly(text)


@given(hostile)
@example("<a<b>c>")
@example("<a <b>c d>")
@example("<a b c d<x>>")
@example("<a\n<b> >")
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text).text
    assert normalise(once).text == once


def test_every_code_point_folds_to_a_fixed_point() -> None:
    for code in range(0, sys.maxunicode, 7):
        folded = unit._fold(chr(code))
        assert unit._fold(folded) == folded, hex(code)


def test_every_character_that_composes_with_the_one_before_joins_its_run() -> None:
    codes = range(sys.maxunicode)
    pairs = [unicodedata.decomposition(chr(code)).split() for code in codes]
    seconds = {chr(int(p[1], 16)) for p in pairs if len(p) == 2 and not p[0].startswith("<")}
    assert [char for char in seconds if not unit._joins(char)] == []


# --- the way back ----------------------------------------------------------------------------


def boundaries(text: str) -> list[int]:
    """Return the offsets of the normalised text at which no run of the original is cut."""
    normal = normalise(text)
    spans = [normal.to_original(i, i + 1) for i in range(len(normal.text))]
    inner = [i for i, (left, right) in enumerate(pairwise(spans), 1) if left.end <= right.start]
    return [0, *inner, len(spans)] if spans else []


@given(hostile, st.data())
def test_what_a_range_came_from_normalises_to_it(text: str, data: st.DataObject) -> None:
    normal, cuts = normalise(text), boundaries(text)
    if not cuts:
        return
    start, end = sorted(data.draw(st.sets(st.sampled_from(cuts), min_size=2, max_size=2)))
    quote = normal.text[start:end].strip()
    if normalise(quote).text == quote:  # else no quote has this normal form
        assert normalise(normal.to_original(start, end).of(text)).text == quote


@given(hostile, st.data())
def test_a_range_that_cuts_a_run_maps_to_all_of_it(text: str, data: st.DataObject) -> None:
    normal = normalise(text)
    if not normal.text:
        return
    start = data.draw(st.integers(0, len(normal.text) - 1))
    end = data.draw(st.integers(start + 1, len(normal.text)))
    quote = normal.text[start:end].strip()
    if normalise(quote).text == quote:
        assert quote in normalise(normal.to_original(start, end).of(text)).text


@given(hostile)
def test_offsets_rise_with_the_text_and_stay_inside_the_original(text: str) -> None:
    normal = normalise(text)
    spans = [normal.to_original(i, i + 1) for i in range(len(normal.text))]
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(
        left.start <= right.start and left.end <= right.end for left, right in pairwise(spans)
    )


@given(hostile)
def test_a_range_spans_from_its_first_to_its_last_character(text: str) -> None:
    normal = normalise(text)
    if not normal.text:
        return
    first, last = (
        normal.to_original(0, 1),
        normal.to_original(len(normal.text) - 1, len(normal.text)),
    )
    assert normal.to_original(0, len(normal.text)) == Span(first.start, last.end)


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("He said:  “I’m\n\nfine”.", '"i\'m fine"', "“I’m\n\nfine”"),
        ("the eﬃcient oﬃce", "efficient", "eﬃcient"),
        ("un\u00adbe\u00adliev\u00adable\u200b!", "unbelievable", "un\u00adbe\u00adliev\u00adable"),
        ("\u200b\ufeffso \u2060it is\u2060", "so it is", "so \u2060it is"),
        ("I <laughter> don't know", "i don't", "I <laughter> don't"),
        ("Cafe\u0301 noir", "café", "Cafe\u0301"),
        ("İstanbul'da", "i\u0307stanbul", "İstanbul"),
        ("ΟΔΟΣ ΑΒ", "οδοσ", "ΟΔΟΣ"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "글", "\u1100\u1173\u11af"),
        ("wait … what", "...", "…"),
        ("so <sigh>\u3099 x", "\u3099 x", "\u3099 x"),
        ("\n\u0302 x", "\u0302 x", "\u0302 x"),
        ("１２ ％ of", "12 %", "１２ ％"),
        ("👩\u200d👩\u200d👧 family", "👩👩👧", "👩\u200d👩\u200d👧"),
    ],
)
def test_a_found_quote_leads_back_to_its_original(text: str, quote: str, found: str) -> None:
    normal = normalise(text)
    start = normal.text.index(quote)
    assert normal.to_original(start, start + len(quote)).of(text) == found


@pytest.mark.parametrize(("start", "end"), [(0, 0), (2, 1), (-1, 2), (0, 4), (3, 4)])
def test_an_empty_or_outside_range_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not a non-empty range"):
        normalise("abc").to_original(start, end)


# --- rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (" \t\u3000\u200b", ""),
        ("Straße", "straße"),
        ("I\xa0FEEL  “tired”", 'i feel "tired"'),
        ("well–known — yes − no", "well-known - yes - no"),
        ("don´t don‘t donʼt", "don't don't don't"),
        ("zero\u200bwidth so\u00adft wo\u2060rd", "zerowidth soft word"),
    ],
)
def test_typography_white_space_and_case_are_unified(text: str, normal: str) -> None:
    assert normalise(text).text == normal


@pytest.mark.parametrize(
    "tag",
    ["<laughter>", "<MA>", "<sigh2>", "<deep breath>", "<br/>", "</b>", "＜räuspern＞", "<x-y>"],
)
def test_a_non_verbal_tag_becomes_a_space(tag: str) -> None:
    assert normalise(f"so{tag if ' ' not in tag else ' ' + tag}tired").text == "so tired"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a < b and c > d",
            "x<5 and y>3",
            "i <3 you",
            "x<y and y>z",
            "a <b and c> d",
            "<>",
            "< a>",
        ),
        *("p<0.05, n>30", "<a href='x'>", "<one two three four five>", "<a<b>c>", "a << b >> c"),
        f"<{'long' * 9}>",
    ],
)
def test_an_angle_bracket_in_arithmetic_is_no_tag(text: str) -> None:
    assert normalise(text).text == text


@pytest.mark.parametrize(
    "hostile_text",
    [
        *("<a" * 50_000, "<a" * 30_000 + ">" * 30_000, "<a" + " " * 100_000, " " * 100_000),
        *("a" + "\u0301\u0323" * 50_000, "\u200b" * 100_000, "a\u200b" * 50_000, "ﷺ" * 20_000),
        *(
            "\u1100" + "\u1161" * 50_000,
            "<" * 100_000,
            "<a b c " * 20_000,
            "a" + "\u0344\u0323" * 9999,
        ),
    ],
    ids=lambda text: ascii(text[:3]),
)
def test_hostile_text_takes_linear_time(hostile_text: str) -> None:
    began = time.process_time()
    normalise(hostile_text)
    assert time.process_time() - began < 10  # quadratic time would be minutes


def test_long_runs_of_marks_equal_the_plain_reference() -> None:
    text = "x" + "\u0301\u0323\u0344\u0f73\u093c" * 20 + "y"
    assert normalise(text).text == plainly(text)


def test_the_table_of_characters_does_not_grow_without_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unit._FoldTable, "LIMIT", 2)
    table = unit._FoldTable()
    assert "ÄÖÜÉ".translate(table) == "äöüé"
    assert len(table) <= 2
