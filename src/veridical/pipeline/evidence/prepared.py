"""A text in which quotes are looked up: normalised once, with an index of its words.

A quote is in the text if its normal form is a part of the text's (`core.text`). The index finds the
same places as `str.find`: inside the normal form of a quote its words stand between single spaces,
and so must they in the text, which leaves only the places of its rarest word to compare.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from veridical.core.text import normalise
from veridical.errors import TextError
from veridical.pipeline.evidence.transcripts import Transcript, plain, require_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from veridical.core.types import Span
    from veridical.pipeline.evidence.grams import GramIndex

Quotable: TypeAlias = "str | Transcript | PreparedSource"

_INDEXED_WORDS = 3
"""A quote of at least this many words has one that is surely whole in the text."""


_RARE = 2
"""A word at no more places than this need not be compared with the others."""
_NOWHERE: Sequence[int] = ()


def normal_form(text: str) -> str:
    """Return the text of `normalise(text)`, without the way back, which takes longer."""
    if text.isascii() and "<" not in text:
        return " ".join(text.lower().split())
    return normalise(text).text


class PreparedSource:
    """A transcript or other text, ready for any number of quotes; never changes."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.text = self.transcript.text
        self.normalised = normalise(self.text)
        self.normal = self.normalised.text

    def __repr__(self) -> str:
        return f"PreparedSource({len(self.text)} characters, {len(self.transcript.turns)} turns)"

    def as_transcript(self, transcript: Transcript) -> PreparedSource:
        """Return this source with the turns of `transcript`, which has the same text."""
        twin = copy(self)
        twin.transcript = transcript
        return twin

    def holds(self, normal_quote: str) -> bool:
        """Say whether a normal form is a non-empty part of the text's."""
        words = normal_quote.split(" ")
        if len(words) < _INDEXED_WORDS:
            return normal_quote != "" and normal_quote in self.normal
        places, before = self._rarest(words)
        starts_with = self.normal.startswith
        return any(
            place >= before and starts_with(normal_quote, place - before) for place in places
        )

    def places(self, normal_quote: str) -> Iterator[int]:
        """Yield where a normal form stands in the text's, in order; none overlaps the one before.

        The empty form stands nowhere.
        """
        words = normal_quote.split(" ")
        if len(words) < _INDEXED_WORDS:
            return self._found(normal_quote)
        return self._looked_up(normal_quote, words)

    def _found(self, quote: str) -> Iterator[int]:
        place = self.normal.find(quote) if quote else -1
        while place >= 0:
            yield place
            place = self.normal.find(quote, place + len(quote))

    def _looked_up(self, quote: str, words: Sequence[str]) -> Iterator[int]:
        places, before = self._rarest(words)
        free = 0
        for place in places:
            start = place - before
            if start >= free and self.normal.startswith(quote, start):
                yield start
                free = start + len(quote)

    def _rarest(self, words: Sequence[str]) -> tuple[Sequence[int], int]:
        """Return the places of the rarest inner word, and how far into the quote it stands."""
        index = self._word_places
        rarest, fewest = 0, _NOWHERE
        for i in range(1, len(words) - 1):
            places = index.get(words[i], _NOWHERE)
            if not rarest or len(places) < len(fewest):
                rarest, fewest = i, places
                if len(places) <= _RARE:
                    break
        return fewest, sum(map(len, words[:rarest])) + rarest

    @cached_property
    def _word_places(self) -> dict[str, list[int]]:
        """Where each word of the normal form begins."""
        words = self.normal.split(" ")
        found: dict[str, list[int]] = {}
        for word, end in zip(words, accumulate(len(word) + 1 for word in words), strict=True):
            found.setdefault(word, []).append(end - 1 - len(word))
        return found

    @cached_property
    def grams(self) -> GramIndex:
        """The index for quotes that are only nearly in the text."""
        from veridical.pipeline.evidence.grams import GramIndex  # numpy takes a while to import

        return GramIndex(self.normal)

    def original(self, place: int, length: int) -> Span:
        """Return the span of the original that a stretch of the normal form came from."""
        return self.normalised.to_original(place, place + length)


def prepare(source: Quotable) -> PreparedSource:
    """Return `source` ready for quotes: normalised here, once. `TextError` if it is no text."""
    if isinstance(source, PreparedSource):
        return source
    return PreparedSource(source if isinstance(source, Transcript) else plain(source))


def each_quote(quotes: Iterable[str]) -> list[str]:
    """Return the quotes as a list; `TextError` names the place and type of one that is no text."""
    if isinstance(quotes, str) or not hasattr(quotes, "__iter__"):
        msg = f"quotes must be a list of texts, not a single {type(quotes).__name__}"
        raise TextError(msg, hint="Pass a list, even for one quote")
    found = list(quotes)
    for i, quote in enumerate(found):
        require_text(quote, f"quote {i}", "Validate the schema of the evidence first")
    return found
