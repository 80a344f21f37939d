"""The words by which two nearly equal sentences differ: numbers, dates, units, negations.

Compared word by word: where a quote departs from its source, both sides must have the same of
these, or the quote changes a number or turns the meaning round. English throughout; negations also
of German, French, Spanish, Italian, Portuguese, Dutch, Russian, Chinese and Korean.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Change(StrEnum):
    """What a nearly equal quote may not change."""

    NUMBER = "number"
    POLARITY = "polarity"


class Word(NamedTuple):
    """A word of a normal form, and where it stands."""

    text: str
    start: int
    end: int


# Scripts written without spaces: each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{UNSPACED}]"
_WORD = re.compile(
    rf"""(?:(?<!\w)[-+])?\d+(?:[.,:/⁄]\d+)*     # a number, a time, a date, a fraction
       | {_LETTER}+(?:'{_LETTER}+)*
       | [{UNSPACED}]
       | [%‰°$€£¥₹₩<>=≤≥≈±×]                      # what stands for a unit or a comparison
    """,
    re.VERBOSE,
)


def words(normal: str, start: int = 0, end: int | None = None) -> list[Word]:
    """Return the words of a stretch of a normal form."""
    found = _WORD.finditer(normal, start, len(normal) if end is None else end)
    return [Word(match[0], match.start(), match.end()) for match in found]


# --- negations -------------------------------------------------------------------------------

_NOT = frozenset(
    """not cannot nt dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt
    havent hasnt hadnt aint nicht не""".split()  # noqa: SIM905 -- a paragraph of words reads better
)
NEGATIONS = _NOT | frozenset(
    """no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely seldom
    deny denies denied denying lack lacks lacked absent nope
    nie niemals kein keine keinen keiner keinem keines nichts ohne weder
    ne pas jamais sans aucun aucune rien ni nunca jamás sin ningún ninguna nada
    non mai senza nessun nessuno nessuna niente não nunca sem nenhum nenhuma niet nooit geen zonder
    нет ни без никогда ничего 不 没 沒 无 無 未 非 否 別 勿 안 못 아니 없""".split()  # noqa: SIM905
)


def negates(word: str) -> bool:
    """Say whether a word of a normal form is a negation."""
    return word in NEGATIONS or is_not(word) or word.partition("'")[0] in NEGATIONS


def is_not(word: str) -> bool:
    """Say whether a word of a normal form is "not", on its own or in a contraction."""
    return word.partition("'")[0] in _NOT or word.endswith("n't")


# --- numbers ---------------------------------------------------------------------------------

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_DIGITS = {word: str(i) for i, word in enumerate(_ONES)}
_DIGITS |= {word: str(10 * i) for i, word in enumerate(_TENS, start=2)}
_COUNTS = frozenset(
    """hundred thousand million billion trillion dozen dozens hundreds thousands millions billions
    once twice thrice half halves third thirds quarter quarters double triple both couple few
    several many first second fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last
    percent percentage kg g mg mcg μg ml l dl cm mm m km lb lbs oz ft mph kmh am pm hz kb mb gb
    second minute hour day night week weekend fortnight month year decade century
    pound ounce gram kilogram milligram microgram liter litre milliliter millilitre inch foot feet
    mile meter metre kilometer kilometre degree celsius fahrenheit dollar cent euro yen unit
    monday tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    morning noon afternoon evening midnight yesterday today tomorrow tonight daily weekly monthly
    yearly annually hourly""".split()  # noqa: SIM905
)


def _number(word: str) -> str:
    """Return what a number, date or unit is compared by; empty for any other word."""
    if word in _DIGITS:
        return _DIGITS[word]
    if any(char.isnumeric() for char in word):
        return word.replace(",", "").lstrip("+")
    if not any(char.isalpha() for char in word):
        return word
    singular = word if word in _COUNTS else word.removesuffix("s")
    return singular if singular in _COUNTS else ""


# --- opposites -------------------------------------------------------------------------------

_OPPOSITES = (
    (("increas", "rais", "rise", "rose", "grow", "grew"), ("decreas", "reduc", "declin", "fall")),
    (("gain", "won", "win"), ("lose", "losing", "lost", "loss")),
    (("improv",), ("worsen", "deteriorat")),
    (("start", "began", "begin"), ("stop", "ended", "ending", "ceas", "quit")),
    (("accept", "approv", "allow", "permit"), ("reject", "refus", "forbid", "prohibit", "den")),
    (("includ",), ("exclud",)),
    (("agree",), ("disagree",)),
    (("love", "like", "enjoy"), ("hate", "dislike")),
    (("positiv",), ("negativ",)),
)
_SHORT_OPPOSITES = (
    *(("more", "less"), ("more", "fewer"), ("most", "least"), ("higher", "lower"), ("up", "down")),
    *(("high", "low"), ("better", "worse"), ("best", "worst"), ("good", "bad"), ("yes", "no")),
    *(("before", "after"), ("above", "below"), ("over", "under"), ("always", "sometimes")),
    *(("all", "some"), ("every", "some"), ("with", "without"), ("true", "false"), ("in", "out")),
    *(("left", "right"), ("can", "cannot"), ("much", "little"), ("early", "late"), ("on", "off")),
    *(("shall", "may"), ("must", "may"), ("will", "may"), ("will", "might")),
)
_NEGATING_STARTS = ("un", "in", "im", "ir", "il", "dis", "non", "mis")


@lru_cache(maxsize=2**12)
def opposed(one: str, other: str) -> bool:
    """Say whether two words are opposites: from a short list, or one is the other with `un-`."""
    if any({one, other} == set(pair) for pair in _SHORT_OPPOSITES):
        return True
    for left, right in _OPPOSITES:
        if one.startswith(left) and other.startswith(right):
            return True
        if other.startswith(left) and one.startswith(right):
            return True
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    if any(longer == start + shorter for start in _NEGATING_STARTS):
        return True
    stem = longer.removesuffix("less")
    return stem != longer and shorter in {stem, f"{stem}ful", f"{stem}s"}


# --- comparing -------------------------------------------------------------------------------


def change(quote: Sequence[str], source: Sequence[str]) -> Change | None:
    """Return what is changed where the words of a quote stand for those of its source."""
    if _numbers(quote) != _numbers(source):
        return Change.NUMBER
    if _negations(quote) != _negations(source):
        return Change.POLARITY
    turned = any(opposed(one, other) for one, other in product(quote, source))
    return Change.POLARITY if turned else None


def _numbers(found: Sequence[str]) -> Counter[str]:
    return Counter(filter(None, map(_number, found)))


def _negations(found: Sequence[str]) -> Counter[str]:
    # "can't", "cannot" and "can not" are one; "never" for "not" is a change.
    return Counter("not" if is_not(word) else word for word in found if negates(word))


def blocks(quote: Sequence[str], source: Sequence[str]) -> Iterator[tuple[range, range]]:
    """Yield the places at which two sequences of words differ, between those that they share."""
    from rapidfuzz.distance import Indel

    at_quote = at_source = 0
    for same in Indel.opcodes(quote, source):
        if same.tag == "equal":
            if same.src_start > at_quote or same.dest_start > at_source:
                yield range(at_quote, same.src_start), range(at_source, same.dest_start)
            at_quote, at_source = same.src_end, same.dest_end
    if at_quote < len(quote) or at_source < len(source):
        yield range(at_quote, len(quote)), range(at_source, len(source))
