"""Caveats about quotes that occur verbatim in a text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from unicodedata import category

from veridical.core.fact_tokens import UNSPACED, is_not, negates, words
from veridical.core.text import normal_form
from veridical.quotes.transcripts import LABEL, TranscriptKind, overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from veridical.core.types import Span
    from veridical.quotes.prepared import PreparedSource


class Caveat(StrEnum):
    """Reason why a quote that occurs in the text may still mislead."""

    NEGATED_CONTEXT = "negated_context"
    """A negation is just outside: "feel hopeless" of "I don't feel hopeless"."""
    PARTIAL_WORD = "partial_word"
    """A word or number is cut: "art" of "heart", "3" of "3.5"."""
    CUT_CHARACTER = "cut_character"
    """One character of the original is cut, and is given as a whole: "1" of "½"."""
    OTHER_SPEAKER = "other_speaker"
    """Another speaker than the selected one says it, or a part of it: it is rejected."""
    DENIED_BY_ANSWER = "denied_by_answer"
    """It is asked, and the answer denies it: "Do you feel hopeless?" "No."."""
    SPANS_TURNS = "spans_turns"
    """It spans more than one turn."""
    TOO_SHORT = "too_short"
    """Fewer than two words, or than six characters: it may occur anywhere."""
    ELLIPSIS = "ellipsis"
    """Text is left out between its parts."""
    NUMBER_MISMATCH = "number_mismatch"
    """A number, date or unit differs from the nearest match."""
    POLARITY = "polarity"
    """A negation or an opposite differs from the nearest match."""


_FEWEST_WORDS, _FEWEST_CHARACTERS, _FEWEST_UNSPACED = 2, 6, 4
_UNSPACED = re.compile(f"[{UNSPACED}]")


def too_short(normal_quote: str) -> bool:
    """Return whether a normal form is too short to identify one place."""
    fewest = _FEWEST_UNSPACED if _UNSPACED.search(normal_quote) else _FEWEST_CHARACTERS
    if len(normal_quote) < fewest:
        return True
    return normal_quote.count(" ") < _FEWEST_WORDS and len(words(normal_quote)) < _FEWEST_WORDS


# --- cut words -------------------------------------------------------------------------------

_INSIDE_NUMBER = frozenset(".,:/⁄")


def cuts_a_word(normal: str, start: int, end: int) -> bool:
    """Return whether a stretch of a normal form begins or ends inside a word or a number."""
    return _joined(normal, start) or _joined(normal, end) or _loses_a_sign(normal, start)


def _joined(normal: str, at: int) -> bool:
    """Return whether the characters before and after a place belong to one word."""
    if not 0 < at < len(normal):
        return False
    before, after = normal[at - 1], normal[at]
    if before == " " or after == " ":
        return False
    if _is_letter(before) and _is_letter(after):
        return True
    around = normal[max(at - 2, 0) : at + 2]
    return _bridged(around, at - max(at - 2, 0))


def _bridged(around: str, at: int) -> bool:
    """Return whether an apostrophe between letters, or a point between digits, is at the cut."""
    for mark in (at - 1, at):
        if not 0 < mark < len(around) - 1:
            continue
        left, char, right = around[mark - 1], around[mark], around[mark + 1]
        if char == "'" and _is_letter(left) and _is_letter(right):
            return True
        if char in _INSIDE_NUMBER and left.isdigit() and right.isdigit():
            return True
    return False


def _loses_a_sign(normal: str, start: int) -> bool:
    """Return whether a stretch begins behind the sign of a number, or behind the point of ".5"."""
    sign = normal[start - 1 : start]
    if not normal[start].isdigit() or sign not in {"-", "+", "."}:
        return False
    return start == 1 or not (_is_letter(normal[start - 2]) or normal[start - 2] == sign == ".")


@lru_cache(maxsize=2**12)
def _is_letter(char: str) -> bool:
    """Return whether a character is a letter or digit of a script with spaces."""
    return (char.isalnum() or category(char)[0] == "M") and not _UNSPACED.match(char)


# --- negations around ------------------------------------------------------------------------

_REACH = 6
"""Words before a quote in which a negation counts."""
_ITEM = 3
"""Words of an item of a list."""
_CHARACTERS = 120
_CLAUSE_ENDS = re.compile(r"[.!?;:()\[\]。！？；：]|\n\s*\n|\s[-–—]\s")
_LINE_ENDS = re.compile(r"\n")
_NEW_CLAUSE = frozenset(
    ["but", "because", "although", "though", "however", "yet", "then", "except"],
)
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "this", "that", "there"])
_ONLY_SUBJECTS = frozenset(["i", "he", "she", "we", "they"])
"""Subjects that are no objects, unlike the "it" of "I don't like it"."""
_LEADS_ON = frozenset(
    """think thought believe believed feel felt say said mean meant suppose guess imagine expect
    expected suggest admit claim sure certain convinced true that if like as do does did am is was
    have has had can could will would should""".split()  # noqa: SIM905 -- a paragraph of words
)
"""After these a negation goes on over the subject: "I don't think I feel", "nor do I feel"."""
_ADJACENT_ONLY = frozenset(("no", "none", "nobody", "nothing", "nope", "nada", "ni", "нет"))
"""Answers as often as negations: they count only right before a quote."""
_ABSENT = frozenset(
    """longer more evidence history sign signs symptom symptoms record complaint complaints acute
    chronic recent current active new known previous prior further other significant
    obvious""".split()  # noqa: SIM905 -- a paragraph of words
)
"""Words between which "no" and a quote are one phrase: "no history of", "no acute"."""
_HESITATION = re.compile(r"(n['’]t|\bnot|\bnever)[ \t]*(?:\.{2,}|…)", re.IGNORECASE)
"""Pause right behind a negation, which ends no clause: "I don't... feel hopeless"."""
_FILLERS = frozenset(("know", "mind", "worry"))
"""Verbs after the negation in "I don't know", which negates nothing after it."""


def negated_around(source: PreparedSource, span: Span) -> bool:
    """Return whether a negation of the same clause stands just before or after a span."""
    lines_end = source.transcript.kind is not TranscriptKind.PLAIN
    before = source.text[max(span.start - _CHARACTERS, 0) : span.start]
    after = source.text[span.end : span.end + _CHARACTERS]
    said = source.text[span.start : span.start + _CHARACTERS]
    before = _last_clause(_HESITATION.sub(r"\1", before), lines_end=lines_end)
    return _negated_before(before, said) or _negated_after(after)


def _last_clause(before: str, *, lines_end: bool) -> str:
    ends = [match.end() for match in _CLAUSE_ENDS.finditer(before)]
    if lines_end:
        ends += [match.end() for match in _LINE_ENDS.finditer(before)]
    return before[max(ends, default=0) :]


def _negated_before(before: str, said: str) -> bool:
    if not before or before.isspace():
        return False
    first = next((word.text for word in words(normal_form(said))), "")
    normal = normal_form(before)
    found = _within_reach(normal, first)
    if not found:
        return False
    if negates(found[-1]):
        # "no i slept" and "no, slept" answer; "no sleep" negates.
        answers = found[-1] in _ADJACENT_ONLY
        paused = normal.endswith(",")
        new_clause = (answers or paused) and first in _SUBJECTS
        return not (new_clause or (answers and paused))
    return any(_carries(word, following) for word, following in pairwise(found)) or (
        # "No fever, cough, or" negates all that it lists.
        found[-1] in {"or", "nor"} and any(map(negates, found))
    )


def _carries(word: str, following: str) -> bool:
    if word == "no" and following in _ABSENT:
        return True
    return negates(word) and word not in _ADJACENT_ONLY and following not in _FILLERS


def _within_reach(normal: str, first: str) -> list[str]:
    """Return the last words of a clause, from the last conjunction or comma that begins another."""
    segments = [[word.text for word in words(segment)] for segment in normal.split(",")]
    found: list[str] = []
    listing = segments[-1][:1] in (["or"], ["nor"]) and first not in _SUBJECTS
    for segment in reversed(segments):
        # "I don't, honestly, feel" goes on after the commas; "I don't eat, and" does not.
        if found or segment is not segments[-1]:
            goes_on = segment and (negates(segment[-1]) or len(segment) == 1)
            goes_on = goes_on or (listing and len(segment) <= _ITEM)
            if not goes_on or (found or [first])[0] in _SUBJECTS:
                return found
        found = [*_after_conjunction(segment, (found or [first])[0]), *found]
        if len(found) >= _REACH:
            break
    return found[-_REACH:]


def _after_conjunction(segment: Sequence[str], following: str) -> Sequence[str]:
    for i in range(len(segment) - 1, -1, -1):
        then = segment[i + 1] if i + 1 < len(segment) else following
        if segment[i] in _NEW_CLAUSE or (segment[i] in {"and", "so"} and then in _SUBJECTS):
            return segment[i + 1 :]
        if _is_subject(then) and not (segment[i] in _LEADS_ON or negates(segment[i])):
            return segment[i + 1 :]
    return segment


def _is_subject(word: str) -> bool:
    """Return whether a word can only be the subject of a clause: "i", "i'm", "it's"."""
    pronoun, _, verb = word.partition("'")
    return pronoun in _ONLY_SUBJECTS or (verb != "" and pronoun in _SUBJECTS)


def _negated_after(after: str) -> bool:
    """Return whether the next word negates the quote: "I do" of "I do not"."""
    clause = _CLAUSE_ENDS.split(after, maxsplit=1)[0].partition(",")[0].partition("\n")[0]
    following = words(normal_form(clause))
    return bool(following) and (is_not(following[0].text) or following[0].text == "never")


# --- answers ---------------------------------------------------------------------------------

_LONGEST_QUESTION = 300
"""Characters after a quote in which its question has to end."""
_SENTENCE_ENDS = re.compile(r"[.!?。！？]+")
_UTTERANCE_ENDS = re.compile(r"[.!?。！？]+|\n|\Z")
_DENIES = re.compile(
    r"""(?:(?:um+|uh+|hm+|mm+|er+|well|oh|ah|so|like|honestly|actually|i\ mean)\b[\s,.…-]*)*+
        (?:no(?:pe|t)?|nah|never|none|hardly|rarely
          |(?:i|we|it|that|they|he|she)\s(?:(?:really|just)\s)?
           (?:\w+n't|(?:do|did|have|had|am|was|is|would|could|can)\s(?:not|never)|never|cannot))
        \b(?!\s(?:doubt|idea|only|question|matter)\b)""",
    re.VERBOSE,
)


def denied_after(source: PreparedSource, span: Span, *, asked: bool) -> bool:
    """Return whether a quote stands in a question and the next utterance denies it.

    With `asked` the quote is from another speaker: then no question mark is required.
    """
    text = source.text
    lines_end = source.transcript.kind is not TranscriptKind.PLAIN
    ends = _UTTERANCE_ENDS if lines_end else _SENTENCE_ENDS
    ended = ends.search(text, max(span.end - 1, span.start), span.end + _LONGEST_QUESTION)
    if ended is None or not (asked or ended[0].startswith(("?", "？"))):
        return False
    following = text[ended.end() : ended.end() + _CHARACTERS].lstrip(" \t\r\n\"'”’)")
    if label := LABEL.match(following):
        following = following[label.end() :]
    return _DENIES.match(normal_form(following)) is not None


# --- turns -----------------------------------------------------------------------------------


def turn_caveats(
    source: PreparedSource, span: Span, speakers: AbstractSet[str]
) -> Iterator[Caveat]:
    """Yield the caveats about a span's speakers; `speakers` are folded, empty for anyone."""
    turns = source.transcript.turns
    if not turns:
        return
    touched = overlapping(turns, span)
    if len(touched) > 1:
        yield Caveat.SPANS_TURNS
    if speakers and not said_by(source, span, speakers):
        yield Caveat.OTHER_SPEAKER


def said_by(source: PreparedSource, span: Span, speakers: AbstractSet[str]) -> bool:
    """Return whether all of a span is said by some of these speakers."""
    names = {turn.speaker.casefold() for turn in overlapping(source.transcript.turns, span)}
    return bool(names) and names <= speakers
