"""Sources, cut into sentence-aligned windows and indexed for ranking by meaning and by words.

Built once for a check; equal sentences are analysed once. Windows and sentences are ranked by how
near their word pieces are to those of a claim (`meaning.py`) and, for numbers and names, by BM25
(Robertson & Zaragoza 2009, Lucene's variant, by the bm25s library). Without vectors, words alone
rank.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any

from veridical.core.cancellation import checkpoint
from veridical.core.text import normal_form
from veridical.core.types import SourceSpan, Span
from veridical.pipeline.evidence.meaning import Meanings
from veridical.pipeline.evidence.overlaps import Stretches
from veridical.pipeline.evidence.slices import LONGEST, fit
from veridical.pipeline.evidence.tokens import estimate_tokens, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from veridical.core.ports import SentenceSplitter, Vectors
    from veridical.core.types import Source
    from veridical.pipeline.evidence.meaning import Nearness

WINDOW_TOKENS = 96
"""Estimated tokens of a window: a length the verifier reads well, with room for the claim."""

WORDS_SHARE = 0.25
"""Weight of the best match of words, beside 1 for all pieces being near: it separates texts that
differ only in a number or a name (docs/decisions/0018-meaning-and-reading.md).
"""


KEPT_CHARACTERS = 1_000_000
"""Characters of the sources in a `CorpusCache`: a corpus takes about 25 bytes for each."""
KEPT_CORPORA = 32
"""Most corpora in it: one of a single sentence takes 15 kB."""

_CONNECTIVE = re.compile(
    r"(?:however|also|moreover|furthermore|in addition|additionally|therefore|thus|and|but|finally"
    r"|meanwhile|then|so|similarly|in particular|as a result|consequently),? "
)
_WHOLE = re.compile(r"[.!。！]\W{0,3}$")
_INTRODUCED = re.compile(r":[\s>*_]*(?:(?:[-*•–]|\d{1,3}[.)])[\s*_]*)?$")
_REACH = 32


@dataclass(frozen=True, slots=True)
class Sentence:
    """Sentence of a source (or a slice of one that is too long for a window)."""

    piece: SourceSpan
    tokens: int


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive sentences of one source: `first` inclusive, `last` exclusive, into the corpus."""

    source: str
    first: int
    last: int


class Ranking:
    """BM25 over a fixed list of texts."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._size = len(texts)
        self._index: Any = None
        if any(texts):
            import bm25s

            if logging.getLogger("bm25s").level == logging.DEBUG:
                # The library logs each index at level DEBUG: noise beside a failing test of a host.
                logging.getLogger("bm25s").setLevel(logging.WARNING)

            self._index = bm25s.BM25(method="lucene")
            self._index.index([list(text) for text in texts], show_progress=False)

    def scores(self, query: Sequence[str]) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Return the match of each text with the query, as an array: 0 or more, no unit."""
        import numpy as np

        known = [word for word in dict.fromkeys(query) if self._knows(word)]
        if not known:
            return np.zeros(self._size)
        return self._index.get_scores(known).astype(np.float64)

    def _knows(self, word: str) -> bool:
        return self._index is not None and word in self._index.vocab_dict


@dataclass(frozen=True, slots=True)
class Ranges:
    """Sentences and windows of one source: their numbers in the corpus."""

    sentences: range
    windows: range


class Corpus:
    """Every sentence and window of the sources, with their rankings."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        split: SentenceSplitter,
        *,
        window_tokens: int = WINDOW_TOKENS,
        vectors: Vectors | None = None,
    ) -> None:
        self.sources = sources
        self.window_tokens = window_tokens
        self.sentences: list[Sentence] = []
        self.windows: list[Window] = []
        self.ranges: dict[str, Ranges] = {}
        self._tokens: dict[str, int] = {}
        for source in sources.values():
            self._add(source, split)
        self._tokens.clear()
        self._index(vectors)

    def _index(self, vectors: Vectors | None) -> None:
        """Analyse each text once, however many sentences have it, and index all of them."""
        numbers: dict[str, int] = {}
        self.text_numbers = [
            numbers.setdefault(self.text(sentence.piece), len(numbers))
            for sentence in self.sentences
        ]
        self._texts = list(numbers)
        known = [_words(text) for text in self._texts]
        self.vocabulary = [known[number] for number in self.text_numbers]
        self._meanings = None
        if vectors is not None:
            self._meanings = Meanings(vectors, self._texts, self.text_numbers)
        self._sentences = Ranking(self.vocabulary)
        self._windows = Ranking(
            [[*chain.from_iterable(self.vocabulary[w.first : w.last])] for w in self.windows]
        )

    def text(self, piece: SourceSpan) -> str:
        """Return the text of a piece."""
        return piece.span.of(self.sources[piece.source].text)

    def span(self, window: Window) -> SourceSpan:
        """Return the stretch of its source that a window covers."""
        start = self.sentences[window.first].piece.span.start
        return SourceSpan(
            window.source, Span(start, self.sentences[window.last - 1].piece.span.end)
        )

    def rank(self, claim: str) -> MatchScores:
        """Return the match of all windows and all sentences with a claim."""
        query = words(claim)
        by_words = self._windows.scores(query), self._sentences.scores(query)
        if self._meanings is None:
            return MatchScores(*by_words, self, claim)
        near = self._meanings.of(claim)
        return MatchScores(
            _added(near.of_ranges(self._bounds_of_windows), by_words[0]),
            _added(near.scores(), by_words[1]),
            self,
            claim,
            near,
        )

    def expect(self, claims: Sequence[str]) -> None:
        """Prepare for claims that will be ranked: in one go what would be done for each."""
        if self._meanings is not None:
            self._meanings.expect(claims)

    @cached_property
    def stretches(self) -> Stretches:
        """Stretches of the sentences."""
        pieces = self.sentences
        return Stretches(
            {each: [pieces[i].piece.span for i in at.sentences] for each, at in self.ranges.items()}
        )

    @cached_property
    def stretches_of_windows(self) -> Stretches:
        """Stretches of the windows."""
        windows = self.windows
        return Stretches(
            {e: [self.span(windows[i]).span for i in at.windows] for e, at in self.ranges.items()}
        )

    @cached_property
    def tokens(self) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Estimated tokens of each sentence."""
        import numpy as np

        return np.asarray([sentence.tokens for sentence in self.sentences], dtype=np.intp)

    @cached_property
    def _bounds_of_windows(self) -> Any:  # noqa: ANN401 -- numpy, imported late
        import numpy as np

        bounds = [(window.first, window.last) for window in self.windows]
        return np.asarray(bounds, dtype=np.intp).reshape(-1, 2)

    def rank_rest(self, claim: str, sentence: int) -> Any:  # noqa: ANN401 -- see above
        """Return the scores of all sentences for those words of a claim that a sentence lacks."""
        has = set(self.vocabulary[sentence])
        return self._sentences.scores([word for word in words(claim) if word not in has])

    def stating(self, claim: str) -> Iterator[int]:
        """Yield the sentences that are the claim, word for word, but for a connective at the start.

        One that a colon introduces ("The following is not true:") is not said by the text.
        """
        for i in self._by_form.get(_form(claim), ()):
            if not self._introduced(self.sentences[i].piece):
                yield i

    @cached_property
    def _by_form(self) -> dict[str, list[int]]:
        """Whole sentences by their normal forms."""
        forms = list(map(_form, self._texts))
        found: dict[str, list[int]] = {}
        for i, sentence in enumerate(self.sentences):
            if self._is_whole(sentence.piece):
                found.setdefault(forms[self.text_numbers[i]], []).append(i)
        return found

    def _is_whole(self, piece: SourceSpan) -> bool:
        """Return whether a piece ends as a sentence does, and is no slice of a longer one."""
        text, end = self.sources[piece.source].text, piece.span.end
        return bool(_WHOLE.search(self.text(piece)[-8:])) or not text[end : end + 1].strip(" \t")

    def _introduced(self, piece: SourceSpan) -> bool:
        text, start = self.sources[piece.source].text, piece.span.start
        return bool(_INTRODUCED.search(text[max(start - _REACH, 0) : start]))

    def _add(self, source: Source, split: SentenceSplitter) -> None:
        first, window = len(self.sentences), len(self.windows)
        # A text of markup alone has no sentence, but it was handed in to be read.
        for span in split(source.text) or [Span(0, len(source.text))]:
            self.sentences.extend(self._sentence(source, span))
        bounds = list(self._bounds(first, len(self.sentences)))
        self.windows.extend(Window(source.id, start, end) for start, end in bounds)
        self.ranges[source.id] = Ranges(
            range(first, len(self.sentences)), range(window, len(self.windows))
        )

    def _sentence(self, source: Source, span: Span) -> Iterator[Sentence]:
        checkpoint()
        text = span.of(source.text)
        if len(text) <= LONGEST * self.window_tokens and text.strip():
            tokens = self._tokens.get(text)
            if tokens is None:
                tokens = self._tokens[text] = estimate_tokens(text)
            if tokens <= self.window_tokens:
                yield Sentence(SourceSpan(source.id, span), tokens)
                return
        for part in fit(source.text, span, self.window_tokens):
            yield Sentence(SourceSpan(source.id, part), estimate_tokens(part.of(source.text)))

    def _bounds(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield sentence ranges that fill a window; neighbours share a short sentence."""
        start = first
        while start < end:
            stop, used = start, 0
            while stop < end and (stop == start or self._fits(used, stop)):
                used += self.sentences[stop].tokens
                stop += 1
            yield start, stop
            if stop == end:
                return
            start = stop - 1 if self._overlap(start, stop) else stop

    def _fits(self, used: int, index: int) -> bool:
        return used + self.sentences[index].tokens <= self.window_tokens

    def _overlap(self, start: int, stop: int) -> bool:
        last = self.sentences[stop - 1].tokens
        return stop - start > 1 and last + self.sentences[stop].tokens <= self.window_tokens // 2


@dataclass(frozen=True, slots=True)
class MatchScores:
    """Match of the windows and sentences of a corpus with a claim: arrays, 0 or more, no unit."""

    windows: Any
    sentences: Any
    _corpus: Corpus
    _claim: str
    _near: Nearness | None = None

    def lacking(self, sentence: int) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Return the match of all sentences with the words of the claim that a sentence lacks."""
        rest = self._corpus.rank_rest(self._claim, sentence)
        return rest if self._near is None else _added(self._near.gains([sentence]), rest)


def _added(near: Any, by_words: Any) -> Any:  # noqa: ANN401 -- numpy, imported late
    """Return scores by meaning and, as a share of the best of them, by words together."""
    best = by_words.max(initial=0.0)
    return near + (WORDS_SHARE / best if best else 0.0) * by_words


def _words(text: str) -> list[str]:
    checkpoint()
    return words(text)


def _without_connective(form: str) -> str:
    match = _CONNECTIVE.match(form)
    return form[match.end() :] if match else form


def _form(text: str) -> str:
    """Return the normal form of a sentence, without a connective and the mark at its end."""
    return _without_connective(normal_form(text)).rstrip(".!。！ ")


class CorpusCache:
    """Cache of the corpora of the last sources: an agent checks claim after claim against them.

    The last one stays, and those before it while they are few and all have at most `characters`
    together. It holds their texts. May be used from several threads.
    """

    def __init__(
        self,
        split: SentenceSplitter,
        vectors: Callable[[], Vectors] | None = None,
        *,
        characters: int = KEPT_CHARACTERS,
    ) -> None:
        self._split = split
        self._vectors = vectors
        self._characters = characters
        # In the order of the sources, too: of two windows that are as good the first is read.
        self._kept: OrderedDict[tuple[Source, ...], Corpus] = OrderedDict()
        self._lock = Lock()

    def of(self, sources: Mapping[str, Source]) -> Corpus:
        """Return the corpus of sources; built anew if they are none of the last ones."""
        key = tuple(sources.values())
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        vectors = self._vectors() if self._vectors is not None else None
        found = Corpus(dict(sources), self._split, vectors=vectors)
        with self._lock:
            self._kept[key] = found
            self._make_room()
        return found

    def drop_large(self) -> None:
        """Forget the last one, too, if it has more than `characters`."""
        with self._lock:
            self._make_room(least=0)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()

    def _make_room(self, least: int = 1) -> None:
        while len(self._kept) > KEPT_CORPORA or (
            len(self._kept) > least and sum(map(_size, self._kept)) > self._characters
        ):
            self._kept.popitem(last=False)


def _size(sources: Sequence[Source]) -> int:
    return sum(len(source.text) for source in sources)
