"""Citation marks: their places, and the ids that they name.

The existing sources are not known here, so a bracket is a citation when its content looks like an
id, equals one of the `known` ids, or is written in the same style. Code in backticks holds none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from veridical.core.types import CitationRef, Span
from veridical.pipeline.claims.lexicon import has_any
from veridical.pipeline.claims.literals import ZERO_BASED, are_literal, is_clause
from veridical.pipeline.claims.superscripts import RAISED, is_citation, numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MAX_RANGE = 50
_REACH = 30
_QUOTING = "`'\"*\\"
_YEARS = range(1500, 2101)

_CANDIDATE = re.compile(
    r"(?P<code>`[^`\n]{1,500}`)"
    r"|\\\[(?P<escaped>[^\[\]\\\s](?:[^\[\]\\]{0,300}[^\[\]\\\s])?)\\\]"
    r"|!\[(?P<image>[^\[\]]{0,300})\]\([^\s()]{0,2000}\)"
    r"|\[(?P<anchor>\[?[^\[\]]{0,300}\]?)\]\([ \t]{0,99}<?"
    r"(?P<target>[^\s()<>]{0,2000}(?:\([^\s()]{0,200}\)[^\s()<>]{0,200}){0,3})>?"
    r"(?:\s{1,99}\"[^\"\n]{0,200}\")?[ \t]{0,99}\)"
    r"|\[\^(?P<note>[^\[\]\s]{1,60}?)\^?\]"
    r"|\[(?P<bracket>[^\[\]]{1,300})\]"
    r"|［(?P<wide>[^［］]{1,300})］"
    r"|【(?P<lens>[^【】]{1,200})】"
    r"|\((?P<paren>[^()\[\]]{1,300})\)"
    r"|<(?:cite|citation|ref)(?:\s[^<>]{0,100})?>\s?(?P<element>[^<>]{1,100}?)\s?</(?:cite|citation|ref)>"
    rf"|{RAISED}"
)
# An id in running text: "According to S9", "as stated in S1", "(see S2)".
_SPOKEN = re.compile(
    r"\b(?:according to|as (?:shown|stated|described|reported|noted|discussed|mentioned|seen)"
    r" (?:in|by)|based on|see|per|cf\.?)(?: the)?(?: (?:source|document|reference))? "
    r"(?P<id>[^\W\d_]{1,20}[\w./-]*\w)(?![\w/-])",
    re.IGNORECASE,
)
_SPEAKING = ("according to ", "as ", "based on ", "see ", "per ", "cf")
_BRACKETED = re.compile(r"\[(?P<content>[^\[\]\n]{1,60})\](?!\()")
_AT_AN_END = re.compile(r"\s*(?:[.,;:!?)\[|]|$)|\s+(?:and|then|but|while)\b", re.MULTILINE)
_WORDY = re.compile(r"[^\W\d_]{2,}(?:[ -][^\W\d_]{2,}){0,3}$")
# Insertions of editors in brackets, in whatever style the ids are.
_EDITORIAL = re.compile(
    r"(?:sic|notes?|edit(?:ed)?|citation needed|emphasis (?:added|mine)|omitted|redacted|translated"
    r"|laugh(?:s|ing|ter)?|applause|pause|inaudible|unclear|music|crosstalk|image|figure|table|link"
    r"|name|date|your name|placeholder|blank|unknown|unnamed|deleted|removed|insert|todo|tbd|the"
    r"|his|her|its|their|an?|and|or|of|in|to|is|was|were|are|has|had|not)$",
    re.IGNORECASE,
)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+")
_ITEM = re.compile(r"[^,;|，；、]+")
_AND = re.compile(r"(?<!\S)(?:and|&)\s+")
_LEAD = re.compile(
    r"\s*(?:(?:sources?|refs?|references?|citations?|cited?|docs?|documents?|see|via|from|cf)\b"
    r"(?:\.?\s*[:#]\s*|\.?\s+))?",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\s*(?:sources?|refs?|references?|citations?|cited?)\s*:\s*", re.IGNORECASE)
_NAMED_NUMBER = re.compile(
    r"\s*(?:sources?|refs?|references?|docs?|documents?)\s+#?(?=\w*\d)", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_RANGE = re.compile(
    r"(?P<prefix>[A-Za-z]{0,10}[-_]?)(?P<low>\d{1,4})\s?[-–—]\s?\1(?P<high>\d{1,4})$"
)
_ID = re.compile(
    r"(?:"
    r"https?://\S+"
    r"|\d{1,4}[a-z]?"
    r"|\d{1,4}:\d{1,4}"
    r"|[^\W\d_]+(?:[-_.][^\W\d_]+)*[-_.#]?\d[\w.-]*"
    r"|[\w.~-]*[\w~-](?:/[\w.~-]+)+/?"
    r"|[\w./~-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"|[A-Za-z]\w*_\w+"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r")(?:(?::|\#)L?\d+(?:[-–]L?\d+)?)?$"
)
# "12:34" is a time of day, unless sources are numbered like it.
_PROSE = re.compile(
    r"(?:and/or|s?he/s?he|his/her|him/her|n/a|w/o|(?:\w\.){2,}\w?|\w\.\w|COVID-\d+"
    r"|(?:[01]?\d|2[0-3]):[0-5]\d)$",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    r"(?:pp?|lines?|ch|sec|section|para|chapter)\.?\s*\d+(?:[-–]\d+)?$", re.IGNORECASE
)
# A word among ids that is none: `[S1, S9, note]`; and the title of a source: `[S9: intro]`.
_ASIDE = re.compile(r"[^\W\d_]{4,}(?: [^\W\d_]+){0,2}$")
_TITLED = re.compile(r"(?P<id>[^\s:]{1,60}):\s++(?=.*[^\W\d_]{2})")
# `\[x_1\]` is a formula.
_FORMULA = re.compile(r"[A-Za-z]{1,2}_\w$")
_LENS = re.compile(r"(?P<id>[^†]+)†(?P<name>.*)$")
_GENERIC_ANCHOR = re.compile(
    r"(?:source|src|link|ref|reference|citation|cite|here)?s?$|.*†", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CitationMark:
    """Citation mark or link: the ids it names, and the words of it that stay in the claim."""

    span: Span
    refs: tuple[CitationRef, ...] = ()
    words: str = field(default="", repr=False)


def find_marks(text: str, span: Span, known: Collection[str] = ()) -> list[CitationMark]:
    """Return the citation marks, links and images within `span`, in order."""
    found = _CANDIDATE.finditer(text, span.start, span.end)
    marks = [mark for match in found if (mark := _read(match, text, known))]
    if not known or not has_any(text[span.start : span.end], _SPEAKING):
        return marks
    spoken = (
        mark
        for mark in _spoken(text, span, known)
        if not any(map(mark.span.overlaps, _spans(marks)))
    )
    return sorted([*marks, *spoken], key=lambda mark: mark.span)


def alike(text: str, known: Collection[str]) -> frozenset[str]:
    """Return the brackets, `[energy]`, in the style of the ones that cite known ids in words.

    Nothing unless the text cites such a one in brackets.
    """
    wordy = {each for each in known if _WORDY.match(each)}
    if not wordy:
        return frozenset()
    found = list(_BRACKETED.finditer(text))
    looks = {_look(match["content"]) for match in found if match["content"] in wordy}
    return frozenset(
        match[0]
        for match in found
        if match["content"] not in known
        and _WORDY.match(match["content"])
        and _look(match["content"]) in looks
        and not _EDITORIAL.match(match["content"])
        and _AT_AN_END.match(text, match.end())
    )


def _look(words: str) -> tuple[bool, int]:
    """Return the common style of ids in words: a capital or none, one word or several."""
    return words[:1].isupper(), min(2, len(re.split("[ -]", words)))


def _spoken(text: str, span: Span, known: Collection[str]) -> Iterator[CitationMark]:
    """Yield the ids in running text that are known, or one of a known series."""
    for match in _SPOKEN.finditer(text, span.start, span.end):
        name = match["id"]
        has_sign = any(not character.isalpha() for character in name)
        if has_sign and (name in known or _is_sibling(name, known)):
            here = Span(*match.span("id"))
            yield CitationMark(here, (CitationRef(name, here),))


def _spans(marks: Sequence[CitationMark]) -> list[Span]:
    return [mark.span for mark in marks]


def zero_based(text: str, known: Collection[str]) -> frozenset[str]:
    """Return the `ZERO_BASED` mark for a text that cites numbers and has a `[0]`."""
    if ZERO_BASED not in text:
        return frozenset()
    marks = find_marks(text, Span(0, len(text)), known)
    cites = any(ref.id.isdecimal() for mark in marks for ref in mark.refs)
    return frozenset({ZERO_BASED}) if cites else frozenset()


def looks_like_id(content: str) -> bool:
    """Return whether a bracket's content could be the id of a source."""
    return (
        bool(_ID.match(content))
        and not _PROSE.match(content)
        and not (content.isdecimal() and int(content) in _YEARS)
    )


def _read(match: re.Match[str], text: str, known: Collection[str]) -> CitationMark | None:
    span = Span(*match.span())
    content = _visible(match[match.lastgroup] if match.lastgroup else "", known)
    match match.lastgroup:
        case "image":
            return CitationMark(span, words=content)
        case "target":
            return _link(match["anchor"], content, span)
        case "note":
            return CitationMark(span, (CitationRef(content, span),))
        case "bracket" | "wide":
            ids = _bracket_ids(match, content, text, known)
        case "escaped":
            ids = [] if _FORMULA.match(content) else _bracket_ids(match, content, text, known)
        case "tagged" | "raised":
            before = text[max(0, match.start() - _REACH) : match.start()]
            ids = _ids(numbers(content), known) if is_citation(before) else []
        case "element":
            ids = _element_ids(content, known)
        case "lens":
            ids = _lens_ids(content, known)
        case "paren":
            before = text[max(0, match.start() - 1) : match.start()]
            ids = [] if is_clause(content, before) else _paren_ids(content, known)
        case _:
            return None
    return CitationMark(span, tuple(CitationRef(each, span) for each in ids)) if ids else None


def _link(anchor: str, target: str, span: Span) -> CitationMark:
    """Read `[anchor](target)`; an anchor that is itself an id or a generic word is no prose."""
    label = anchor.strip("[]^ ")
    is_mark = looks_like_id(label) or bool(_GENERIC_ANCHOR.match(label))
    name = label if target.startswith("#") and is_mark else target
    refs = (CitationRef(name, span),) if name and not name.startswith("#") else ()
    return CitationMark(span, refs, "" if is_mark else anchor)


def _visible(content: str, known: Collection[str]) -> str:
    """Return an id without its zero-width characters, unless a known one has them."""
    return content if content in known else _INVISIBLE.sub("", content)


def _bracket_ids(
    match: re.Match[str], content: str, text: str, known: Collection[str]
) -> list[str]:
    if content.strip() in known or (f"[{content}]" in known and not content.isdecimal()):
        return [content.strip()]
    listed = _all_known(content, known)
    if not all(map(str.isdecimal, listed)):
        return listed
    ids = _ids(content[_LEAD.match(content).end() :], known)  # type: ignore[union-attr]
    if any(each in known and not each.isdecimal() for each in ids):
        return ids
    if not ids and (named := _NAMED.match(content)):
        return _named_ids(content[named.end() :], known)
    return [] if are_literal(ids, text, Span(*match.span()), known) else ids


def _ids(content: str, known: Collection[str]) -> list[str]:
    """Return the ids of a list of ids; empty if it is none, whatever stands among them."""
    ids: list[str] = []
    only_asides = True
    for item in _items(content, known):
        if found := _ids_of(item, known):
            ids.extend(found)
        elif not (ids and (_LOCATOR.match(item) or _ASIDE.match(item))):
            only_asides = False
    names_known = any(each in known and not each.isdecimal() for each in ids)
    return ids if only_asides or names_known else []


def _ids_of(item: str, known: Collection[str]) -> list[str]:
    if item in known:
        return [item]
    if (expanded := _expand(item)) is not None:
        return expanded
    if looks_like_id(item) or _is_sibling(item, known):
        return [item]
    titled = _TITLED.match(item)
    return [titled["id"]] if titled and looks_like_id(titled["id"]) else []


def _all_known(content: str, known: Collection[str]) -> list[str]:
    """Return the items of a list, with `and` or without, if all of them are known ids."""
    items = [each for item in _ITEM.findall(content) for each in _apart(item.strip(), known)]
    return items if all(item in known for item in items) else []


def _items(content: str, known: Collection[str]) -> Iterator[str]:
    for match in _ITEM.finditer(content):
        item = match[0].strip().strip(_QUOTING).strip()
        item = item if item in known else item.lstrip("^@#")
        parts = [_number(part, known) for part in _apart(item, known)]
        words = item.split()
        if item not in known and len(words) > 1 and all(map(looks_like_id, words)):
            yield from words
        else:
            yield from filter(None, parts)


def _apart(item: str, known: Collection[str]) -> list[str]:
    """Return the two of `1 and 2`, if each may be an id; else the item."""
    if item in known:
        return [item]
    parts = [part.strip() for part in _AND.split(item) if part.strip()]
    cited = (part in known or looks_like_id(_number(part, known)) for part in parts)
    return parts if all(cited) else [item]


def _number(item: str, known: Collection[str]) -> str:
    """Return the number of a further `Source 2`, unless that is an id."""
    if item in known or _is_sibling(item, known):
        return item
    named = _NAMED_NUMBER.match(item)
    return item[named.end() :] if named else item


def _expand(item: str) -> list[str] | None:
    """Return the ids of a range such as `1-3` or `S1–S3`; None if it is not one."""
    match = _RANGE.match(item)
    if match is None:
        return None
    prefix, low, high = match["prefix"], int(match["low"]), int(match["high"])
    if prefix.endswith(("-", "_")) and item.count("-") + item.count("_") == 1:
        return None
    if not low < high <= low + _MAX_RANGE:
        return None
    return [f"{prefix}{number}" for number in range(low, high + 1)]


def _element_ids(content: str, known: Collection[str]) -> list[str]:
    """Read `<cite>S1</cite>`: numbers, known ids and those of a known series, no titles."""
    ids = _ids(content, known)
    cited = (each.isdecimal() or each in known or _is_sibling(each, known) for each in ids)
    return ids if all(cited) else []


def _lens_ids(content: str, known: Collection[str]) -> list[str]:
    match = _LENS.match(content)
    if match is None:
        return _ids(content, known)
    name = match["name"].strip()
    return [name if name in known or looks_like_id(name) else match["id"].strip()]


def _paren_ids(content: str, known: Collection[str]) -> list[str]:
    """Read `(source: x, y)`, `(Source 1)` and `(S1)`, the last only if S1, or an S2, is known."""
    if listed := _all_known(content, known):
        return listed
    if named := _NAMED.match(content):
        return _named_ids(content[named.end() :], known)
    if number := _NAMED_NUMBER.match(content):
        return _ids(content[number.end() :], known)
    ids = [item.strip() for item in _ITEM.findall(content)]
    # A letter in parentheses may be anything: `(C)`.
    cited = (each in known or (len(each) > 1 and _is_sibling(each, known)) for each in ids)
    return ids if ids and all(cited) else []


def _is_sibling(content: str, known: Collection[str]) -> bool:
    """Return whether an id differs from a known one in its number or its one letter: S9 from S1."""
    return not content.isdecimal() and _series(content) in _all_series(frozenset(known))


@lru_cache(maxsize=8)
def _all_series(known: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_series, known))


def _series(source_id: str) -> str:
    if len(source_id) == 1 and source_id.isalpha():
        return "A" if source_id.isupper() else "a"
    return _DIGITS.sub("0", source_id)


def _named_ids(content: str, known: Collection[str]) -> list[str]:
    items = [
        part
        for item in _ITEM.findall(content)
        for part in _apart(item.strip().strip("`'\""), known)
    ]
    expanded: list[str] = []
    for item in items:
        expanded.extend([item] if item in known else _expand(item) or [item])
    return [item.removeprefix("^") for item in expanded if item and not _LOCATOR.match(item)]
