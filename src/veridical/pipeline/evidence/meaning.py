"""Semantic similarity of sentences to a claim: word by word, by vectors of word pieces.

A word piece of a claim is as near to a sentence as to the piece of it that is nearest (late
interaction, Khattab & Zaharia 2020), and rare pieces count more (Spärck Jones 1972). "The kid is
asleep." finds "The child is sleeping.", with which it shares no word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Any

from veridical.pipeline.evidence.tokens import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.core.ports import Vectors

KEPT_NUMBERS = 2_000_000
"""Numbers, of four bytes each, that a corpus keeps of the nearness of its texts to word pieces."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """Similarity of each piece of a claim (row) to each sentence (column), and its weight.

    Weights sum to 1, nearness runs from 0 to 1.
    """

    pieces: Any
    weights: Any

    def scores(self) -> Any:  # noqa: ANN401 -- numpy, imported late
        """Return the nearness of the sentences to the claim, from 0 to 1."""
        return _weighed(self.weights, self.pieces)

    def of_ranges(self, ranges: Any) -> Any:  # noqa: ANN401 -- see above
        """Return the joint nearness of the sentences of each range: first to last, exclusive."""
        import numpy as np

        if not len(ranges) or not len(self.weights):
            return np.zeros(len(ranges))
        padded = np.pad(self.pieces, ((0, 0), (0, 1)))  # a range may end where the sentences do
        together = np.maximum.reduceat(padded, np.asarray(ranges).ravel(), axis=1)[:, ::2]
        return _weighed(self.weights, together)

    def gains(self, chosen: Sequence[int]) -> Any:  # noqa: ANN401 -- see above
        """Return the gain in nearness of the chosen sentences by each of the others."""
        import numpy as np

        has = self.pieces[:, list(chosen)].max(axis=1, keepdims=True)
        return _weighed(self.weights, np.maximum(self.pieces - has, 0.0))


def _weighed(weights: Any, pieces: Any) -> Any:  # noqa: ANN401 -- numpy, imported late
    import numpy as np

    return (weights @ pieces).astype(np.float64)


class Meanings:
    """The sentences of a corpus, ready to be compared with claims.

    `numbers` has the text of each sentence, by its place in `texts`; without it they are the same.
    """

    def __init__(
        self, vectors: Vectors, texts: Sequence[str], numbers: Sequence[int] | None = None
    ) -> None:
        import numpy as np

        self._vectors = vectors
        self._idle = frozenset(chain.from_iterable(vectors.pieces(sorted(STOP_WORDS))))
        found = [self._telling(pieces) for pieces in vectors.pieces(texts)]
        places = np.arange(len(texts)) if numbers is None else np.asarray(numbers, dtype=np.intp)
        self._places = places
        self._size = len(places)
        self._having = _sentences_with(found, np.bincount(places, minlength=len(texts)).tolist())
        self._known = list(self._having)
        place = {piece: i for i, piece in enumerate(self._known)}
        filled = [i for i, pieces in enumerate(found) if pieces]
        self._filled = np.asarray(filled, dtype=np.intp)
        self._flat = np.asarray([place[each] for each in chain.from_iterable(found)], dtype=np.intp)
        self._starts = np.asarray(_starts([found[i] for i in filled]), dtype=np.intp)
        self._texts = len(found)
        self._rows: dict[int, Any] = {}
        self._most_rows = KEPT_NUMBERS // max(self._texts, 1)

    def of(self, claim: str) -> Nearness:
        """Return the nearness of each sentence to each word piece of a claim."""
        import numpy as np

        (pieces,) = self._vectors.pieces([claim])
        asked = list(dict.fromkeys(self._telling(pieces)))
        near = np.asarray(self._near(asked), dtype=np.float32).reshape(len(asked), self._texts)
        weights = np.asarray([self._weight(piece) for piece in asked], dtype=np.float32)
        return Nearness(
            near.take(self._places, axis=1), weights / weights.sum() if asked else weights
        )

    def expect(self, claims: Sequence[str]) -> None:
        """Work out at once what claims that `of` is asked for will need, as far as it is kept."""
        found = chain.from_iterable(map(self._telling, self._vectors.pieces(claims)))
        new = list(dict.fromkeys(piece for piece in found if piece not in self._rows))
        self._near(new[: max(self._most_rows - len(self._rows), 0)])

    def _near(self, asked: Sequence[int]) -> list[Any]:
        """Return the nearness of each text to each piece; claims share their pieces."""
        found = {piece: self._rows[piece] for piece in asked if piece in self._rows}
        new = [piece for piece in asked if piece not in found]
        found.update(zip(new, self._computed(new), strict=True))
        if len(self._rows) + len(new) > self._most_rows:
            self._rows = {}
        self._rows.update((piece, found[piece]) for piece in new[: self._most_rows])
        return [found[piece] for piece in asked]

    def _computed(self, pieces: Sequence[int]) -> Iterator[Any]:
        import numpy as np

        if not pieces or not self._known:
            yield from (np.zeros(self._texts, dtype=np.float32) for _ in pieces)
            return
        for of_known in self._vectors.nearness(pieces, self._known):
            row = np.zeros(self._texts, dtype=np.float32)
            row[self._filled] = np.maximum.reduceat(of_known[self._flat], self._starts)
            yield row

    def _telling(self, pieces: Sequence[int]) -> list[int]:
        """Return the pieces with content: without stop words."""
        return [piece for piece in pieces if piece not in self._idle]

    def _weight(self, piece: int) -> float:
        """Return the inverse document frequency, as BM25 has it."""
        having = self._having[piece]
        return log(1 + (self._size - having + 0.5) / (having + 0.5))


def _sentences_with(texts: Sequence[Sequence[int]], sentences: Sequence[int]) -> Counter[int]:
    """Return for each piece the number of sentences that have it; `sentences` counts each text."""
    found: Counter[int] = Counter()
    for pieces, count in zip(texts, sentences, strict=True):
        for piece in set(pieces):
            found[piece] += count
    return found


def _starts(texts: Sequence[Sequence[int]]) -> list[int]:
    at, found = 0, []
    for pieces in texts:
        found.append(at)
        at += len(pieces)
    return found
