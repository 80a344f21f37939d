"""Matching of quotes against a text: acceptance, places, grade and caveats.

A quote is accepted if its normal form is a non-empty part of the text's (`core.text`), or, in the
mode `fuzzy`, nearly is one. Marks around a quote that its source does not have are not part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import TYPE_CHECKING, TypeAlias

from veridical.core.cancellation import checkpoint
from veridical.core.fact_tokens import negates, words
from veridical.core.text import normal_form, normal_forms
from veridical.core.types import Span
from veridical.errors import ConfigurationError
from veridical.quotes.alignment import AlignmentTooLongError, rapidfuzz_or_raise
from veridical.quotes.caveats import (
    Caveat,
    cuts_a_word,
    denied_after,
    negated_around,
    said_by,
    too_short,
    turn_caveats,
)
from veridical.quotes.ellipses import chained, ellipses, quoted_parts
from veridical.quotes.fact_diff import Change
from veridical.quotes.fuzzy import Near, near_by_words, nearest
from veridical.quotes.grades import Grade, grade, grade_of_parts
from veridical.quotes.prepared import (
    PreparedSource,
    each_quote,
    prepare,
    unwrapped,
)
from veridical.quotes.transcripts import TranscriptKind, parse_transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from veridical.quotes.prepared import Quotable


class MatchMode(StrEnum):
    """Method of matching."""

    SUBSTRING = "substring"
    FUZZY = "fuzzy"


class Rejection(StrEnum):
    """Reason why a quote is not accepted."""

    EMPTY = "empty"
    NOT_FOUND = "not_found"
    TOO_LONG = "too_long"
    """Not checked: it and its source are too long to be compared in the mode `fuzzy`."""
    ELLIPSIS = "ellipsis"
    """Its parts are there, in order; `parts` are their places."""
    NUMBER_MISMATCH = "number_mismatch"
    POLARITY = "polarity"
    OTHER_SPEAKER = "other_speaker"
    """It is there, but another speaker than the selected one says it."""
    CAVEATS = "caveats"
    """It is there, but `strict` does not accept its caveats."""


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """Result of matching a quote: its places in the original text, grade and caveats.

    `start` and `end` are those of the first place without caveats, else of the first place of a
    selected speaker, else of the first; None if there is none. `spans` are all places, at most
    100, and `count` is their number. `score` is 1.0 for a quote that occurs in the text, else the
    similarity of the match, None without one. `parts` are the places of the parts of a quote with
    an ellipsis. `speaker` says all of the place given by `start` and `end`, `start_s` and `end_s`
    are when, in seconds; None where the transcript does not say.
    """

    quote: str = field(repr=False)
    accepted: bool
    reason: Rejection | None = None
    start: int | None = None
    end: int | None = None
    grade: Grade | None = None
    score: float | None = None
    caveats: tuple[Caveat, ...] = ()
    spans: tuple[Span, ...] = ()
    count: int = 0
    parts: tuple[Span, ...] = ()
    speaker: str | None = field(default=None, repr=False)
    start_s: float | None = None
    end_s: float | None = None


MOST_SPANS = 100
"""Limit of the examined and reported places of one quote; further ones are only counted."""

Speakers: TypeAlias = str | Collection[str] | None
"""Selected speakers: one or more names, `ANYONE`, or None for the assessed person."""

ANYONE = "*"
"""Selects all speakers."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of acceptance.

    `speakers` are folded; empty for anyone, None for the person assessed, if identified.
    `ConfigurationError` if a value is invalid, `MissingExtraError` for `fuzzy` without rapidfuzz.
    """

    mode: str = MatchMode.SUBSTRING
    fuzzy_threshold: float = 0.85
    strict: bool = False
    allow_ellipsis: bool = False
    speakers: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.mode not in tuple(MatchMode):
            msg = "there is no such mode of matching quotes"
            raise ConfigurationError(msg, hint=f"Choose one of {', '.join(MatchMode)}")
        threshold = self.fuzzy_threshold
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not 0.5 <= threshold <= 1:  # noqa: PLR2004 -- the range of Spec 053
            msg = "the threshold of fuzzy matching must be a number from 0.5 to 1"
            raise ConfigurationError(msg, hint="0.85 allows for small differences")
        if self.mode == MatchMode.FUZZY:
            rapidfuzz_or_raise()


def ground_quotes(  # noqa: PLR0913 -- the rules, one by one, are the interface
    quotes: Iterable[str],
    transcript: Quotable,
    *,
    mode: str = MatchMode.SUBSTRING,
    fuzzy_threshold: float = 0.85,
    strict: bool = False,
    speaker: Speakers = None,
    allow_ellipsis: bool = False,
) -> list[QuoteMatch]:
    """Return for each quote whether and where it is in `transcript`, and with which caveats.

    `transcript` is a text, a `Transcript` or, for many calls, `prepare(...)` of one. `strict`
    accepts no quote with caveats. Quotes of speakers other than `speaker` (one or more names) are
    rejected; a plain text then needs labels. By default only the assessed person counts, where the
    speakers are labelled and their roles identify one; `"*"` accepts anyone. `TextError` if an
    argument is no text, `ConfigurationError` for a wrong mode, threshold or speaker,
    `MissingExtraError` for `fuzzy` without the extra `quotes`.
    """
    speakers = speaker_names(speaker)
    rules = Rules(mode, fuzzy_threshold, strict, allow_ellipsis, speakers)
    grounder = Grounder(transcript, rules)
    return [grounder.match(quote) for quote in each_quote(quotes)]


def speaker_names(speaker: Speakers) -> frozenset[str] | None:
    """Return one or more names as `Rules` has them; `ConfigurationError` if they are invalid."""
    if speaker is None:
        return None
    several = isinstance(speaker, Collection) and not isinstance(speaker, str)
    given: list[object] = [*speaker] if several else [speaker]
    if given == [ANYONE]:
        return frozenset()
    names = [name.strip().casefold() for name in given if isinstance(name, str)]
    if len(names) < len(given) or not all(names):
        msg = "speakers must be names"
        raise ConfigurationError(msg, hint="Pass a name as the transcript has it, or several")
    return frozenset(names)


class Grounder:
    """Matcher of quotes against one source by the same rules."""

    def __init__(self, source: Quotable, rules: Rules) -> None:
        self._source, self._speakers = _heard(prepare(source), rules.speakers)
        self._rules = rules

    def accepts(self, quotes: Sequence[str]) -> list[bool]:
        """Return `match(quote).accepted` for each quote, in less time."""
        if self._rules.strict or self._rules.allow_ellipsis:
            return [self.match(quote).accepted for quote in quotes]
        normals = normal_forms(quotes)
        held = self._source.held(normals)
        if self._speakers:
            return [
                self._said_by_them(normal) if there else self.match(quote).accepted
                for there, normal, quote in zip(held, normals, quotes, strict=True)
            ]
        return [
            there or self._accepts_otherwise(normal)
            for there, normal in zip(held, normals, strict=True)
        ]

    def _said_by_them(self, normal: str) -> bool:
        """Return whether a selected speaker says a form that the source holds."""
        checkpoint()
        source = self._source
        places = islice(source.places(normal), MOST_SPANS)
        spans = (source.original(place, len(normal)) for place in places)
        return any(said_by(source, span, self._speakers) for span in spans)

    def _accepts_otherwise(self, normal: str) -> bool:
        """Return whether a normal form that the source does not hold is accepted all the same."""
        checkpoint()
        bare = unwrapped(normal)
        if bare is not normal and self._source.held([bare])[0]:
            return True
        if self._rules.mode == MatchMode.SUBSTRING or chained(quoted_parts(normal), self._source):
            return False
        # Only a match that `nearest` finds as well; an ellipsis has to be in the source.
        near = None
        if not ellipses(normal):
            near = near_by_words(bare or normal, self._source, self._rules.fuzzy_threshold)
        with suppress(AlignmentTooLongError):
            near = near or self._nearest(normal)
        return near is not None and near.change is None

    def match(self, quote: str) -> QuoteMatch:
        """Return the match of `quote`: its places, grade, caveats and speaker."""
        checkpoint()
        found, transcript = self._looked_up(quote), self._source.transcript
        if found.start is None or found.end is None or not transcript.turns:
            return found
        place = Span(found.start, found.end)
        start_s, end_s = transcript.times_of(place) or (None, None)
        speaker = transcript.speaker_of(place)
        return replace(found, speaker=speaker, start_s=start_s, end_s=end_s)

    def _looked_up(self, quote: str) -> QuoteMatch:
        normal = normal_form(quote)
        if not normal:
            return QuoteMatch(quote, accepted=False, reason=Rejection.EMPTY)
        bare = unwrapped(normal)
        for form in (normal, bare):
            places = self._source.places(form)
            first = list(islice(places, MOST_SPANS))
            if first:
                count = len(first) + sum(1 for _ in places)
                return self._verbatim(quote, form, first, count)
        parts = quoted_parts(normal)
        chain = chained(parts, self._source)
        if chain:
            return self._elliptic(quote, chain)
        try:
            near, reason = self._nearest(normal), Rejection.NOT_FOUND
        except AlignmentTooLongError:
            near, reason = None, Rejection.TOO_LONG
        if near is None:
            caveats = (Caveat.ELLIPSIS,) if parts else ()
            return QuoteMatch(quote, accepted=False, reason=reason, caveats=caveats)
        return self._near(quote, near)

    def _verbatim(self, quote: str, form: str, places: Sequence[int], count: int) -> QuoteMatch:
        source, size = self._source, len(form)
        spans = tuple(source.original(place, size) for place in places)
        chosen, caveats = 0, self._caveats(form, places[0], spans[0])
        for i in range(1, len(places)):
            if not caveats:
                break
            others = self._caveats(form, places[i], spans[i])
            if not others or _only_theirs(caveats) > _only_theirs(others):
                chosen, caveats = i, others
        span = spans[chosen]
        reason = self._refusal(caveats)
        return QuoteMatch(
            quote,
            reason is None,
            reason,
            *(span.start, span.end, grade(quote, span.of(source.text)), 1.0),
            *(caveats, spans, count),
        )

    def _near(self, quote: str, near: Near) -> QuoteMatch:
        span = self._source.original(near.span.start, len(near.span))
        caveats = self._caveats(near.span.of(self._source.normal), near.span.start, span)
        reason = None
        if near.change is not None:
            reason, caveat = _REFUSED[near.change]
            caveats = (*caveats, caveat)
        else:
            reason = self._refusal(caveats)
        return QuoteMatch(
            *(quote, reason is None, reason, span.start, span.end),
            *(Grade.FUZZY, near.score, caveats, (span,), 1),
        )

    def _nearest(self, normal: str) -> Near | None:
        """Return the nearest match in the mode `fuzzy`; an ellipsis has to be in the source."""
        if self._rules.mode == MatchMode.SUBSTRING or not normal:
            return None
        near = nearest(unwrapped(normal) or normal, self._source, self._rules.fuzzy_threshold)
        if near is None:
            return None
        there = near.span.of(self._source.normal)
        return near if ellipses(normal) <= ellipses(there) else None

    def _elliptic(self, quote: str, chain: Sequence[Span]) -> QuoteMatch:
        spans = tuple(self._source.original(part.start, len(part)) for part in chain)
        whole = Span(chain[0].start, chain[-1].end)
        span = Span(spans[0].start, spans[-1].end)
        chained = (*self._chain_caveats(chain, whole, span), Caveat.ELLIPSIS)
        accepted = self._rules.allow_ellipsis and not self._rules.strict
        reason = self._refusal(chained) if accepted else Rejection.ELLIPSIS
        return QuoteMatch(
            quote,
            reason is None,
            reason,
            *(span.start, span.end, grade_of_parts(quote, spans, self._source.text), 1.0),
            *(chained, (span,), 1, spans),
        )

    # --- caveats -----------------------------------------------------------------------------

    def _refusal(self, caveats: Collection[Caveat]) -> Rejection | None:
        """Return the reason to reject a quote that occurs in the text; None to accept it."""
        if _only_theirs(caveats):
            return Rejection.OTHER_SPEAKER
        return Rejection.CAVEATS if self._rules.strict and caveats else None

    def _caveats(self, form: str, place: int, span: Span) -> tuple[Caveat, ...]:
        return tuple(self._each_caveat(form, place, span))

    def _each_caveat(self, form: str, place: int, span: Span) -> Iterator[Caveat]:
        source, end = self._source, place + len(form)
        if negated_around(source, span):
            yield Caveat.NEGATED_CONTEXT
        if cuts_a_word(source.normal, place, end):
            yield Caveat.PARTIAL_WORD
        if self._cuts_a_character(place, end, span):
            yield Caveat.CUT_CHARACTER
        by_turns = [*turn_caveats(source, span, self._speakers)]
        yield from by_turns
        if denied_after(source, span, asked=_only_theirs(by_turns)):
            yield Caveat.DENIED_BY_ANSWER
        if too_short(form):
            yield Caveat.TOO_SHORT

    def _cuts_a_character(self, start: int, end: int, span: Span) -> bool:
        source = self._source
        if start and source.original(start - 1, 1).end > span.start:
            return True
        return end < len(source.normal) and source.original(end, 1).start < span.end

    def _chain_caveats(self, chain: Sequence[Span], whole: Span, span: Span) -> Iterator[Caveat]:
        normal = self._source.normal
        left_out = (words(normal, a.end, b.start) for a, b in pairwise(chain))
        negated = any(negates(word.text) for gap in left_out for word in gap)
        found = set(self._caveats(whole.of(normal), whole.start, span))
        if negated:
            found.add(Caveat.NEGATED_CONTEXT)
        if any(cuts_a_word(normal, part.start, part.end) for part in chain):
            found.add(Caveat.PARTIAL_WORD)
        return (caveat for caveat in Caveat if caveat in found)


_REFUSED = {
    Change.NUMBER: (Rejection.NUMBER_MISMATCH, Caveat.NUMBER_MISMATCH),
    Change.POLARITY: (Rejection.POLARITY, Caveat.POLARITY),
}


def _only_theirs(caveats: Collection[Caveat]) -> bool:
    """Return whether a quote is, in whole or in part, from a speaker that does not count."""
    return Caveat.OTHER_SPEAKER in caveats


def _heard(
    source: PreparedSource, speakers: frozenset[str] | None
) -> tuple[PreparedSource, frozenset[str]]:
    """Return a source, with turns if needed, and the speakers that count (empty: anyone)."""
    if speakers is None:
        return source.interview
    if not speakers:
        return source, speakers
    if not source.transcript.turns:
        transcript = parse_transcript(source.text, TranscriptKind.LABELS)
        if not transcript.turns:
            msg = "a speaker is asked for, but the text has no turns"
            raise ConfigurationError(msg, hint="Use parse_transcript, or labels such as 'Name: '")
        source = source.as_transcript(transcript)
    unknown = speakers - {turn.speaker.casefold() for turn in source.transcript.turns}
    if unknown:
        msg = f"{len(unknown)} of the speakers asked for do not speak in the transcript"
        raise ConfigurationError(msg, hint="Write the names as the transcript has them")
    return source, speakers
