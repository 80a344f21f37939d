"""Splitting of text into lines, with block-quote marks removed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from veridical.core.cancellation import checkpoint

# The same ends of line as str.splitlines.
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ \t]?+)++")
_ONE_BREAK = frozenset({"\n", "\r", "\r\n", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028"})
_TAB = 4


@dataclass(frozen=True, slots=True)
class Line:
    """Line that is not blank; `start` and `end` exclude indentation and trailing space.

    `structural` is false for a line that cannot start anything but prose. `hard_break` is true when
    the line ends in Markdown's forced break: two spaces or a backslash.
    """

    start: int
    end: int
    content: str = field(repr=False)
    indent: int
    blank_before: bool
    quoted: bool
    structural: bool
    hard_break: bool

    def without_prefix(self, length: int) -> Line:
        """Return the line without its first `length` characters."""
        content = self.content[length:]
        skipped = length + len(content) - len(content.lstrip())
        return replace(
            self,
            start=self.start + skipped,
            content=content.lstrip(),
            indent=self.indent + length,
        )


def read_lines(text: str) -> list[Line]:
    """Return the lines of `text` that are not blank."""
    lines: list[Line] = []
    end_before = 0
    blank = True
    for match in _LINE.finditer(text):
        checkpoint()
        start, end = match.span()
        blank = blank or text[end_before:start] not in _ONE_BREAK
        end_before = end
        line = _read(match[0], start, blank=blank)
        blank = line is None
        if line is not None:
            lines.append(line)
    return lines


def _read(raw: str, offset: int, *, blank: bool) -> Line | None:
    content = raw.strip()
    if not content:
        return None
    quoted = content[0] == ">"
    left = len(raw) - len(raw.lstrip())
    if quoted:
        prefix = _QUOTE.match(content)
        skipped = prefix.end() if prefix else 0
        unquoted = content[skipped:]
        content = unquoted.lstrip()
        left += skipped + len(unquoted) - len(content)
        if not content:
            return None
    start = offset + left
    return Line(
        start=start,
        end=start + len(content),
        content=content,
        indent=_width(raw[:left]) if left else 0,
        blank_before=blank,
        quoted=quoted,
        structural=not content[0].isalpha() or "|" in content or content[1:2] in {".", ")"},
        hard_break=raw.endswith(("  ", "\\")),
    )


def _width(indentation: str) -> int:
    return len(indentation) + (_TAB - 1) * indentation.count("\t")
