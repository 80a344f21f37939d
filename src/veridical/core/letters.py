"""Texts as a reader sees them, for what looks at characters.

A model takes fullwidth or bold letters, or a Cyrillic “а” in an English word, for signs it does not
know, and reads what is invisible to people, such as an order in tag characters. `plain` writes the
same text with ordinary letters and without what cannot be seen. Superscripts, subscripts and
fractions stay: 10² is not 102. It keeps no offsets: spans and quotes are those of the original.
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

VERSION = "1"
"""Changes with what `plain` does: estimates made before are not those made after."""


class _Table(dict[int, str]):
    """For `str.translate`: what each character is written as, worked out when it is first met."""

    LIMIT = 2**15  # a text of every code point there is must not fill the memory

    def __missing__(self, code: int) -> str:
        if len(self) >= self.LIMIT:
            self.clear()
        self[code] = written = _written(chr(code))
        return written


_TABLE = _Table()


def plain(text: str) -> str:
    """Return a text with ordinary letters and nothing invisible; doing it twice changes nothing."""
    if text.isascii():
        return text
    written = text.translate(_TABLE)
    if _GREEK_OR_CYRILLIC.search(written):
        return _WORD.sub(_as_latin, written)
    return written


def _written(char: str) -> str:
    if char in INVISIBLE or char in _FILLERS:
        return ""
    tag = decomposition(char).partition(" ")[0]
    usual = normalize("NFKC", char)
    if tag in _VARIANTS or (tag in _LETTER_VARIANTS and usual.isalpha()):
        return usual
    return char


def _as_latin(word: re.Match[str]) -> str:
    """Return a word of Latin letters and lookalikes of such in Latin; any other as it is."""
    latin = word[0].translate(_LOOKALIKES)
    mixed = _ASCII_LETTER.search(word[0]) and _LATIN_WORD.fullmatch(latin)
    return latin if mixed else word[0]
