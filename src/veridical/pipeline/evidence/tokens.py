"""Words for lexical ranking, and an estimate of how many tokens a model makes of a text."""

from __future__ import annotations

import re
from unicodedata import normalize

from veridical.core.homoglyphs import fold

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+", re.UNICODE)
# Word pieces in a BERT-like vocabulary: long words and numbers fall into several
# pieces, punctuation and characters of other scripts into one each.
_PIECES = re.compile(r"[a-z]{1,9}|\d{1,4}|[^\sa-z\d]", re.IGNORECASE | re.ASCII)
# Scripts written without spaces: one character is about one word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

_ACCENTS = re.compile("[\u0300-\u036f]")

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
    folded = normalize("NFKC", _bare(text)).casefold()
    found = [word for word in _WORD.findall(folded) if word not in STOP_WORDS]
    if not folded.isascii():
        found = [part for word in found for part in _UNSPACED.findall(word) or [word]]
    return [word if word[0].isdigit() else word[:_STEM] for word in found]


def estimate_tokens(text: str) -> int:
    """Return an estimate, rather high, of the word pieces of `text` in a BERT-like vocabulary."""
    return len(_PIECES.findall(_bare(text)))


def _bare(text: str) -> str:
    """Return a text as the verifier reads it: ordinary letters, no accents, nothing invisible."""
    if text.isascii():
        return text
    # First the marks that stand alone, as sorting thousands of them takes quadratic time.
    decomposed = normalize("NFD", _ACCENTS.sub("", fold(text)))
    return normalize("NFC", _ACCENTS.sub("", decomposed))
