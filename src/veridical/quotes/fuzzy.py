"""Fuzzy matching of quotes: similar by characters, and equal in facts.

The similarity is rapidfuzz's `partial_ratio`: of the windows of the text as long as the quote, the
greatest share of characters in common, in order. It is computed only where an index finds that a
window could reach the threshold, which decides the same. A window in which a number or the polarity
differs is no match, however similar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint
from veridical.core.fact_tokens import Word, negates, words
from veridical.core.types import Span
from veridical.quotes.alignment import AlignmentTooLongError, FuzzyWindow, best_window
from veridical.quotes.fact_diff import Change, blocks, change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.quotes.prepared import PreparedSource
    from veridical.quotes.trigram_index import Stretch


@dataclass(frozen=True, slots=True)
class Near:
    """Stretch of a normal form similar to the quote; `change` disqualifies it as a match."""

    span: Span
    score: float
    change: Change | None = None


_MOST_TRIED = 6
"""Places that are tried before all of the text is searched."""


def near_by_words(quote: str, source: PreparedSource, threshold: float) -> Near | None:
    """Return a match, not always the best, at a few words of a quote; None if none is.

    `nearest` finds one wherever this does, and takes longer.
    """
    size, text = len(quote), source.normal
    if len(text) < 2 * size:
        return None
    from rapidfuzz.distance import LCSseq

    tried: list[int] = []
    reach = int(size * (1 - threshold)) + 1
    least = threshold * size - reach
    for start in source.starts(quote):
        if any(abs(start - other) <= reach for other in tried):
            continue
        tried.append(start)
        # A window further on by one character has at most one more in common with the quote.
        if LCSseq.similarity(quote, text[max(start, 0) : start + size]) >= least:
            stretch = max(start - reach, 0), min(start + size + reach, len(text))
            try:
                best = _best_of(quote, text, [stretch], threshold)
            except AlignmentTooLongError:
                continue
            near = best and _examined(quote, text, best)
            if near and near.change is None:
                return near
        if len(tried) == _MOST_TRIED:
            break
    return None


def nearest(quote: str, source: PreparedSource, threshold: float) -> Near | None:
    """Return the best match of a normal form, else the best disqualified one, else None.

    `threshold` is the least score, from 0.5 to 1. `AlignmentTooLongError` if both texts are too
    long to find out.
    """
    if not quote or not source.normal:
        return None
    text = source.normal
    if len(text) < 2 * len(quote):
        window = best_window(quote, text, threshold)
        found = [_examined(quote, text, window)] if window else []
    else:
        whole = [(0, len(text))]
        spans = source.grams.candidates(quote, threshold)
        found = _in_turn(quote, text, whole if spans is None else spans, threshold)
    best = max(found, key=lambda near: (near.change is None, near.score), default=None)
    if best is not None and best.change is not None:
        return near_by_words(quote, source, threshold) or best
    return best


# --- similar windows -------------------------------------------------------------------------

_MOST_REFUSED = 16
"""Windows that are refused before the search ends."""


def _in_turn(quote: str, text: str, stretches: Sequence[Stretch], threshold: float) -> list[Near]:
    """Return the examined windows: the best first, then, while they are disqualified, others."""
    found: list[Near] = []
    while len(found) < _MOST_REFUSED:
        checkpoint()
        window = _best_of(quote, text, stretches, threshold, at_ends=not found)
        if window is None:
            break
        found.append(_examined(quote, text, window))
        if found[-1].change is None:
            break
        sides = [side for stretch in stretches for side in _without(stretch, window)]
        stretches = [side for side in sides if side[1] - side[0] >= threshold * len(quote)]
    return found


def _without(stretch: Stretch, window: FuzzyWindow) -> Sequence[Stretch]:
    """Return the parts of a stretch before and after a window."""
    start, end = stretch
    if window.end <= start or end <= window.start:
        return [stretch]
    return [(start, max(window.start, start)), (min(window.end, end), end)]


def _best_of(
    quote: str, text: str, spans: Sequence[Stretch], threshold: float, *, at_ends: bool = False
) -> FuzzyWindow | None:
    """Return the best of the windows in some stretches, if it is good enough.

    `at_ends` adds the windows that the ends of the text cut short.
    """
    size = len(quote)
    # The first characters there are, which text rarely has, are quickest to compare with.
    # Between paddings no window is cut short, as only those at the ends of the text may be.
    padding = next(char for char in map(chr, range(0xFFFF)) if char not in quote) * size
    first, last = ((0, size), (len(text) - size, len(text))) if at_ends else ((0, 0), (0, 0))
    pieces = [first, *spans, last]
    best = best_window(quote, padding.join([text[a:b] for a, b in pieces]), threshold)
    return best and _moved_back(best, pieces, size)


def _moved_back(window: FuzzyWindow, pieces: Sequence[Stretch], padding: int) -> FuzzyWindow:
    """Return a window of the joined pieces as a window of the text."""
    at = 0
    for start, end in pieces:
        if window.start < at + end - start and at < window.end:
            break
        at += end - start + padding
    shift = start - at
    return FuzzyWindow(max(window.start + shift, start), min(window.end + shift, end), window.score)


# --- examination of a window -----------------------------------------------------------------

_NEGATED = 3
"""Words before a window in which a negation counts."""
_SENTENCE_END = re.compile(r"[.!?;:]")
_CONTEXT, _CONTEXT_OF_WORD = 80, 20
"""Characters on either side of a window in which words that it cuts are looked for: at most, and
for each word of the quote that differs there."""


def _examined(quote: str, text: str, window: FuzzyWindow) -> Near:
    """Return the window extended to whole words, and the quote's changes in them."""
    said = words(quote)
    around, first, last = _words_around(text, window, 0)
    differing = list(blocks(_texts(said), _texts(around[first:last])))
    at_edge = max((len(q) for q, _ in differing if q.start == 0 or q.stop == len(said)), default=0)
    if at_edge:
        context = min(at_edge * _CONTEXT_OF_WORD, _CONTEXT)
        around, first, last = _words_around(text, window, context)
    first, last, differing = _trimmed(first, last, differing, len(said), len(around))
    changes = (
        change(_texts(said[q.start : q.stop]), _texts(around[s.start : s.stop]))
        for q, s in differing
    )
    found = next(filter(None, changes), None)
    # "I do not really feel" is no "I feel", though its "I" stands before what was compared.
    if found is None and differing and not differing[0][0].start and differing[0][0]:
        found = _negated_before(text, around[max(first - _NEGATED, 0) : first + 1])
    if first >= last:
        return Near(Span(window.start, window.end), window.score, found)
    start, end = around[first].start, around[last - 1].end
    # Marks around the outer words of the quote, such as a full stop, belong to it.
    start -= _shared(
        reversed(quote[: said[0].start]), reversed(text[max(start - _CONTEXT, 0) : start])
    )
    end += _shared(quote[said[-1].end :], text[end : end + _CONTEXT])
    return Near(Span(start, end), window.score, found)


def _negated_before(text: str, found: Sequence[Word]) -> Change | None:
    """Return a change of polarity if one of the words negates the last in the same clause."""
    for word in found[:-1]:
        if negates(word.text) and not _SENTENCE_END.search(text, word.end, found[-1].start):
            return Change.POLARITY
    return None


def _words_around(text: str, window: FuzzyWindow, context: int) -> tuple[list[Word], int, int]:
    """Return the words around a window; the first and the last, exclusive, that it touches."""
    lo = text.rfind(" ", 0, max(window.start - context, 0)) + 1
    most = min(window.end + context + _CONTEXT, len(text))
    space = text.find(" ", window.end + context, most)
    around = words(text, lo, most if space < 0 else space)
    inside = [i for i, w in enumerate(around) if w.start < window.end and window.start < w.end]
    return (around, inside[0], inside[-1] + 1) if inside else (around, 0, 0)


def _shared(one: Iterable[str], other: Iterable[str]) -> int:
    """Return the length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))  # noqa: B905 -- the shorter ends it


def _texts(found: Sequence[Word]) -> list[str]:
    return [word.text for word in found]


def _trimmed(
    first: int, last: int, differing: list[tuple[range, range]], said: int, total: int
) -> tuple[int, int, list[tuple[range, range]]]:
    """Remove the window's outer words that no word of the quote corresponds to.

    Where the quote begins or ends with words of its own, at least as many words of the text are
    kept for them. `first`, `last` and the ranges of the source returned count in `total` words.
    """
    begin, end, found = first, last, []
    for q, s in differing:
        lo, hi = first + s.start, first + s.stop
        if q.start == 0:
            begin = max(hi - len(q), 0)
            lo = min(lo, begin) if q else hi
        elif q.stop == said:
            end = min(lo + len(q), total)
            hi = max(hi, end) if q else lo
        found.append((q, range(lo, hi)))
    return begin, end, found
