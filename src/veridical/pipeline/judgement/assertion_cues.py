"""English words by which a text mentions a claim without asserting it.

Denials, opinions, rumours, questions, suppositions, fiction, lists of myths, retractions. A model
misreads many of them. The words only take support away, so that a missing one changes nothing
(docs/decisions/0028-mentions.md).
"""

from __future__ import annotations

import re

from veridical.pipeline.judgement.assertion_words import (
    ANNOUNCED,
    ANNULLED,
    ATTITUDE,
    DOUBTED_AFTERWARDS,
    DOUBTFUL_ORIGIN,
    FIRST_PERSON,
    KNOWN,
    NO_DOUBT,
    PROVED,
    RECANTED,
    UNNAMED,
    UNPROVEN,
    WEAKENED,
)

_WORD = re.compile(r"\w+")

REACH = 15
"""Words before a claim that may govern it."""

_SURELY = " surely "
"""Stands for any words by which the text denies a doubt."""

NEAR = 1000
"""Characters before and after a sentence in which its heading and its retraction are looked for."""


def is_unasserted(before: str, after: str) -> bool:
    """Return whether the text around a claim keeps it from being asserted.

    Of both, the last and the first `NEAR` characters are read: the rest of the sentence, what
    introduces it, and the sentence behind it.
    """
    earlier, governing = _last_sentence(before[-NEAR:])
    rest, later = _first_sentence(after[:NEAR])
    return (
        _is_governed(governing)
        or _is_asked(governing, rest)
        or _is_taken_back(rest)
        or _announces_untruths(_heading(earlier, governing))
        or _takes_back(_first_sentence(later.lstrip())[0])
    )


# --- the sentence of the claim -----------------------------------------------------------------

_BREAK = re.compile(r"[;—]|\.\s|,? \b(?:but|yet|however|nevertheless|until)\b,? ", re.IGNORECASE)
_ACCORDING = re.compile(
    r"^\W*(?:in|according to|as|if|per|to|on|word|rumou?r|depending|\w+ly)\b", re.IGNORECASE
)
"""Beginning of an adverbial that names where a claim comes from."""

_OPENERS = " \t\n\"'“”‘’«»„*_`(["
_OPEN = re.compile(
    r"(?:^|\W)(?:whether(?: or not)?|whenever|if|unless|lest|suppose|supposing|assuming|imagine"
    r"|in case|as though|perhaps|maybe|possibly|conceivably|arguably|seemingly|say)$",
    re.IGNORECASE,
)
"""End of what opens a question, a condition or a guess."""

_COMPLEMENT = re.compile(
    r"(?:\b(?:that|how|says?|said|tells?|told|hears?|writes?|wrote|adds?|added|repeats?"
    r"|in which|where)|[:\])])$",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"^[\W]*(?:is|was|are|were|remains?|remained|has|had|sounds?|seems?)\b (?:\w+ ){0,4}(?:denied"
    r"|disputed|contested|rejected|dismissed|doubted|questioned|question|doubt|dispute|unclear|open"
    r"|guess|speculation|conjecture|legend|fiction|propaganda|wishful|dream|lie|myth|exaggeration"
    r"|exaggerated|opinion|example|joke|hypothesis|assumption|theory|seen|debatable|debated)\b",
    re.IGNORECASE,
)
"""Behind "the idea that" and a claim: what it is called."""

_SAID = re.compile(
    r"^[\"”’*_]*,[\"”’*_]* (?!(?:although|though|while|and|which|who|where|when|because|since"
    r"|despite|even|to|after|before|with|for|but|in|at|on|by)\b)(?:\w+(?:[’']\w+)? ){1,5}\w+[.,;!]",
    re.IGNORECASE,
)
"""Behind a claim: a few words between commas, such as "some say"."""

_ASKED = re.compile(r"^(?:\s\w+){0,3}[\s(\[\"'”’]*[?？]")


def _is_governed(before: str) -> bool:
    """Return whether what stands before a claim in its sentence governs it without asserting it.

    The word nearest to the claim decides: "nobody knew that" asserts it, "nobody showed that" and
    "we know that some believe that" do not.
    """
    governing = _governing(before)
    tail = governing.rstrip(_OPENERS)
    if tail.endswith(","):
        found = _ACCORDING.match(governing)
        named = found is not None and found[0].lower().endswith("according to")
        return found is not None and bool(
            DOUBTFUL_ORIGIN.search(governing) or (named and UNNAMED.search(governing))
        )
    if _OPEN.search(tail):
        return True
    quoted = governing != tail and not governing.endswith(" ")
    attitude, known, proved = (_last(each, governing) for each in (ATTITUDE, KNOWN, PROVED))
    if not (quoted or _COMPLEMENT.search(tail) or attitude == len(tail)):
        return False
    nearest = max(attitude, known, proved)
    if nearest < 0:
        return bool(WEAKENED.search(governing) or UNNAMED.search(governing))
    if nearest == proved:
        return WEAKENED.search(governing) is not None
    return nearest == attitude


def _governing(before: str) -> str:
    """Return the words before a claim that may govern it, with a mark for those that assert it."""
    clause = _BREAK.split(before)[-1]
    words = list(_WORD.finditer(clause))
    if len(words) > REACH:
        clause = clause[words[-REACH].start() :]
    return FIRST_PERSON.sub("", NO_DOUBT.sub(_SURELY, clause))


def _last(words: re.Pattern[str], text: str) -> int:
    """Return where the last of the words ends, -1 if there is none."""
    return max((found.end() for found in words.finditer(text)), default=-1)


def _is_asked(before: str, after: str) -> bool:
    """Return whether a question ends with the claim, and not one such as "Did you know that"."""
    return _ASKED.match(after) is not None and not KNOWN.search(before)


def _is_taken_back(after: str) -> bool:
    """Return whether the rest of the sentence behind a claim takes it back."""
    plain = NO_DOUBT.sub(_SURELY, after)
    if any(each.search(plain) for each in (DOUBTED_AFTERWARDS, UNPROVEN, RECANTED, _CALLED)):
        return True
    said = _SAID.match(plain)
    return said is not None and bool(ATTITUDE.search(said[0]) or UNNAMED.search(said[0]))


# --- what stands before and behind it ----------------------------------------------------------

_GOES_WRONG = re.compile(r"\b(?:went|goes|go|gone|going) wrong\b|\bwrong with\b", re.IGNORECASE)
_UNSAID = re.compile(
    r"\b(?:not|\w+n[’']t|never|nobody|no one)\b[^.]{0,30}\b(?:say|says|said|state[sd]?|mean|means"
    r"|claim(?:s|ed)?|write|wrote|written|tell)\b",
    re.IGNORECASE,
)
_ANAPHOR = re.compile(
    r"^\W*(?:(?:sorry|well|oh|edit|update|note|correction|erratum|ha|a)\b\W*)?(?:but )?"
    r"(?:this|that|it|these|those|the (?:above|preceding|previous|last|foregoing|former"
    r"|statement|sentence|claim|line|entry|remark|figure|paragraph|passage|assertion)"
    r"|all of (?:this|that|it)|none of (?:this|that|it)|no|not (?:so|true|really)|nope|wrong"
    r"|false|untrue|incorrect|retracted|withdrawn|correction|erratum|disregard|ignore|strike"
    r"|please (?:disregard|ignore|delete)|we (?:withdraw|retract|regret|apologi[sz]e|were wrong)"
    r"|i (?:withdraw|retract|was wrong|take)|in (?:fact|reality|truth)|actually|except that"
    r"|(?:\w+ ){0,4}(?:preceding|above|previous) (?:sentence|statement|claim|line|entry|paragraph)"
    r"|or (?:so|at least)|scratch|forget|just kidding|end of|so (?:claim|say|goes|runs)|such)\b",
    re.IGNORECASE,
)


def _announces_untruths(heading: str) -> bool:
    plain = NO_DOUBT.sub(_SURELY, _GOES_WRONG.sub("", heading))
    return bool(ANNOUNCED.search(plain) or UNPROVEN.search(plain) or _UNSAID.search(plain))


def _takes_back(text: str) -> bool:
    """Return whether the next sentence is about the one before it, and takes it back."""
    plain = NO_DOUBT.sub(_SURELY, text)
    if RECANTED.search(plain):
        return True
    if not _ANAPHOR.match(plain):
        return False
    return ANNULLED.search(plain) is not None or UNPROVEN.search(plain) is not None


# --- sentences ---------------------------------------------------------------------------------

_END = re.compile(r"[.!?。！？][\"'”’»)*_]*(?=\s|$)|\n")
_ITEM = re.compile(r"^\s*(?:[-*•–>+]|\(?\w{1,3}[.)])\s")
_NUMBER = re.compile(r"(?:^|\n)[ \t]*\(?\w{1,3}\.$")
"""Number of an item, whose full stop ends no sentence."""

_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_TITLE = 10
"""Words of a title, at most."""

_FORWARD = re.compile(r"\b(?:following|below|next|true or false)\b", re.IGNORECASE)


def _last_sentence(text: str) -> tuple[str, str]:
    """Return a text in two parts: the beginning of its last sentence is the second."""
    ends = (found.end() for found in _END.finditer(text))
    start = max((end for end in ends if not _NUMBER.search(text[max(end - 8, 0) : end])), default=0)
    return text[:start], text[start:]


def _first_sentence(text: str) -> tuple[str, str]:
    """Return a text in two parts: its first sentence is the first."""
    found = _END.search(text)
    end = found.end() if found else len(text)
    return text[:end], text[end:]


def _heading(earlier: str, governing: str) -> str:
    """Return what introduces a sentence: the line before its list, a title, "...:"; or nothing."""
    lines = [line for line in earlier.splitlines() if line.strip()]
    if _ITEM.match(governing):
        while lines and _ITEM.match(lines[-1]):
            lines.pop()
    if not lines:
        return ""
    last = _BETWEEN.split(lines[-1].strip())[-1]
    end = last.rstrip(_OPENERS + "”’*#")[-1:]
    is_title = end == ":" or (end not in ".!?" and len(_WORD.findall(last)) <= _TITLE)
    return last if is_title or _FORWARD.search(last) else ""
