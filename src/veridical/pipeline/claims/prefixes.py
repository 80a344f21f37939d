"""Openings that announce an assertion and are no part of it."""

from __future__ import annotations

import re

_ANNOUNCEMENT = re.compile(
    r"""(?:
      A:\s(?=\S+\s)
    | (?:please\s|also,?\s)?(?:note|remember|recall|notice|be\saware|keep\sin\smind
        |bear\sin\smind)\sthat\s
    | (?:it(?:'|’|\si)s\s(?:also\s)?(?:important|worth|crucial|essential|interesting)\s
        (?:to\s(?:note|remember|mention|recognize|understand)|noting|mentioning|remembering)\sthat\s)
    | (?:important\s)?note:\s | (?:please\s)?note,\s
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def without_announcement(text: str, *, blank: bool = False) -> str:
    """Drop `Note that` and its like, or blank it: what it announces is the assertion."""
    match = _ANNOUNCEMENT.match(text)
    if match is None or match.end() == len(text):
        return text
    rest = text[match.end() :]
    return " " * match.end() + rest if blank else capitalised(rest)


def capitalised(text: str) -> str:
    """Return `text` with its first letter in upper case, unless it looks like a name or code."""
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text
