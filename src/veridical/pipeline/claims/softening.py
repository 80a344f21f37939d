"""The claim with its strong quantifier, frequency or certainty word softened."""

from __future__ import annotations

import re

_NOT = r"(?<!\b[Nn]ot )(?<!n't )(?<!n’t )"
_NOT_NOUN = r"(?<!\b[Tt]he )(?<!\b[Hh]is )(?<!\b[Hh]er )(?<!\b[Aa] )(?<!\b[Tt]heir )(?<!\b[Ff]ree )(?<!\b[Gg]ood )(?<!\b[Oo]f )"
# Not "proves fatal" or "proved to be".
_THAT = r"(?= (?:conclusively |definitively )?(?:that|the|an?|how|why|its|his|their)\b)"
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (_NOT + r"\b(a)ll of\b", "some of"),
        (
            _NOT
            + r"(?<!\b[Aa]t )(?<!\b[Aa]fter )(?<!\b[Aa]bove )(?<!\b[Oo]f )(?<!\b[Ii]n )(?<!\b[Ff]or )"
            r"\b(a)ll (?=the |its |their |his |her |our |these |those |\d)",
            "some of ",
        ),
        (
            _NOT
            + r"(?<!\b[Aa]t )(?<!\b[Aa]fter )(?<!\b[Aa]bove )(?<!\b[Oo]f )(?<!\b[Ii]n )(?<!\b[Ff]or )(?<!\b[Tt]hey )"
            r"(?<!\b[Ww]e )(?<!\b[Tt]hem )(?<!\b[Ii]t )(?<!\b[Uu]s )(?<!\b(?:is) )"
            r"\b(a)ll (?=[a-zA-Z]{3,})(?!two|three|four|five|six|seven|eight|nine|ten|that|over"
            r"|along|about|day|night|year|year-round)",
            "some ",
        ),
        (
            _NOT
            + r"\b(e)very (?!(?:two|three|four|five|six|ten|few|time|day|week|month|year|hour|second|minute|other)\b|\d)",
            "some ",
        ),
        (_NOT + r"\b(e)very(?=one\b|body\b|thing\b)", "some"),
        (r"\b(e)ach of\b", "some of"),
        (r"(?<!\b[Oo]f )\b(e)ach (?!other\b|year\b|day\b|week\b|month\b|time\b)(?=[a-z])", "some "),
        (_NOT + r"(?<!\b[Aa]s )\b(a)lways\b", "sometimes"),
        (r"\bproves" + _THAT, "suggests"),
        (r"\bproved" + _THAT, "suggested"),
        (r"\bproven\b(?= to\b| that\b)", "suggested"),
        (r"\bprove" + _THAT, "suggest"),
        (_NOT + r"\b(definitely|[Cc]ertainly|[Uu]ndoubtedly)\b", "possibly"),
        (r"\bwon['’]t\b", "may not"),
        (_NOT_NOUN + r"\bwill (?=[a-z])", "may "),
        (r"\bmust (?!not\b)(?=[a-z])", "may "),
        (r"\b(t)he only (?=\w+s\b)", "the "),
        (r"\b(t)he only (?=[aeiou])", "an "),
        (r"\b(t)he only (?=[a-z])", "a "),
        (_NOT + r"(?<!\b[Ii]f )\bonly (?!if\b|when\b|then\b|after\b|by\b|because\b)", ""),
    )
)
_OPENERS = re.compile(r"(?:All|Every|Each|Always|Only|The only|Definitely|Certainly|Undoubtedly)")
_QUOTED = re.compile(r"(\"[^\"]{0,400}\"|“[^”]{0,400}”)")


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
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
