"""Places of a text model's quotes in the answer: the sentence, and the claims beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import UNSPACED
from veridical.core.text import normalise
from veridical.core.types import Span
from veridical.pipeline.claims.citations import find_marks
from veridical.pipeline.claims.faithfulness import facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from veridical.core.text import Normalised
    from veridical.core.types import CitationRef, Claim, ClaimSet

_MAX_QUOTE = 2000
_MAX_PLACES = 16
_EMPHASIS = re.compile(r"(?<![*_`~])[*_`~]++")
_EDGES = re.compile(r"^[\s\W]+|[\s\W]+$")
_SPACED = re.compile(rf"[^\W{UNSPACED}]")


@dataclass(frozen=True)
class AnswerSentence:
    """A sentence of the answer, and the claims that the rules found in it."""

    number: int
    claims: tuple[Claim, ...]

    @cached_property
    def span(self) -> Span:
        """Stretch of the answer that it covers."""
        # The clauses of a sentence are cut at its joints: together they are the whole of it.
        starts, ends = zip(*((c.span.start, c.span.end) for c in self.claims), strict=True)
        return Span(min(starts), max(ends))

    @property
    def asserts(self) -> bool:
        """True if there is a claim in it to verify."""
        return any(claim.assertive for claim in self.claims)

    @cached_property
    def refs(self) -> tuple[CitationRef, ...]:
        """Its citations, in text order, each once."""
        refs = dict.fromkeys(ref for claim in self.claims for ref in claim.citations)
        return tuple(sorted(refs, key=lambda ref: ref.span))


def sentences_by_rules(rules: ClaimSet) -> list[AnswerSentence]:
    """Return the sentences that the claims by rules come from, in text order."""
    grouped = groupby(rules.claims, key=lambda claim: claim.sentence)
    return [AnswerSentence(number, tuple(claims)) for number, claims in grouped]


@dataclass(frozen=True, slots=True)
class AnchoredQuote:
    """A stretch of one sentence; `rules` are the assertions of the rules that it touches."""

    sentence: AnswerSentence
    span: Span
    rules: tuple[Claim, ...]


class QuoteAnchors:
    """Search for quotes in one piece of the answer."""

    def __init__(
        self,
        answer: str,
        bare: str,
        piece: Span,
        sentences: Sequence[AnswerSentence],
        ids: Collection[str],
    ) -> None:
        self._piece = piece
        self._texts = tuple(normalise(piece.of(text)) for text in (answer, bare))
        self._answer = answer
        self._ids = ids
        self._sentences = sentences
        self._cursor = piece.start

    def of(self, quote: str) -> list[AnchoredQuote]:
        """Return the places of a quote, the ones before the last kept claim at the end."""
        if len(quote) > _MAX_QUOTE or not facts(quote):
            return []
        marks = find_marks(quote, Span(0, len(quote)), self._ids)
        bare = blanked(quote, [mark.span for mark in marks if not mark.words])
        forms = (_EDGES.sub("", normalise(text).text) for text in (quote, bare))
        found = (s for pair in zip(self._texts, forms, strict=True) for s in self._spans(*pair))
        places = [place for span in dict.fromkeys(found) for place in self._split(span)]
        return sorted(places, key=lambda place: (place.span.start < self._cursor, place.span))

    def reached(self, place: AnchoredQuote) -> None:
        """Start later searches from this place: claims come in the order of the text."""
        self._cursor = place.sentence.span.start

    def _spans(self, text: Normalised, wanted: str) -> Iterator[Span]:
        at, left = text.text.find(wanted) if wanted else -1, _MAX_PLACES
        while at >= 0 and left:
            span = text.to_original(at, at + len(wanted)).shift(self._piece.start)
            if self._is_whole(span):
                yield span
            at, left = text.text.find(wanted, at + 1), left - 1

    def _is_whole(self, span: Span) -> bool:
        """Return whether a span cuts no word in two."""
        edges = (self._answer[max(0, at - 1) : at + 1] for at in (span.start, span.end))
        return not any(len(_SPACED.findall(edge)) > 1 for edge in edges)

    def _split(self, span: Span) -> Iterator[AnchoredQuote]:
        """Yield the parts of a span that lie in one sentence each."""
        for sentence in self._sentences:
            if sentence.span.overlaps(span):
                start = max(span.start, sentence.span.start)
                inside = Span(start, min(span.end, sentence.span.end))
                touched = (c for c in sentence.claims if c.span.overlaps(inside) and c.assertive)
                yield AnchoredQuote(sentence, inside, tuple(touched))


def blanked(text: str, marks: Iterable[Span]) -> str:
    """Return a text of the same length with spaces for its citation marks and emphasis."""
    pieces = list(text)
    emphasis = (Span(*match.span()) for match in _EMPHASIS.finditer(text))
    around = (span for span in emphasis if not _is_inside_word(text, span))
    for span in (*marks, *around):
        pieces[span.start : span.end] = " " * len(span)
    return "".join(pieces)


def _is_inside_word(text: str, span: Span) -> bool:
    """Return whether apparent emphasis is part of a word, such as `snake_case`."""
    before, after = text[max(0, span.start - 1) : span.start], text[span.end : span.end + 1]
    return before.isalnum() and after.isalnum() and "**" not in span.of(text)


def shared(one: Span, other: Span) -> int:
    """Return the number of code points two spans share; below 0, the distance between them."""
    return min(one.end, other.end) - max(one.start, other.start)


def within(inner: Span, outer: Span) -> bool:
    """Return whether the first span lies in the second."""
    return outer.start <= inner.start and inner.end <= outer.end
