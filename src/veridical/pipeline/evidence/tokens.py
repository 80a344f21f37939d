"""Words for lexical ranking, and an estimate of how many tokens a model makes of a text."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+", re.UNICODE)
_PIECES = re.compile(r"[a-z]+|\d+|[^\sa-z\d]", re.IGNORECASE | re.ASCII)
# Scripts written without spaces: one character is about one word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

_STEM = 6
"""Words are cut to this many letters: a crude stem, but no language needs to be known."""

STOP_WORDS = frozenset(
    """a about after all also an and any are as at be been before being but by can could did do does
    during each for from had has have he her his how i if in into is it its may more most must
    of on one or other our over she should so some such than that the their them then there
    these they this those to under up was we were what when where which while who will with would
    you your""".split()  # noqa: SIM905 -- a paragraph of words reads better than 90 quoted ones
)


def words(text: str) -> list[str]:
    """Return the content words of a text, folded and stemmed; numbers are kept whole."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [
        stem
        for word in _WORD.findall(folded)
        if word not in STOP_WORDS
        for stem in (_UNSPACED.findall(word) or [word if word[0].isdigit() else word[:_STEM]])
    ]


def estimate_tokens(text: str) -> int:
    """Return about how many word pieces a BERT-like vocabulary makes of `text`; rather too many."""
    return sum(_cost(piece) for piece in _PIECES.findall(text))


def _cost(piece: str) -> int:
    # Long words and numbers fall into several pieces; punctuation and other scripts into one each.
    return 1 + len(piece) // (4 if piece.isdigit() else 9)
