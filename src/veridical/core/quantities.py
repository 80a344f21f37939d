"""Quantities of a text in one canonical form, and whether two of them can both be true.

A quantity is a number with its unit, an amount of money, a share, a count, an ordinal, a date, a
weekday, a time of day, or a range or bound of these. Two are the same if their canonical forms are:
"2 p.m." and "14:00", "one year" and "twelve months", "33 %" and "a third" (as finely as is stated).
Where a text can be read in two ways, nothing is held to differ that might be the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.moments import Date, find_moments
from veridical.core.numerals import Number, find_numbers, spoken
from veridical.core.types import Span
from veridical.core.units import CURRENCIES, TWO_WORDS, Unit, per, unit_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Bound(StrEnum):
    """How a number bounds what is said of it."""

    EXACT = "exact"
    ABOUT = "about"
    OVER = "over"
    UNDER = "under"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    RANGE = "range"


class Relation(StrEnum):
    """What a quantity of a claim is to one of its evidence."""

    SAME = "same"
    """The same in canonical form, or implied by it: "over 300" by "330"."""
    UNCLEAR = "unclear"
    """Neither the same nor surely another one."""
    DIFFERENT = "different"
    """Of the same dimension, and both cannot be meant."""


class Reading(NamedTuple):
    """A value in the canonical unit, how finely it is stated, and how roughly it may be meant.

    `high` is the other end of a range, else the value again.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    rough: Fraction


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity and where it stands.

    `readings` are its values in the canonical unit, several where the unit has several sizes; a
    date has `dates` instead. `kinds` are the currencies, or the calendar or clock, it may be of;
    `near` are the stems of the words around it, by which counts are told apart.
    """

    span: Span
    text: str
    dimension: str
    readings: tuple[Reading, ...] = ()
    dates: tuple[Date, ...] = ()
    bound: Bound = Bound.EXACT
    kinds: frozenset[str] = frozenset()
    near: frozenset[str] = field(default_factory=frozenset)
    unit: Unit | None = None


# --- finding ---------------------------------------------------------------------------------

_BOUNDS = (
    (Bound.AT_LEAST, r"at least|a minimum of|minimum of|no less than|not less than|no fewer than|min\.?"),
    (Bound.AT_MOST, r"at most|up to|a maximum of|maximum of|no more than|not more than|max\.?|as many as|as much as"),
    (Bound.OVER, r"more than|over|above|upwards of|in excess of|greater than|exceeding|just over|well over|>"),
    (Bound.UNDER, r"less than|fewer than|under|below|nearly|almost|just under|close to|not quite|<"),
    (Bound.ABOUT, r"about|around|approximately|approx\.?|roughly|some|circa|ca\.|c\.|an estimated|estimated|~|≈"),
    (Bound.AT_LEAST, r"≥"),
    (Bound.AT_MOST, r"≤"),
)  # fmt: skip
_BEFORE = re.compile(
    r"(?:(?<=\s)|(?<=\()|^)(?:"
    + "|".join(f"(?P<b{i}>{words})" for i, (_, words) in enumerate(_BOUNDS))
    + r")\s*(?:the\s+|an?\s+)?$",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s+or\s+(?:(?P<more>more|over|higher|above|longer|older)|(?:less|fewer|under|lower|below|shorter|younger))\b", re.IGNORECASE)  # fmt: skip # noqa: E501
_PREFIX = re.compile(r"(?:(?<=[\s(\[\"'“:=/-])|^)(?P<sign>[-+−–])?(?P<mark>US\$|NZ\$|HK\$|CA?\$|A\$|R\$|[$€£¥₹₩₽₿]|(?:USD|EUR|GBP|CHF|JPY|CNY|AUD|CAD|INR|SEK|NOK|DKK|PLN|NZD|Rs\.?)[ \xa0])$")  # fmt: skip # noqa: E501
_LETTER_SCALE = re.compile(r"[ \xa0]?(?P<scale>[mMbB]|tn)(?![\w/])")
_UNIT = re.compile(r"(?:[ \t\xa0\u202f\u2009]|-)?(?P<unit>(?:US[ ]?\$|[A-Za-zµμ%‰°℃℉$€£¥₹zł×][\w²³/$.]*(?:-hours?)?))")  # fmt: skip # noqa: E501
_PAIR = re.compile(r"[ \t\xa0-]?(?P<unit>[A-Za-z°%]+\.?[ \xa0-][A-Za-z$]+)")
_SYMBOL = re.compile(r"[ \xa0\u202f]?(?P<unit>°[ ]?[CF]\b|%|‰|°|€|£|\$|¥)")
_PER = re.compile(r"(?:\s?/\s?|\s+per\s+|\s+an?\s+)(?P<unit>[A-Za-zµμ²³]+)")
_NOUNS = re.compile(r"[\s-]+([A-Za-z][A-Za-z'-]+)")
_LAST = re.compile(r"([A-Za-z][A-Za-z'-]*)[\s#-]*$")
_REACH = 32
_STEM = 5
_DECADE = re.compile(r"['’]?s\b")
_OF_A_DECADE = re.compile(r"\b(?:the|his|her|their|my|your|our|early|late|mid)[\s-]+$", re.IGNORECASE)
_YEARS = range(1000, 2101)
_ORDINAL = re.compile(r"(?<![\w.,-])(?P<digits>\d{1,3})(?:st|nd|rd|th)\b|\b(?P<word>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth)\b(?!\s*,)|\bQ(?P<quarter>[1-4])\b", re.IGNORECASE)  # fmt: skip # noqa: E501
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split()  # fmt: skip # noqa: E501, SIM905
_ORDINAL_WORDS = frozenset([*_ORDINALS, "st", "nd", "rd", "th", "q"])
_QUARTER = re.compile(r"\s+quarter\b", re.IGNORECASE)
_ORDINAL_NO = re.compile(r"\b(?:at|per|a|every|split)\s+$", re.IGNORECASE)
_A_TIME = re.compile(r"\b(?P<a>an?)[ -](?P<unit>hour|minute|day|week|fortnight|month|year|decade|century)\b(?!-)", re.IGNORECASE)  # fmt: skip # noqa: E501
_LONG_TIMES = frozenset("hour minute day week fortnight month year decade century".split())  # noqa: SIM905
_RATE = re.compile(r"(?:\d|\b(?:once|twice|times|thrice|percent|euros?|dollars?|pounds?|cents?|person|day|hours?|week|month|each|half|quarter|third|of))\s+$|[%$€£]\s?$", re.IGNORECASE)  # fmt: skip # noqa: E501
_AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b", re.IGNORECASE)
_TIMES = re.compile(r"\b(?P<word>twice|thrice|twofold|threefold|fourfold|fivefold|tenfold)\b", re.IGNORECASE)  # fmt: skip # noqa: E501
_TIMES_VALUES = {"twice": 2, "thrice": 3, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10}  # fmt: skip # noqa: E501
_OF = re.compile(r"\s+(?:in|out\s+of)\s+(?:every\s+)?$", re.IGNORECASE)
_SLASH = re.compile(r"(?<![\w/.])(?P<one>\d{2,3})\s?/\s?(?P<other>\d{2,3})(?![\w/])")
_SIMPLE = re.compile(r"(?<![\w/.,])(?P<one>\d)/(?P<other>\d{1,2})(?![\w/])")
_MANY = 64
"""Quantities of one text that are compared; a text with more is a table, which no rule reads."""
_LONGEST = 8_000
"""Characters of a text that is read; passages and claims are shorter."""


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
    found = _joined(text, found)
    return tuple(found) if len(found) <= _MANY else ()


def _candidates(text: str) -> Iterator[Quantity]:
    for moment in find_moments(text):
        span = Span(moment.start, moment.end)
        readings = tuple(_point(Fraction(value)) for value in moment.numbers)
        yield Quantity(span, span.of(text), moment.kind, readings, moment.dates)
    yield from _ordinals(text)
    yield from _articles(text)
    yield from _slashes(text)
    for number in find_numbers(text):
        quantity = _measured(text, number)
        if quantity is not None:
            yield _bounded(text, quantity)
    for match in _TIMES.finditer(text):
        value = Fraction(_TIMES_VALUES[match["word"].lower()])
        yield _quantity(text, match.start(), match.end(), _point(value), unit_named("times"))


def _point(value: Fraction, step: Fraction = Fraction(0), rough: Fraction = Fraction(0)) -> Reading:
    return Reading(value, value, step, rough)


def _ordinals(text: str) -> Iterator[Quantity]:
    ordinal = not spoken(text).isdisjoint(_ORDINAL_WORDS)
    for match in _ORDINAL.finditer(text) if ordinal else ():
        before = text[max(match.start() - _REACH, 0) : match.start()]
        if match["word"] and _ORDINAL_NO.search(before):
            continue
        written = match["digits"] or match["quarter"]
        value = int(written) if written else _ORDINALS.index(match["word"].lower()) + 1
        quarter = None if match["quarter"] else _QUARTER.match(text, match.end())
        dimension = "quarter" if quarter or match["quarter"] else "ordinal"
        span = Span(match.start(), quarter.end() if quarter else match.end())
        reading = (_point(Fraction(value)),)
        near = _near(text, span)
        yield Quantity(span, span.of(text), dimension, reading, near=near)


def _articles(text: str) -> Iterator[Quantity]:
    """Yield "an hour", but not that of "twice an hour"."""
    for match in () if spoken(text).isdisjoint(_LONG_TIMES) else _A_TIME.finditer(text):
        if not _RATE.search(text[max(match.start() - _REACH, 0) : match.start()]):
            half = _AND_A_HALF.match(text, match.end())
            value = Fraction(3, 2) if half else Fraction(1)
            end = half.end() if half else match.end()
            reading = _point(value, Fraction(0 if half else 1))
            found = _quantity(text, match.start(), end, reading, unit_named(match["unit"]))
            yield _bounded(text, found)


def _slashes(text: str) -> Iterator[Quantity]:
    """Yield readings of two numbers (a blood pressure), and fractions."""
    for match in _SLASH.finditer(text):
        span = Span(match.start(), match.end())
        value = Fraction(int(match["one"]) * 1000 + int(match["other"]))
        yield Quantity(span, span.of(text), "pair of numbers", (_point(value),))
    for match in _SIMPLE.finditer(text):
        one, other = int(match["one"]), int(match["other"])
        if 0 < one < other:
            span = Span(match.start(), match.end())
            yield Quantity(span, span.of(text), "ratio", (_point(Fraction(one, other)),))


def _measured(text: str, number: Number) -> Quantity | None:
    """Return a number with the currency before it, or the unit after it, or as a count."""
    start = number.start
    before = text[max(start - _REACH, 0) : start]
    if mark := _PREFIX.search(before):
        return _priced(text, number, mark, start - len(before) + mark.start())
    if _DECADE.match(text, number.end) and _is_decade(before, number):
        return None
    rate = _unit_after(text, number.end)
    if rate is not None:
        unit, end = rate
        if number.fraction and unit.dimension not in {"duration", "length", "data", "mass"}:
            return None
        return _quantity(text, start, end, _point(*number[2:5]), unit)
    if number.fraction:
        span = Span(start, number.end)
        return Quantity(span, span.of(text), "ratio", (_point(number.value),))
    if number.bare:
        return None
    span = Span(start, number.end)
    scaled = _LETTER_SCALE.match(text, number.end)
    if scaled and scaled["scale"] in "MB" and text[number.end : number.end + 1] == scaled["scale"]:
        return None
    return Quantity(span, span.of(text), "count", (_point(*number[2:5]),), near=_near(text, span))


def _is_decade(before: str, number: Number) -> bool:
    """Say whether "1990s" or "her 30s" is meant, and not seconds."""
    return number.value % 10 == 0 and (number.value in _YEARS or bool(_OF_A_DECADE.search(before)))


def _priced(text: str, number: Number, mark: re.Match[str], start: int) -> Quantity:
    unit = CURRENCIES[mark["mark"].strip()]
    reading, end = _point(*number[2:5]), number.end
    if scale := _LETTER_SCALE.match(text, end):
        factor = {"m": 10**6, "b": 10**9, "t": 10**12}[scale["scale"][0].lower()]
        reading, end = Reading(*(part * factor for part in reading)), scale.end()
    if mark["sign"] in {"-", "−", "–"}:
        reading = Reading(-reading.low, -reading.high, reading.step, reading.rough)
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
    """Return the unit of a word, without a full stop or a slash and what follows it if need be."""
    for cut in (written, written.rstrip("."), written.partition("/")[0].rstrip(".")):
        unit = unit_named(cut)
        if unit is not None:
            return unit, end - len(written) + len(cut)
    return None, end


def _is_other_word(text: str, at: int, written: str) -> bool:
    """Say whether a short unit after a space is rather a word or a name: "5 A", "3 h"."""
    return written in {"A", "B", "T", "c", "p", "x", "N"} and text[at : at + 1] == " " and written != "A"  # fmt: skip # noqa: E501


def _rate(text: str, unit: Unit, end: int) -> tuple[Unit, int]:
    """Return the unit with what it is per, where that is a unit, too."""
    match = _PER.match(text, end)
    other = unit_named(match["unit"]) if match else None
    if match is None or other is None or other.dimension in {"money", "times", "ratio"}:
        return unit, end
    return per(unit, other), match.end()


def _quantity(text: str, start: int, end: int, reading: Reading, unit: Unit | None) -> Quantity:
    span = Span(start, end)
    if unit is None:
        return Quantity(span, span.of(text), "count", (reading,), near=_near(text, span))
    return Quantity(
        span,
        span.of(text),
        unit.dimension,
        tuple(_converted(reading, factor, unit.offset) for factor in unit.factors),
        kinds=unit.kinds,
        near=_near(text, span),
        unit=unit,
    )


def _converted(reading: Reading, factor: Fraction, offset: Fraction) -> Reading:
    low, high, step, rough = (part * factor for part in reading)
    return Reading(low + offset, high + offset, step, rough)


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


def _bounded(text: str, quantity: Quantity) -> Quantity:
    """Return the quantity with the words that make a bound of it."""
    start, end = quantity.span.start, quantity.span.end
    before = text[max(start - _REACH, 0) : start]
    match = _BEFORE.search(before)
    bound = Bound.EXACT
    if match is not None and match.lastgroup is not None:
        bound = _BOUNDS[int(match.lastgroup[1:])][0]
        start -= len(before) - match.start()
    elif after := _AFTER.match(text, end):
        bound = Bound.AT_LEAST if after["more"] else Bound.AT_MOST
        end = after.end()
    span = Span(start, end)
    return replace(quantity, span=span, text=span.of(text), bound=bound)


# --- several in a row ------------------------------------------------------------------------

_DASH = re.compile(r"\s?[-–—]\s?|\s+to\s+|\s+and\s+")
_COMPOUND = re.compile(r"\s+|\s*,\s*|\s+and\s+|")


def _joined(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """Join "2 hours 30 minutes", "10 to 12 days" and "nine out of ten" into one quantity each."""
    joined: list[Quantity] = []
    for quantity in found:
        one = _one(text, joined[-1], quantity) if joined else None
        if one is None:
            joined.append(quantity)
        else:
            joined[-1] = one
    return joined


def _one(text: str, first: Quantity, second: Quantity) -> Quantity | None:
    between = text[first.span.end : second.span.start]
    if first.dates or second.dates or not (first.readings and second.readings):
        return None
    return (
        _share(text, first, second, between)
        or _sum(text, first, second, between)
        or _range(text, first, second, between)
    )


def _share(text: str, first: Quantity, second: Quantity, between: str) -> Quantity | None:
    if first.dimension != "count" or second.dimension != "count" or not _OF.fullmatch(between):
        return None
    part, whole = first.readings[0].low, second.readings[0].low
    if not 0 < part < whole:
        return None
    span = Span(first.span.start, second.span.end)
    return Quantity(span, span.of(text), "ratio", (_point(part / whole),), bound=first.bound)


def _sum(text: str, first: Quantity, second: Quantity, between: str) -> Quantity | None:
    smaller = first.unit and second.unit and _is_smaller(second.unit, first.unit)
    if not smaller or second.bound is not Bound.EXACT or not _COMPOUND.fullmatch(between):
        return None
    if first.dimension not in {"duration", "length", "mass"} or first.kinds != second.kinds:
        return None
    a, b = first.readings[0], second.readings[0]
    reading = Reading(a.low + b.low, a.high + b.high, b.step, b.step)
    span = Span(first.span.start, second.span.end)
    return replace(first, span=span, text=span.of(text), readings=(reading,), unit=second.unit)


def _is_smaller(one: Unit, other: Unit) -> bool:
    return one.dimension == other.dimension and one.factors[0] < other.factors[0]


_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+$", re.IGNORECASE)


def _range(text: str, first: Quantity, second: Quantity, between: str) -> Quantity | None:
    if not _DASH.fullmatch(between) or {first.bound, second.bound} != {Bound.EXACT}:
        return None
    before = text[max(first.span.start - _REACH, 0) : first.span.start]
    joins, opened = "and" in between, _BETWEEN.search(before)
    if joins != bool(opened) or _FROM.search(before):
        return None
    if first.dimension == "count" and second.unit is not None:
        if not (first.near & second.near or first.span.end + len(between) == second.span.start):
            return None
        low = first.readings[0]
        lows = tuple(_converted(low, f, second.unit.offset) for f in second.unit.factors)
    elif first.dimension == second.dimension and first.kinds == second.kinds:
        lows = first.readings
    else:
        return None
    pairs = zip(lows, second.readings, strict=False)
    found = tuple(Reading(a.low, b.high, b.step, b.step) for a, b in pairs if a.low < b.high)
    if not found:
        return None
    span = Span(first.span.start - (len(opened[0]) if opened else 0), second.span.end)
    return replace(second, span=span, text=span.of(text), readings=found, bound=Bound.RANGE)


# --- comparing -------------------------------------------------------------------------------

_CLOSE = Fraction(1, 20)
"""The share by which a rounded number may miss what it stands for."""
_ROUGHLY = Fraction(1, 50)
"""The same of a number like 1,000 that does not say that it is rounded."""
_ABOUT = Fraction(1, 10)
_MONTH_DAYS = (28, 31)


def relation(claimed: Quantity, stated: Quantity) -> Relation | None:
    """Return what a claim's quantity is to the evidence's; None if they are no two of a kind."""
    if claimed.dimension != stated.dimension:
        return None
    if claimed.dates or stated.dates:
        return _dated(claimed.dates, stated.dates)
    if claimed.dimension == "duration" and claimed.kinds != stated.kinds:
        return _calendar(claimed, stated)
    if claimed.kinds and stated.kinds and not claimed.kinds & stated.kinds:
        return _other_currency(claimed, stated)
    found = {_compared(claimed, stated, a, b) for a, b in product(claimed.readings, stated.readings)}
    if len(found) == 1:
        return found.pop()
    # A unit of two sizes is meant in the way that fits; a time that may be two times is not known.
    clear = claimed.dimension != "time of day"
    return Relation.SAME if clear and Relation.SAME in found else Relation.UNCLEAR


def _dated(claimed: Sequence[Date], stated: Sequence[Date]) -> Relation | None:
    pairs = list(product(claimed, stated))
    if not any(one.meets(other) for one, other in pairs):
        return None
    if all(one.opposes(other) for one, other in pairs):
        return Relation.DIFFERENT
    clear = len(pairs) == 1 and pairs[0][0].covers(pairs[0][1])
    return Relation.SAME if clear else Relation.UNCLEAR


def _calendar(claimed: Quantity, stated: Quantity) -> Relation:
    """Compare months, which have 28 to 31 days, with days: never the same, but often different."""
    months, clock = (claimed, stated) if "calendar" in claimed.kinds else (stated, claimed)
    low = min(r.low for r in months.readings) * _MONTH_DAYS[0] * 86_400
    high = max(r.high for r in months.readings) * _MONTH_DAYS[1] * 86_400
    apart = all(r.high < low or r.low > high for r in clock.readings)
    exact = {claimed.bound, stated.bound} <= {Bound.EXACT, Bound.RANGE}
    return Relation.DIFFERENT if apart and exact else Relation.UNCLEAR


def _other_currency(claimed: Quantity, stated: Quantity) -> Relation:
    """The same number of another currency is an error; another number may be a conversion."""
    same = {r.low for r in claimed.readings} & {r.low for r in stated.readings}
    return Relation.DIFFERENT if same else Relation.UNCLEAR


_LIMITS = frozenset({Bound.AT_LEAST, Bound.AT_MOST})


def _compared(claimed: Quantity, stated: Quantity, a: Reading, b: Reading) -> Relation:
    if claimed.bound is Bound.RANGE and stated.bound is Bound.RANGE:
        ends = _close(a._replace(high=a.low), b._replace(high=b.low)), _close(
            a._replace(low=a.high), b._replace(low=b.high)
        )
        return Relation.SAME if all(ends) else Relation.DIFFERENT
    if claimed.bound is stated.bound and claimed.bound in _LIMITS | {Bound.EXACT}:
        return _points(a, b, same_form=claimed.unit == stated.unit)
    low, high = _interval(a, claimed.bound)
    other_low, other_high = _interval(b, stated.bound)
    if _within(low, high, other_low, other_high):
        return Relation.SAME
    apart = other_low > high or other_high < low
    opposite = {claimed.bound, stated.bound} == {Bound.OVER, Bound.UNDER}
    if apart or (opposite and (other_low == high or other_high == low)):
        return Relation.DIFFERENT
    return Relation.UNCLEAR


def _points(a: Reading, b: Reading, *, same_form: bool) -> Relation:
    if a.low == b.low:
        return Relation.SAME
    gap, size = abs(a.low - b.low), max(abs(a.low), abs(b.low))
    half_a, half_b = a.step / 2, b.step / 2
    if gap <= _CLOSE * size and (gap <= half_a or (gap <= half_b and not same_form)):
        return Relation.SAME
    if gap <= _CLOSE * size and gap <= half_b:
        return Relation.UNCLEAR
    if gap <= _ROUGHLY * size and gap <= max(a.rough, b.rough) / 2:
        return Relation.UNCLEAR
    return Relation.DIFFERENT


def _close(a: Reading, b: Reading) -> bool:
    return _points(a, b, same_form=False) is Relation.SAME


_End = Fraction | float


def _interval(reading: Reading, bound: Bound) -> tuple[_End, _End]:
    low, high = reading.low, reading.high
    spread = abs(low) * _ABOUT
    match bound:
        case Bound.ABOUT:
            return low - max(spread, reading.step / 2), high + max(spread, reading.step / 2)
        case Bound.OVER | Bound.AT_LEAST:
            return low, float("inf")
        case Bound.UNDER | Bound.AT_MOST:
            return float("-inf"), high
        case _:
            return low, high


def _within(low: _End, high: _End, other_low: _End, other_high: _End) -> bool:
    return low <= other_low and other_high <= high


# --- what follows from two quantities --------------------------------------------------------


class Derivation(StrEnum):
    """How a quantity follows from two others of one dimension."""

    SUM = "sum"
    DIFFERENCE = "difference"
    SHARE = "share"


_SAYS = {
    Derivation.SUM: re.compile(
        r"\b(?:total(?:s|led|ling)?|together|altogether|combined|in all|overall|sum)\b", re.IGNORECASE
    ),
    Derivation.DIFFERENCE: re.compile(
        r"\b(?:difference|more|less|fewer|increased?|decreased?|rose|fell|grew|dropped|gained|lost|up"
        r"|down|longer|shorter|higher|lower|larger|smaller|older|younger|later|earlier|after|before"
        r"|gap|apart|remain(?:s|ed|ing)?|left|lead|margin|by)\b",
        re.IGNORECASE,
    ),
    Derivation.SHARE: re.compile(
        r"%|\b(?:per ?cent|share|proportion|times|half|third|quarter|of|fold|ratio|average)\b",
        re.IGNORECASE,
    ),
}
_PAIRED = 12
"""Quantities of the evidence that are paired."""


def derivation(claim: str, claimed: Quantity, stated: Sequence[Quantity]) -> Derivation | None:
    """Return how a quantity of a claim that says so follows from two of the evidence, if it does."""
    said = [kind for kind, words in _SAYS.items() if words.search(claim)]
    values = [(q, q.readings[0].low) for q in stated if q.readings and _is_plain(q)][:_PAIRED]
    if not claimed.readings or not _is_plain(claimed):
        return None
    reading = claimed.readings[0]
    for i, (one, a) in enumerate(values):
        for other, b in values[i + 1 :]:
            if one.dimension != other.dimension or one.kinds != other.kinds:
                continue
            for kind in said:
                if _follows(kind, claimed, one, reading, {a, b}):
                    return kind
    return None


def _is_plain(quantity: Quantity) -> bool:
    return quantity.bound is Bound.EXACT or quantity.bound is Bound.ABOUT


def _follows(
    kind: Derivation, claimed: Quantity, stated: Quantity, reading: Reading, pair: set[Fraction]
) -> bool:
    low, high = min(pair), max(pair)
    if kind is Derivation.SHARE:
        found = {low / high, high / low - 1, 1 - low / high} if low > 0 and low < high else set()
        fits = claimed.dimension in {"ratio", "times"}
    elif claimed.dimension == stated.dimension:
        found = {low + high} if kind is Derivation.SUM else {high - low}
        fits = claimed.kinds == stated.kinds and low != high
    else:  # from one date to another there are years
        return False
    point = Reading(reading.low, reading.low, reading.step, reading.rough)
    return fits and any(_close(point, Reading(v, v, Fraction(0), Fraction(0))) for v in found if v)
