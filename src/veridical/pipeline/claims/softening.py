"""Softening of a claim's strong quantifier, frequency or certainty word."""

from __future__ import annotations

import re
from functools import lru_cache


def _not_after(words: str) -> str:
    """Return look-behinds that keep a pattern from matching after one of `words`."""
    return "".join(f"(?<!\\b[{word[0].upper()}{word[0]}]{word[1:]} )" for word in words.split())


_NOT = _not_after("not") + "(?<!n't )(?<!n’t )"
_NOT_AT = _NOT + _not_after("at after above of in for they we them it us is")
_NOT_NOUN = _not_after("the his her a their free good of")
_NUMBERS = "two|three|four|five|six|seven|eight|nine|ten"
_TIMES = "time|day|week|month|year|hour|second|minute"
# Not "proves fatal" or "proved to be".
_THAT = r"(?= (?:conclusively |definitively )?(?:that|the|an?|how|why|its|his|their)\b)"
# Quick test before a pattern: most texts lack the word that a rule is about.
_RULES = tuple(
    (word, re.compile(pattern), replacement)
    for word, pattern, replacement in (
        ("all of", _NOT + r"\ball of\b", "some of"),
        (
            "all ",
            _NOT_AT + r"\ball (?=the |its |their |his |her |our |these |those |\d)",
            "some of ",
        ),
        (
            "all ",
            _NOT_AT + r"\ball (?=[a-zA-Z]{3,})"
            rf"(?!{_NUMBERS}|that|over|along|about|day|night|year|year-round)",
            "some ",
        ),
        ("every ", _NOT + rf"\bevery (?!(?:{_NUMBERS}|few|other|{_TIMES})\b|\d)", "some "),
        ("every", _NOT + r"\bevery(?=one\b|body\b|thing\b)", "some"),
        ("each of", r"\beach of\b", "some of"),
        ("each ", _not_after("of") + rf"\beach (?!(?:other|{_TIMES})\b)(?=[a-z])", "some "),
        ("always", _NOT + _not_after("as") + r"\balways\b", "sometimes"),
        ("proves", r"\bproves" + _THAT, "suggests"),
        ("proved", r"\bproved" + _THAT, "suggested"),
        ("proven", r"\bproven\b(?= to\b| that\b)", "suggested"),
        ("prove", r"\bprove" + _THAT, "suggest"),
        ("ly", _NOT + r"\b(?:definitely|certainly|undoubtedly)\b", "possibly"),
        ("won", r"\bwon['’]t\b", "may not"),
        ("will ", _NOT_NOUN + r"\bwill (?=[a-z])", "may "),
        ("must ", r"\bmust (?!not\b)(?=[a-z])", "may "),
        ("the only", r"\bthe only (?=\w+s\b)", "the "),
        ("the only", r"\bthe only (?=[aeiou])", "an "),
        ("the only", r"\bthe only (?=[a-z])", "a "),
        ("only ", _NOT + _not_after("if") + r"\bonly (?!(?:if|when|then|after|by|because)\b)", ""),
    )
)
_OPENERS = re.compile(r"(?:All|Every|Each|Always|Only|The only|Definitely|Certainly|Undoubtedly)")
_QUOTED = re.compile(r"(\"[^\"]{0,400}\"|“[^”]{0,400}”)")


@lru_cache(maxsize=4)  # a sentence is asked for several times in a row
def soften(text: str) -> str | None:
    """Return a weaker claim; None if no strong word is in it. Quotations stay as they are."""
    opening = _OPENERS.match(text)
    lowered = text[0].lower() + text[1:] if opening else text
    parts = _QUOTED.split(lowered)
    parts[::2] = [_soften(part) for part in parts[::2]]
    weaker = "".join(parts)
    if weaker == lowered or not weaker.strip():
        return None
    return weaker[0].upper() + weaker[1:] if opening else weaker


def _soften(text: str) -> str:
    for word, pattern, replacement in _RULES:
        if word in text:
            text = pattern.sub(replacement, text)
    return text
