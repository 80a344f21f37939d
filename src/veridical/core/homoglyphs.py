"""Folding of lookalike and invisible characters, for code that reads characters.

A model takes fullwidth or bold letters, or a Cyrillic “а” in an English word, for signs it does not
know, and reads text that is invisible to people, such as an order in tag characters. `fold` writes
the same text with ordinary letters and without invisible characters. Superscripts, subscripts and
fractions stay: 10² is not 102. It keeps no offsets: spans and quotes belong to the original.
"""

from __future__ import annotations

import re
from unicodedata import decomposition, normalize

from veridical.core.text import INVISIBLE

_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Hangul letters that are blank."""

_VARIANTS = frozenset({"<wide>", "<narrow>", "<font>"})
_LETTER_VARIANTS = frozenset({"<circle>", "<compat>"})
"""Ⓐ and ﬁ are letters in another form; ① and … are more than their NFKC."""

_LOOKALIKES = str.maketrans(
    "асеорхуіјѕһԁԛԝАВЕЅІЈКМНОРСТХУ" + "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",  # Cyrillic, Greek
    "aceopxyijshdqwABESIJKMHOPCTXY" + "oABEZHIKMNOPTYX",
)
_GREEK_OR_CYRILLIC = re.compile("[\u0370-\u052f]")
_ASCII_LETTER = re.compile("[A-Za-z]")
_LATIN_WORD = re.compile("[\x00-\u024f]+")
_WORD = re.compile(r"\w+")

VERSION = "2"
"""Changes with the result of `fold`: earlier estimates are not comparable with later ones."""


class _Table(dict[int, str]):
    """Table for `str.translate`: the written form of each character, computed on first use."""

    LIMIT = 2**15  # a text of every code point there is must not fill the memory

    def __missing__(self, code: int) -> str:
        if len(self) >= self.LIMIT:
            self.clear()
        self[code] = written = _written(chr(code))
        return written


_TABLE = _Table()


def fold(text: str) -> str:
    """Return a text with ordinary letters and nothing invisible; doing it twice changes nothing."""
    if text.isascii():
        return text
    written = text.translate(_TABLE)
    return _latinised(written) if _GREEK_OR_CYRILLIC.search(written) else written


def _written(char: str) -> str:
    if char in INVISIBLE or char in _FILLERS:
        return ""
    tag = decomposition(char).partition(" ")[0]
    usual = normalize("NFKC", char)
    if tag in _VARIANTS or (tag in _LETTER_VARIANTS and usual.isalpha()):
        return usual
    return char


def _latinised(text: str) -> str:
    """Return a text in which words that mix Latin letters and their lookalikes are Latin.

    A word of nothing but lookalikes may be a word of its own language. It is not, where other words
    are mixed and none has a letter that only its language has.
    """
    foreign = {word for word in _WORD.findall(text) if _GREEK_OR_CYRILLIC.search(word)}
    latin = {word: word.translate(_LOOKALIKES) for word in foreign}
    latin = {word: written for word, written in latin.items() if _LATIN_WORD.fullmatch(written)}
    mixed = {word for word in latin if _ASCII_LETTER.search(word)}
    if not mixed or len(latin) < len(foreign):
        latin = {word: latin[word] for word in mixed}
    return _WORD.sub(lambda word: latin.get(word[0], word[0]), text)
