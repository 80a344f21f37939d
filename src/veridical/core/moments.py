"""Dates, weekdays and times of day in an English text.

A date has only its written parts: "5 May" no year, "in 1968" no day. "12/05/2024" may be two days;
"9:30" may be in the morning or at night, "09:30" and "14:00" may not.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.numerals import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator


class Date(NamedTuple):
    """Written parts of a date; None where one is not written."""

    year: int | None
    month: int | None
    day: int | None

    def opposes(self, other: Date) -> bool:
        """Return whether a part that both dates have differs."""
        return any(
            a is not None and b is not None and a != b for a, b in zip(self, other, strict=True)
        )

    def meets(self, other: Date) -> bool:
        """Return whether the dates have a part in common."""
        return any(a is not None and b is not None for a, b in zip(self, other, strict=True))

    def covers(self, other: Date) -> bool:
        """Return whether the other date says all that this one says."""
        return all(a is None or a == b for a, b in zip(self, other, strict=True))


class Moment(NamedTuple):
    """Date, weekday or time of day, and its place; several readings if it is ambiguous.

    `numbers` are seconds after midnight for a time, days after Monday for a weekday.
    """

    start: int
    end: int
    kind: str
    dates: tuple[Date, ...] = ()
    numbers: tuple[int, ...] = ()


_MONTH_NAMES = """january february march april may june july august september october november
    december""".split()  # noqa: SIM905 -- a paragraph of words
_MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, start=1)}
_MONTHS |= {name[:3]: i for name, i in _MONTHS.items()} | {"sept": 9}
_SHORT = "sept|" + "|".join(name[:3] for name in _MONTH_NAMES if name != "may")
_MONTH = rf"(?P<month>{'|'.join(_MONTH_NAMES)}|(?:{_SHORT}))\b(?:(?<=\b[A-Za-z]{{3}})(?<!may)\.)?"
ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
    thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
    twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh
    twenty-eighth twenty-ninth thirtieth thirty-first""".split()  # noqa: SIM905
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>1[0-9]\d{2}|20\d{2}|2100)"

_DAY_MONTH = re.compile(
    rf"(?<![\w.,/-])(?:(?:the\s+)?(?:{_DAY}|(?P<word>{'|'.join(reversed(ORDINALS))})))"
    rf"\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR}\b)?",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"\b{_MONTH}\s+(?:the\s+)?(?:{_DAY}|(?P<word>{'|'.join(reversed(ORDINALS))}))\b"
    rf"(?![:.]\d|\s*%)(?:,?\s+{_YEAR}\b)?",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b", re.IGNORECASE)
_ISO = re.compile(r"(?<![\w/-])(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})(?![\d/-])")
_SLASHED = re.compile(r"(?<![\w/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?![\w/-])")
_NAMED = re.compile(
    r"\b(?:in|since|until|till|by|from|during|before|after|of|early|late|mid|every|to|last|next)"
    rf"[\s-]+{_MONTH}(?!\s+\d)",
    re.IGNORECASE,
)
_FOUR_DIGITS = re.compile(r"[12]\d{3}")
# Looked at only: "to" behind a year leads to the next one.
_YEAR_ENDS = r"(?!\w|['’]s\b|[.,:]\d|\s*%|\s*[°$€£])(?=\s+(?P<noun>[a-z]+)|)"
_YEAR_ALONE = re.compile(
    r"(?<![\w.-])(?:in|since|until|till|by|from|during|before|after|of|early|late|mid|year|and|to|fy"
    rf"|fiscal|around|through|summer|winter|spring|autumn|fall|end)[\s-]+{_YEAR}" + _YEAR_ENDS,
    re.IGNORECASE,
)
# The other year is found by its "and": a count has a noun, "between 1200 and 1500 people".
_YEAR_FROM = re.compile(
    rf"\bbetween\s+{_YEAR}\s+and\s+(?:1[0-9]\d{{2}}|20\d{{2}}|2100){_YEAR_ENDS}", re.IGNORECASE
)
_AFTER_YEAR = frozenset(
    """and or to by with when after before as the a an in on at of for from until because while
    but was were is are had has have it he she they which who that this under over since through
    due using among compared than not also season census election budget report edition""".split()  # noqa: SIM905
)
_BRACKETED = re.compile(rf"[(\[,;]\s*{_YEAR}(?=[)\];])")

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_DAYS = frozenset([*_WEEKDAYS, *(f"{name}s" for name in _WEEKDAYS)])
_WEEKDAY = re.compile(rf"\b(?P<weekday>{'|'.join(_WEEKDAYS)})s?\b", re.IGNORECASE)

_HALF = r"(?P<half>[ap]\.?\s?m\b\.?)"
_PART = r"(?:\s+(?P<part>in\s+the\s+(?:morning|afternoon|evening)|at\s+night))"
_CLOCK = re.compile(
    rf"(?<![\w.:,/-])(?P<hour>[01]?\d|2[0-4])[:.h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
    rf"(?![\w:]|[.,]\d|\s*%)(?:[\s\xa0]?{_HALF}|{_PART})?",
    re.IGNORECASE,
)
_HOUR = re.compile(
    rf"(?<![\w.:,/$€£-])(?P<hour>\d{{1,2}})(?:[\s\xa0]?{_HALF}|(?:\s+o['’]clock)?{_PART}|\s+o['’]clock)",
    re.IGNORECASE,
)
_HOUR_NAMES = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_HOURS = {name: hour for hour, name in enumerate(_HOUR_NAMES, start=1)}
_HOUR_WORD = re.compile(
    rf"\b(?:(?P<to>half\s+past|a?\s?quarter\s+(?:past|to))\s+)?(?P<name>{'|'.join(_HOURS)})"
    rf"(?:[\s-]+{_HALF}|(?:\s+o['’]clock)?{_PART}|\s+o['’]clock|\b)",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(?P<noon>noon|midday|midnight)\b", re.IGNORECASE)
_NIGHT_ENDS = 5
_DAY_S = 86_400


def find_moments(text: str) -> Iterator[Moment]:
    """Yield dates, weekdays and times; several of one place, of which the longest counts."""
    yield from chain(_dates(text), _times(text), _weekdays(text))


def _dates(text: str) -> Iterator[Moment]:
    yield from _numeric(text)
    if not spoken(text).isdisjoint(_MONTHS):
        yield from _with_months(text)
    yield from _years(text)


def _numeric(text: str) -> Iterator[Moment]:
    for match in _ISO.finditer(text):
        date = _date(match)
        if date is not None:
            yield Moment(match.start(), match.end(), "date", (date,))
    for match in _SLASHED.finditer(text):
        dates = _slashed(match)
        if dates:
            yield Moment(match.start(), match.end(), "date", dates)


def _with_months(text: str) -> Iterator[Moment]:
    for match in chain(_DAY_MONTH.finditer(text), _MONTH_DAY.finditer(text)):
        date = _date(match)
        if date is not None:
            yield Moment(match.start(), match.end(), "date", (date,))
    for match in _MONTH_YEAR.finditer(text):
        date = Date(int(match["year"]), _month(match), None)
        yield Moment(match.start(), match.end(), "date", (date,))
    for match in _NAMED.finditer(text):
        if match["month"][0].isupper():
            date = Date(None, _month(match), None)
            yield Moment(match.start("month"), match.end("month"), "date", (date,))


def _years(text: str) -> Iterator[Moment]:
    if _FOUR_DIGITS.search(text) is None:
        return
    for match in chain(_YEAR_ALONE.finditer(text), _YEAR_FROM.finditer(text)):
        if match["noun"] is None or match["noun"].lower() in _AFTER_YEAR:
            date = Date(int(match["year"]), None, None)
            yield Moment(match.start("year"), match.end("year"), "date", (date,))
    for match in _BRACKETED.finditer(text):
        date = Date(int(match["year"]), None, None)
        yield Moment(match.start("year"), match.end("year"), "date", (date,))


def _month(match: re.Match[str]) -> int:
    return _MONTHS[match["month"].lower()]


def _date(match: re.Match[str]) -> Date | None:
    groups = match.groupdict()
    word = groups.get("word")
    day = ORDINALS.index(word.lower()) + 1 if word else int(match["day"])
    month = int(match["month"]) if match["month"].isdigit() else _month(match)
    year = int(match["year"]) if match["year"] else None
    return Date(year, month, day) if day in range(1, 32) and month in range(1, 13) else None


def _slashed(match: re.Match[str]) -> tuple[Date, ...]:
    """Return both readings of "12/05/2024", one of "05.05.2024" and "13/05/2024"."""
    first, mark, second, year = match.groups()
    a, b = int(first), int(second)
    read = [(a, b)] if mark == "." else [(a, b), (b, a)]
    found = [Date(int(year), m, d) for d, m in read if d in range(1, 32) and m in range(1, 13)]
    return tuple(dict.fromkeys(found))


def _weekdays(text: str) -> Iterator[Moment]:
    for match in () if _DAYS.isdisjoint(spoken(text)) else _WEEKDAY.finditer(text):
        if match["weekday"][0].isupper():
            number = _WEEKDAYS.index(match["weekday"].lower())
            yield Moment(match.start(), match.end(), "weekday", numbers=(number,))


# --- times of day ----------------------------------------------------------------------------


def _times(text: str) -> Iterator[Moment]:
    for match in _CLOCK.finditer(text):
        separator = text[match.end("hour")]
        if separator == "." and not (match["half"] or match["part"]):
            continue
        seconds = _seconds(match, int(match["minute"]), int(match["second"] or 0))
        if seconds:
            yield Moment(match.start(), match.end(), "time of day", numbers=seconds)
    for match in _HOUR.finditer(text):
        seconds = _seconds(match, 0, 0)
        if seconds:
            yield Moment(match.start(), match.end(), "time of day", numbers=seconds)
    yield from _worded(text)
    for match in _NOON.finditer(text):
        seconds = (0,) if match["noon"].lower() == "midnight" else (_DAY_S // 2,)
        yield Moment(match.start(), match.end(), "time of day", numbers=seconds)


def _worded(text: str) -> Iterator[Moment]:
    for match in () if spoken(text).isdisjoint(_HOURS) else _HOUR_WORD.finditer(text):
        said = match[0].lower()
        if not (match["to"] or match["half"] or match["part"] or "clock" in said):
            continue
        past = (match["to"] or "").lower()
        shift = 1800 if past.startswith("half") else 900 if "past" in past else -900 if past else 0
        hour = _HOURS[match["name"].lower()]
        seconds = tuple((s + shift) % _DAY_S for s in _halves(match, hour, clear=False))
        yield Moment(match.start(), match.end(), "time of day", numbers=seconds)


def _seconds(match: re.Match[str], minute: int, second: int) -> tuple[int, ...]:
    hour = int(match["hour"])
    clear = hour > 12 or hour == 0 or match["hour"].startswith("0") or second > 0  # noqa: PLR2004 -- the clock's
    if hour > 24:  # noqa: PLR2004
        return ()
    rest = 60 * minute + second
    return tuple((s + rest) % _DAY_S for s in _halves(match, hour, clear=clear))


def _halves(match: re.Match[str], hour: int, *, clear: bool) -> tuple[int, ...]:
    """Return the hour of day in seconds: in the half that is written, or else in both."""
    half = (match["half"] or "")[:1].lower()
    part = (match["part"] or "").lower()
    if hour > 12:  # noqa: PLR2004
        return (3600 * (hour % 24),)
    base = hour % 12
    if half or part:
        late = half == "p" or "afternoon" in part or "evening" in part
        if "night" in part:
            late = hour % 12 > _NIGHT_ENDS
        return (3600 * (base + 12 * late),)
    if clear:
        return (3600 * hour,)
    # At 12:00 nobody thinks of midnight without saying so.
    return (3600 * 12,) if hour == 12 else (3600 * base, 3600 * (base + 12))  # noqa: PLR2004
