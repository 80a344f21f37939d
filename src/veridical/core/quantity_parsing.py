"""Parsing of the quantities of an English text: their places and their canonical form.

Numbers (`core.numerals`) are read with the unit or the currency beside them (`core.units`) and the
words that make a bound of them; dates and times come from `core.moments`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from veridical.core.moments import ORDINALS, find_moments
from veridical.core.numerals import Number, find_numbers, spoken
from veridical.core.quantities import Bound, Quantity, ValueReading, point
from veridical.core.quantity_joining import joined
from veridical.core.types import Span
from veridical.core.units import CURRENCIES, TWO_WORDS, Unit, per, unit_named

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOUNDS = {
    Bound.AT_LEAST: r"at least|(?:a )?minimum of|(?:no|not) less than|no fewer than|min\.?|≥",
    Bound.AT_MOST: r"at most|up to|(?:a )?maximum of|(?:no|not) more than|max\.?"
    r"|as (?:many|much) as|≤",
    Bound.JUST_OVER: r"(?:just|slightly|a little) (?:over|more than|above)",
    Bound.JUST_UNDER: r"(?:just|slightly|a little) (?:under|less than|below)|nearly|almost"
    r"|not quite",
    Bound.OVER: r"(?:well )?over|more than|above|upwards of|in excess of|greater than|exceeding|>",
    Bound.UNDER: r"(?:well )?under|less than|fewer than|below|<",
    Bound.ABOUT: r"about|around|approximately|approx\.?|roughly|some|circa|ca?\.|close to"
    r"|(?:an )?estimated|~|≈",
}
_BEFORE = re.compile(
    r"(?:(?<=\s)|(?<=\()|^)(?:"
    + "|".join(f"(?P<{bound.name}>{said})" for bound, said in _BOUNDS.items())
    + r")\s*(?:the\s+|an?\s+)?$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|without|cannot|\w+n['’]t)(?:[ \t]+\w+){0,2}\s+$", re.IGNORECASE
)
_MORE, _LESS = "more|over|higher|above|longer|older", "less|fewer|under|lower|below|shorter|younger"
_AFTER = re.compile(rf"\s+or\s+(?:(?P<more>{_MORE})|(?:{_LESS}))\b", re.IGNORECASE)
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|AUD|CAD|INR|SEK|NOK|DKK|PLN|NZD|Rs"
_PREFIX = re.compile(
    r"(?:(?<=[\s(\[\"'“:=/–-])|^)(?P<sign>[-+−–])?"
    rf"(?P<mark>US\$|NZ\$|HK\$|CA?\$|A\$|R\$|[$€£¥₹₩₽₿]|(?:{_CODES})[ \xa0])$"
)
_LETTER_SCALE = re.compile(r"[ \xa0]?(?P<scale>[mMbB]|tn)(?![\w/])")
_UNIT = re.compile(
    r"(?:[ \t\xa0\u202f\u2009]|-)?"
    r"(?P<unit>US[ ]?\$|[A-Za-zµμ%‰°℃℉$€£¥₹ł×][\w²³/$.]*(?:-hours?)?)"
)
_PAIR = re.compile(r"[ \t\xa0-]?(?P<unit>[A-Za-z°%]+\.?[ \xa0-][A-Za-z$]+)")
_SYMBOL = re.compile(r"[ \xa0\u202f]?(?P<unit>°[ ]?[CF]\b|%|‰|°|€|£|\$|¥)")
_PER = re.compile(r"(?:\s?/\s?|\s+per\s+|\s+an?\s+)(?P<unit>[A-Za-zµμ²³]+)")
_NOUNS = re.compile(r"[\s-]+([A-Za-z][A-Za-z'-]+)")
_LAST = re.compile(r"([A-Za-z][A-Za-z'-]*)[\s#-]*$")
_REACH = 32
_STEM = 5
_DECADE = re.compile(r"['’]?s\b")
_OF_A_DECADE = re.compile(
    r"\b(?:the|his|her|their|my|your|our|early|late|mid)[\s-]+$", re.IGNORECASE
)
_YEARS = range(1000, 2101)
_ORDINAL = re.compile(
    rf"(?<![\w.,-])(?P<digits>\d{{1,3}})(?:st|nd|rd|th)\b|\bQ(?P<quarter>[1-4])\b"
    rf"|\b(?P<word>{'|'.join(reversed(ORDINALS))})\b(?!\s*,)",
    re.IGNORECASE,
)
_ORDINAL_WORDS = frozenset([*ORDINALS, "st", "nd", "rd", "th", "q", "twenty", "thirty"])
_QUARTER = re.compile(r"\s+quarter\b", re.IGNORECASE)
_ORDINAL_NO = re.compile(r"\b(?:at|per|a|every|split)\s+$", re.IGNORECASE)
_TIMES_LONG = ("hour", "minute", "day", "week", "fortnight", "month", "year", "decade", "century")
_A_TIME = re.compile(rf"\ban?[ -](?P<unit>{'|'.join(_TIMES_LONG)})\b(?!-)", re.IGNORECASE)
_RATE = re.compile(
    r"(?:\d|\b(?:once|twice|thrice|times|percent|euros?|dollars?|pounds?|cents?|person|day|hours?"
    r"|week|month|each|half|quarter|third|of))\s+$|[%$€£]\s?$"
    # "2 g of ceftriaxone a day", "two tablets a day"
    r"|\d\s?[a-zµ]+\s+of\s+[\w-]+\s+$"
    r"|\b(?:\d\d?|two|three|four|five|six|seven|eight|nine|ten)\s+[a-z]+s\s+$",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b", re.IGNORECASE)
_FOLD = {"twice": 2, "thrice": 3, "twofold": 2, "threefold": 3, "fourfold": 4, "tenfold": 10}
_TIMES = re.compile(rf"\b(?:{'|'.join(_FOLD)})\b", re.IGNORECASE)
_SLASH = re.compile(r"(?<![\w/.])(?P<one>\d{2,3})\s?/\s?(?P<other>\d{2,3})(?![\w/])")
_SIMPLE = re.compile(r"(?<![\w/.,])(?P<one>\d)/(?P<other>\d{1,2})(?![\w/])")
_HALVED = frozenset({"duration", "length", "data", "mass"})
"""Dimensions of which there are halves: "half a year", but "half $" is none."""
_MANY = 64
"""Maximum number of quantities compared; a text with more is a table, which no rule reads."""
_LONGEST = 8_000
"""Maximum number of characters of a text that is read; passages and claims are shorter."""


@lru_cache(maxsize=2**9)
def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, in order and apart from each other.

    A text with more than 64 is read as having none, as it is a table; so is one of more than 8,000
    characters.
    """
    if len(text) > _LONGEST:
        return ()
    found: list[Quantity] = []
    for quantity in sorted(_candidates(text), key=lambda q: (q.span.start, -q.span.end)):
        if not found or quantity.span.start >= found[-1].span.end:
            found.append(quantity)
        elif len(quantity.span) > len(found[-1].span):
            found[-1] = quantity
    found = joined(text, found)
    return tuple(found) if len(found) <= _MANY else ()


def _candidates(text: str) -> Iterator[Quantity]:
    for moment in find_moments(text):
        span = Span(moment.start, moment.end)
        readings = tuple(point(Fraction(value)) for value in moment.numbers)
        yield Quantity(span, span.of(text), moment.kind, readings, moment.dates)
    yield from _ordinals(text)
    yield from _articles(text)
    yield from _slashes(text)
    for number in find_numbers(text):
        quantity = _measured(text, number)
        if quantity is not None:
            yield from _bounded(text, quantity)
    for match in _TIMES.finditer(text):
        value = Fraction(_FOLD[match[0].lower()])
        yield _quantity(text, match.start(), match.end(), point(value), unit_named("times"))


def _ordinals(text: str) -> Iterator[Quantity]:
    ordinal = not spoken(text).isdisjoint(_ORDINAL_WORDS)
    for match in _ORDINAL.finditer(text) if ordinal else ():
        before = text[max(match.start() - _REACH, 0) : match.start()]
        if match["word"] and _ORDINAL_NO.search(before):
            continue
        written = match["digits"] or match["quarter"]
        value = int(written) if written else ORDINALS.index(match["word"].lower()) + 1
        quarter = None if match["quarter"] else _QUARTER.match(text, match.end())
        dimension = "quarter" if quarter or match["quarter"] else "ordinal"
        span = Span(match.start(), quarter.end() if quarter else match.end())
        reading = (point(Fraction(value)),)
        near = _near(text, span)
        yield Quantity(span, span.of(text), dimension, reading, near=near)


def _articles(text: str) -> Iterator[Quantity]:
    """Yield "an hour", but not that of "twice an hour"."""
    for match in () if spoken(text).isdisjoint(_TIMES_LONG) else _A_TIME.finditer(text):
        if not _RATE.search(text[max(match.start() - _REACH, 0) : match.start()]):
            half = _AND_A_HALF.match(text, match.end())
            value = Fraction(3, 2) if half else Fraction(1)
            end = half.end() if half else match.end()
            reading = point(value, Fraction(0 if half else 1))
            found = _quantity(text, match.start(), end, reading, unit_named(match["unit"]))
            yield from _bounded(text, found)


def _slashes(text: str) -> Iterator[Quantity]:
    """Yield readings of two numbers (a blood pressure), and fractions."""
    for match in _SLASH.finditer(text):
        span = Span(match.start(), match.end())
        value = Fraction(int(match["one"]) * 1000 + int(match["other"]))
        yield Quantity(span, span.of(text), "pair of numbers", (point(value),))
    for match in _SIMPLE.finditer(text):
        one, other = int(match["one"]), int(match["other"])
        if 0 < one < other:
            span = Span(match.start(), match.end())
            yield Quantity(span, span.of(text), "ratio", (point(Fraction(one, other)),))


def _measured(text: str, number: Number) -> Quantity | None:
    """Return a number with the currency before it, or the unit after it, or as a count."""
    start = number.start
    before = text[max(start - _REACH, 0) : start]
    if mark := _PREFIX.search(before):
        return _priced(text, number, mark, start - len(before) + mark.start())
    if _DECADE.match(text, number.end) and _is_decade(before, number):
        return None
    span = Span(start, number.end)
    measured = _with_unit(text, number)
    if measured is not None or number.fraction or number.bare:
        share = Quantity(span, span.of(text), "ratio", (point(number.value),))
        return measured or (share if number.fraction else None)
    return Quantity(span, span.of(text), "count", (point(*number[2:6]),), near=_near(text, span))


def _with_unit(text: str, number: Number) -> Quantity | None:
    rate = _unit_after(text, number.end)
    if rate is None or (number.fraction and rate[0].dimension not in _HALVED):
        return None
    return _quantity(text, number.start, rate[1], point(*number[2:6]), rate[0])


def _is_decade(before: str, number: Number) -> bool:
    """Return whether "1990s" or "her 30s" is meant, and not seconds."""
    return number.value % 10 == 0 and (number.value in _YEARS or bool(_OF_A_DECADE.search(before)))


def _priced(text: str, number: Number, mark: re.Match[str], start: int) -> Quantity:
    unit = CURRENCIES[mark["mark"].strip()]
    reading, end = point(*number[2:6]), number.end
    if scale := _LETTER_SCALE.match(text, end):
        factor = {"m": 10**6, "b": 10**9, "t": 10**12}[scale["scale"][0].lower()]
        reading, end = reading.converted(Fraction(factor))._replace(scale=factor), scale.end()
    if mark["sign"] in {"-", "−", "–"}:
        reading = reading._replace(low=-reading.low, high=-reading.high)
    rate = _rate(text, unit, end)
    return _quantity(text, start, rate[1], reading, rate[0])


def _unit_after(text: str, at: int) -> tuple[Unit, int] | None:
    for pattern in (_PAIR, _SYMBOL, _UNIT):
        match = pattern.match(text, at)
        if match is None:
            continue
        written = match["unit"]
        if pattern is _PAIR:
            unit = unit_named(written.replace("-", " ")) if _two_words(written) else None
            end = match.end()
        else:
            unit, end = _longest(written, match.end("unit"))
        if unit is not None and not _is_other_word(text, at, written):
            return _rate(text, unit, end)
    return None


def _two_words(written: str) -> bool:
    return written.replace("-", " ").replace("\xa0", " ").casefold() in TWO_WORDS


def _longest(written: str, end: int) -> tuple[Unit | None, int]:
    """Return the unit of a word, without a full stop or a slash and the text after it if needed."""
    for cut in (written, written.rstrip("."), written.partition("/")[0].rstrip(".")):
        unit = unit_named(cut)
        if unit is not None:
            return unit, end - len(written) + len(cut)
    return None, end


def _is_other_word(text: str, at: int, written: str) -> bool:
    """Return whether a letter after a space is a name rather than a unit: "Team 5 B", "3 N"."""
    return written in {"B", "T", "N", "p", "x"} and text[at : at + 1] == " "


def _rate(text: str, unit: Unit, end: int) -> tuple[Unit, int]:
    """Return the unit with the unit of its denominator, where there is one."""
    match = _PER.match(text, end)
    other = unit_named(match["unit"]) if match else None
    if match is None or other is None or other.dimension in {"money", "times", "ratio"}:
        return unit, end
    return per(unit, other), match.end()


def _quantity(
    text: str, start: int, end: int, reading: ValueReading, unit: Unit | None
) -> Quantity:
    span = Span(start, end)
    if unit is None:
        return Quantity(span, span.of(text), "count", (reading,), near=_near(text, span))
    return Quantity(
        span,
        span.of(text),
        unit.dimension,
        tuple(reading.converted(factor, unit.offset) for factor in unit.factors),
        kinds=unit.kinds,
        near=_near(text, span),
        unit=unit,
    )


def _near(text: str, span: Span) -> frozenset[str]:
    """Return the stems of up to three words after a place, and of the one before it."""
    found, at = [], span.end
    for _ in range(3):
        match = _NOUNS.match(text, at)
        if match is None:
            break
        found.append(match[1])
        at = match.end()
    before = _LAST.search(text[max(span.start - _REACH, 0) : span.start])
    found += [before[1]] if before else []
    return frozenset(word[:_STEM].lower().rstrip("s") for word in found if len(word) > 2)  # noqa: PLR2004 -- no "of"


def _bounded(text: str, quantity: Quantity) -> Iterator[Quantity]:
    """Yield the quantity with the words that make a bound of it; none if that is negated.

    "Not stored above 25 °C" and "not clear why over 300 came": whether the bound is the opposite
    depends on what is negated.
    """
    start, end = quantity.span.start, quantity.span.end
    before = text[max(start - _REACH, 0) : start]
    match = _BEFORE.search(before)
    bound = Bound.EXACT
    if match is not None and match.lastgroup is not None:
        bound = Bound[match.lastgroup]
        start -= len(before) - match.start()
        if bound is not Bound.ABOUT and _NEGATED.search(text[max(start - _REACH, 0) : start]):
            return
    elif after := _AFTER.match(text, end):
        bound = Bound.AT_LEAST if after["more"] else Bound.AT_MOST
        end = after.end()
    span = Span(start, end)
    yield replace(quantity, span=span, text=span.of(text), bound=bound)
