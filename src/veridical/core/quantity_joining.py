"""Joining of quantities in a row: compounds, ranges, and shares in two numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.quantities import Bound, Quantity, ValueReading, point
from veridical.core.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from veridical.core.units import Unit

_OF = re.compile(r"\s+(?:in|out\s+of)\s+(?:every\s+)?$", re.IGNORECASE)
_REACH = 32
_DASH = re.compile(r"\s?[-–—]\s?|\s+to\s+|\s+and\s+")
_COMPOUND = re.compile(r"\s+|\s*,\s*|\s+and\s+|")


def joined(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """Join "2 hours 30 minutes", "10 to 12 days" and "nine out of ten" into one quantity each."""
    row: list[Quantity] = []
    for quantity in found:
        one = _one(text, row[-1], quantity) if row else None
        if one is None:
            row.append(quantity)
        else:
            row[-1] = one
    return row


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
    return Quantity(span, span.of(text), "ratio", (point(part / whole),), bound=first.bound)


def _sum(text: str, first: Quantity, second: Quantity, between: str) -> Quantity | None:
    smaller = first.unit and second.unit and _is_smaller(second.unit, first.unit)
    if not smaller or second.bound is not Bound.EXACT or not _COMPOUND.fullmatch(between):
        return None
    if first.dimension not in {"duration", "length", "mass"} or first.kinds != second.kinds:
        return None
    a, b = first.readings[0], second.readings[0]
    reading = ValueReading(a.low + b.low, a.high + b.high, b.step, b.step)
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
    if _shares_currency(first, second, between):
        second = replace(second, dimension="money", kinds=first.kinds, unit=first.unit)
    found = tuple(
        high._replace(low=low, rough=high.step)
        for one, high in zip(_lower(first, second), second.readings, strict=False)
        for low in _scaled(one, high)
        if low < high.high
    )
    if not found:
        return None
    span = Span(first.span.start - (len(opened[0]) if opened else 0), second.span.end)
    return replace(second, span=span, text=span.of(text), readings=found, bound=Bound.RANGE)


def _shares_currency(first: Quantity, second: Quantity, between: str) -> bool:
    """Return whether the mark of a first amount counts for the second: "$5-10 million"."""
    marked = first.dimension == "money" and first.text[-1:].isdigit()
    closed = "and" in between or between == between.strip()  # not "$5 to 10 people"
    return marked and second.dimension == "count" and closed


def _lower(first: Quantity, second: Quantity) -> tuple[ValueReading, ...]:
    """Return the readings of the lower end of a range, in the unit of the upper one."""
    if first.dimension == "count" and second.unit is not None:
        unit, low = second.unit, first.readings[0]
        return tuple(low.converted(factor, unit.offset) for factor in unit.factors)
    same = first.dimension == second.dimension and first.kinds == second.kinds
    return first.readings if same else ()


def _scaled(low: ValueReading, high: ValueReading) -> tuple[Fraction, ...]:
    """Return a lower end as it is written, and times the "million" of the upper one."""
    if low.scale == 1 and high.scale > 1:
        return low.low, low.zero + (low.low - low.zero) * high.scale
    return (low.low,)
