"""Prepared text for quote matching: normalised once, with an index of its words.

A quote is in the text if its normal form is a part of the text's (`core.text`). The index finds the
same places as `str.find`: where a word begins inside of a quote, after a space, one begins in the
text, with the same characters after it, which leaves only the places of the rarest such beginning
to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from veridical.core.text import normal_form, normalise
from veridical.errors import TextError
from veridical.quotes.assessed_speaker import assessed, conversation
from veridical.quotes.transcripts import Transcript, plain, require_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from veridical.core.types import Span
    from veridical.quotes.trigram_index import GramIndex

Quotable: TypeAlias = "str | Transcript | PreparedSource"

_BEGINNING = 8
"""Indexed characters at the beginning of a word."""
_LONG_BEGINNING = 14
"""Characters of a longer beginning, where the short one is not rare."""
_RARE = 6
"""A beginning at no more places than this need not be compared with the others."""
_UNCOMMON = 8
"""A beginning at no more places than this is a hint where a similar quote may stand."""
_NOWHERE: Sequence[int] = ()

_MARKS = {'"': '"', "'": "'", "`": "`", "「": "」", "『": "』", "《": "》"}


def unwrapped(normal: str) -> str:
    """Return a normal form without the quotation marks around it; as it is without any."""
    if normal[:1] not in _MARKS or len(normal) <= 2 or _MARKS[normal[0]] != normal[-1]:  # noqa: PLR2004 -- the two marks
        return normal
    inside = normal[1:-1]
    # In '"I" and "you"' the outer marks are no pair; an apostrophe closes nothing.
    return normal if normal[0] in inside and normal[0] != "'" else normal_form(inside)


class PreparedSource:
    """Immutable transcript or other text, prepared for any number of quotes."""

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
        twin.__dict__.pop("interview", None)
        twin.transcript = transcript
        return twin

    @cached_property
    def interview(self) -> tuple[PreparedSource, frozenset[str]]:
        """This source, with turns if its labels identify assessed speakers, and their names."""
        transcript = self.transcript
        transcript = transcript if transcript.turns else conversation(self.text)
        told = assessed(transcript)
        if not told or transcript is self.transcript:
            return self, told
        return self.as_transcript(transcript), told

    def held(self, normal_quotes: Iterable[str]) -> list[bool]:
        """Return for each normal form whether it is a non-empty part of the text's."""
        # The only loop over every quote: calls in it would double its time.
        places_of, starts_with = self._beginnings.get, self.normal.startswith
        found: list[bool] = []
        for quote in normal_quotes:
            before = quote.find(" ") + 1
            if not 0 < before <= len(quote) - _BEGINNING:
                found.append(self._holds_short(quote))
                continue
            places = places_of(quote[before : before + _BEGINNING], _NOWHERE)
            if len(places) > _RARE:
                places, before = self._rarest(quote, places, before)
            for place in places:
                if starts_with(quote, place - before) and place >= before:
                    found.append(True)
                    break
            else:
                found.append(False)
        return found

    def _holds_short(self, quote: str) -> bool:
        # Most short quotes begin with a whole word, and searching all of the text takes long.
        begun = self._beginnings.get(quote[:_BEGINNING], _NOWHERE)
        there = any(self.normal.startswith(quote, place) for place in begun)
        return quote != "" and (there or quote in self.normal)

    def places(self, normal_quote: str) -> Iterator[int]:
        """Yield the places of a normal form in the text's, in order and without overlaps.

        The empty form has no place.
        """
        before = normal_quote.find(" ") + 1
        if not 0 < before <= len(normal_quote) - _BEGINNING:
            return self._found(normal_quote)
        begun = self._beginnings.get(normal_quote[before : before + _BEGINNING], _NOWHERE)
        return self._looked_up(normal_quote, *self._rarest(normal_quote, begun, before))

    def _found(self, quote: str) -> Iterator[int]:
        place = self.normal.find(quote) if quote else -1
        while place >= 0:
            yield place
            place = self.normal.find(quote, place + len(quote))

    def _looked_up(self, quote: str, places: Sequence[int], before: int) -> Iterator[int]:
        free = 0
        for place in places:
            start = place - before
            if start >= free and self.normal.startswith(quote, start):
                yield start
                free = start + len(quote)

    def _rarest(self, quote: str, fewest: Sequence[int], before: int) -> tuple[Sequence[int], int]:
        """Return the places of the rarest inner beginning, and its offset in the quote.

        `fewest` are the places of the first one, at offset `before`.
        """
        at, last, places_of = before, len(quote) - _BEGINNING, self._beginnings.get
        places = fewest
        while len(fewest) > _RARE and 0 < at <= last:
            if len(places) > _RARE and at + _LONG_BEGINNING <= len(quote):
                places = places_of(quote[at : at + _LONG_BEGINNING], _NOWHERE)
            if len(places) < len(fewest):
                fewest, before = places, at
            at = quote.find(" ", at) + 1
            places = places_of(quote[at : at + _BEGINNING], _NOWHERE)
        return fewest, before

    def starts(self, normal_quote: str) -> Iterator[int]:
        """Yield possible starts of a normal form by its words in the text, likeliest first.

        Only uncommon words and a bounded number of places are tried.
        """
        last, at, begun = len(normal_quote) - _BEGINNING, 0, list[tuple[Sequence[int], int]]()
        while at <= last:
            places = self._beginnings.get(normal_quote[at : at + _BEGINNING], _NOWHERE)
            if 0 < len(places) <= _UNCOMMON:
                begun.append((places, at))
            at = normal_quote.find(" ", at) + 1 or last + 1
        begun.sort(key=lambda each: len(each[0]))
        return (place - before for places, before in begun for place in places)

    @cached_property
    def _beginnings(self) -> dict[str, list[int]]:
        """Places of each beginning of a word in the normal form."""
        normal, at = self.normal, 0
        found: dict[str, list[int]] = {}
        while at or not found:
            found.setdefault(normal[at : at + _BEGINNING], []).append(at)
            at = normal.find(" ", at) + 1
        last = len(normal) - _LONG_BEGINNING
        for common in [places for places in found.values() if len(places) > _RARE]:
            for at in common:
                if at <= last:
                    found.setdefault(normal[at : at + _LONG_BEGINNING], []).append(at)
        return found

    @cached_property
    def grams(self) -> GramIndex:
        """Trigram index for fuzzy matches."""
        from veridical.quotes.trigram_index import GramIndex  # numpy takes a while to import

        return GramIndex(self.normal)

    def original(self, place: int, length: int) -> Span:
        """Return the span in the original of a stretch of the normal form."""
        return self.normalised.to_original(place, place + length)


def prepare(transcript: Quotable) -> PreparedSource:
    """Return `transcript` normalised for quotes, here and once. `TextError` if it is no text."""
    if isinstance(transcript, PreparedSource):
        return transcript
    return PreparedSource(transcript if isinstance(transcript, Transcript) else plain(transcript))


def each_quote(quotes: Iterable[str]) -> list[str]:
    """Return the quotes as a list; `TextError` names place and type of an invalid one."""
    if isinstance(quotes, str) or not hasattr(quotes, "__iter__"):
        msg = f"quotes must be a list of texts, not a single {type(quotes).__name__}"
        raise TextError(msg, hint="Pass a list, even for one quote")
    found = list(quotes)
    for i, quote in enumerate(found):
        require_text(quote, f"quote {i}", "Validate the schema of the evidence first")
    return found
