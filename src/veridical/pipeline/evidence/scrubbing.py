"""Evidence removed, structure kept: what p0 is measured on.

The cited spans are replaced, and so is every near copy of a cited sentence elsewhere: left there,
it would carry the evidence back in. A sentence that differs in a number or a negation is no copy.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from veridical.core.text import normalise
from veridical.core.types import Piece, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.pipeline.evidence.corpus import Corpus

MARKER = "[EVIDENCE REMOVED]"

NEAR_COPY = 0.7
"""Share of a sentence's word trigrams that the cited text has, from which on it is a copy."""

# What a line may begin with that is structure, not content: heading, quote and list marks, a JSON
# key, a speaker label.
_STRUCTURE = re.compile(
    r"""\s*(?:[\#>*+-]+[ \t]+|\d{1,3}[.)][ \t]+)*
        (?:[{[,\s]*"[^"\n]{1,60}"\s*:\s*|[A-Z][\w.-]{0,30}(?:[ ][A-Z][\w.-]{0,30})?:[ \t]+)?""",
    re.VERBOSE,
)
_CELL = re.compile(r"[^|\s](?:[^|]*[^|\s])?")


def scrub(text: str, spans: Iterable[Span]) -> str:
    """Return `text` with each span replaced by `MARKER`, line by line, structure kept."""
    parts, done = [], 0
    for span in merge(spans):
        lines = span.of(text).splitlines(keepends=True)
        parts += [text[done : span.start], *map(_scrub_line, lines)]
        done = span.end
    return "".join([*parts, text[done:]])


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, with those that touch or overlap joined."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _scrub_line(line: str) -> str:
    content = line.rstrip()
    if not content:
        return line
    ending = line[len(content) :]
    if content.lstrip().startswith("|"):
        return _CELL.sub(MARKER, content) + ending
    match = _STRUCTURE.match(content)
    kept = match.end() if match else 0
    closing = '"' if content[kept : kept + 1] == '"' else ""
    removed = MARKER if kept < len(content) else ""
    return f"{content[:kept]}{closing}{removed}{closing}{ending}"


def near_copies(corpus: Corpus, cited: Sequence[int]) -> list[Piece]:
    """Return the sentences outside `cited` (indices) that say again what a cited one says."""
    chosen = set(cited)
    shingles = {gram for i in chosen for gram in _trigrams(corpus.vocabulary[i])}
    numbers = {word for i in chosen for word in _numbers(corpus.vocabulary[i])}

    @cache  # normalising is slow, and few sentences are so short
    def whole() -> set[str]:
        return {normalise(corpus.text(corpus.sentences[i].piece)).text for i in chosen}

    def copies(i: int) -> bool:
        grams = _trigrams(corpus.vocabulary[i])
        if not grams:
            return normalise(corpus.text(corpus.sentences[i].piece)).text in whole()
        share = sum(gram in shingles for gram in grams) / len(grams)
        return share >= NEAR_COPY and set(_numbers(corpus.vocabulary[i])) <= numbers

    others = (i for i in range(len(corpus.sentences)) if i not in chosen)
    return [corpus.sentences[i].piece for i in others if copies(i)]


def _trigrams(words: Sequence[str]) -> list[tuple[str, str, str]]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _numbers(words: Iterable[str]) -> list[str]:
    return [word for word in words if word[0].isdigit()]
