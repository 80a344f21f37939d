"""Binding of claims to passages: with the cited evidence, and with it scrubbed.

The cited sources of a claim are its evidence; a claim without citations has all sources for
evidence. Support found only in a source that was not cited counts for p0, not for p1
(docs/decisions/0006-cited-evidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import nlargest
from typing import TYPE_CHECKING, Literal

from veridical.core.types import FURTHER, Binding, Passage, SourceSpan, Span
from veridical.pipeline.evidence.scrubbing import merge, near_copies, scrub
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class _Scope:
    """Part of the corpus that is a claim's evidence, in its order."""

    clips: Sequence[_Clip]
    parts: Sequence[_Part]


@dataclass(frozen=True, slots=True)
class _Rest:
    """Spans of each source that are scrubbed, and the sentences that are left."""

    scrubbed: Mapping[str, Sequence[Span]]
    parts: Sequence[_Part]


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

    def bind(
        self, claim: str, citations: Sequence[Citation], always: Collection[str] = ()
    ) -> Binding:
        """Return the passages to score for a claim, and how many windows its evidence has.

        Of the sources that are to be read `always`, one passage each is, wherever they rank.
        """
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
            windows_total=len(scope.clips) or len(nearest),
            nearest=self._nearest(scope, scores),
        )

    def _nearest(self, scope: _Scope, scores: MatchScores) -> tuple[SourceSpan, ...]:
        ranked = nlargest(NEAREST, scope.parts, key=lambda part: scores.sentences[part.sentence])
        return tuple(part.piece for part in ranked if scores.sentences[part.sentence] > 0)

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
            self._scopes[pieces] = _Scope(list(self._clips(pieces)), list(self._parts(pieces)))
        return self._scopes[pieces]

    def _clips(self, pieces: Sequence[SourceSpan]) -> Iterator[_Clip]:
        """Yield each window that reaches into the pieces."""
        regions = _by_source(pieces)
        for index, window in enumerate(self._corpus.windows):
            if window.source in regions:
                span = self._corpus.span(window).span
                yield from (_Clip(index, r) for r in regions[window.source] if span.overlaps(r))

    def _choose(self, scope: _Scope, scores: MatchScores) -> list[Passage]:
        """Return the best windows of the scope, cut down to it: one at least."""
        ranked = sorted(scope.clips, key=lambda clip: -scores.windows[clip.window])
        return [self._passage(clip, scores) for clip in ranked[: max(self._limit, 1)]]

    def _passage(self, clip: _Clip, scores: MatchScores) -> Passage:
        window = self._corpus.windows[clip.window]
        inside = self._corpus.span(window).span.common(clip.region)
        piece, focus = SourceSpan(window.source, inside), self._focus(window, inside, scores)
        return Passage(self._corpus.text(piece), (piece,), focus, scores.windows[clip.window])

    def _blank(self, piece: SourceSpan) -> Passage:
        return Passage(self._corpus.text(piece), (piece,))

    def _focus(self, window: Window, inside: Span, scores: MatchScores) -> tuple[SourceSpan, ...]:
        near = [
            (scores.sentences[i], self._corpus.sentences[i].piece)
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
        closest = self._closest(scope.parts, scores)
        elsewhere = set(always) - {piece.source for piece in closest.pieces}
        first = [closest, *self._always(scope, scores, elsewhere), replace(stitched, turn=1)]
        tokens = sum(self._corpus.sentences[part.sentence].tokens for part in scope.parts)
        if tokens + estimate_tokens(claim) > SHORT_TOKENS:
            return first
        return [*first, *self._further(scope, scores, first)]

    def _always(
        self, scope: _Scope, scores: MatchScores, wanted: Collection[str]
    ) -> Iterator[Passage]:
        """Yield the nearest window of each source that is wanted."""
        windows = self._corpus.windows
        clips = [clip for clip in scope.clips if windows[clip.window].source in wanted]
        ranked = sorted(clips, key=lambda clip: -scores.windows[clip.window])
        nearest = {windows[clip.window].source: clip for clip in reversed(ranked)}
        yield from (self._passage(clip, scores) for clip in nearest.values())

    def _further(
        self, scope: _Scope, scores: MatchScores, read: Sequence[Passage]
    ) -> Iterator[Passage]:
        """Yield the windows, the nearest first, that have sentences which are not read yet."""
        known = {piece for passage in read for piece in passage.pieces}
        left = [part.piece for part in scope.parts if part.piece not in known]
        for clip in sorted(scope.clips, key=lambda clip: -scores.windows[clip.window]):
            passage = self._passage(clip, scores)
            new = [piece for piece in left if passage.pieces[0].covers(piece)]
            if new:
                left = [piece for piece in left if piece not in new]
                yield replace(passage, turn=FURTHER)

    def _best_parts(self, scope: _Scope, scores: MatchScores) -> Iterator[_Part]:
        room = self._corpus.window_tokens
        for part in sorted(scope.parts, key=lambda part: -scores.sentences[part.sentence]):
            tokens = self._corpus.sentences[part.sentence].tokens
            if scores.sentences[part.sentence] <= 0 or tokens > room:
                return
            room -= tokens
            yield part

    def _closest(self, parts: Sequence[_Part], scores: MatchScores) -> Passage:
        """Return the best sentence, with the one near it that adds most of the missing words."""
        at = max(range(len(parts)), key=lambda i: scores.sentences[parts[i].sentence])
        best = parts[at]
        lacking = scores.lacking(best.sentence)
        near = [
            part
            for part in parts[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
            if part.piece.source == best.piece.source
            and 0 < abs(part.sentence - best.sentence) <= NEIGHBOURS
        ]
        # Of two equal ones the nearer, and the one before: it has the antecedent of "it".
        other = max(
            near,
            key=lambda p: (lacking[p.sentence], -abs(p.sentence - best.sentence), -p.sentence),
            default=None,
        )
        return self._join([best, other] if other else [best], scores)

    def _join(self, picked: Sequence[_Part], scores: MatchScores) -> Passage:
        """Return sentences, in their order, as one passage."""
        found = {p.piece: scores.sentences[p.sentence] for p in sorted(picked, key=_place)}
        least = FOCUS_SHARE * max(found.values())
        return Passage(
            " ".join(self._corpus.text(piece).strip() for piece in found),
            tuple(found),
            tuple(piece for piece, score in found.items() if score > 0 and score >= least),
            sum(found.values()),
        )

    def _parts(self, pieces: Sequence[SourceSpan]) -> Iterator[_Part]:
        """Yield the part of each sentence that lies in the pieces."""
        regions = _by_source(pieces)
        for i, sentence in enumerate(self._corpus.sentences):
            whole = sentence.piece
            for region in regions.get(whole.source, ()):
                if whole.span.overlaps(region):
                    yield _Part(i, SourceSpan(whole.source, whole.span.common(region)))

    # --- with the evidence scrubbed ---

    def _without(self, cited: tuple[SourceSpan, ...], scores: MatchScores) -> list[Passage]:
        """Return the best of the text that is left when the cited pieces are scrubbed."""
        if cited not in self._rests:
            self._rests[cited] = self._rest(cited)
        rest = self._rests[cited]
        if not rest.parts:
            return []
        if not self._limit:
            return [self._with_marks(self._closest(rest.parts, scores), rest.scrubbed)]
        standing = {part.sentence for part in rest.parts}
        left = [
            (sum(scores.sentences[i] for i in found), window)
            for window in self._corpus.windows
            if (found := [i for i in range(window.first, window.last) if i in standing])
        ]
        left.sort(key=lambda entry: -entry[0])
        windows = [self._corpus.span(window) for _, window in left[: self._scrub_limit]]
        return [self._scrub(piece, rest.scrubbed) for piece in windows]

    def _rest(self, cited: tuple[SourceSpan, ...]) -> _Rest:
        copies = near_copies(self._corpus, [part.sentence for part in self._parts(cited)])
        scrubbed = _by_source([*cited, *copies])
        parts = [
            _Part(i, sentence.piece)
            for i, sentence in enumerate(self._corpus.sentences)
            if not any(map(sentence.piece.span.overlaps, scrubbed.get(sentence.piece.source, ())))
        ]
        return _Rest(scrubbed, parts)

    def _with_marks(self, passage: Passage, scrubbed: Mapping[str, Sequence[Span]]) -> Passage:
        """Return the stretch that two sentences begin and end if some of it was scrubbed."""
        first, last = passage.pieces[0], passage.pieces[-1]
        stretch = SourceSpan(first.source, Span(first.span.start, last.span.end))
        marked = any(map(stretch.span.overlaps, scrubbed.get(first.source, ())))
        return self._scrub(stretch, scrubbed) if marked else passage

    def _scrub(self, piece: SourceSpan, scrubbed: Mapping[str, Sequence[Span]]) -> Passage:
        inside = [
            span.common(piece.span).shift(-piece.span.start)
            for span in scrubbed.get(piece.source, ())
            if span.overlaps(piece.span)
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
