"""Quotes that are only nearly in a text: similar letter by letter, and saying the same.

The similarity is rapidfuzz's `partial_ratio`: of the windows of the text as long as the quote, the
greatest share of characters in common, in order. It is computed only where an index finds that a
window could reach the threshold, which decides the same. A window in which a number or the polarity
differs is no match, however similar.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.core.wording import Word, words
from veridical.errors import MissingExtraError
from veridical.pipeline.evidence.marks import Change, blocks, change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    from veridical.pipeline.evidence.grams import Stretch
    from veridical.pipeline.evidence.prepared import PreparedSource


@dataclass(frozen=True, slots=True)
class Near:
    """A stretch of a normal form that nearly is the quote; `change` says why it is no match."""

    span: Span
    score: float
    change: Change | None = None


def rapidfuzz_or_raise() -> ModuleType:
    """Return `rapidfuzz.fuzz`; `MissingExtraError` if it is not installed."""
    try:
        from rapidfuzz import fuzz
    except ImportError:
        msg = "matching quotes in the mode 'fuzzy' needs rapidfuzz"
        raise MissingExtraError(msg, hint="Run: pip install 'veridical[quotes]'") from None
    return fuzz


_MOST_TRIED = 6
"""Places that are tried before all of the text is searched."""


def near_by_words(quote: str, source: PreparedSource, threshold: float) -> Near | None:
    """Return a match, not always the best, where a few words of a quote stand; None if none is.

    `nearest` finds one wherever this does, and takes longer.
    """
    size, text = len(quote), source.normal
    if len(text) < 2 * size:
        return None
    tried = set[int]()
    reach = int(size * (1 - threshold)) + 1
    for start in source.starts(quote):
        if all(abs(start - other) > reach for other in tried):
            tried.add(start)
            stretch = max(start - reach, 0), min(start + size + reach, len(text))
            best = next(_best_of(quote, text, [stretch], threshold), None)
            near = best and _examined(quote, text, best)
            if near and near.change is None:
                return near
        if len(tried) == _MOST_TRIED:
            break
    return None


def nearest(quote: str, source: PreparedSource, threshold: float) -> Near | None:
    """Return the best match of a normal form; else the best that is refused; None if none is near.

    `threshold` is the least score, from 0.5 to 1.
    """
    if not quote or not source.normal:
        return None
    text = source.normal
    if len(text) < 2 * len(quote):
        found = [_examined(quote, text, near) for near in _best(quote, text, threshold)]
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
    """Return the windows examined: the best first, then, as long as they are refused, others."""
    found: list[Near] = []
    while len(found) < _MOST_REFUSED:
        best = _best_of(quote, text, stretches, threshold, at_ends=not found)
        near = next(best, None)
        if near is None:
            break
        found.append(_examined(quote, text, near))
        if found[-1].change is None:
            break
        sides = [side for stretch in stretches for side in _without(stretch, near.span)]
        stretches = [side for side in sides if side[1] - side[0] >= threshold * len(quote)]
    return found


def _without(stretch: Stretch, span: Span) -> Sequence[Stretch]:
    """Return what is left of a stretch, before and after a span."""
    start, end = stretch
    if span.end <= start or end <= span.start:
        return [stretch]
    return [(start, max(span.start, start)), (min(span.end, end), end)]


def _best_of(
    quote: str, text: str, spans: Sequence[Stretch], threshold: float, *, at_ends: bool = False
) -> Iterator[Near]:
    """Yield the best of the windows in some stretches, if it is good enough.

    `at_ends` adds the windows that the ends of the text cut short.
    """
    size = len(quote)
    # The first characters there are, which text rarely has, are quickest to compare with.
    # Between paddings no window is cut short, as only those at the ends of the text may be.
    padding = next(char for char in map(chr, range(0xFFFF)) if char not in quote) * size
    first, last = ((0, size), (len(text) - size, len(text))) if at_ends else ((0, 0), (0, 0))
    pieces = [first, *spans, last]
    for near in _best(quote, padding.join([text[a:b] for a, b in pieces]), threshold):
        yield _moved_back(near, pieces, size)


def _moved_back(near: Near, pieces: Sequence[Stretch], padding: int) -> Near:
    """Return a window of the pieces, joined by paddings, as one of the text."""
    at = 0
    for start, end in pieces:
        if near.span.start < at + end - start and at < near.span.end:
            break
        at += end - start + padding
    shift = start - at
    moved = Span(max(near.span.start + shift, start), min(near.span.end + shift, end))
    return Near(moved, near.score)


def _best(quote: str, text: str, threshold: float) -> Iterator[Near]:
    cutoff = 100 * threshold - 1e-6  # rapidfuzz counts to 100; it must not round us out
    found = rapidfuzz_or_raise().partial_ratio_alignment(quote, text, score_cutoff=cutoff)
    if found is None or found.score / 100 < threshold:
        return
    # A text shorter than the quote is looked for in it.
    start, end = (found.dest_start, found.dest_end) if len(text) > len(quote) else (0, len(text))
    yield Near(Span(start, end), found.score / 100)


# --- what a window says ----------------------------------------------------------------------

_CONTEXT, _CONTEXT_OF_WORD = 80, 20
"""Characters on either side of a window in which words that it cuts are looked for: at most, and
for each word of the quote that differs there."""


def _examined(quote: str, text: str, near: Near) -> Near:
    """Return the window as whole words that the quote has, and what the quote changes in them."""
    said = words(quote)
    around, first, last, differing = _compared(said, text, near.span, 0)
    at_edge = max((len(q) for q, _ in differing if q.start == 0 or q.stop == len(said)), default=0)
    if at_edge:
        context = min(at_edge * _CONTEXT_OF_WORD, _CONTEXT)
        around, first, last, differing = _compared(said, text, near.span, context)
    first, last, differing = _trimmed(first, last, differing, len(said), len(around))
    changes = (
        change(_texts(said[q.start : q.stop]), _texts(around[s.start : s.stop]))
        for q, s in differing
    )
    found = next(filter(None, changes), None)
    if first >= last:
        return Near(near.span, near.score, found)
    start, end = around[first].start, around[last - 1].end
    # What stands around the outer words of the quote, such as a full stop, belongs to it.
    start -= _shared(
        reversed(quote[: said[0].start]), reversed(text[max(start - _CONTEXT, 0) : start])
    )
    end += _shared(quote[said[-1].end :], text[end : end + _CONTEXT])
    return Near(Span(start, end), near.score, found)


def _compared(
    said: Sequence[Word], text: str, span: Span, context: int
) -> tuple[list[Word], int, int, list[tuple[range, range]]]:
    """Return the words around a window, which of them it touches, and where the quote differs."""
    lo = text.rfind(" ", 0, max(span.start - context, 0)) + 1
    most = min(span.end + context + _CONTEXT, len(text))
    space = text.find(" ", span.end + context, most)
    hi = most if space < 0 else space
    around = words(text, lo, hi)
    first, last = _touched(around, span)
    return around, first, last, list(blocks(_texts(said), _texts(around[first:last])))


def _shared(one: Iterable[str], other: Iterable[str]) -> int:
    """Return how many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))  # noqa: B905 -- the shorter ends it


def _texts(found: Sequence[Word]) -> list[str]:
    return [word.text for word in found]


def _touched(around: Sequence[Word], span: Span) -> tuple[int, int]:
    """Return the first and the last, exclusive, of the words that a window touches."""
    inside = [i for i, w in enumerate(around) if w.start < span.end and span.start < w.end]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _trimmed(
    first: int, last: int, differing: list[tuple[range, range]], said: int, total: int
) -> tuple[int, int, list[tuple[range, range]]]:
    """Leave out words of the window outside of the quote, but for those that its own stand for.

    Where the quote begins or ends with words of its own, at least as many words of the text stand
    against them. `first`, `last` and the ranges of the source returned count in `total` words.
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
