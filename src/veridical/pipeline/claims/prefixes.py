"""Openings that announce an assertion, and tags that ask for assent: no part of the claim."""

from __future__ import annotations

import re

from veridical.pipeline.claims.headings import has_main_verb
from veridical.pipeline.claims.lexicon import has_finite_verb

# How far behind an opening to look for a verb.
_REACH = 300
_REMINDER = (
    r"(?:please\s|also,?\s|but\s|and\s|do\s|always\s|just\s){0,3}"
    r"(?:note|remember|recall|notice|observe|keep\sin\smind|bear\sin\smind|be\s(?:also\s)?aware"
    r"|(?:do\snot|don(?:'|’)t|never)\sforget)"
)
_ANNOUNCEMENT = re.compile(
    rf"""(?:
      A:\s(?=\S+\s)
    | (?:{_REMINDER}|consider|understand|know|mind|be\sadvised)
        (?:,\s(?:however|though|too|also),)?\sthat\s
    | (?:it(?:'|’|\si)s\s(?:also\s)?(?:important|worth|crucial|essential|interesting)\s
        (?:to\s(?:note|remember|mention|recognize|understand)|noting|mentioning|remembering)\sthat\s)
    | (?:important\s)?note:\s | (?:please\s)?note,\s
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# "Note the bridge collapsed in 2001" asserts, "Note the number on the plate" does not.
_BARE_ANNOUNCEMENT = re.compile(
    _REMINDER + r",?\s(?!to\b|of\b|how\b|what\b|which\b)", re.IGNORECASE
)
_TAG = re.compile(
    r",\s(?:right|correct|yes|no|true|eh|huh|ok|okay|don(?:'|’)t\syou\sthink"
    r"|(?:is|are|was|were|has|have|had|does|do|did|will|would|can|could|should|wo|ca)(?:n(?:'|’)t)?"
    r"\s(?:it|he|she|they|there|this|that|we|you|i)(?:\snot)?)\s?\?+[!?\"'”’)]*$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:what|who|whose|where|when|why|how|which|is|are|was|were|do|does|did|can|could|should|would"
    r"|will|has|have|had)\b",
    re.IGNORECASE,
)


def without_announcement(text: str, *, blank: bool = False) -> str:
    """Drop `Note that` and its like, or blank it: what it announces is the assertion."""
    match = _ANNOUNCEMENT.match(text) or _bare_announcement(text)
    if match is None or match.end() == len(text):
        return text
    rest = text[match.end() :]
    return " " * match.end() + rest if blank else capitalised(rest)


def _bare_announcement(text: str) -> re.Match[str] | None:
    match = _BARE_ANNOUNCEMENT.match(text)
    return match if match and has_main_verb(text[match.end() :][:_REACH]) else None


def without_tag(text: str) -> str:
    """Drop the `, right?` of a statement: it is asserted all the same."""
    tag = _TAG.search(text, max(0, len(text) - 60))
    if tag is None or _ASKS.match(text) or not has_finite_verb(text[: tag.start()]):
        return text
    return f"{text[: tag.start()]}."


def capitalised(text: str) -> str:
    """Return `text` with its first letter in upper case, unless it looks like a name or code."""
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text
