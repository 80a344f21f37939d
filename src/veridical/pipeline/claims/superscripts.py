"""Raised numbers: a citation after a word or a stop, an exponent after a unit or a variable."""

from __future__ import annotations

import re

from veridical.pipeline.claims.lexicon import word_set

_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans(_DIGITS, "0123456789")
_TAGGED = r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,9}"
RAISED = (
    rf"<sup>\s?(?P<tagged>{_TAGGED})\s?</sup>"
    rf"|(?P<raised>[{_DIGITS}]{{1,3}}(?:[,⸴][{_DIGITS}]{{1,3}}){{0,9}})(?![{_DIGITS}⁺⁻])"
)
# Text before a mark: a word, perhaps in parentheses or emphasis, or a stop.
_CITED = re.compile(
    r"(?:(?<![^\W\d_])(?P<word>[^\W\d_]{3,}+)\)?|[^\W\d_][\"”’»)]{0,2}[.,;:!?]|[…。\"”»])[*_]{0,3}\Z"
)
_CITED_NUMBER = re.compile(r"\d[.,;:!?][*_]{0,3}\Z")
_MEASURES = word_set(
    "feet foot mile miles metre metres meter meters inch inches yard yards acre sec second seconds"
    " kilometre kilometres kilometer kilometers centimetre centimetres centimeter centimeters"
    " millimetre millimetres millimeter millimeters hectare hectares pixel pixels sin cos tan log"
    " exp alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron rho sigma tau"
    " upsilon phi chi psi omega"
)


def is_citation(before: str) -> bool:
    """Return whether a raised number behind `before` cites, and is no exponent."""
    if _CITED_NUMBER.search(before):
        return True
    match = _CITED.search(before)
    return bool(match) and (match["word"] or "").lower() not in _MEASURES  # type: ignore[index]


def numbers(content: str) -> str:
    """Return a raised list of numbers in ordinary digits and commas."""
    return content.translate(_PLAIN).replace("⸴", ",")
