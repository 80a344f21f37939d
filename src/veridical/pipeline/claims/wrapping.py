"""Soft line breaks: detection of sentences that run on into the next line.

A line that opens a record (a label, a key, a time stamp, a CSV or code line) never continues the
one before it. Otherwise a break is soft when the line before it ends in a word that cannot end a
sentence, when the next line starts in lower case, or when the break is where a greedy word wrap
would have put it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.pipeline.claims.citations import find_marks
from veridical.pipeline.claims.lexicon import (
    DETERMINERS,
    FINITE,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.pipeline.claims.lines import Line

# Shorter lines are rarely wrapped prose; verse and lists of names are shorter.
_WRAPPED_WIDTH = 40
# Longer lines were not wrapped by hand or by a tool.
_MAX_WRAPPED_WIDTH = 120
_HANGING_INDENT = 4

_RECORD = re.compile(
    r"[A-Z][\w'’./-]*(?: [\w'’./()-]+){0,3}:(?:\s|$)"  # Label: value
    r"|[\w.-]+\s?[:=](?:\s|$)|[\w.-]{1,60}=\S"  # key: value, key = value, key=value
    r"|\[?\d{1,4}[-/:.]\d{1,2}[-/:.]\d"  # time stamps
    r"|\[[A-Za-z ]+\](?!\()"  # [INFO], [doctor]
    r'|[{}<$]|>>>|//|"[^"]{1,80}"\s*[:,]'  # JSON, markup, shells, comments
)
_CODE_END = re.compile(r"[;{}]$|^\w[\w.]*\([^()]*\)[:;]?$")
_DENSE_COMMA = re.compile(r",(?=[^\s\d])|,(?=\d{1,2}(?:\D|$))|,(?=\d{4})")
_ENDED = re.compile(r"[.!?:;…。！？؟۔।][\"'”’»)\]*_]{0,3}(?:\s?\[[^\[\]]{1,40}\]){0,4}$")
_COLON = re.compile(r"[:;][*_]{0,3}$")
_MARK_REACH = 60
_MARK_START = re.compile(r"\[[^\[\]]*$")
_MARK_END = re.compile(r"[^\[\]]{0,60}\]")
_CONNECTOR = re.compile(
    r"(?:,|\b(?:a|an|the|of|and|or|but|to|in|on|at|by|for|from|with|as|that|which|who|than|into"
    r"|is|are|was|were|be|been|has|have|had|its|their|his|her|our|your|my|not|between))$"
)


def paragraphs(text: str, lines: Sequence[Line]) -> list[Span]:
    """Join the lines of one paragraph or list item that are wrapped; one span per result."""
    if len(lines) == 1:
        return [Span(lines[0].start, lines[0].end)]
    width = max(len(line.content) for line in lines)
    spans: list[Span] = []
    start = 0
    for index in range(1, len(lines) + 1):
        if index == len(lines) or not _joins(lines[start], lines[index - 1], lines[index], width):
            spans.append(Span(lines[start].start, lines[index - 1].end))
            start = index
    return [span for span in spans if text[span.start : span.end].strip()]


def _joins(opening: Line, before: Line, after: Line, width: int) -> bool:
    return _breaks_mark(before.content, after.content) or _is_soft(opening, before, after, width)


def _is_soft(opening: Line, before: Line, after: Line, width: int) -> bool:
    if before.hard_break or _is_record(after.content):
        return False
    if after.indent >= before.indent + _HANGING_INDENT:
        return False
    wrapped = _is_wrapped(before.content, after.content, width)
    is_prose_width = _WRAPPED_WIDTH <= len(before.content) <= _MAX_WRAPPED_WIDTH
    if _ENDED.search(before.content[-60:]):
        return wrapped and is_prose_width and not _COLON.search(before.content[-4:])
    if _CONNECTOR.search(before.content[-12:]):
        return True
    if after.content[0].islower():
        return wrapped or opening.content[0].isupper()
    return wrapped and is_prose_width and not _opens_sentence(after.content)


def _breaks_mark(before: str, after: str) -> bool:
    """Return whether a citation mark is broken over the two lines: `[S1,` and `S9]`."""
    opening, closing = _MARK_START.search(before[-_MARK_REACH:]), _MARK_END.match(after)
    if opening is None or closing is None:
        return False
    mark = f"{opening[0]} {closing[0]}"
    return any(each.refs for each in find_marks(mark, Span(0, len(mark))))


def _opens_sentence(content: str) -> bool:
    """Return whether a line starts with a word that is capitalised only at a sentence start."""
    word = content.partition(" ")[0].lower()
    return word != "i" and word in DETERMINERS | PREPOSITIONS | PRONOUNS | SUBORDINATORS | FINITE


def _is_wrapped(before: str, after: str, width: int) -> bool:
    """Return whether a greedy wrap at `width` would have broken the line here."""
    word, _, _ = after.partition(" ")
    return len(before) + 1 + len(word) > width


def _is_record(content: str) -> bool:
    return (
        "\t" in content
        or bool(_RECORD.match(content))
        or bool(_CODE_END.search(content))
        or len(_DENSE_COMMA.findall(content, 0, 2000)) > 1
    )
