"""Normalised text with the original offset of each character.

Two texts that a reader takes for the same become equal: NFKC, typographic quotes, dashes and spaces
unified, invisible characters and non-verbal tags (`<laughter>`) dropped, white space collapsed and
stripped, lower-cased (final sigma counts as sigma; ß stays). Normalising twice changes nothing.
Time is linear in the length of the text, whatever it holds.

The text is cut into runs, a starter and the marks that follow it, because NFKC of a run does not
depend on its neighbours; offsets are kept for runs that change their length.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, combining, normalize

from veridical.core.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Normalised:
    """Normalised text, and the way back to the original of `original_length` code points."""

    text: str = field(repr=False)
    original_length: int
    _squeezed: _Offsets = field(repr=False, compare=False)
    _folded: _Offsets = field(repr=False, compare=False)

    def to_original(self, start: int, end: int) -> Span:
        """Return the smallest span of the original that produced `text[start:end]`.

        `ValueError` if the range is empty or outside the text. A range that cuts the output of one
        run (the "f" of a ligature "ﬁ") maps to the whole of it.
        """
        if not 0 <= start < end <= len(self.text):
            msg = f"not a non-empty range of {len(self.text)} characters: {start}..{end}"
            raise ValueError(msg)
        return self._folded.source(self._squeezed.source(Span(start, end)))


def normalise(text: str) -> Normalised:
    """Return `text` as readers compare it; the module lists the differences that are removed."""
    marked = _fold_evenly(text)
    folded, fold_offsets = _rewrite(marked, _uneven_runs(text, marked))
    blanked = _blank_tags(folded)
    squeezed, squeeze_offsets = _rewrite(blanked, _surplus_space(blanked))
    return Normalised(squeezed, len(text), squeeze_offsets, fold_offsets)


# --- offsets ---------------------------------------------------------------------------------


class _Edit(NamedTuple):
    """Replacement of `start`..`end` of a text by `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class _Offsets:
    """Places of edits: `source` in the text before, `made` in the text after."""

    source_start: array[int] = field(default_factory=lambda: array("I"))
    source_end: array[int] = field(default_factory=lambda: array("I"))
    made_start: array[int] = field(default_factory=lambda: array("I"))
    made_end: array[int] = field(default_factory=lambda: array("I"))

    def record(self, edit: _Edit, made: int) -> None:
        self.source_start.append(edit.start)
        self.source_end.append(edit.end)
        self.made_start.append(made)
        self.made_end.append(made + len(edit.new))

    def source(self, made: Span) -> Span:
        """Return the span before the edits that `made`, after the edits, came from."""
        return Span(self._character(made.start).start, self._character(made.end - 1).end)

    def _character(self, position: int) -> Span:
        edit = bisect_right(self.made_start, position) - 1
        if edit < 0:
            return Span(position, position + 1)
        if position < self.made_end[edit]:
            return Span(self.source_start[edit], self.source_end[edit])
        start = self.source_end[edit] + position - self.made_end[edit]
        return Span(start, start + 1)


def _rewrite(text: str, edits: Iterable[_Edit]) -> tuple[str, _Offsets]:
    """Return `text` with the edits made, which come in order, and their offsets."""
    pieces, offsets, done, made = list[str](), _Offsets(), 0, 0
    for edit in edits:
        made += edit.start - done
        if len(edit.new) != 1 or edit.end - edit.start != 1:
            offsets.record(edit, made)
        pieces += text[done : edit.start], edit.new
        made += len(edit.new)
        done = edit.end
    return "".join(pieces) + text[done:] if pieces else text, offsets


# --- characters ------------------------------------------------------------------------------

_INVISIBLE_RANGES = (
    *((0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF)),
)
"""First and last of: soft hyphen, joiners, direction marks, variation selectors, tags."""

_SAME = {
    " ": "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029",
    "'": "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u02bc\u00b4\u1ffd",
    '"': "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b",
    # Which sigma lower() takes depends on the next letter, and a run must not look at the next.
    "σ": "Σς",
}

INVISIBLE = frozenset(
    chr(code) for first, last in _INVISIBLE_RANGES for code in range(first, last + 1)
)
_UNIFIED: dict[int, str | None] = {ord(old): new for new, olds in _SAME.items() for old in olds}
_UNIFIED |= dict.fromkeys(map(ord, INVISIBLE))

_JOINING_LETTERS = frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3), 0x16D67]))
"""Letters that compose with the one before: Hangul vowels and finals, Kirat Rai E."""


@lru_cache(maxsize=2**14)
def _joins(char: str) -> bool:
    """Return whether `char` may interact with the character before it."""
    first = normalize("NFKD", char)[0]
    return category(first)[0] == "M" or first in _JOINING_LETTERS or char in INVISIBLE


_LONG_RUN = 32


def _fold(run: str) -> str:
    """Return the normal form of one run, or of a whole text, but for tags and white space."""
    unified = run.translate(_UNIFIED)
    if len(unified) > _LONG_RUN:
        unified = _in_canonical_order(unified)
    lowered = normalize("NFKC", unified).translate(_UNIFIED).lower()
    # Lower case has composed letters that upper case lacks: H + macron below, T + diaeresis.
    return normalize("NFKC", lowered)


_SHORT_RUN = 8
_fold_short = lru_cache(maxsize=2**14)(_fold)


def _in_canonical_order(text: str) -> str:
    """Return `text` decomposed and its marks sorted, as `normalize` would in quadratic time."""
    characters = "".join(normalize("NFKD", char) for char in text)
    pieces: list[str] = []
    for _, group in groupby(characters, key=lambda char: combining(char) == 0):
        pieces += sorted(group, key=combining)
    return "".join(pieces)


_UNEVEN = "\ufffe"  # a noncharacter; one that stands in the text is looked at like an uneven one
_NOT_ASCII = re.compile(r"([^\x00-\x7f]+)")
_UNEVEN_STRETCH = re.compile(_UNEVEN + "+")


class _FoldTable(dict[int, int]):
    """Table for `str.translate`: folds one-to-one characters, marks the rest as uneven."""

    LIMIT = 2**15  # a text of every code point there is must not fill the memory

    def __missing__(self, code: int) -> int:
        folded = _fold(chr(code))
        even = len(folded) == 1 and not _joins(chr(code))
        value = ord(folded if even else _UNEVEN)
        if len(self) >= self.LIMIT:
            self.clear()
        self[code] = value
        return value


_FOLDED = _FoldTable()


def _fold_evenly(text: str) -> str:
    """Return `text` folded where that keeps its length, and marked where it does not."""
    # Pieces of pure ASCII take the fast path of translate.
    return "".join([piece.translate(_FOLDED) for piece in _NOT_ASCII.split(text)])


def _uneven_runs(text: str, marked: str) -> Iterator[_Edit]:
    """Yield an edit for each run of `text` that is marked as uneven."""
    for stretch in _UNEVEN_STRETCH.finditer(marked):
        start, end = max(stretch.start() - 1, 0), stretch.end()
        bounds = [i for i in range(start + 1, end) if not _joins(text[i])]
        if marked[start] in _DETACHABLE and _detaches(text[start : next(iter(bounds), end)]):
            start += 1
        for first, last in pairwise([start, *bounds, end]):
            yield from _run_edits(text[first:last], first)


_DETACHABLE = " >"


def _detaches(run: str) -> bool:
    """Return whether the first character of a run, a space or the end of a tag, may be dropped."""
    return len(run) > 1 and _fold(run) == run[0].translate(_FOLDED) + _fold(run[1:])


def _run_edits(run: str, start: int) -> Iterable[_Edit]:
    """Return the edits of one run: invisible characters around it are none of its source."""
    end, new = start + len(run), (_fold_short if len(run) <= _SHORT_RUN else _fold)(run)
    if INVISIBLE.isdisjoint(run):
        return (_Edit(start, end, new),)
    visible = [start + i for i, char in enumerate(run) if char not in INVISIBLE] or [start - 1]
    first, last = max(visible[0], start), visible[-1] + 1
    edits = _Edit(start, first, ""), _Edit(first, last, new), _Edit(last, end, "")
    return [edit for edit in edits if edit.start < edit.end]


# --- tags and white space --------------------------------------------------------------------

_WORD = r"[^\W\d_][\w-]{0,23}+"
_LONG_WORD = r"[^\W\d_][\w-]{1,23}+"
_OPENING = rf"/?{_WORD}(?:\ ++{_WORD}){{0,3}}+\ *+/?"
_TAG = re.compile(
    rf"""
    <(?:
        # A tag in an open tag stays, or the outer one would turn into a tag by its removal.
        (?P<nested> {_OPENING} (?:<{_OPENING})++ >? )
      | /? {_WORD} \ *+ /?>
        # "x<y and y>z" and "<b and c>" are arithmetic, "<deep breath>" is not.
      | (?<!\w<) {_LONG_WORD} (?:\ ++{_LONG_WORD}){{1,3}}+ \ *+ >
    )
    """,
    re.VERBOSE,
)
_SURPLUS_SPACE = re.compile(r" {2,}|\A | \Z")


def _blank_tags(text: str) -> str:
    """Return `text` with each non-verbal tag replaced by as many spaces."""
    return _TAG.sub(lambda tag: tag[0] if tag["nested"] else " " * len(tag[0]), text)


def _surplus_space(text: str) -> Iterator[_Edit]:
    """Yield the edits that leave one space between words and none around the text."""
    for space in _SURPLUS_SPACE.finditer(text):
        at_edge = space.start() == 0 or space.end() == len(text)
        yield _Edit(space.start(), space.end(), "" if at_edge else " ")


# --- normal forms without offsets -----------------------------------------------------------

_TYPOGRAPHY = (*((mark, normalise(mark).text) for mark in "’‘“”–—…"), ("\xa0", " "))
"""The commonest marks that are not ASCII; none of them changes with its neighbours."""


def normal_form(text: str) -> str:
    """Return the text of `normalise(text)`, without the offsets, which take longer."""
    unified = _in_ascii(text)
    return normalise(text).text if unified is None else " ".join(unified.lower().split())


_BETWEEN = "\0"
"""Separator of texts that are brought into normal form together: a word, as it is no space."""


def normal_forms(texts: Sequence[str]) -> list[str]:
    """Return the normal form of each text: in one pass, unless one needs more than most do."""
    unified = _in_ascii(f" {_BETWEEN} ".join(texts))
    if unified is not None and unified.count(_BETWEEN) == len(texts) - 1:
        forms = " ".join(unified.lower().split()).split(f" {_BETWEEN} ")
        if len(forms) == len(texts):  # none of them is blank
            return forms
    return list(map(normal_form, texts))


def _in_ascii(text: str) -> str | None:
    """Return a text with its typography in ASCII; None if that is not all that it needs."""
    if not text.isascii():
        for mark, same in _TYPOGRAPHY:
            text = text.replace(mark, same)
    return text if text.isascii() and "<" not in text else None
