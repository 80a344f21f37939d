"""Stated confidence of the answer in a claim."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from veridical.core.types import Confidence
from veridical.pipeline.claims.lexicon import has_any

_FIGURE = r"(?P<figure>\d{1,3}(?:[.,]\d+)?|\.\d+)\s?(?P<percent>%|percent\b|per cent\b)?"
_STATISTICS = r"(?!\s+(?:interval|level|limit|band|region|bound|set|range|CI))"
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:I\s?(?:am|'m|’m|feel)|we\s?(?:are|'re|’re|feel))\s++"
        r"(?:(?:about|around|roughly|only|at least|approximately|nearly|over)\s*+)?"
        + _FIGURE
        + r"\s+(?:sure|certain|confident)\b"
        r"(?:\s+(?:that|of|in)\b)?",
        r"^\s*" + _FIGURE + r"\s+(?:sure|certain|confident)\b\s*(?:that\b|[:,])",
        r"[(\[]\s*(?:(?:my|overall|stated)\s+)?confidence(?:\s+(?:level|score))?\s*+(?:(?:[:=]|is|of)\s*+)?"
        + _FIGURE
        + r"(?P<scale>\s*/\s*10{1,2})?\s*[)\]]",
        r"[(\[]\s*" + _FIGURE + r"\s+(?:confidence|confident|sure|certain|certainty)\s*[)\]]",
        r"(?:^|[,;.–—-]\s*)confidence(?:\s+(?:level|score))?\s*[:=]\s*"
        + _FIGURE
        + r"(?P<scale>\s*/\s*10{1,2})?\s*+(?=[.,;]?\s*$)",
        r"(?:^|,\s*)with\s+(?:an?\s+)?"
        + _FIGURE
        + r"\s+(?:confidence|certainty)\b"
        + _STATISTICS
        + r"\s*,?",
        r"\bwith\s+(?:an?\s+)?" + _FIGURE + r"\s+(?:confidence|certainty)\s*+(?=[.;]?\s*$)",
    )
)
# Certainty words; the first that matches decides, so the compounds come first.
_INFERRED = tuple(
    (re.compile(pattern, re.IGNORECASE), value)
    for pattern, value in (
        (r"\b(?:confidence:?\s+high|high\s+confidence)\b", 0.9),
        (r"\b(?:confidence:?\s+(?:medium|moderate)|(?:medium|moderate)\s+confidence)\b", 0.6),
        (r"\b(?:confidence:?\s+low|low\s+confidence)\b", 0.3),
        (r"\balmost\s+(?:certainly|surely|definitely)\b", 0.95),
        (r"\b(?:definitely|certainly|undoubtedly|unquestionably|without\s+(?:a\s+)?doubt)\b", 0.98),
        (r"\b(?:very|highly|most|extremely)\s+(?:likely|probably)\b", 0.85),
        (r"\b(?:probably|likely)\b", 0.75),
        (r"\b(?:perhaps|maybe|possibly)\b", 0.5),
    )
)
# Every pattern above has one of these; most sentences have none and need no closer look.
_HINTS = (
    *("sure", "certain", "confiden", "definite", "undoubted", "unquestion", "doubt", "likely"),
    *("probabl", "perhaps", "maybe", "possibl"),
)
_NEGATED = re.compile(r"\b(?:not|n't|n’t|never|hardly|as|how|equally|more|less)\s+(?:\w+\s+)?$")
# "likely voters" says nothing about how sure the answer is.
_ATTRIBUTIVE = re.compile(
    r"\s+(?:voters?|causes?|outcomes?|candidates?|scenarios?|explanations?|buyers?|range)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """Confidence found in a text, and the text without the phrase that stated it."""

    confidence: Confidence | None
    rest: str = field(repr=False)


@lru_cache(maxsize=4)  # a sentence is asked for several times in a row
def find_confidence(text: str) -> Stated:
    """Return the stated confidence, else the one that certainty words imply, else None."""
    if not has_any(text, _HINTS):
        return Stated(None, text)
    for pattern in _STATED:
        match = pattern.search(text)
        value = _value(match) if match else None
        if match and value is not None:
            return Stated(Confidence(value, stated=True), _without(text, match))
    return Stated(_inferred(text), text)


def _without(text: str, match: re.Match[str]) -> str:
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
    joint = "" if after[:1] in ".,;:!?" else " "
    return f"{before}{joint}{after}".strip()


def _value(match: re.Match[str]) -> float | None:
    """Return the figure in [0, 1]; None for one that is no confidence, such as 150 %."""
    value = float(match["figure"].replace(",", "."))
    scale = match.groupdict().get("scale")
    if scale:
        value /= float(scale.strip(" /"))
    elif match["percent"] or value > 1:
        value /= 100
    return value if 0 <= value <= 1 else None


def _inferred(text: str) -> Confidence | None:
    for pattern, value in _INFERRED:
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - 20) : match.start()]
            if not _NEGATED.search(before) and not _ATTRIBUTIVE.match(text, match.end()):
                return Confidence(value)
    return None
