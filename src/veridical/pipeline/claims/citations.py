"""Citation marks: where they stand, and which ids they name.

Which sources exist is not known here, so a bracket is a citation when its content looks like an id
or equals one of the `known` ids. Code in backticks holds none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import CitationRef, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MAX_RANGE = 50
_YEARS = range(1500, 2101)

_CANDIDATE = re.compile(
    r"(?P<code>`[^`\n]{1,500}`)"
    r"|!\[(?P<image>[^\[\]]{0,300})\]\([^\s()]{0,2000}\)"
    r"|\[(?P<anchor>\[?[^\[\]]{0,300}\]?)\]\([ \t]*<?"
    r"(?P<target>[^\s()<>]{0,2000}(?:\([^\s()]{0,200}\)[^\s()<>]{0,200}){0,3})>?"
    r"(?:\s+\"[^\"\n]{0,200}\")?[ \t]*\)"
    r"|\[\^(?P<note>[^\[\]\s]{1,60})\]"
    r"|\[(?P<bracket>[^\[\]]{1,300})\]"
    r"|【(?P<lens>[^【】]{1,200})】"
    r"|\((?P<paren>[^()\[\]]{1,300})\)"
)
_ITEM = re.compile(r"[^,;]+")
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
_PROSE = re.compile(
    r"(?:and/or|s?he/s?he|his/her|him/her|n/a|w/o|(?:\w\.){2,}\w?|\w\.\w|COVID-\d+)$", re.IGNORECASE
)
_LOCATOR = re.compile(
    r"(?:pp?|lines?|ch|sec|section|para|chapter)\.?\s*\d+(?:[-–]\d+)?$", re.IGNORECASE
)
_LENS = re.compile(r"(?P<id>[^†]+)†(?P<name>.*)$")
_GENERIC_ANCHOR = re.compile(
    r"(?:source|src|link|ref|reference|citation|cite|here)?s?$|.*†", re.IGNORECASE
)
# What a subscript, an interval or a list literal follows.
_INDEXED = re.compile(
    r"(?:\b(?:[a-zA-Z]|arr|array|list|vec|args|argv|data|items?|nums?|matrix|dict|tuple|str)"
    r"|\w_\w*|[a-z][A-Z]\w*|\))$"
)
_LITERAL = re.compile(
    r"(?:[=∈<>+*/(]|\b(?:interval|range|list|array|vector|tuple|set|returns?|equals?|is|are|be"
    r"|between))\s*$"
)
_OPERATOR = re.compile(r"\s*=[^>]|\s*[+*/<^]\s*\w|\.\w|\(")


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation mark or a link: the ids it names, and the words of it that stay in the claim."""

    span: Span
    refs: tuple[CitationRef, ...] = ()
    words: str = ""


def find_marks(text: str, span: Span, known: Collection[str] = ()) -> list[Mark]:
    """Return the citation marks, links and images within `span`, in order."""
    found = _CANDIDATE.finditer(text, span.start, span.end)
    return [mark for match in found if (mark := _read(match, text, known))]


def looks_like_id(content: str) -> bool:
    """Say whether a bracket's content could be the id of a source."""
    return (
        bool(_ID.match(content))
        and not _PROSE.match(content)
        and not (content.isdecimal() and int(content) in _YEARS)
    )


def _read(match: re.Match[str], text: str, known: Collection[str]) -> Mark | None:
    span = Span(*match.span())
    content = match[match.lastgroup] if match.lastgroup else ""
    match match.lastgroup:
        case "image":
            return Mark(span, words=content)
        case "target":
            return _link(match["anchor"], content, span)
        case "note":
            return Mark(span, (CitationRef(content, span),))
        case "bracket":
            ids = _bracket_ids(match, text, known)
        case "lens":
            ids = _lens_ids(content, known)
        case "paren":
            ids = _paren_ids(content, known)
        case _:
            return None
    return Mark(span, tuple(CitationRef(each, span) for each in ids)) if ids else None


def _link(anchor: str, target: str, span: Span) -> Mark:
    """Read `[anchor](target)`; an anchor that is itself an id or a generic word is no prose."""
    label = anchor.strip("[]^ ")
    is_mark = looks_like_id(label) or bool(_GENERIC_ANCHOR.match(label))
    name = label if target.startswith("#") and is_mark else target
    refs = (CitationRef(name, span),) if name and not name.startswith("#") else ()
    return Mark(span, refs, "" if is_mark else anchor)


def _bracket_ids(match: re.Match[str], text: str, known: Collection[str]) -> list[str]:
    content = match["bracket"]
    if content.strip() in known:
        return [content.strip()]
    ids = _ids(content[_LEAD.match(content).end() :], known)  # type: ignore[union-attr]
    if any(each in known for each in ids):
        return ids
    if not ids and (named := _NAMED.match(content)):
        return _named_ids(content[named.end() :], known)
    return [] if _is_code_or_maths(ids, text, match) else ids


def _is_code_or_maths(ids: list[str], text: str, match: re.Match[str]) -> bool:
    """Say whether numbers in brackets are a subscript, an interval or a list literal."""
    numeric = all(each.isdecimal() for each in ids)
    if not ids or not numeric:
        return False
    before = text[max(0, match.start() - 30) : match.start()]
    if "0" in ids or _OPERATOR.match(text, match.end()):
        return True
    if _INDEXED.search(before):
        return True
    return len(ids) > 1 and bool(_LITERAL.search(before))


def _ids(content: str, known: Collection[str]) -> list[str]:
    """Return the ids of a list of ids; empty if anything else stands among them."""
    ids: list[str] = []
    for item in _items(content, known):
        if item in known:
            ids.append(item)
        elif (expanded := _expand(item)) is not None:
            ids.extend(expanded)
        elif looks_like_id(item) or _is_sibling(item, known):
            ids.append(item)
        elif not (ids and _LOCATOR.match(item)):
            return []
    return ids


def _items(content: str, known: Collection[str]) -> Iterator[str]:
    for match in _ITEM.finditer(content):
        item = match[0].strip().strip("`'\"").removeprefix("^")
        words = re.split(r"\s+(?:and|&)\s+|\s+", item)
        if item not in known and len(words) > 1 and all(map(looks_like_id, words)):
            yield from words
        elif item:
            yield item


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


def _lens_ids(content: str, known: Collection[str]) -> list[str]:
    match = _LENS.match(content)
    if match is None:
        return _ids(content, known)
    name = match["name"].strip()
    return [name if name in known or looks_like_id(name) else match["id"].strip()]


def _paren_ids(content: str, known: Collection[str]) -> list[str]:
    """Read `(source: x, y)`, `(Source 1)` and `(S1)`, the last only if S1, or an S2, is known."""
    if content.strip() in known:
        return [content.strip()]
    if named := _NAMED.match(content):
        return _named_ids(content[named.end() :], known)
    if number := _NAMED_NUMBER.match(content):
        return _ids(content[number.end() :], known)
    ids = [item.strip() for item in _ITEM.findall(content)]
    # A letter in parentheses may be anything: `(C)`.
    cited = (each in known or (len(each) > 1 and _is_sibling(each, known)) for each in ids)
    return ids if ids and all(cited) else []


def _is_sibling(content: str, known: Collection[str]) -> bool:
    """Say whether an id differs from a known one in its number or its one letter: S9 from S1."""
    return not content.isdecimal() and _series(content) in map(_series, known)


def _series(source_id: str) -> str:
    if len(source_id) == 1 and source_id.isalpha():
        return "A" if source_id.isupper() else "a"
    return _DIGITS.sub("0", source_id)


def _named_ids(content: str, known: Collection[str]) -> list[str]:
    items = [item.strip().strip("`'\"") for item in _ITEM.findall(content)]
    expanded: list[str] = []
    for item in items:
        expanded.extend([item] if item in known else _expand(item) or [item])
    return [item.removeprefix("^") for item in expanded if item and not _LOCATOR.match(item)]
