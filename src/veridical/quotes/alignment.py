"""Alignment of a quote with the most similar window of a text, in bounded time.

The similarity is rapidfuzz's `partial_ratio`, whose time grows with the third power of the length
in the worst case. Two long texts are searched here instead, with the same score: the characters
that windows one character apart have in common with the quote differ by at most one in number,
which rules most windows out unseen.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.cancellation import checkpoint
from veridical.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

_WORD = 64
"""Characters that rapidfuzz compares at once."""
_MOST_AT_ONCE = 5 * 10**8
"""Comparisons of one uninterrupted call: about a tenth of a second."""
_MOST_IN_ALL = 2 * 10**9
"""Comparisons of one search."""


class AlignmentTooLongError(Exception):
    """Two texts too long to find out whether any window is similar enough."""


class FuzzyWindow(NamedTuple):
    """Stretch of a text as long as the quote, with their similarity, 0 to 1."""

    start: int
    end: int
    score: float


def rapidfuzz_or_raise() -> ModuleType:
    """Return `rapidfuzz.fuzz`; `MissingExtraError` if it is not installed."""
    try:
        from rapidfuzz import fuzz
    except ImportError:
        msg = "matching quotes in the mode 'fuzzy' needs rapidfuzz"
        raise MissingExtraError(msg, hint="Run: pip install 'veridical[quotes]'") from None
    return fuzz


def best_window(quote: str, text: str, threshold: float) -> FuzzyWindow | None:
    """Return the window most similar to a quote, None if its score is below the threshold.

    A text no longer than the quote is one window. `AlignmentTooLongError` if the work ends before a
    window that is similar enough is found, or ruled out.
    """
    size = min(len(quote), len(text))
    if (len(quote) + len(text)) * _comparisons(size, size) <= _MOST_AT_ONCE:
        return _by_rapidfuzz(quote, text, threshold)
    if len(text) > len(quote):
        return WindowSearch(quote, text).best(threshold)
    # A text shorter than the quote is looked for in it; of the same length, each in the other.
    pairs = [(text, quote), (quote, text)][: 1 + (len(quote) == len(text))]
    found = [WindowSearch(*pair).best(threshold) for pair in pairs]
    score = max((window.score for window in found if window), default=None)
    return None if score is None else FuzzyWindow(0, len(text), score)


def _comparisons(one: int, other: int) -> int:
    return one * -(-other // _WORD)


def _by_rapidfuzz(quote: str, text: str, threshold: float) -> FuzzyWindow | None:
    cutoff = 100 * threshold - 1e-6  # rapidfuzz counts to 100; it must not round us out
    found = rapidfuzz_or_raise().partial_ratio_alignment(quote, text, score_cutoff=cutoff)
    if found is None or found.score / 100 < threshold:
        return None
    start, end = (found.dest_start, found.dest_end) if len(text) > len(quote) else (0, len(text))
    return FuzzyWindow(start, end, found.score / 100)


class WindowSearch:
    """Best-first search for the window of a text most similar to a text no longer than it.

    A window is named by its start. The ends of the text cut those short that begin before it or end
    after it.
    """

    def __init__(self, quote: str, text: str) -> None:
        self._quote, self._text = quote, text
        self._last = len(text) - len(quote)
        self._left = _MOST_IN_ALL // _comparisons(len(quote), len(quote))
        self._common: dict[int, int] = {}
        self._queue: list[tuple[float, int, int]] = []
        self._best = FuzzyWindow(0, 0, 0.0)

    def best(self, threshold: float) -> FuzzyWindow | None:
        """Return the best window, or one that is similar enough if the work ends before."""
        try:
            self._search(threshold)
        except AlignmentTooLongError:
            if self._best.score < threshold:
                raise
        return self._best if self._best.score >= threshold else None

    def _search(self, threshold: float) -> None:
        size = len(self._quote)
        starts = sorted({1 - size, 0, self._last, self._last + size - 1})
        for start in starts:
            self._look(start)
        for first, last in pairwise(starts):
            self._push(first, last)
        while self._queue:
            bound, first, last = heappop(self._queue)
            if -bound <= self._best.score or -bound < threshold:
                return
            middle = (first + last) // 2
            self._look(middle)
            self._push(first, middle)
            self._push(middle, last)

    def _look(self, start: int) -> None:
        """Compare a window with the quote; `AlignmentTooLongError` if no work is left."""
        from rapidfuzz.distance import LCSseq

        checkpoint()
        if not self._left:
            raise AlignmentTooLongError
        self._left -= 1
        lo, hi = self._ends(start)
        common = LCSseq.similarity(self._quote, self._text[lo:hi])
        self._common[start] = common
        score = 2 * common / (len(self._quote) + hi - lo)
        self._best = max(self._best, FuzzyWindow(lo, hi, score), key=lambda window: window.score)

    def _push(self, first: int, last: int) -> None:
        """Queue the windows that start between two others by their greatest possible score."""
        if last - first > 1:
            shortest = min(hi - lo for lo, hi in (self._ends(first), self._ends(last)))
            bound = 2 * self._most_common(first, last) / (len(self._quote) + shortest)
            heappush(self._queue, (-bound, first, last))

    def _most_common(self, first: int, last: int) -> int:
        ahead, behind = self._common[first], self._common[last]
        most = min((ahead + behind + last - first) // 2, len(self._quote))
        if last <= 0:  # each window holds those before it
            return min(most, behind)
        return min(most, ahead) if first >= self._last else most

    def _ends(self, start: int) -> tuple[int, int]:
        return max(start, 0), min(start + len(self._quote), len(self._text))
