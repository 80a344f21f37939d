"""Evidence removed, structure kept: the context on which p0 is measured.

The cited spans are replaced, and so is every near copy of a cited sentence elsewhere: left there,
it would carry the evidence back in. A sentence that differs in a number or a negation is no copy.

Copies are found among the sentences that share one of the rarest trigrams: a copy that has most of
a sentence's trigrams has one of those (prefix filtering, Chaudhuri et al. 2006). Equal sentences
are looked at once, so that the time grows with the text and not with its square.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from veridical.core import fact_tokens
from veridical.core.cancellation import checkpoint
from veridical.core.text import normalise
from veridical.core.types import SourceSpan, Span
from veridical.pipeline.evidence.tokens import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.pipeline.evidence.corpus import Corpus

Gram: TypeAlias = tuple[str, str, str]

MARKER = "[EVIDENCE REMOVED]"

NEAR_COPY = 0.7
"""Share of a sentence's word trigrams that the cited text has, from which on it is a copy."""

# As `tokens.words` gives them; "t" is the rest of "isn't".
NEGATIONS = frozenset({"t"}).union(*map(words, fact_tokens.NEGATIONS))

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
    structure = _STRUCTURE.match(content)
    rest = content[structure.end() :] if structure else content
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
    """The cited sentences, each text once, indexed by the rarest of their word trigrams."""

    def __init__(self, corpus: Corpus, cited: Sequence[int]) -> None:
        self._corpus = corpus
        self.indices = frozenset(cited)
        self._texts = {corpus.text_numbers[i]: i for i in cited}
        self._grams = {i: frozenset(_trigrams(corpus.vocabulary[i])) for i in self._texts.values()}
        self._having = Counter(gram for grams in self._grams.values() for gram in grams)
        self._with_rare: dict[Gram, list[int]] = {}
        for i, grams in self._grams.items():
            for gram in self._rarest(grams):
                self._with_rare.setdefault(gram, []).append(i)
        self._marks = {mark for i in self._grams for mark in _marks(corpus.vocabulary[i])}
        self._known: dict[int, bool] = {}

    def _rarest(self, grams: Iterable[Gram]) -> list[Gram]:
        """Return the trigrams of a sentence of which each copy that holds it has one."""
        ordered = sorted(grams, key=lambda gram: (self._having[gram], gram))
        return ordered[: len(ordered) - ceil(NEAR_COPY * len(ordered)) + 1]

    def copied_in(self, other: int) -> bool:
        """Return whether sentence `other` copies a cited one, or is pieced together from some."""
        text = self._corpus.text_numbers[other]
        if text not in self._known:
            checkpoint()
            self._known[text] = self._is_copy(other)
        return self._known[text]

    def _is_copy(self, other: int) -> bool:
        words = self._corpus.vocabulary[other]
        grams = _trigrams(words)
        if not grams:
            return self._normalised(other) in self._whole
        shared = [gram for gram in grams if gram in self._having]
        if len(shared) >= NEAR_COPY * len(grams) and _marks(words) <= self._marks:
            return True
        distinct = set(shared)
        near = {i for gram in distinct for i in self._with_rare.get(gram, ())}
        return any(self._held(i, distinct, words) for i in near)

    def _held(self, cited: int, shared: set[Gram], words: Sequence[str]) -> bool:
        """Return whether a cited sentence is held by `words`, which share these trigrams."""
        grams = self._grams[cited]
        if len(grams & shared) < NEAR_COPY * len(grams):
            return False
        marks, own = _marks(words), _marks(self._corpus.vocabulary[cited])
        return own <= marks and not (marks - own) & NEGATIONS

    @cached_property
    def _whole(self) -> frozenset[str]:
        # Normalising is slow, and sentences too short for trigrams are few.
        return frozenset(map(self._normalised, self._texts.values()))

    def _normalised(self, i: int) -> str:
        return normalise(self._corpus.text(self._corpus.sentences[i].piece)).text


def _trigrams(words: Sequence[str]) -> list[Gram]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _marks(words: Iterable[str]) -> set[str]:
    """Return the words that make a sentence another one: numbers and negations."""
    return {word for word in words if word[0].isdigit() or word in NEGATIONS}
