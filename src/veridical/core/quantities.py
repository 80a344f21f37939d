"""Quantities in one canonical form, and the relation between two of them.

A quantity is a number with its unit, an amount of money, a share, a count, an ordinal, a date, a
weekday, a time of day, or a range or bound of these. Two are the same if their canonical forms are:
"2 p.m." and "14:00", "one year" and "twelve months", "33 %" and "a third" (as finely as is stated).
Where a text can be read in two ways, nothing is held to differ that might be the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.moments import Date
    from veridical.core.types import Span
    from veridical.core.units import Unit


class Bound(StrEnum):
    """Kind of bound that a number sets."""

    EXACT = "exact"
    ABOUT = "about"
    OVER = "over"
    UNDER = "under"
    JUST_OVER = "just over"
    JUST_UNDER = "just under"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    RANGE = "range"


class Relation(StrEnum):
    """Relation of a quantity of a claim to one of its evidence."""

    SAME = "same"
    """The same in canonical form, or implied by it: "over 300" by "330"."""
    UNCLEAR = "unclear"
    """Neither the same nor surely another one."""
    DIFFERENT = "different"
    """Of the same dimension, and both cannot be meant."""


class ValueReading(NamedTuple):
    """Value in the canonical unit, with its precision and its roundedness.

    `high` is the other end of a range, else the value again. `zero` is the unit's own zero: 20 °C
    are 293.15 kelvins, from a zero of 273.15. `scale` is the factor of its scale word ("million").
    """

    low: Fraction
    high: Fraction
    step: Fraction
    rough: Fraction
    scale: int = 1
    zero: Fraction = Fraction(0)

    def converted(self, factor: Fraction, offset: Fraction = Fraction(0)) -> ValueReading:
        """Return the value in a unit of which this one is a multiple, with its zero at `offset`."""
        low, high, step, rough = (part * factor for part in self[:4])
        return ValueReading(low + offset, high + offset, step, rough, self.scale, offset)


def point(
    value: Fraction, step: Fraction = Fraction(0), rough: Fraction = Fraction(0), scale: int = 1
) -> ValueReading:
    """Return the reading of a value that is no range."""
    return ValueReading(value, value, step, rough, scale)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity and where it stands.

    `readings` are its values in the canonical unit, several where the unit has several sizes; a
    date has `dates` instead. `kinds` are the currencies, or the calendar or clock, it may be of;
    `near` are the stems of the words around it, by which counts are told apart.
    """

    span: Span
    text: str = field(repr=False)
    dimension: str
    readings: tuple[ValueReading, ...] = ()
    dates: tuple[Date, ...] = ()
    bound: Bound = Bound.EXACT
    kinds: frozenset[str] = frozenset()
    near: frozenset[str] = field(default_factory=frozenset)
    unit: Unit | None = None


# --- comparing -------------------------------------------------------------------------------

_CLOSE = Fraction(1, 20)
"""Relative error allowed for a rounded number."""
_ROUGHLY = Fraction(1, 50)
"""The same for a number like 1,000 that does not say that it is rounded."""
_ABOUT = Fraction(1, 10)
_MONTH_DAYS = (28, 31)


def relation(claimed: Quantity, stated: Quantity) -> Relation | None:
    """Return the relation of a claim's quantity to the evidence's; None if not comparable."""
    if claimed.dimension != stated.dimension:
        return None
    if claimed.dates or stated.dates:
        return _dated(claimed.dates, stated.dates)
    if claimed.dimension == "duration" and claimed.kinds != stated.kinds:
        return _calendar(claimed, stated)
    if claimed.kinds and stated.kinds and not claimed.kinds & stated.kinds:
        return _other_currency(claimed, stated)
    found = {
        _compared(claimed, stated, a, b) for a, b in product(claimed.readings, stated.readings)
    }
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
    """Compare the numbers alone: the same is an error, another one may be a conversion."""
    same = {r.low for r in claimed.readings} & {r.low for r in stated.readings}
    return Relation.DIFFERENT if same else Relation.UNCLEAR


_LIMITS = frozenset({Bound.AT_LEAST, Bound.AT_MOST})
_ABOVE = frozenset({Bound.OVER, Bound.JUST_OVER})
_BELOW = frozenset({Bound.UNDER, Bound.JUST_UNDER})


def _compared(claimed: Quantity, stated: Quantity, a: ValueReading, b: ValueReading) -> Relation:
    if _may_be_differences(a, b) or (claimed.dimension == "count" and _may_be_sections(a, b)):
        return Relation.UNCLEAR
    if claimed.bound is Bound.RANGE and stated.bound is Bound.RANGE:
        return Relation.SAME if _ends_close(a, b) else Relation.DIFFERENT
    if claimed.bound is stated.bound and claimed.bound in _LIMITS | {Bound.EXACT}:
        return _points(a, b, same_form=claimed.unit == stated.unit)
    low, high = _interval(a, claimed.bound)
    other_low, other_high = _interval(b, stated.bound)
    if _within(low, high, other_low, other_high):
        return Relation.SAME
    apart = other_low > high or other_high < low
    bounds = {claimed.bound, stated.bound}
    opposite = bounds & _ABOVE and bounds & _BELOW
    if apart or (opposite and (other_low == high or other_high == low)):
        return Relation.DIFFERENT
    return Relation.UNCLEAR


def _may_be_differences(a: ValueReading, b: ValueReading) -> bool:
    """Return whether two temperatures are the same as differences: 1.5 °C are 2.7 °F more."""
    return a.zero != b.zero and _ends_close(_from_zero(a), _from_zero(b))


def _may_be_sections(a: ValueReading, b: ValueReading) -> bool:
    """Return whether two equal numbers have digits to tell them apart: version 3.10 is not 3.1."""
    equal = (a.low, a.high) == (b.low, b.high)
    return equal and 0 < a.step != b.step > 0 and max(a.step, b.step) < 1


def _points(a: ValueReading, b: ValueReading, *, same_form: bool) -> Relation:
    if a.low == b.low:
        return Relation.SAME
    gap, size = abs(a.low - b.low), max(abs(a.low - a.zero), abs(b.low - b.zero))
    half_a, half_b = a.step / 2, b.step / 2
    if gap <= _CLOSE * size and (gap <= half_a or (gap <= half_b and not same_form)):
        return Relation.SAME
    if gap <= _CLOSE * size and gap <= half_b:
        return Relation.UNCLEAR
    if gap <= _ROUGHLY * size and gap <= max(a.rough, b.rough) / 2:
        return Relation.UNCLEAR
    return Relation.DIFFERENT


def _close(a: ValueReading, b: ValueReading) -> bool:
    return _points(a, b, same_form=False) is Relation.SAME


def _ends_close(a: ValueReading, b: ValueReading) -> bool:
    return _close(a, b) and _close(a._replace(low=a.high), b._replace(low=b.high))


def _from_zero(reading: ValueReading) -> ValueReading:
    low, high = reading.low - reading.zero, reading.high - reading.zero
    return reading._replace(low=low, high=high, zero=Fraction(0))


_End = Fraction | float


def _interval(reading: ValueReading, bound: Bound) -> tuple[_End, _End]:
    low, high = reading.low, reading.high
    spread = abs(low - reading.zero) * _ABOUT
    match bound:
        case Bound.ABOUT:
            return low - max(spread, reading.step / 2), high + max(spread, reading.step / 2)
        case Bound.JUST_OVER:
            return low, high + spread
        case Bound.JUST_UNDER:
            return low - spread, high
        case Bound.OVER | Bound.AT_LEAST:
            return low, float("inf")
        case Bound.UNDER | Bound.AT_MOST:
            return float("-inf"), high
        case _:
            return low, high


def _within(low: _End, high: _End, other_low: _End, other_high: _End) -> bool:
    return low <= other_low and other_high <= high


# --- derivation from two quantities ----------------------------------------------------------


class Derivation(StrEnum):
    """Derivation of a quantity from two others of one dimension."""

    SUM = "sum"
    DIFFERENCE = "difference"
    SHARE = "share"


_SAYS = {
    Derivation.SUM: re.compile(
        r"\b(?:total(?:s|led|ling)?|together|altogether|combined|in all|overall|sum)\b",
        re.IGNORECASE,
    ),
    Derivation.DIFFERENCE: re.compile(
        r"\b(?:difference|more|less|fewer|increased?|decreased?|rose|fell|grew|dropped|gained|lost|up"
        r"|down|later|earlier|after|before|gap|apart|remain(?:s|ed|ing)?|left|lead|margin|by"
        r"|\w{2,20}er than)\b",
        re.IGNORECASE,
    ),
    Derivation.SHARE: re.compile(
        r"%|\b(?:per ?cent|share|proportion|times|half|third|quarter|of|fold|ratio|average)\b",
        re.IGNORECASE,
    ),
}
_PAIRED = 12
"""Maximum number of quantities of the evidence that are paired."""


def derivation(claim: str, claimed: Quantity, stated: Sequence[Quantity]) -> Derivation | None:
    """Return the derivation of a claim's quantity from two stated ones, if the claim names one."""
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
    kind: Derivation,
    claimed: Quantity,
    stated: Quantity,
    reading: ValueReading,
    pair: set[Fraction],
) -> bool:
    low, high = min(pair), max(pair)
    if kind is Derivation.DIFFERENCE and claimed.unit is not None:
        # Seven degrees less are no temperature: from one to another the zero does not count.
        reading = reading._replace(low=reading.low - claimed.unit.offset)
    if kind is Derivation.SHARE:
        found = {low / high, high / low - 1, 1 - low / high} if low > 0 and low < high else set()
        fits = claimed.dimension in {"ratio", "times"}
    elif claimed.dimension == stated.dimension:
        found = {low + high} if kind is Derivation.SUM else {high - low}
        fits = claimed.kinds == stated.kinds and low != high
    else:  # from one date to another there are years
        return False
    point = ValueReading(reading.low, reading.low, reading.step, reading.rough)
    return fits and any(
        _close(point, ValueReading(v, v, Fraction(0), Fraction(0))) for v in found if v
    )
