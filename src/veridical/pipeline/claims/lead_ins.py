"""Openings that announce an assertion or are polite about it, and tags that ask for assent.

None of them is part of the claim.
"""

from __future__ import annotations

import re

from veridical.pipeline.claims.headings import has_main_verb
from veridical.pipeline.claims.lexicon import has_finite_verb

# Distance behind an opening in which a verb is searched.
_REACH = 300
_REMINDER = (
    r"(?:please\s|also,?\s|but\s|and\s|do\s|always\s|just\s){0,3}"
    r"(?:note|remember|recall|notice|observe|keep\sin\smind|bear\sin\smind|be\s(?:also\s)?aware"
    r"|(?:do\snot|don(?:'|’)t|never)\sforget)"
)
_SAY = (
    r"(?:say|tell|report|inform|announce|confirm|share|note|add|advise|clarify|state|explain|admit"
    r"|mention|stress|emphasi[sz]e|assure|point\sout|let\syou\sknow)(?:\s(?:you|everyone|with\syou))?"
)
_I_AM = r"(?:i|we)(?:(?:'|’)(?:m|re)|\s(?:am|are))\s(?:very\s|really\s|so\s|truly\s|deeply\s)?"
# "I'm sorry to say that", "I'm afraid", "I can confirm that", "As an AI, I know that".
_COURTESY = rf"""(?:(?:sure|certainly|yes|of\scourse|absolutely|unfortunately|sadly)[,!.]\s)?(?:
      {_I_AM}(?:sorry|afraid|happy|glad|pleased|delighted|sad|proud|thrilled|excited|relieved)
        \s(?:to|that\si\shave\sto|i\scan)\s(?:also\s)?{_SAY}(?:\sthat|,|:)?\s(?!about\b|of\b|if\b|how\b|what\b)
    | {_I_AM}afraid\s(?:that\s)?(?!of\b|to\b|so\b|not\b)
    | (?:i|we)\s(?:deeply\s)?regret\sto\s{_SAY}(?:\sthat)?\s
    | (?:i|we)(?:\s(?:can|must|should|have\sto|want\sto|need\sto|would\slike\sto|will)
        |(?:'|’)(?:d\slike\sto|ll))
        \s(?:also\s|just\s|definitely\s|gladly\s)?{_SAY}\sthat\s
    | as\san?\s(?:ai|artificial\sintelligence|llm|(?:large\s)?language\smodel)\b[^,.]{{0,40}},\s
        (?:i\s(?:do\s)?(?:know|understand|believe\sin)\sthat\s
          |i\s(?:am|was)\s(?:aware|trained\sto\sknow)\sthat\s
          |i\s(?:can|must|should)\s{_SAY}\sthat\s
          |(?!(?:i|my|we|our)\b))
    )"""
_ANNOUNCEMENT = re.compile(
    rf"""(?:
      (?-i:A):\s(?=\S+\s)
    | (?:{_REMINDER}|consider|understand|know|mind|be\sadvised)
        (?:,\s(?:however|though|too|also),)?\sthat\s
    | (?:it(?:'|’|\si)s\s(?:also\s)?(?:important|worth|crucial|essential|interesting)\s
        (?:to\s(?:note|remember|mention|recognize|understand)|noting|mentioning|remembering)\sthat\s)
    | (?:important\s)?note:\s | (?:please\s)?note,\s
    | {_COURTESY}
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
    """Return a text without `Note that` and the like, or with them blanked."""
    match = _ANNOUNCEMENT.match(text) or _bare_announcement(text)
    if match is None or match.end() == len(text):
        return text
    rest = text[match.end() :]
    return " " * match.end() + rest if blank else capitalised(rest)


def _bare_announcement(text: str) -> re.Match[str] | None:
    match = _BARE_ANNOUNCEMENT.match(text)
    return match if match and has_main_verb(text[match.end() :][:_REACH]) else None


def without_tag(text: str) -> str:
    """Return a statement without its `, right?`: it is asserted all the same."""
    tag = _TAG.search(text, max(0, len(text) - 60))
    if tag is None or _ASKS.match(text) or not has_finite_verb(text[: tag.start()]):
        return text
    return f"{text[: tag.start()]}."


def capitalised(text: str) -> str:
    """Return `text` with its first letter in upper case, unless it looks like a name or code."""
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text
