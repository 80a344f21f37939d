"""Plain text of a claim: no marks, no markup, white space collapsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.types import Span
    from veridical.pipeline.claims.citations import CitationMark

# Stands for a removed mark while the words around it are mended; a NUL of the answer goes too.
_HOLE = "\x00"

_CODE = re.compile(r"(`[^`]{1,500}`)")
_NO_OPERATOR = r"(?!(?<=[)\]])\*+[\d(])"
_STARS = re.compile(
    rf"(?<![\w*\\]){_NO_OPERATOR}(\*{{1,3}})(?=[^\s*])([^*]{{1,500}}?)(?<=\S)\1(?![\w*])"
)
# Bold next to a word or within one, which 2**10 and x**2 + y**2 are not.
_INNER_BOLD = re.compile(
    rf"(?:(?<!\w){_NO_OPERATOR}\*\*(?=\S)([^*]{{1,500}}?)(?<=\S)\*\*"
    r"|(?<=[^\W\d])\*\*(?=[^\W\d])([^*]{1,500}?)(?<=\S)\*\*(?!\w)"
    r"|(?<=\w)\*\*([^\W\d_]{1,500}?)\*\*(?!\d))"
)
_LOOSE_STARS = re.compile(r"(?<![\w)\]])\*\*|\*\*(?![\w(])")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])([^_]{1,500}?)(?<=\S)\1(?!\w)")
_STRUCK = re.compile(r"~~(?=\S)([^~]{1,500}?)(?<=\S)~~")
_BREAK_TAG = re.compile(r"</?(?:br|p)\s?/?>", re.IGNORECASE)
# 10<sup>6</sup> is not 106.
_POWER = re.compile(r"(?<=[\w)\]])<sup>\s?([-+−]?\d{1,9})\s?</sup>", re.IGNORECASE)
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_TAG = re.compile(
    r"</?(?:b|i|em|strong|u|s|sup|sub|span|mark|small)(?:\s[^<>]{0,100})?/?>", re.IGNORECASE
)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])")
_DUNDER = re.compile(r"__\w+__$")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\u200b\u2060\u00ad]")

_HOLES = re.compile(r"\x00(?:(?:\s?(?:[,;–-]|and|&|or))?\s?\x00)+")
_BY_SOURCE = re.compile(
    r"^(?:according to|as (?:shown|stated|described|reported|noted|discussed) (?:in|by)|per"
    r"|based on"
    r"|as in|in)(?: the)?(?: (?:source|sources|document|reference))? ?\x00 ?, ?",
    re.IGNORECASE,
)
_SOURCE_SAYS = re.compile(
    r"^(?:(?:the )?(?:source|document|reference) )?\x00 (?:states?|says?|shows?|notes?|reports?"
    r"|indicates?|confirms?|explains?|mentions?) that ",
    re.IGNORECASE,
)
_SEE = re.compile(
    r"(?:,? ?\b(?:as (?:shown|described|noted|reported|stated|discussed|mentioned) (?:in|by)"
    r"|according to|see(?: also)?|per|cf\.?))? ?\x00(?=[.!?]?$)",
    re.IGNORECASE,
)
_ENCLOSED = re.compile(
    r"[(\[] ?(?:(?:see(?: also)?|cf\.?|sources?|refs?)\b:? ?)?\x00 ?[)\]]", re.IGNORECASE
)
_BEFORE_STOP = re.compile(r" ?\x00(?= ?(?:[.,;:!?)]|$))")
_JOINED = re.compile(r"(?<=\w)\x00(?=\w)")
_DOUBLE_STOP = re.compile(r"(?<=\w)[;,:](?=[.!?]$)")
_LOOSE_STOP = re.compile(r" (?=[.,;!?](?:\s|$))")


def plain(text: str, span: Span, marks: Sequence[CitationMark], *, backticks: bool = False) -> str:
    """Return a stretch of `text` as a reader would say it; `marks` have offsets into `text`."""
    return mend(without_markup(with_holes(text, span, marks), backticks=backticks))


def with_holes(text: str, span: Span, marks: Sequence[CitationMark]) -> str:
    """Return a stretch of `text` with a placeholder for each mark, and the words of links."""
    pieces: list[str] = []
    done = span.start
    for mark in marks:
        if mark.span.start >= done and mark.span.end <= span.end:
            pieces += [text[done : mark.span.start], mark.words or _HOLE]
            done = mark.span.end
    pieces.append(text[done : span.end])
    return "".join(pieces)


def without_markup(text: str, *, backticks: bool = False) -> str:
    """Return a text without emphasis, tags and, by default, backticks; their content stays."""
    parts = _CODE.split(text)
    parts[::2] = [_without_emphasis(part) for part in parts[::2]]
    if not backticks:
        parts[1::2] = [part[1:-1] for part in parts[1::2]]
    return "".join(parts)


def mend(text: str) -> str:
    """Collapse white space and close the holes that removed marks have left."""
    text = " ".join(_CONTROL.sub("", text).split())
    return " ".join(_close_holes(text).split()) if _HOLE in text else text


def _without_emphasis(text: str) -> str:
    if "*" in text:
        text = _STARS.sub(r"\2", text)
        text = _INNER_BOLD.sub(r"\1\2\3", text)
        text = _LOOSE_STARS.sub("", text)
    if "<" in text:
        text = _BREAK_TAG.sub(" ", text)
        text = _POWER.sub(lambda power: power[1].translate(_RAISED), text)
    if "_" in text:
        text = _UNDERSCORES.sub(_unless_dunder, text)
    text = _TAG.sub("", _STRUCK.sub(r"\1", text))
    return _ESCAPE.sub(r"\1", text)


def _unless_dunder(match: re.Match[str]) -> str:
    return match[0] if _DUNDER.match(match[0]) else match[2]


def _close_holes(text: str) -> str:
    text = _HOLES.sub(_HOLE, text)
    text = _ENCLOSED.sub(_HOLE, text)
    text = _capitalised(text, _SOURCE_SAYS.sub("", _BY_SOURCE.sub("", text)))
    text = _SEE.sub("", text)
    text = _BEFORE_STOP.sub("", text)
    text = _JOINED.sub(" ", text).replace(_HOLE, "")
    return _DOUBLE_STOP.sub("", _LOOSE_STOP.sub("", text))


def _capitalised(before: str, text: str) -> str:
    """Return `text` with a capital, if the words in front of it are gone."""
    return text if text == before else text[:1].upper() + text[1:]
