"""Resolution of citations to sources: exact ids only, decided without a model.

An id that does not exist is a phantom. Nothing is guessed: no substring match, no position in a
list. Two spellings of an existing id are understood: `path:line` (or `path:first-last`), and a bare
number for the one id that is letters and that number (`[1]` for `S1`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.core.types import Citation, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.types import CitationRef, Source

_LINES = re.compile(r"(?P<path>.+):L?(?P<first>\d{1,9})(?:[-–]L?(?P<last>\d{1,9}))?")
# As editors and the reports count lines; a form feed or U+2028 ends none.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBERED = re.compile(r"[A-Za-z]+[-_ ]?0*(?P<number>\d+)")


def resolve_citations(
    refs: Iterable[CitationRef], sources: Mapping[str, Source]
) -> tuple[Citation, ...]:
    """Bind each reference to a source, or to none."""
    return tuple(_resolve(ref, sources) for ref in refs)


def _resolve(ref: CitationRef, sources: Mapping[str, Source]) -> Citation:
    if ref.id in sources:
        return Citation(ref.id, ref.span, ref.id)
    if ref.id.isascii() and ref.id.isdigit():
        return Citation(ref.id, ref.span, _by_number(ref.id, sources))
    match = _LINES.fullmatch(ref.id)
    if match and match["path"] in sources:
        region = _lines(sources[match["path"]].text, match)
        return Citation(ref.id, ref.span, match["path"] if region else None, region)
    return Citation(ref.id, ref.span, None)


def _by_number(number: str, sources: Iterable[str]) -> str | None:
    wanted = number.lstrip("0") or "0"
    matches = ((source, _NUMBERED.fullmatch(source)) for source in sources)
    found = [source for source, match in matches if match and match["number"] == wanted]
    return found[0] if len(found) == 1 else None


def _lines(text: str, match: re.Match[str]) -> Span | None:
    first = int(match["first"])
    last = int(match["last"] or first)
    lines = _LINE.findall(text)
    if not 1 <= first <= last <= len(lines):
        return None
    start = sum(map(len, lines[: first - 1]))
    return Span(start, start + sum(map(len, lines[first - 1 : last])))
