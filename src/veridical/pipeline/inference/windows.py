"""Windows of long evidence for encoders: whole sentences, up to a number of words or tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# nupunkt's time grows with the square of a token's or a text's length.
_STRETCH = 8192
_LONG_TOKEN = re.compile(r"\S{120,}")
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_NEWLINE = "\n"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without surrounding white space."""
    return [found for stretch in _stretches(text) if (found := stretch.strip())]


def windows(text: str, size: int, joint: str, count: Callable[[str], int]) -> list[str]:
    """Return sentences joined to windows of `size` at most, as `count` has it; never none.

    A longer sentence is a window of its own. With a blank as the joint, line breaks are kept.
    """
    pieces = sentences(text) if joint == _NEWLINE else _sentences_and_breaks(text)
    found, window, used = [], list[str](), 0
    for piece in pieces:
        length = 0 if piece == _NEWLINE else count(piece)
        if window and used + length > size:
            found.append(window)
            window, used = [], 0
        window.append(piece)
        used += length
    found.append(window)
    joined = [joint.join(one).replace(" \n ", _NEWLINE).strip() for one in found]
    return [one for one in joined if one] or [""]


def counter(unit: str, tokens: Callable[[str], int]) -> Callable[[str], int]:
    """Return the function that measures a sentence in a unit of the presets."""
    if unit == "tokens":
        return tokens
    if unit == "words_and_marks":
        return lambda text: len(_WORD_OR_MARK.findall(text))
    return lambda text: len(text.split())


def _sentences_and_breaks(text: str) -> list[str]:
    pieces: list[str] = []
    for line in text.split(_NEWLINE):
        pieces += [*sentences(line), _NEWLINE]
    return pieces[:-1]


def _stretches(text: str) -> Iterator[str]:
    """Yield the text of each sentence, found in stretches of bounded length."""
    from nupunkt import sent_spans

    start = 0
    while start < len(text):
        stretch = text[start : start + _STRETCH]
        is_last = start + len(stretch) == len(text)
        spans = list(sent_spans(_LONG_TOKEN.sub(lambda match: "x" * len(match[0]), stretch)))
        # The last one may go on behind the stretch, unless it is all of it.
        kept = spans if is_last or len(spans) < 2 else spans[:-1]  # noqa: PLR2004 -- one is all of it
        for begin, end in kept:
            yield stretch[begin:end]
        start += kept[-1][1] if kept and not is_last else len(stretch)
