"""Trigram index for candidate places of fuzzy quotes, with numpy.

Exact by counting: a window of `m` characters of the text has a similarity of at least `threshold`
to a quote of `m` characters only if at most k = (1 - threshold) m characters of the quote are not
in it and as many of its own are not in the quote. Each of the former breaks at most three, each of
the latter at most two of the m - 2 sequences of the quote, so at least m - 2 - 5k of them stand in
the window. Where the text has them and where the quote has them are apart by distances that differ
by at most k: as many characters go as come, at most k. Where that leaves no sequence at all,
for short quotes and low thresholds, there are no candidates to choose from: all is compared.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stretch: TypeAlias = tuple[int, int]
"""Start and end in the text: a `Span` without its checks, as there may be hundreds a quote."""

_LENGTH = 3
_PLACE = np.dtype(np.int32)
_BITS = 16  # sequences that share a number add candidates, and lose none
_ROUNDING = 1e-6
_LEFT_OUT = 0.25
"""Share of the sequences needed that are left out: the commonest, which have most places."""
_MOST_HITS = 4
"""Per character of the text; a quote with more has too little variety to be looked up."""


class GramIndex:
    """Places of every sequence of three characters of a text."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        grams = _numbered(text)
        # The stable sort of 16-bit numbers is a radix sort: linear.
        # Bytes are cut, and arrays of Python's own read, in less time than numpy's.
        self._places = np.argsort(grams, kind="stable").astype(_PLACE).tobytes()
        counts = np.bincount(grams, minlength=2**_BITS)
        self._counts = _plain(counts)
        self._ends = _plain(np.cumsum(counts) * _PLACE.itemsize)

    def candidates(self, quote: str, threshold: float) -> list[Stretch] | None:
        """Return stretches that hold every window of `len(quote)` similar enough; None: anywhere.

        `threshold` is the least share of characters in common, in order, from 0 to 1.
        """
        size = len(quote)
        spare = int((1 - threshold) * size + _ROUNDING)
        needed = size - (_LENGTH - 1) - (2 * _LENGTH - 1) * spare
        if needed < 1:
            return None
        # A window with `needed` of all has the others even if it has all of the commonest.
        left_out = int(_LEFT_OUT * needed)
        needed -= left_out
        distances = self._distances(quote, left_out)
        if distances is None or len(distances) < needed:
            return None if distances is None else []
        least, most = distances[: len(distances) - needed + 1], distances[needed - 1 :]
        near = np.flatnonzero(most - least <= spare)
        # A window starts no further than `spare` from any distance of its.
        return self._joined(most[near] - spare, least[near] + (spare + size))

    def _distances(self, quote: str, left_out: int) -> NDArray[np.int32] | None:
        """Return place in the text minus place in the quote, sorted, for the sequences in common.

        The `left_out` commonest sequences are left out. None if there are too many places.
        """
        grams = [_number(quote[i : i + _LENGTH]) for i in range(len(quote) - _LENGTH + 1)]
        all_counts = [self._counts[gram] for gram in grams]
        kept = sorted(range(len(grams)), key=all_counts.__getitem__)[: len(grams) - left_out]
        counts = [all_counts[i] for i in kept]
        if sum(counts) > _MOST_HITS * self._length:
            return None
        ends = [self._ends[grams[i]] for i in kept]
        pieces = [
            self._places[end - count * _PLACE.itemsize : end]
            for count, end in zip(counts, ends, strict=True)
        ]
        places = np.frombuffer(b"".join(pieces), _PLACE)
        distances = places - np.repeat(np.array(kept, _PLACE), counts)
        distances.sort()
        return distances

    def _joined(self, starts: NDArray[np.int32], ends: NDArray[np.int32]) -> list[Stretch]:
        """Return stretches, in order, with overlapping ones merged."""
        if not len(starts):
            return []
        apart = np.ones(len(starts) + 1, np.bool_)
        np.greater(starts[1:], ends[:-1], out=apart[1:-1])
        begins = np.maximum(starts[apart[:-1]], 0)
        stops = np.minimum(ends[apart[1:]], self._length)
        return list(zip(begins.tolist(), stops.tolist(), strict=True))


def _plain(numbers: NDArray[np.intp]) -> array[int]:
    return array("q", numbers.astype(np.int64).tobytes())


@lru_cache(maxsize=2**14)
def _number(gram: str) -> int:
    return int(_numbered(gram)[0])


def _numbered(text: str) -> NDArray[np.uint16]:
    """Return a number for each sequence of three characters; equal ones have equal numbers."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if len(codes) < _LENGTH:
        return np.zeros(0, np.uint16)
    mixed = (codes[:-2] * np.uint32(31) + codes[1:-1]) * np.uint32(31) + codes[2:]
    # Multiplying spreads the letters of one script, whose codes are neighbours, over all numbers.
    return ((mixed * np.uint32(2654435761)) >> np.uint32(32 - _BITS)).astype(np.uint16)
