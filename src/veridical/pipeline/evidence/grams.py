"""Where a text may nearly hold a quote: an index of three-letter sequences, with numpy.

Exact by counting: a window of `m` characters of the text has a similarity of at least `threshold`
to a quote of `m` characters only if at most k = (1 - threshold) m characters of the quote are not
in it and as many of its own are not in the quote. Each of the former breaks at most three, each of
the latter at most two of the m - 2 sequences of the quote, so at least m - 2 - 5k of them stand in
the window. Where the text has them and where the quote has them are apart by distances that differ
by at most k: as many characters go as come, at most k. Where that leaves no sequence at all,
for short quotes and low thresholds, there are no candidates to choose from: all is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stretch: TypeAlias = tuple[int, int]
"""Start and end in the text: a `Span` without its checks, for there may be hundreds a quote."""

_LENGTH = 3
_BITS = 16  # sequences that share a number add candidates, and lose none
_ROUNDING = 1e-6
_LEFT_OUT = 0.25
"""Share of the sequences needed that are left out: the commonest, which have most places."""
_MOST_HITS = 4
"""Per character of the text; a quote with more has too little variety to be looked up."""


class GramIndex:
    """The places of every sequence of three characters of a text."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        grams = _numbered(text)
        # The stable sort of 16-bit numbers is a radix sort: linear.
        self._places = np.argsort(grams, kind="stable").astype(np.int32)
        self._counts = np.bincount(grams, minlength=2**_BITS)
        self._first = np.cumsum(self._counts) - self._counts

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
        shifts = self._shifts(quote, left_out)
        if shifts is None or not len(shifts):
            return None if shifts is None else []
        width = max(spare, 1)
        bins = np.bincount((shifts + size) // width)
        bins[:-1] += bins[1:]
        # The distances of a window fall into two bins next to each other, and its own start is
        # no further than `spare` from any of them.
        starts = np.flatnonzero(bins >= needed) * width - size - spare
        return self._joined(starts, 2 * (width + spare) + size)

    def _shifts(self, quote: str, left_out: int) -> NDArray[np.int32] | None:
        """Return place in the text minus place in the quote, for the sequences in common.

        So many of the commonest sequences are left out. None if there are too many places.
        """
        grams = _numbered(quote).astype(np.int64)
        first, counts = self._first[grams], self._counts[grams]
        kept = np.argsort(counts)[: len(grams) - left_out]
        counts = counts[kept]
        if counts.sum() > _MOST_HITS * self._length:
            return None
        first = first[kept]
        pieces = [
            self._places[a:b]
            for a, b in zip(first.tolist(), (first + counts).tolist(), strict=True)
        ]
        return np.concatenate(pieces) - np.repeat(kept.astype(np.int32), counts)

    def _joined(self, starts: NDArray[np.int64], reach: int) -> list[Stretch]:
        """Return the stretches of `reach` from each of `starts`, those that overlap as one."""
        if not len(starts):
            return []
        apart = np.flatnonzero(starts[1:] > starts[:-1] + reach)
        begins = np.maximum(starts[np.concatenate(([0], apart + 1))], 0)
        ends = np.minimum(starts[np.append(apart, len(starts) - 1)] + reach, self._length)
        return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _numbered(text: str) -> NDArray[np.uint16]:
    """Return a number for each sequence of three characters; equal ones have equal numbers."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if len(codes) < _LENGTH:
        return np.zeros(0, np.uint16)
    mixed = (codes[:-2] * np.uint32(31) + codes[1:-1]) * np.uint32(31) + codes[2:]
    # Multiplying spreads the letters of one script, whose codes are neighbours, over all numbers.
    return ((mixed * np.uint32(2654435761)) >> np.uint32(32 - _BITS)).astype(np.uint16)
