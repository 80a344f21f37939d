"""Evidence removed, structure kept: the context on which p0 is measured.

The cited spans are replaced, and so is every near copy of a cited sentence elsewhere: left there,
it would carry the evidence back in. A sentence that differs in a number or a negation is no copy.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from veridical.core.text import normalise
from veridical.core.types import SourceSpan, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.pipeline.evidence.corpus import Corpus

Gram: TypeAlias = tuple[str, str, str]

MARKER = "[EVIDENCE REMOVED]"

NEAR_COPY = 0.7
"""Share of a sentence's word trigrams that the cited text has, from which on it is a copy."""

# "t" is the rest of "isn't".
NEGATIONS = frozenset({"never", "no", "nobody", "none", "nor", "not", "nothin", "t", "withou"})

# Possible starts of a line that are structure, not content: heading, quote and list marks, a JSON
# key, a speaker label.
_STRUCTURE = re.compile(
    r"""\s*(?:[\#>*+-]+[ \t]+|\d{1,3}[.)][ \t]+)*
        (?:[{[,\s]*"[^"\n]{1,60}"\s*:\s*
          |(?:[A-Z][\w.-]{0,30}(?:[ ][A-Z\d][\w.-]{0,30})?|[^\W\d_][\w.-]{0,30}):[ \t]+
          |\[[^\W\d_][\w.'’-]{0,30}(?:[ ][\w.'’-]{1,30}){0,2}\][ \t]+)?""",
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
    if content.lstrip().startswith(("{", "[{")) and (emptied := _emptied_json(content)):
        return emptied + ending
    rest = _STRUCTURE.sub("", content, count=1)  # it matches at the start, if only nothing
    quote = '"' if rest.startswith('"') else ""
    removed = MARKER if rest else ""
    return f"{content.removesuffix(rest)}{quote}{removed}{quote}{ending}"


def _emptied_json(content: str) -> str | None:
    """Return a line of JSON with `MARKER` for each value; None if it is no whole document."""
    indent = content[: len(content) - len(content.lstrip())]
    try:
        return indent + json.dumps(_emptied(json.loads(content)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _emptied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _emptied(inner) for key, inner in value.items()}
    return [_emptied(inner) for inner in value] if isinstance(value, list) else MARKER


def near_copies(corpus: Corpus, cited: Sequence[int]) -> list[SourceSpan]:
    """Return the sentences outside `cited` (indices) that repeat a cited one.

    A copy is most of the other sentence, or holds most of a cited one; with the same numbers and
    negations.
    """
    known = _Cited(corpus, cited)
    others = (i for i in range(len(corpus.sentences)) if i not in known.indices)
    return [corpus.sentences[i].piece for i in others if known.copied_in(i)]


class _Cited:
    """The cited sentences, indexed by their word trigrams."""

    def __init__(self, corpus: Corpus, cited: Sequence[int]) -> None:
        self._corpus = corpus
        self.indices = frozenset(cited)
        self._with_gram: dict[Gram, list[int]] = {}
        for i in cited:
            for gram in set(_trigrams(corpus.vocabulary[i])):
                self._with_gram.setdefault(gram, []).append(i)
        self._marks = {mark for i in cited for mark in _marks(corpus.vocabulary[i])}

    def copied_in(self, other: int) -> bool:
        """Return whether sentence `other` copies a cited one, or is pieced together from some."""
        words = self._corpus.vocabulary[other]
        grams = _trigrams(words)
        if not grams:
            return self._normalised(other) in self._whole
        shared = [gram for gram in grams if gram in self._with_gram]
        if len(shared) >= NEAR_COPY * len(grams) and _marks(words) <= self._marks:
            return True
        return any(self._held(i, count, words) for i, count in self._counts(shared).items())

    def _counts(self, shared: Sequence[Gram]) -> Counter[int]:
        return Counter(i for gram in set(shared) for i in self._with_gram[gram])

    def _held(self, cited: int, count: int, words: Sequence[str]) -> bool:
        """Return whether a cited sentence, with `count` trigrams in common, is held by `words`."""
        vocabulary = self._corpus.vocabulary[cited]
        enough = NEAR_COPY * len(set(_trigrams(vocabulary)))
        marks, own = _marks(words), _marks(vocabulary)
        return count >= enough and own <= marks and not (marks - own) & NEGATIONS

    @cached_property
    def _whole(self) -> frozenset[str]:
        # Normalising is slow, and sentences too short for trigrams are few.
        return frozenset(map(self._normalised, self.indices))

    def _normalised(self, i: int) -> str:
        return normalise(self._corpus.text(self._corpus.sentences[i].piece)).text


def _trigrams(words: Sequence[str]) -> list[Gram]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _marks(words: Iterable[str]) -> set[str]:
    """Return the words that make a sentence another one: numbers and negations."""
    return {word for word in words if word[0].isdigit() or word in NEGATIONS}
