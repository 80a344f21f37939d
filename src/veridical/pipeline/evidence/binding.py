"""Binding of claims to passages: with the cited evidence, and with it scrubbed.

The cited sources of a claim are its evidence; a claim without citations has all sources for
evidence. Support found only in a source that was not cited counts for p0, not for p1
(docs/decisions/0006-cited-evidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.cancellation import checkpoint
from veridical.core.types import FURTHER, Binding, Passage, SourceSpan, Span
from veridical.pipeline.evidence.overlaps import overlapping
from veridical.pipeline.evidence.ranking import best_of, descending
from veridical.pipeline.evidence.scrubbing import merge, near_copies, scrub
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from veridical.core.types import Citation
    from veridical.pipeline.evidence.corpus import Corpus, MatchScores, Window

FOCUS_SHARE = 0.6
"""A sentence is shown as the evidence if it scores at least this share of the passage's best."""

SCRUBBED_WINDOWS = 2
"""Windows scored without the evidence: enough to find support that is still there."""

NEAREST = 6
"""Number of sentences that are known as the nearest to a claim, whichever passage decides."""

SHORT_TOKENS = 400
"""Estimated tokens of a claim and its evidence up to which all of the evidence is read."""

NEIGHBOURS = 3
"""Maximum distance in sentences between the closest one and the one that completes it."""


@dataclass(frozen=True, slots=True)
class _Clip:
    """Window, by its index, and the readable stretch of its source."""

    window: int
    region: Span


@dataclass(frozen=True, slots=True)
class _Part:
    """Readable part of a sentence: all of it, but for one that only reaches into cited lines."""

    sentence: int
    piece: SourceSpan


@dataclass(frozen=True)
class _Scope:
    """Part of the corpus that is a claim's evidence, in its order.

    The clips are their windows (numbers) and the regions of these. Of a sentence (number) all is
    readable, unless `cut` has less for its place.
    """

    windows: Any
    regions: Sequence[Span]
    sentences: Any
    tokens: int
    cut: Mapping[int, SourceSpan] = field(default_factory=dict)

    def clip(self, at: int) -> _Clip:
        """Return the clip at a place."""
        return _Clip(int(self.windows[at]), self.regions[at])


@dataclass(frozen=True)
class _Rest:
    """Spans of each source that are scrubbed, and the sentences (numbers) that are left."""

    scrubbed: Mapping[str, Sequence[Span]]
    sentences: Any

    @cached_property
    def standing(self) -> frozenset[int]:
        """Sentences that are left."""
        return frozenset(self.sentences.tolist())


class Binder:
    """Binding of claims to the passages of one corpus.

    The passages are the best `windows`, with 0 of these the closest sentences, and the stitched
    passage; with 0 and short evidence also all the rest. Evidence that fits into one window is read
    alone (docs/decisions/0018-meaning-and-reading.md).
    """

    def __init__(self, corpus: Corpus, *, windows: int | Literal["all"]) -> None:
        self._corpus = corpus
        self._limit = len(corpus.windows) if windows == "all" else windows
        self._scrub_limit = self._limit if windows == "all" else SCRUBBED_WINDOWS
        # Most claims of an answer share their scope: it is worked out once.
        self._scopes: dict[tuple[SourceSpan, ...], _Scope] = {}
        self._rests: dict[tuple[SourceSpan, ...], _Rest] = {}

    def expect(self, claims: Sequence[str]) -> None:
        """Prepare for claims that will be bound; the bindings are the same without it."""
        self._corpus.expect(claims)

    def bind(
        self, claim: str, citations: Sequence[Citation], always: Collection[str] = ()
    ) -> Binding:
        """Return the passages to score for a claim, and how many windows its evidence has.

        Of the sources that are to be read `always`, one passage each is, wherever they rank.
        """
        checkpoint()
        cited = self._cited(citations)
        scores = self._corpus.rank(claim)
        scope = self._scope(cited or tuple(self._whole(source) for source in self._corpus.sources))
        # Blank lines are in no window: a citation of them has nothing to say, and nothing to read.
        nearest = self._choose(scope, scores) or [self._blank(piece) for piece in cited[:1]]
        read = [*nearest, *self._stitch(scope, scores, nearest)]
        if len(read) > 1 and not self._limit:
            read = self._in_turns(claim, scope, scores, read[-1], always)
        without = self._without(cited, scores) if cited else []
        return Binding(
            citations=tuple(citations),
            with_evidence=tuple(read),
            without_evidence=tuple(without or self._structure(nearest)),
            windows_total=len(scope.windows) or len(nearest),
            nearest=self._nearest(scope, scores),
        )

    def _nearest(self, scope: _Scope, scores: MatchScores) -> tuple[SourceSpan, ...]:
        found = scores.sentences[scope.sentences]
        ranked = islice(descending(found), NEAREST)
        return tuple(self._part(scope, at).piece for at in ranked if found[at] > 0)

    def without(
        self, claim: str, citations: Sequence[Citation], pieces: Sequence[SourceSpan]
    ) -> Passage | None:
        """Return the closest sentences of a claim's evidence that overlap none of the pieces."""
        import numpy as np

        checkpoint()
        cited, scores = self._cited(citations), self._corpus.rank(claim)
        scope = self._scope(cited or tuple(self._whole(source) for source in self._corpus.sources))
        outside = self._corpus.stretches.outside(_by_source(pieces))
        left = np.flatnonzero(np.isin(scope.sentences, outside))
        if not len(left):
            return None
        best = int(left[best_of(scores.sentences[scope.sentences[left]])])
        near = left[abs(left - best) <= NEIGHBOURS].tolist()
        around = [self._part(scope, place) for place in near]
        return self._closest(self._part(scope, best), around, scores)

    def verbatim(self, claim: str, citations: Sequence[Citation]) -> Passage | None:
        """Return the sentence of a claim's evidence that is the claim, word for word."""
        cited = self._cited(citations)
        for i in self._corpus.stating(claim):
            piece = self._corpus.sentences[i].piece
            if not cited or any(region.covers(piece) for region in cited):
                return Passage(self._corpus.text(piece), (piece,), (piece,))
        return None

    def _cited(self, citations: Sequence[Citation]) -> tuple[SourceSpan, ...]:
        pieces = {
            SourceSpan(citation.source, citation.region or self._whole(citation.source).span)
            for citation in citations
            if citation.source is not None
        }
        return tuple(sorted(pieces, key=lambda piece: (piece.source, piece.span)))

    def _whole(self, source: str) -> SourceSpan:
        return SourceSpan(source, Span(0, len(self._corpus.sources[source].text)))

    # --- with the evidence ---

    def _scope(self, pieces: tuple[SourceSpan, ...]) -> _Scope:
        if pieces not in self._scopes:
            self._scopes[pieces] = self._made_scope(_by_source(pieces))
        return self._scopes[pieces]

    def _made_scope(self, regions: Mapping[str, Sequence[Span]]) -> _Scope:
        corpus = self._corpus
        windows = corpus.stretches_of_windows.overlapping(regions)
        parts = corpus.stretches.overlapping(regions)
        places = parts.cut.nonzero()[0].tolist()
        cut = {at: self._cut(int(parts.numbers[at]), parts.spans[at]) for at in places}
        tokens = int(corpus.tokens[parts.numbers].sum())
        return _Scope(windows.numbers, windows.spans, parts.numbers, tokens, cut)

    def _cut(self, sentence: int, region: Span) -> SourceSpan:
        """Return the part of a sentence that lies in a region."""
        piece = self._corpus.sentences[sentence].piece
        return SourceSpan(piece.source, piece.span.common(region))

    def _part(self, scope: _Scope, at: int) -> _Part:
        sentence = int(scope.sentences[at])
        return _Part(sentence, scope.cut.get(at) or self._corpus.sentences[sentence].piece)

    def _choose(self, scope: _Scope, scores: MatchScores) -> list[Passage]:
        """Return the best windows of the scope, cut down to it: one at least."""
        ranked = islice(self._ranked_clips(scope, scores), max(self._limit, 1))
        return [self._passage(clip, scores) for clip in ranked]

    def _ranked_clips(self, scope: _Scope, scores: MatchScores) -> Iterator[_Clip]:
        return map(scope.clip, descending(scores.windows[scope.windows]))

    def _passage(self, clip: _Clip, scores: MatchScores) -> Passage:
        window = self._corpus.windows[clip.window]
        inside = self._corpus.span(window).span.common(clip.region)
        piece, focus = SourceSpan(window.source, inside), self._focus(window, inside, scores)
        relevance = float(scores.windows[clip.window])
        return Passage(self._corpus.text(piece), (piece,), focus, relevance)

    def _blank(self, piece: SourceSpan) -> Passage:
        return Passage(self._corpus.text(piece), (piece,))

    def _focus(self, window: Window, inside: Span, scores: MatchScores) -> tuple[SourceSpan, ...]:
        near = [
            (float(scores.sentences[i]), self._corpus.sentences[i].piece)
            for i in range(window.first, window.last)
            if self._corpus.sentences[i].piece.span.overlaps(inside)
        ]
        best = max((score for score, _ in near), default=0.0)
        return tuple(piece for score, piece in near if score > 0 and score >= FOCUS_SHARE * best)

    def _stitch(
        self, scope: _Scope, scores: MatchScores, chosen: Sequence[Passage]
    ) -> list[Passage]:
        """Join the best sentences of the scope, for a claim that needs two places at once."""
        picked = list(self._best_parts(scope, scores))
        read = any(all(passage.pieces[0].covers(p.piece) for p in picked) for passage in chosen)
        if read or len(picked) < 2:  # noqa: PLR2004 -- two places
            return []
        return [self._join(picked, scores)]

    def _in_turns(
        self,
        claim: str,
        scope: _Scope,
        scores: MatchScores,
        stitched: Passage,
        always: Collection[str],
    ) -> list[Passage]:
        """Return the closest sentences, the stitched passage and, of short evidence, the rest."""
        at = best_of(scores.sentences[scope.sentences])
        closest = self._closest(self._part(scope, at), self._around(scope, at), scores)
        elsewhere = set(always) - {piece.source for piece in closest.pieces}
        first = [closest, *self._always(scope, scores, elsewhere), replace(stitched, turn=1)]
        if scope.tokens + estimate_tokens(claim) > SHORT_TOKENS:
            return first
        return [*first, *self._further(scope, scores, first)]

    def _always(
        self, scope: _Scope, scores: MatchScores, wanted: Collection[str]
    ) -> Iterator[Passage]:
        """Yield the nearest window of each source that is wanted."""
        windows = self._corpus.windows
        if not wanted:
            return
        ranked = self._ranked_clips(scope, scores)
        clips = [clip for clip in ranked if windows[clip.window].source in wanted]
        nearest = {windows[clip.window].source: clip for clip in reversed(clips)}
        yield from (self._passage(clip, scores) for clip in nearest.values())

    def _further(
        self, scope: _Scope, scores: MatchScores, read: Sequence[Passage]
    ) -> Iterator[Passage]:
        """Yield the windows, the nearest first, that have sentences which are not read yet."""
        known = {piece for passage in read for piece in passage.pieces}
        pieces = (self._part(scope, at).piece for at in range(len(scope.sentences)))
        left = [piece for piece in pieces if piece not in known]
        for clip in self._ranked_clips(scope, scores):
            passage = self._passage(clip, scores)
            new = [piece for piece in left if passage.pieces[0].covers(piece)]
            if new:
                left = [piece for piece in left if piece not in new]
                yield replace(passage, turn=FURTHER)

    def _best_parts(self, scope: _Scope, scores: MatchScores) -> Iterator[_Part]:
        room = self._corpus.window_tokens
        found = scores.sentences[scope.sentences]
        for at in descending(found):
            part = self._part(scope, at)
            tokens = self._corpus.sentences[part.sentence].tokens
            if found[at] <= 0 or tokens > room:
                return
            room -= tokens
            yield part

    def _around(self, scope: _Scope, at: int) -> Iterator[_Part]:
        """Yield the parts at a place and around it."""
        end = min(at + NEIGHBOURS + 1, len(scope.sentences))
        return (self._part(scope, place) for place in range(max(at - NEIGHBOURS, 0), end))

    def _closest(self, best: _Part, around: Iterable[_Part], scores: MatchScores) -> Passage:
        """Return the best sentence, with the one near it that adds most of the missing words."""
        near = [
            part
            for part in around
            if part.piece.source == best.piece.source
            and 0 < abs(part.sentence - best.sentence) <= NEIGHBOURS
        ]
        if not near:
            return self._join([best], scores)
        lacking = scores.lacking(best.sentence)
        # Of two equal ones the nearer, and the one before: it has the antecedent of "it".
        other = max(
            near,
            key=lambda p: (lacking[p.sentence], -abs(p.sentence - best.sentence), -p.sentence),
        )
        return self._join([best, other], scores)

    def _join(self, picked: Sequence[_Part], scores: MatchScores) -> Passage:
        """Return sentences, in their order, as one passage."""
        found = {p.piece: float(scores.sentences[p.sentence]) for p in sorted(picked, key=_place)}
        least = FOCUS_SHARE * max(found.values())
        return Passage(
            " ".join(self._corpus.text(piece).strip() for piece in found),
            tuple(found),
            tuple(piece for piece, score in found.items() if score > 0 and score >= least),
            sum(found.values()),
        )

    # --- with the evidence scrubbed ---

    def _without(self, cited: tuple[SourceSpan, ...], scores: MatchScores) -> list[Passage]:
        """Return the best of the text that is left when the cited pieces are scrubbed."""
        if cited not in self._rests:
            self._rests[cited] = self._rest(cited)
        rest = self._rests[cited]
        if not len(rest.sentences):
            return []
        if not self._limit:
            return [self._with_marks(self._closest_of_rest(rest, scores), rest.scrubbed)]
        standing, known = rest.standing, scores.sentences.tolist()
        left = [
            (sum(known[i] for i in found), window)
            for window in self._corpus.windows
            if (found := [i for i in range(window.first, window.last) if i in standing])
        ]
        left.sort(key=lambda entry: -entry[0])
        windows = [self._corpus.span(window) for _, window in left[: self._scrub_limit]]
        return [self._scrub(piece, rest.scrubbed) for piece in windows]

    def _closest_of_rest(self, rest: _Rest, scores: MatchScores) -> Passage:
        at = best_of(scores.sentences[rest.sentences])
        around = rest.sentences[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1].tolist()
        parts = [_Part(i, self._corpus.sentences[i].piece) for i in around]
        best = int(rest.sentences[at])
        return self._closest(_Part(best, self._corpus.sentences[best].piece), parts, scores)

    def _rest(self, cited: tuple[SourceSpan, ...]) -> _Rest:
        inside = self._corpus.stretches.overlapping(_by_source(cited)).numbers.tolist()
        scrubbed = _by_source([*cited, *near_copies(self._corpus, inside)])
        return _Rest(scrubbed, self._corpus.stretches.outside(scrubbed))

    def _with_marks(self, passage: Passage, scrubbed: Mapping[str, Sequence[Span]]) -> Passage:
        """Return the stretch that two sentences begin and end if some of it was scrubbed."""
        first, last = passage.pieces[0], passage.pieces[-1]
        stretch = SourceSpan(first.source, Span(first.span.start, last.span.end))
        marked = overlapping(scrubbed.get(first.source, ()), stretch.span)
        return self._scrub(stretch, scrubbed) if marked else passage

    def _scrub(self, piece: SourceSpan, scrubbed: Mapping[str, Sequence[Span]]) -> Passage:
        inside = [
            span.common(piece.span).shift(-piece.span.start)
            for span in overlapping(scrubbed.get(piece.source, ()), piece.span)
        ]
        return Passage(scrub(self._corpus.text(piece), inside), (piece,))

    def _structure(self, nearest: Sequence[Passage]) -> list[Passage]:
        """Return the nearest window with all of it scrubbed: no evidence is left anywhere."""
        return [self._scrub(piece, {piece.source: [piece.span]}) for piece in nearest[0].pieces[:1]]


def _place(part: _Part) -> tuple[int, int]:
    return part.sentence, part.piece.span.start


def _by_source(pieces: Sequence[SourceSpan]) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    for piece in pieces:
        spans.setdefault(piece.source, []).append(piece.span)
    return {source: merge(found) for source, found in spans.items()}
