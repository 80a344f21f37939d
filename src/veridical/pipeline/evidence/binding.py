"""Which passages speak for a claim: with the cited evidence, and with it scrubbed.

What a claim cites is its evidence; a claim that cites nothing has all sources for evidence. Support
found only in a source that was not cited counts for p0, not for p1
(docs/decisions/0006-cited-evidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veridical.core.types import Binding, Passage, Piece, Span
from veridical.pipeline.evidence.scrubbing import merge, near_copies, scrub

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.types import Citation
    from veridical.pipeline.evidence.corpus import Corpus, Window

FOCUS_SHARE = 0.6
"""A sentence is shown as the evidence if it scores at least this share of the passage's best."""

SCRUBBED_WINDOWS = 2
"""Windows scored without the evidence: enough to find support that is still there."""


@dataclass(frozen=True, slots=True)
class _Scores:
    windows: Sequence[float]
    sentences: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Clip:
    """A window, by its index, and the stretch of its source that may be read of it."""

    window: int
    region: Span


@dataclass(frozen=True, slots=True)
class _Scope:
    """What of the corpus is a claim's evidence; `sentences` by index."""

    clips: Sequence[_Clip]
    sentences: Sequence[int]


class Binder:
    """Binds claims to the passages of one corpus.

    With `windows` 0 that is the stitched passage alone, or the best window where it holds all that.
    """

    def __init__(self, corpus: Corpus, *, windows: int | Literal["all"]) -> None:
        self._corpus = corpus
        self._limit = len(corpus.windows) if windows == "all" else windows
        self._scrub_limit = self._limit if windows == "all" else SCRUBBED_WINDOWS if windows else 1
        # Most claims of an answer share their scope: it is worked out once.
        self._scopes: dict[tuple[Piece, ...], _Scope] = {}
        self._scrubbed: dict[tuple[Piece, ...], dict[str, list[Span]]] = {}

    def bind(self, claim: str, citations: Sequence[Citation]) -> Binding:
        """Return the passages to score for a claim, and how many windows its evidence has."""
        cited = self._cited(citations)
        scores = _Scores(*self._corpus.rank(claim))
        scope = self._scope(cited or tuple(self._whole(source) for source in self._corpus.sources))
        nearest = self._choose(scope, scores)
        stitched = self._stitch(scope, scores, nearest)
        chosen = nearest[: self._limit] if stitched else nearest
        without = self._without(cited, scores) if cited else []
        return Binding(
            citations=tuple(citations),
            with_evidence=(*chosen, *stitched),
            without_evidence=tuple(without or self._structure(nearest)),
            windows_total=len(scope.clips),
        )

    def _cited(self, citations: Sequence[Citation]) -> tuple[Piece, ...]:
        pieces = {
            Piece(citation.source, citation.region or self._whole(citation.source).span)
            for citation in citations
            if citation.source is not None
        }
        return tuple(sorted(pieces, key=lambda piece: (piece.source, piece.span)))

    def _whole(self, source: str) -> Piece:
        return Piece(source, Span(0, len(self._corpus.sources[source].text)))

    # --- with the evidence ---

    def _scope(self, pieces: tuple[Piece, ...]) -> _Scope:
        if pieces not in self._scopes:
            self._scopes[pieces] = _Scope(list(self._clips(pieces)), self._inside(pieces))
        return self._scopes[pieces]

    def _clips(self, pieces: Sequence[Piece]) -> Iterator[_Clip]:
        """Yield each window that reaches into the pieces."""
        regions = _by_source(pieces)
        for index, window in enumerate(self._corpus.windows):
            if window.source in regions:
                span = self._corpus.span(window).span
                yield from (_Clip(index, r) for r in regions[window.source] if span.overlaps(r))

    def _choose(self, scope: _Scope, scores: _Scores) -> list[Passage]:
        """Return the best windows of the scope, cut down to it: one at least."""
        ranked = sorted(scope.clips, key=lambda clip: -scores.windows[clip.window])
        return [self._passage(clip, scores) for clip in ranked[: max(self._limit, 1)]]

    def _passage(self, clip: _Clip, scores: _Scores) -> Passage:
        window = self._corpus.windows[clip.window]
        span = self._corpus.span(window).span
        inside = Span(max(span.start, clip.region.start), min(span.end, clip.region.end))
        piece, focus = Piece(window.source, inside), self._focus(window, inside, scores)
        return Passage(self._corpus.text(piece), (piece,), focus, scores.windows[clip.window])

    def _focus(self, window: Window, inside: Span, scores: _Scores) -> tuple[Piece, ...]:
        near = [
            (scores.sentences[i], self._corpus.sentences[i].piece)
            for i in range(window.first, window.last)
            if self._corpus.sentences[i].piece.span.overlaps(inside)
        ]
        best = max((score for score, _ in near), default=0.0)
        return tuple(piece for score, piece in near if score > 0 and score >= FOCUS_SHARE * best)

    def _stitch(self, scope: _Scope, scores: _Scores, chosen: Sequence[Passage]) -> list[Passage]:
        """Join the best sentences of the scope, for a claim that needs two places at once."""
        picked = sorted(self._best_sentences(scope, scores))
        pieces = tuple(self._corpus.sentences[i].piece for i in picked)
        read = any(all(map(passage.pieces[0].covers, pieces)) for passage in chosen)
        if read or len(pieces) < 2:  # noqa: PLR2004 -- two places
            return []
        text = " ".join(self._corpus.text(piece).strip() for piece in pieces)
        best = max(scores.sentences[i] for i in picked)
        near = [i for i in picked if scores.sentences[i] >= FOCUS_SHARE * best]
        focus = tuple(self._corpus.sentences[i].piece for i in near)
        return [Passage(text, pieces, focus, sum(scores.sentences[i] for i in picked))]

    def _best_sentences(self, scope: _Scope, scores: _Scores) -> Iterator[int]:
        room = self._corpus.window_tokens
        for i in sorted(scope.sentences, key=lambda i: -scores.sentences[i]):
            tokens = self._corpus.sentences[i].tokens
            if scores.sentences[i] <= 0 or tokens > room:
                return
            room -= tokens
            yield i

    def _inside(self, pieces: Sequence[Piece]) -> list[int]:
        """Return the sentences that lie in the pieces, by index."""
        regions = _by_source(pieces)
        return [
            i
            for i, sentence in enumerate(self._corpus.sentences)
            if any(map(sentence.piece.span.overlaps, regions.get(sentence.piece.source, ())))
        ]

    # --- with the evidence scrubbed ---

    def _without(self, cited: tuple[Piece, ...], scores: _Scores) -> list[Passage]:
        """Return the best windows of what is left when the cited pieces are scrubbed."""
        if cited not in self._scrubbed:
            copies = near_copies(self._corpus, self._inside(cited))
            self._scrubbed[cited] = _by_source([*cited, *copies])
        scrubbed = self._scrubbed[cited]
        left = [
            (sum(scores.sentences[i] for i in standing), window)
            for window in self._corpus.windows
            if (standing := self._standing(window, scrubbed))
        ]
        left.sort(key=lambda entry: -entry[0])
        return [self._scrub(self._corpus.span(w), scrubbed) for _, w in left[: self._scrub_limit]]

    def _standing(self, window: Window, scrubbed: Mapping[str, list[Span]]) -> Sequence[int]:
        """Return the sentences of a window that are left when it is scrubbed, by index."""
        spans = scrubbed.get(window.source)
        sentences = range(window.first, window.last)
        if not spans:
            return sentences
        return [
            i
            for i in sentences
            if not any(map(self._corpus.sentences[i].piece.span.overlaps, spans))
        ]

    def _scrub(self, piece: Piece, scrubbed: Mapping[str, list[Span]]) -> Passage:
        inside = [
            Span(max(span.start, piece.span.start), min(span.end, piece.span.end)).shift(
                -piece.span.start
            )
            for span in scrubbed.get(piece.source, ())
            if span.overlaps(piece.span)
        ]
        return Passage(scrub(self._corpus.text(piece), inside), (piece,))

    def _structure(self, nearest: Sequence[Passage]) -> list[Passage]:
        """Return the nearest window with all of it scrubbed: no evidence is left anywhere."""
        return [self._scrub(piece, {piece.source: [piece.span]}) for piece in nearest[0].pieces[:1]]


def _by_source(pieces: Sequence[Piece]) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    for piece in pieces:
        spans.setdefault(piece.source, []).append(piece.span)
    return {source: merge(found) for source, found in spans.items()}
