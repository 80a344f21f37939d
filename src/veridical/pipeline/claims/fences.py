"""Code fences: the lines that are code, and the lines that only look like it.

A fence that is never closed is ordinary text, and so is the content of a fence of prose: ````
```markdown ````, or one without a language around the whole answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.types import ClaimKind, Span
from veridical.pipeline.claims.lexicon import has_finite_verb, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.pipeline.claims.lines import Line

FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_PROSE = frozenset({"markdown", "md", "text", "txt", "plaintext", "plain"})
_LANGUAGE = re.compile(r"[\w.+#:-]*$")
_MIN_SENTENCE = 2


@dataclass(frozen=True, slots=True)
class Fences:
    """Fences of an answer: `code` maps the opening line of code to the closing one.

    `marks` are the lines of fences that are skipped.
    """

    code: Mapping[int, int]
    marks: frozenset[int]


def read_fences(lines: Sequence[Line]) -> Fences:
    """Pair the fences of an answer, in one pass over its lines."""
    found = {
        index: match for index, line in enumerate(lines) if (match := FENCE.match(line.content))
    }
    if not found:
        return Fences({}, frozenset())
    pairing = _Pairing(lines, found)
    pairing.run()
    return _unwrapped(pairing.code, frozenset(pairing.marks), found, len(lines))


def info_of(line: Line) -> tuple[ClaimKind, Span] | None:
    """Return the text behind a fence's mark; None if it is empty or a language."""
    match = FENCE.match(line.content)
    info = match["info"].strip() if match else ""
    if _LANGUAGE.match(info):
        return None
    is_sentence = len(words(info)) >= _MIN_SENTENCE and has_finite_verb(info)
    kind = ClaimKind.SENTENCE if is_sentence else ClaimKind.CODE
    return kind, Span(line.end - len(info), line.end)


class _Pairing:
    """State of the pairing of fences; `prose` holds the fences of prose that are open."""

    def __init__(self, lines: Sequence[Line], found: Mapping[int, re.Match[str]]) -> None:
        self.lines = lines
        self.found = found
        self.order = sorted(found)
        self.closers = _longest_closers(lines, found)
        self.code: dict[int, int] = {}
        self.marks: set[int] = set()
        self.prose: list[int] = []

    def run(self) -> None:
        at = 0
        while at < len(self.order):
            at = self._read(at) + 1

    def _read(self, at: int) -> int:
        """Read the fence at a place in the order; return the place of the last one it takes."""
        index = self.order[at]
        match = self.found[index]
        self.marks.add(index)
        if self.prose and self._closes(index, self.prose[-1]):
            self.prose.pop()
        elif match["info"].strip().lower() in _PROSE:
            self.prose.append(index)
        elif self.closers[index] >= len(match["fence"]):
            return self._take(at)
        return at

    def _take(self, at: int) -> int:
        last = at + 1
        while not self._closes(self.order[last], self.order[at]):
            last += 1
        self.code[self.order[at]] = self.order[last]
        return last

    def _closes(self, index: int, opening: int) -> bool:
        closing, fence = self.found[index], self.found[opening]["fence"]
        return (
            not closing["info"].strip()
            and closing["fence"].startswith(fence)
            and self.lines[index].quoted == self.lines[opening].quoted
        )


def _longest_closers(lines: Sequence[Line], found: Mapping[int, re.Match[str]]) -> dict[int, int]:
    """Return, for each fence, the length of the longest bare fence of its sort further down."""
    longest: dict[tuple[str, bool], int] = {}
    after: dict[int, int] = {}
    for index in sorted(found, reverse=True):
        match = found[index]
        sort = (match["fence"][0], lines[index].quoted)
        after[index] = longest.get(sort, 0)
        if not match["info"].strip():
            longest[sort] = max(after[index], len(match["fence"]))
    return after


def _unwrapped(
    code: dict[int, int], marks: frozenset[int], found: Mapping[int, re.Match[str]], length: int
) -> Fences:
    """Remove a fence without a language that stands around the whole answer."""
    if code.get(0) == length - 1 and not found[0]["info"].strip():
        return Fences({}, marks | {length - 1})
    return Fences(code, marks)
