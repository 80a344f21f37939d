"""Words that carry the facts of a sentence: numbers, dates, units and negations.

English throughout; negations also of German, French, Spanish, Italian, Portuguese, Dutch, Russian,
Chinese and Korean.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """A word of a normal form, and where it stands."""

    text: str
    start: int
    end: int


# Scripts written without spaces: each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{UNSPACED}]"
_WORD = re.compile(
    rf"""(?:(?<!\w)[-+])?(?:(?<![\w.])\.)?\d+(?:[.,:/⁄]\d+)*  # a number, a time, a date, .5
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


@lru_cache(maxsize=2**14)
def negates(word: str) -> bool:
    """Return whether a word of a normal form is a negation."""
    return word in NEGATIONS or is_not(word) or word.partition("'")[0] in NEGATIONS


def is_not(word: str) -> bool:
    """Return whether a word of a normal form is "not", on its own or in a contraction."""
    return word.partition("'")[0] in _NOT or word.endswith("n't")


# --- numbers ---------------------------------------------------------------------------------

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_DIGITS = {word: str(i) for i, word in enumerate(_ONES)}
_DIGITS |= {word: str(10 * i) for i, word in enumerate(_TENS, start=2)}
_AMOUNTS = frozenset(
    """hundred thousand million billion trillion dozen dozens hundreds thousands millions billions
    once twice thrice half halves third thirds quarter quarters double triple both couple few
    several many first second fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last
    thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth
    fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth thousandth millionth
    percent percentage""".split()  # noqa: SIM905
)
_MEASURES = frozenset(
    """k bn kg g mg mcg μg ml l dl cm mm m km lb lbs oz ft mph kmh am pm hz kb mb gb
    mol mmol meq iu kcal mmhg bpm
    second minute hour day night week weekend fortnight month year decade century
    pound ounce gram kilogram milligram microgram liter litre milliliter millilitre inch foot feet
    mile meter metre kilometer kilometre degree celsius fahrenheit dollar cent euro yen unit
    monday tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    morning noon afternoon evening midnight yesterday today tomorrow tonight daily weekly monthly
    yearly annually hourly""".split()  # noqa: SIM905
)
_COUNTS = _AMOUNTS | _MEASURES
_SHORTEST_MISSPELT = 4
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BARE_POINT = re.compile(r"^\.|(?<=^-)\.")


@lru_cache(maxsize=2**14)
def figure(word: str) -> str:
    """Return the comparison form of a number, date or unit; empty for any other word."""
    if word in _DIGITS:
        return _DIGITS[word]
    if any(char.isnumeric() for char in word):
        return _BARE_POINT.sub("0.", _THOUSANDS.sub("", word).lstrip("+"))
    if not any(char.isalpha() for char in word):
        return word
    singular = word if word in _COUNTS else word.removesuffix("s")
    return singular if singular in _COUNTS else ""


# --- typing errors ---------------------------------------------------------------------------


def misspelt(one: str, other: str) -> bool:
    """Return whether a word is a day, time or unit, and another the same but for one wrong letter.

    One letter too many, too few, another one, or two swapped. Never where the wrong word is a
    number, date or unit itself, or as close to another of them; never in a number or an amount.
    """
    known, wrong = (one, other) if figure(one) else (other, one)
    if figure(wrong) or figure(known) not in _MEASURES or len(wrong) < _SHORTEST_MISSPELT:
        return False
    if not wrong.isalpha() or negates(wrong):
        return False
    close = {figure(word) for word in _DIGITS.keys() | _COUNTS if _one_letter_off(wrong, word)}
    return _one_letter_off(wrong, known) and close <= {figure(known)}


def _one_letter_off(wrong: str, right: str) -> bool:
    """Return whether one letter is added, left out or replaced, or two neighbours are swapped."""
    if abs(len(wrong) - len(right)) > 1 or wrong == right:
        return False
    start = next((i for i, (a, b) in enumerate(zip(wrong, right, strict=False)) if a != b), None)
    if start is None:
        return True
    rest, other = wrong[start:], right[start:]
    same_end = rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
    return same_end or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
