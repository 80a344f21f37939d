"""Numbers in a text: in digits, in English words, with fractions and scales ("2½", "4.2 million").

A number is exact (a fraction) and knows how finely it is stated: "4.2 million" to a hundred
thousand, "33" to one. Words that only look like numbers are left: "one" on its own, "few hundred".
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Exact = Fraction


class Number(NamedTuple):
    """A number and where it stands.

    `step` is the unit of its last stated digit, 0 if it is exact; `rough` is the unit of the last
    digit that is not 0, as "1,000" may be rounded. `scale` is the factor of its last word, as a
    range may share it ("5 to 10 million"). `bare` is a "one" or "a" that needs a unit.
    """

    start: int
    end: int
    value: Fraction
    step: Fraction
    rough: Fraction
    scale: int = 1
    bare: bool = False
    fraction: bool = False


_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905 -- a paragraph of words
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
    "mn": 10**6,
    "mln": 10**6,
    "bn": 10**9,
    "tn": 10**12,
}
_VALUES = {word: i for i, word in enumerate(_SMALL)}
_VALUES |= {word: 10 * i for i, word in enumerate(_TENS, start=2)}
_PARTS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "hundredth": 100,
}
_GLYPHS = {
    "½": Fraction(1, 2),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
    "⅕": Fraction(1, 5),
    "⅛": Fraction(1, 8),
}

_SPACE = "[ \\t\xa0\u202f\u2009]"
_DIGITS = re.compile(
    rf"""
    (?<![\w.,:/\\#@&])                      # not within a word, a version, a time, a path
    (?P<sign>(?<![\w)])[-+\u2212\u2013](?=[\d.$€£¥])|(?<![\w)\d][ ])\b[Mm]inus[ ](?=\d))?
    (?P<number>
        \d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?![\d])
      | \d{{1,3}}(?:[\xa0\u202f\u2009'\u2019]\d{{3}})+(?:[.,]\d+)?(?!\d)
      | \d{{1,3}}(?:\.\d{{3}}){{2,}}(?:,\d+)?(?!\d)
      | \d+,\d{{1,2}}(?![\d,])
      | \d+(?:\.\d+)?(?:[eE][+-]?\d{{1,2}}(?!\w))?
      | \.\d+
    )
    (?P<glyph>{_SPACE}?[{"".join(_GLYPHS)}])?
    (?P<thousand>[kK](?![A-Za-z/]))?
    (?!\d|[.,:]\d|[:\\@]\w)                  # nor the beginning of one
    """,
    re.VERBOSE,
)
_GLYPH = re.compile(f"(?<![\\w/])[{''.join(_GLYPHS)}]")
_SCALE = re.compile(rf"(?:{_SPACE}|-)?({'|'.join(_SCALES)}|[Mm](?=\b)|B|dozen)\b", re.IGNORECASE)
_ATTACHED = re.compile(r"(?:million|billion|trillion|mln|mn|bn|tn|M|B)\b")
_WORDS = re.compile(
    rf"\b(?:{'|'.join([*_VALUES, 'hundred', 'dozen', *list(_SCALES)[:6]])})\b", re.IGNORECASE
)
_SPOKEN = frozenset([*_VALUES, "hundred", "dozen", *_SCALES])
_JOINT = re.compile(r"(?:[ \t\xa0]+|-)(?:and[ \t]+)?")
_ARTICLE = re.compile(r"\ba[ \t-]+$", re.IGNORECASE)
_REACH = 8
_AND_A_HALF = re.compile(r"(?:[ \t]+|-)and(?:[ \t]+|-)(?:a|one)(?:[ \t]+|-)half\b", re.IGNORECASE)
_PART = re.compile(rf"(?:[ \t\xa0]+|-)(?P<part>{'|'.join(_PARTS)})(?P<plural>s)?\b", re.IGNORECASE)
_HALF = re.compile(
    r"\b(?:(?P<a>an?|one)[ \t-]+)?(?P<part>half|third|quarter|fifth|sixth|eighth|tenth)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"[ \t]+(?:of|the|an?|its|their|all|our)\b", re.IGNORECASE)


_LETTERS = re.compile(r"[a-z]+")


@lru_cache(maxsize=8)
def spoken(text: str) -> frozenset[str]:
    """Return the English words of a text in lower case, to rule out searches that cannot match."""
    return frozenset(_LETTERS.findall(text.lower()))


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of a text, in order and apart from each other."""
    found: list[Number] = []
    for number in sorted([*_digits(text), *_glyphs(text), *_worded(text), *_halves(text)]):
        if not found or number.start >= found[-1].end:
            found.append(number)
        elif number.end > found[-1].end:
            found[-1] = number
    return found


# --- digits ----------------------------------------------------------------------------------


def _digits(text: str) -> Iterator[Number]:
    for match in _DIGITS.finditer(text):
        value, step, rough = _read(match["number"])
        if match["glyph"]:
            value += _GLYPHS[match["glyph"].strip()]
        sign = -1 if match["sign"] and match["sign"] != "+" else 1
        factor = 1000 if match["thousand"] else 1
        number = Number(match.start(), match.end(), sign * value, step, rough)
        number = _times(number, factor, match.end())
        yield _with_half(text, number if match["thousand"] else _scaled(text, number))


def _glyphs(text: str) -> Iterator[Number]:
    for match in _GLYPH.finditer(text):
        value = _GLYPHS[match[0]]
        yield Number(match.start(), match.end(), value, Exact(0), Exact(0), fraction=True)


def _read(written: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return the value of digits, the unit of their last one, and of the last that is not 0."""
    plain = re.sub(r"[\xa0\u202f\u2009'\u2019]", "", written)
    if re.fullmatch(r"\d+,\d{1,2}|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?", plain):
        plain = plain.replace(".", "").replace(",", ".")
    plain = plain.replace(",", "")
    mantissa, _, exponent = plain.lower().partition("e")
    factor = Fraction(10) ** int(exponent or 0)
    whole, _, decimals = mantissa.partition(".")
    step = Fraction(1, 10 ** len(decimals)) * factor
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals)) * factor
    return value, step, step * 10**zeros


def _times(number: Number, factor: int, end: int) -> Number:
    return number._replace(
        end=end,
        value=number.value * factor,
        step=number.step * factor,
        rough=number.rough * factor,
        scale=number.scale * factor,
    )


def _scaled(text: str, number: Number) -> Number:
    """Return a number with the word after it that multiplies it."""
    match = _SCALE.match(text, number.end)
    if match is None:
        return number
    word = match[1]
    if word == "M" and match.start(1) == number.end:  # no unit is written so
        return _times(number, 10**6, match.end())
    if word in {"M", "B", "m", "b"}:  # "5m" may be metres: only money and counts say so
        return number
    factor = 12 if word.lower() == "dozen" else _SCALES.get(word.lower(), 1)
    if word.lower() in {"mn", "bn", "tn", "mln"} and word.isupper():
        return number
    return _scaled(text, _times(number, factor, match.end()))


def _with_half(text: str, number: Number) -> Number:
    match = _AND_A_HALF.match(text, number.end)
    if match is None:
        return number
    half = number.value + Fraction(1, 2)
    return number._replace(end=match.end(), value=half, step=Exact(0), rough=Exact(0), bare=False)


# --- words -----------------------------------------------------------------------------------


def _worded(text: str) -> Iterator[Number]:
    at = len(text) if spoken(text).isdisjoint(_SPOKEN) else 0
    while match := _WORDS.search(text, at):
        words, end = _run(text, match)
        at = end
        number = _evaluated(text, match.start(), words, end)
        if number is not None:
            yield number
            at = max(end, number.end)


def _run(text: str, match: re.Match[str]) -> tuple[list[str], int]:
    """Return the number words from a match on that read as one number, and where they end."""
    words, end = [match[0].lower()], match.end()
    while joint := _JOINT.match(text, end):
        following = _WORDS.match(text, joint.end())
        if following is None or not _goes_on(words, following[0].lower(), "and" in joint[0]):
            break
        words.append(following[0].lower())
        end = following.end()
    return words, end


def _goes_on(words: list[str], word: str, joined: bool) -> bool:  # noqa: FBT001 -- one caller
    """Return whether a word continues a number: "twenty four" does, "nineteen sixty" does not."""
    last = words[-1]
    if joined and last != "hundred" and last not in _SCALES:
        return False
    if word in _SCALES:
        return last not in _SCALES or _SCALES[last] < _SCALES[word]
    if word in {"hundred", "dozen"}:
        # "one hundred and one hundred" are two numbers.
        counted = [each for each in words if each in {"hundred", "dozen"} or each in _SCALES]
        again = counted[-1:] in (["hundred"], ["dozen"])
        return not again and (last in _SMALL[1:10] or (word == "dozen" and last in _VALUES))
    if last in _TENS:
        return word in _SMALL[1:10]
    return (last == "hundred" or last in _SCALES) and word != "zero"


def _evaluated(text: str, start: int, words: list[str], end: int) -> Number | None:
    total, current = 0, 0
    for word in words:
        if word in _VALUES:
            current += _VALUES[word]
        elif word in {"hundred", "dozen"}:
            current = (current or 1) * (100 if word == "hundred" else 12)
        else:
            total, current = total + (current or 1) * _SCALES[word], 0
    if words[0] in {"hundred", "dozen"} or words[0] in _SCALES:
        article = _ARTICLE.search(text[max(start - _REACH, 0) : start])
        if article is None:
            return None
        start -= len(article[0])
    value = Fraction(total + current)
    bare = words == ["one"]
    scale = {"hundred": 100, "dozen": 12, **_SCALES}.get(words[-1], 1)
    number = Number(start, end, value, Exact(1), Exact(_zeros(int(value))), scale, bare=bare)
    part = _PART.match(text, end)
    if part is not None and _is_part(text, number, part):
        value /= _PARTS[part["part"].lower()]
        return Number(start, part.end(), value, Exact(0), Exact(0), fraction=True)
    return _with_half(text, number)


def _is_part(text: str, number: Number, part: re.Match[str]) -> bool:
    """Return whether an ordinal after a number makes a fraction of it: "two thirds"."""
    if number.value == 1:
        return part["plural"] is None
    return (part["plural"] is not None or part["part"].lower() == "halves") and not re.match(
        r"[ \t]+(?:place|time)", text[part.end() :]
    )


def _zeros(value: int) -> int:
    digits = str(abs(value))
    return 10 ** (len(digits) - len(digits.rstrip("0"))) if value else 1


def _halves(text: str) -> Iterator[Number]:
    """Yield "half", "a third", "a quarter" where they are parts of something."""
    for match in () if spoken(text).isdisjoint(_PARTS) else _HALF.finditer(text):
        part = match["part"].lower()
        followed = _OF.match(text, match.end())
        if part != "half" and not (match["a"] and followed and "of" in followed[0]):
            continue
        if part == "half" and not (match["a"] or followed or _scale_or_unit(text, match.end())):
            continue
        start = match.start()
        value = Fraction(1, _PARTS[part])
        number = Number(start, match.end(), value, Exact(0), Exact(0), fraction=True)
        if part == "half":
            number = _half_of_a(text, number)
        yield number


def _scale_or_unit(text: str, at: int) -> bool:
    return text[at : at + 1] == "-"


_A = re.compile(r"(?:[ \t]+|-)(?:an?[ \t]+)?", re.IGNORECASE)


def _half_of_a(text: str, number: Number) -> Number:
    """Return "half a" million, or a year: the article belongs to the number."""
    match = _A.match(text, number.end)
    if match is None:
        return number
    scale = _SCALE.match(text, match.end() - 1)
    if scale is not None and scale[1].lower() in {*_SCALES, "dozen"}:
        factor = 12 if scale[1].lower() == "dozen" else _SCALES[scale[1].lower()]
        return _times(number, factor, scale.end())._replace(fraction=False)
    return number._replace(end=match.end() - 1) if "a" in match[0].lower() else number
