"""Resolution of citations to sources: exact ids only, decided without a model.

An id that does not exist is a phantom. Nothing is guessed: no substring match, no position in a
list. Two spellings of an existing id are understood: `path:line` (or `path:first-last`), and a bare
number for the one id that is letters and that number (`[1]` for `S1`).
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from veridical.core.types import Citation, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.types import CitationRef, Source

_LINES = re.compile(r"(?P<path>.+):L?(?P<first>\d{1,9})(?:[-–]L?(?P<last>\d{1,9}))?")
# As editors and the reports count lines; a form feed or U+2028 ends none.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBERED = re.compile(r"[A-Za-z]++[-_ ]?+(?P<number>\d++)")


def resolve_citations(
    refs: Iterable[CitationRef], sources: Mapping[str, Source]
) -> tuple[Citation, ...]:
    """Bind each reference to a source, or to none."""
    return CitationResolver(sources).resolve(refs)


class CitationResolver:
    """Resolver of references to the sources; numbers and lines of these are counted once."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._lines: dict[str, list[int]] = {}

    def resolve(self, refs: Iterable[CitationRef]) -> tuple[Citation, ...]:
        """Bind each reference to a source, or to none."""
        return tuple(map(self._resolve, refs))

    def _resolve(self, ref: CitationRef) -> Citation:
        if ref.id in self._sources:
            return Citation(ref.id, ref.span, ref.id)
        if ref.id.isascii() and ref.id.isdigit():
            found = self._numbered.get(ref.id.lstrip("0") or "0", [])
            return Citation(ref.id, ref.span, found[0] if len(found) == 1 else None)
        match = _LINES.fullmatch(ref.id)
        if match and match["path"] in self._sources:
            region = self._region(match)
            return Citation(ref.id, ref.span, match["path"] if region else None, region)
        return Citation(ref.id, ref.span, None)

    @cached_property
    def _numbered(self) -> dict[str, list[str]]:
        """Sources by the number in their ids."""
        found: dict[str, list[str]] = {}
        for source in self._sources:
            if match := _NUMBERED.fullmatch(source):
                found.setdefault(match["number"].lstrip("0") or "0", []).append(source)
        return found

    def _region(self, match: re.Match[str]) -> Span | None:
        """Return the stretch of the lines that a reference names; None if there are none."""
        path, first = match["path"], int(match["first"])
        last = int(match["last"] or first)
        if path not in self._lines:
            ends = (line.end() for line in _LINE.finditer(self._sources[path].text))
            self._lines[path] = [0, *ends]
        bounds = self._lines[path]
        if not 1 <= first <= last < len(bounds):
            return None
        return Span(bounds[first - 1], bounds[last])
