"""Parsing of text into blocks: the Markdown structure that decides where sentences end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint
from veridical.core.types import ClaimKind, Span
from veridical.pipeline.claims.fences import FENCE, info_of, read_fences
from veridical.pipeline.claims.lines import Line, read_lines
from veridical.pipeline.claims.wrapping import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Stretch that holds whole sentences, without its list, heading or quote mark.

    `depth` is the column of a bullet's text and -1 elsewhere. `header` holds the column names of a
    table row, `label` the label of a footnote or link definition.
    """

    kind: ClaimKind
    span: Span
    depth: int = -1
    quoted: bool = False
    header: tuple[str, ...] = field(default=(), repr=False)
    label: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Step:
    """Output of one construct, and the line at which the next one starts."""

    blocks: list[TextBlock]
    resume: int


TABLE_MARKS = "|-:=+ \t"
"""Possible characters of a line of a table that holds no cell."""

_RULE = re.compile(r"([-*_=])(?:[ \t]*\1){2,}$")
_ATX = re.compile(r"#{1,6}(?:[ \t]+|$)")
_ATX_END = re.compile(r"(?<![ \t])[ \t]++#++$")
_SETEXT = re.compile(r"(?:={3,}|-{3,})$")
# A speaker label such as "[doctor]: hi" is none: a label is a footnote, a number or has an address.
_DEFINITION = re.compile(
    r"\[(?P<label>\^[^\[\]\s]{1,60}|[A-Za-z]{0,10}[-_]?\d{1,4}"
    r"|[^\[\]\s]{1,60}(?=\]:[ \t]*<?(?:https?:|\.{0,2}/)))\]:[ \t]*"
)
_BULLET = re.compile(
    r"(?:[-*+•◦▪‣●○·–][ \t]+"
    r"|\(?(?P<number>\d{1,3})[.)](?:[ \t]+|(?=\*\*))"
    r"|[a-z]\.[ \t]+|\(?[a-zA-Z]\)[ \t]+)"
    r"(?:\[[ xX]\][ \t]+)?"
)
_BOLD_TITLE = re.compile(r"(\*\*|__)(?=\S)[^*_]{1,120}(?<=[^\s.!?])\1:?$")
_DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_ENDED = re.compile(r"[.!?:;。！？]['\"”’)\]*]{0,3}$")


def parse_blocks(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of `text` in order; rules, fences and blank lines yield none."""
    lines = read_lines(text)
    fences = read_fences(lines)
    index = 0
    while index < len(lines):
        checkpoint()
        if index in fences.marks:
            step = _fenced(lines, index, fences.code.get(index))
        else:
            step = _next_step(text, lines, index)
        yield from step.blocks
        index = step.resume


def cells(row: str) -> list[str]:
    """Return the cells of a table row, stripped."""
    inner = row.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _next_step(text: str, lines: Sequence[Line], index: int) -> _Step:
    if lines[index].structural:
        for construct in (_table, _rule, _heading, _definition):
            if step := construct(lines, index):
                return step
    return _prose(text, lines, index)


def _fenced(lines: Sequence[Line], index: int, closing: int | None) -> _Step:
    """Parse a fence, with its content if that is code, and the sentence behind its mark."""
    line = lines[index]
    blocks: list[TextBlock] = []
    if info := info_of(line):
        blocks.append(TextBlock(*info))
    if closing is None:
        return _Step(blocks, index + 1)
    if closing > index + 1:
        span = Span(lines[index + 1].start, lines[closing - 1].end)
        blocks.append(TextBlock(ClaimKind.CODE, span, quoted=line.quoted))
    return _Step(blocks, closing + 1)


def _rule(lines: Sequence[Line], index: int) -> _Step | None:
    return _Step([], index + 1) if _RULE.match(lines[index].content) else None


def _table(lines: Sequence[Line], index: int) -> _Step | None:
    """Read a table with its header, or a lone `| a | b |` row without one."""
    first = lines[index]
    if "|" not in first.content:
        return None
    if index + 1 < len(lines) and _underlines(lines[index + 1]):
        header = tuple(cells(first.content))
        blocks = [TextBlock(ClaimKind.HEADING, _span(first), header=header)]
        return _rows(lines, index + 2, header, blocks)
    if _is_bare_row(first):
        return _rows(lines, index, (), [])
    return None


def _underlines(line: Line) -> bool:
    return (
        not line.blank_before and "|" in line.content and bool(_DELIMITER_ROW.match(line.content))
    )


def _is_bare_row(line: Line) -> bool:
    content = line.content
    return content.startswith("|") and content.endswith("|") and content.count("|") > 1


def _rows(
    lines: Sequence[Line], index: int, header: tuple[str, ...], blocks: list[TextBlock]
) -> _Step:
    start = index
    while index < len(lines) and "|" in lines[index].content:
        line = lines[index]
        if index > start and line.blank_before:
            break
        if not header and not _is_bare_row(line):
            break
        if line.content.strip(TABLE_MARKS):
            blocks.append(TextBlock(ClaimKind.TABLE_ROW, _span(line), header=header))
        index += 1
    return _Step(blocks, index)


def _heading(lines: Sequence[Line], index: int) -> _Step | None:
    line = lines[index]
    mark = _ATX.match(line.content)
    if mark is None:
        return None
    length = len(_ATX_END.sub("", line.content))
    if length <= mark.end():
        return _Step([], index + 1)
    span = Span(line.start + mark.end(), line.start + length)
    return _Step([TextBlock(ClaimKind.HEADING, span)], index + 1)


def _definition(lines: Sequence[Line], index: int) -> _Step | None:
    line = lines[index]
    mark = _DEFINITION.match(line.content)
    if mark is None or mark.end() == len(line.content):
        return None
    span = Span(line.start + mark.end(), line.end)
    label = mark["label"].removeprefix("^")
    return _Step([TextBlock(ClaimKind.SENTENCE, span, label=label)], index + 1)


def _prose(text: str, lines: Sequence[Line], index: int) -> _Step:
    """Read a paragraph or a list item with its continuation lines."""
    first = lines[index]
    mark = _BULLET.match(first.content) if first.structural else None
    if mark and mark.end() < len(first.content):
        first = first.without_prefix(mark.end())
    elif mark is not None:
        mark = None
    end = index + 1
    while end < len(lines) and _continues(lines, end):
        end += 1
    group = [first, *lines[index + 1 : end]]
    if mark is None and len(group) == 1 and _is_title(lines, index):
        return _Step([TextBlock(ClaimKind.HEADING, _span(first))], end)
    kind = ClaimKind.BULLET if mark else ClaimKind.SENTENCE
    depth = first.indent if mark else -1
    spans = paragraphs(text, group)
    return _Step([TextBlock(kind, span, depth, first.quoted) for span in spans], end)


def _is_title(lines: Sequence[Line], index: int) -> bool:
    """Return whether a lone line is a heading: underlined, or wholly bold."""
    if _BOLD_TITLE.match(lines[index].content):
        return True
    if index + 1 == len(lines) or lines[index + 1].blank_before:
        return False
    return bool(_SETEXT.match(lines[index + 1].content))


def _continues(lines: Sequence[Line], index: int) -> bool:
    """Return whether a line belongs to the paragraph or list item of the line before it."""
    line = lines[index]
    if line.blank_before or line.quoted != lines[index - 1].quoted:
        return False
    if not line.structural:
        return True
    content = line.content
    if mark := _BULLET.match(content):
        return not _interrupts(lines[index - 1], mark)
    return not (
        FENCE.match(content)
        or _RULE.match(content)
        or _ATX.match(content)
        or _DEFINITION.match(content)
        or _SETEXT.match(content)
        or _table(lines, index)
    )


def _interrupts(previous: Line, mark: re.Match[str]) -> bool:
    """Return whether a list mark starts an item: a number may be the end of a wrapped sentence."""
    number = mark["number"]
    if number is None or int(number) == 1:
        return True
    return bool(_BULLET.match(previous.content) or _ENDED.search(previous.content))


def _span(line: Line) -> Span:
    return Span(line.start, line.end)
