"""Conjuncts of a claim: clauses, or phrases with a shared subject, made to stand alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.types import Span
from veridical.pipeline.claims.atomic import governs, is_blocked
from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    PAST,
    PREPOSITIONS,
    PRESENT,
    is_regular_past,
    word_set,
)
from veridical.pipeline.claims.syntax import (
    clause_verb,
    finite_verb,
    is_past,
    protected_spans,
    tokens_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.pipeline.claims.syntax import Token

_MAX_LENGTH = 1000
_MAX_ITEM_WORDS = 6
# White space before a joint is tried from its beginning only: a long run would be read again from
# each of its characters.
_SPACE = r"(?:(?<!\s)\s++)"
_AND = re.compile(
    rf"(?:{_SPACE}?,\s++|{_SPACE})(?:and|but)\s++(?:(?:then|also|later|now|currently)\s++)?"
)
_CLAUSE_JOINT = re.compile(
    rf"(?:{_SPACE}?[,;]\s++|{_SPACE})(?:and|but|while|whereas)\s++(?:(?:also|then|meanwhile)\s++)?"
    rf"|{_SPACE}?;\s++(?:(?:however|therefore|moreover|meanwhile|by contrast|in contrast)\b,?\s++)?"
)
# A time or place in front that holds of the whole sentence: "In 2019, ".
_ADJUNCT = re.compile(
    r"(?:In|On|At|By|During|Since|Until|From|As of|Within|Throughout) [^,;:]{1,60},\s+"
)
_COMMA = re.compile(rf"{_SPACE}?,\s++(?:and\s++)?|{_SPACE}and\s++")
_PLURAL = word_set("are were have do")
_BE_OR_HAVE = word_set("is are was were has have had")
# Verbs that hold of each of their objects when they hold of all.
_DISTRIBUTIVE = word_set(
    "contains contain includes include has have had supports support offers offer features feature"
    " provides provide exports export imports import produces produce sells sell uses use requires"
    " require publishes publish covers cover won lists receives speaks owns contained included"
    " supported offered provided produced sold used required exported imported"
)
# Third-person forms that are no nouns, whatever follows.
_SURELY_VERBS = word_set(
    "includes contains consists requires provides supports becomes belongs comprises describes"
    " lies remains receives serves employs allows"
)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """Stretches whose texts, joined, make the conjunct; the last is its own, `span`."""

    shared: tuple[Span, ...]
    span: Span


def find_conjuncts(masked: str, clause: Span) -> list[Conjunct]:
    """Return the conjuncts of a clause; none if its subject or joints are not certain."""
    if len(clause) > _MAX_LENGTH:
        return []
    protected = protected_spans(masked)
    adjunct = _ADJUNCT.match(masked, clause.start, clause.end)
    if adjunct:
        rest = Span(adjunct.end(), clause.end)
        return _with_adjunct(Span(*adjunct.span()), _clauses(masked, rest, protected))
    tokens = tokens_of(masked, clause, protected)
    if is_blocked(tokens):
        return []
    if found := _joined(masked, clause, protected):
        return found
    verb = finite_verb(tokens)
    if verb is None:
        return []
    reading = _Reading(masked, clause, tuple(protected), tuple(tokens), verb)
    return reading.predicates() or reading.objects()


def _clauses(masked: str, clause: Span, protected: Sequence[Span]) -> list[Conjunct]:
    """Return the clauses that each have a subject and a verb; none if they are not certain."""
    if is_blocked(tokens_of(masked, clause, protected)):
        return []
    return _joined(masked, clause, protected)


def _joined(masked: str, clause: Span, protected: Sequence[Span]) -> list[Conjunct]:
    """Return the clauses of a stretch that nothing governs as a whole; see `_clauses`."""
    joints = [Span(*m.span()) for m in _CLAUSE_JOINT.finditer(masked, clause.start, clause.end)]
    joints = [joint for joint in joints if not any(joint.overlaps(each) for each in protected)]
    spans: list[Span] = []
    start = clause.start
    for joint, end in zip(joints, [*(j.start for j in joints[1:]), clause.end], strict=False):
        left = tokens_of(masked, Span(start, joint.start), protected)
        right = tokens_of(masked, Span(joint.end, end), protected)
        if _are_clauses(left, right):
            spans.append(Span(start, joint.start))
            start = joint.end
    return [Conjunct((), span) for span in (*spans, Span(start, clause.end))] if spans else []


def _are_clauses(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """Return whether both have a subject and a verb, and neither hangs on the other."""
    first, second = clause_verb(left), clause_verb(right)
    if first is None or second is None or governs(left) or is_past(right[0].word):
        return False
    if left[0].word == "there":  # "There are dogs and cats related to them"
        return False
    # "The man injured in Paris and the woman killed in Rome were friends"
    sure = left[first].word in FINITE or any(is_past(each.word) for each in right[second:])
    return sure or not any(is_past(each.word) for each in right[:second])


def _with_adjunct(adjunct: Span, clauses: Sequence[Conjunct]) -> list[Conjunct]:
    """Add an adjunct, which holds of all clauses, in front of each but the first."""
    if not clauses:
        return []
    first = Conjunct((), Span(adjunct.start, clauses[0].span.end))
    return [first, *(Conjunct((adjunct,), each.span) for each in clauses[1:])]


@dataclass(frozen=True, slots=True)
class _Reading:
    """Clause with its subject (`tokens[:verb]`) and its finite verb found."""

    masked: str = field(repr=False)
    clause: Span
    protected: tuple[Span, ...]
    tokens: tuple[Token, ...]
    verb: int

    @property
    def subject(self) -> Span:
        return Span(self.tokens[0].span.start, self.tokens[self.verb - 1].span.end)

    def predicates(self) -> list[Conjunct]:
        """Return `S V1 ...` and `S V2 ...` of `S V1 ... and V2 ...`."""
        found: list[Conjunct] = []
        shared: tuple[Span, ...] = ()
        start, verb = self.clause.start, self.tokens[self.verb]
        for joint in self._joints(_AND):
            right = self._tokens(joint.end)
            shared_next = self._shared(right)
            left = self._between(start, joint.start)
            # "caught and killed the man": the object is shared, the left is incomplete.
            if shared_next is None or governs(left) or left[-1].span == verb.span:
                continue
            found.append(Conjunct(shared, Span(start, joint.start)))
            shared, start = shared_next, joint.end
        return [*found, Conjunct(shared, Span(start, self.clause.end))] if found else []

    def objects(self) -> list[Conjunct]:
        """Return `S V A` and `S V B` of `S V A and B`, for verbs that distribute."""
        verb = self.tokens[self.verb]
        if verb.word not in _DISTRIBUTIVE:
            return []
        items = self._items(verb.span.end)
        if not self._are_separate(items):
            return []
        head = (Span(self.clause.start, verb.span.end),)
        first = Conjunct((), Span(self.clause.start, items[0].end))
        return [first, *(Conjunct(head, item) for item in items[1:])]

    def _shared(self, right: Sequence[Token]) -> tuple[Span, ...] | None:
        """Return the left part that `right` takes over; None if it is no predicate."""
        if len(right) < 2:  # noqa: PLR2004 -- a verb and something after it
            return None
        if self._agrees(right):
            return (self.subject,)
        if (auxiliary := self._shared_auxiliary(right)) is not None:
            return (self.subject, auxiliary)
        return None

    def _agrees(self, right: Sequence[Token]) -> bool:
        """Return whether `right` starts with a finite verb that fits the subject."""
        if len(right) < 2:  # noqa: PLR2004 -- a verb and something after it
            return False
        word, after = right[0].word, right[1]
        left = self.tokens[self.verb].word
        if (left in _PLURAL) != (word in _PLURAL) and word in AUXILIARIES | PRESENT:
            return left not in _BE_OR_HAVE | PRESENT and word not in _PLURAL
        if word in AUXILIARIES or word in PAST or word in _SURELY_VERBS:
            return True
        if word in PRESENT:
            return after.word in DETERMINERS | PREPOSITIONS or after.capitalised
        both_past = is_past(left) and is_past(word)
        return both_past and (after.word in DETERMINERS or after.capitalised)

    def _shared_auxiliary(self, right: Sequence[Token]) -> Span | None:
        """Find the `was` of `was founded in 1999 and acquired by X`."""
        if self.tokens[self.verb].word not in _BE_OR_HAVE:
            return None
        for token in self.tokens[self.verb + 1 : self.verb + 3]:
            if is_regular_past(token.word) or token.word in AMBIGUOUS_PAST:
                fits = is_regular_past(right[0].word) and right[1].word in PREPOSITIONS
                here = Span(self.tokens[self.verb].span.start, token.span.start)
                return here if fits else None
            if token.word not in {"been", "also", "first"}:
                return None
        return None

    def _items(self, start: int) -> list[Span]:
        items: list[Span] = []
        for joint in self._joints(_COMMA):
            if joint.start > start:
                items.append(Span(start, joint.start))
                start = joint.end
        return [*items, Span(start, self.clause.end)]

    def _are_separate(self, items: Sequence[Span]) -> bool:
        """Return whether the items are things of their own: no verbs, names or shared nouns."""
        words = [tokens_of(self.masked, item, self.protected) for item in items]
        if len(items) < 2 or not all(0 < len(each) <= _MAX_ITEM_WORDS for each in words):  # noqa: PLR2004 -- a list
            return False
        if any(_is_no_thing(each[0]) for each in words) or _is_apposition(words):
            return False
        flat = [token for each in words for token in each]
        if governs(flat) or any(token.word in FINITE or token.text == ";" for token in flat):
            return False
        if len(items) == 2 and any(_is_name(each) for each in words):  # noqa: PLR2004 -- `Procter and Gamble`
            return False
        return not _share_a_noun(words)

    def _joints(self, pattern: re.Pattern[str]) -> list[Span]:
        found = pattern.finditer(self.masked, self.clause.start, self.clause.end)
        spans = [Span(*match.span()) for match in found]
        return [span for span in spans if not any(span.overlaps(each) for each in self.protected)]

    def _tokens(self, start: int) -> list[Token]:
        return self._between(start, self.clause.end)

    def _between(self, start: int, end: int) -> list[Token]:
        return [t for t in self.tokens if start <= t.start and t.end <= end]


def _is_no_thing(token: Token) -> bool:
    """Return whether an item starts like a participle or an addition: `including B`, `taken to`."""
    word = token.word
    return word in PREPOSITIONS or is_past(word) or word.endswith(("ing", "en")) or word == "such"


def _is_apposition(words: Sequence[Sequence[Token]]) -> bool:
    """Return whether later items may be the names of the first: `two schools, St. Ann and Eton`."""
    return any(_is_name(each) for each in words[1:]) and not _is_name(words[0])


def _is_name(tokens: Sequence[Token]) -> bool:
    return tokens[0].text[0].isupper()


def _share_a_noun(words: Sequence[Sequence[Token]]) -> bool:
    """Return whether the items may be modifiers of one noun: `red, green and blue lights`."""
    last = words[-1]
    return (
        len(last) > 1
        and last[0].word not in DETERMINERS | PREPOSITIONS
        and last[1].word not in PREPOSITIONS
        and not last[0].capitalised
        and any(len(each) == 1 for each in words[:-1])
    )
