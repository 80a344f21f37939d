"""Rewording of claims by rules, and a check that a rewording keeps the facts.

English. The rules are few and conservative: a rewording with another meaning would be counted as
an inconsistency of the verifier.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import figure, negates, words
from veridical.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

_CITATION = re.compile(r"(?<!\s)\s*+\[[^\[\]\s]{1,40}\](?=[\s.,;:!?]|$)")
_LEAD_IN = re.compile(
    r"(?:the (?:text|source|document|report|evidence|passage|context) (?:says|states|shows|notes|"
    r"mentions|confirms) that|(?:according to|as stated in) the (?:text|source|document|report|"
    r"evidence|passage|context),|it is (?:true|the case) that)\s+(?=\S)",
    re.IGNORECASE,
)
_CONTRACTIONS = {
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "weren't": "were not",
    "doesn't": "does not", "don't": "do not", "didn't": "did not", "hasn't": "has not",
    "haven't": "have not", "hadn't": "had not", "can't": "cannot", "couldn't": "could not",
    "won't": "will not", "wouldn't": "would not", "shouldn't": "should not",
}  # fmt: skip
_EXPANSIONS = {long: short for short, long in _CONTRACTIONS.items()}
_SHORT = re.compile(rf"\b(?:{'|'.join(_CONTRACTIONS)})\b", re.IGNORECASE)
_LONG = re.compile(rf"\b(?:{'|'.join(_EXPANSIONS)})\b", re.IGNORECASE)
_DATE_WORD = (
    r"(?:the|early|late|mid|spring|summer|autumn|fall|winter|end|beginning|year|of|jan\w*|feb\w*"
    r"|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*|\d{1,2}(?:st|nd|rd|th)?)"
)
_TIME = rf"(?:in|on|by|since|during|after|before|until) (?:{_DATE_WORD},? ){{0,4}}(?:1\d|20)\d\d"
_FRONTED = re.compile(rf"(?P<when>{_TIME}),? (?P<rest>[^,]+?)(?P<end>[.!]?)", re.IGNORECASE)
_LAST = re.compile(rf"(?P<rest>[^,]+?) (?P<when>{_TIME})(?P<end>[.!]?)", re.IGNORECASE)
# With a second clause, or a second time, a time that is moved may belong to another verb.
_COMPLEX = re.compile(
    r"\b(?:that|which|who|whom|whose|where|when|while|because|although|though|if|unless|and|or|but"
    r"|said|says|to|than|as|not|no|only|from|between|until|since|before|after)\b|[;:()\d]|n't\b",
    re.IGNORECASE,
)
_FUNCTION_WORD = re.compile(
    r"(?:The|A|An|It|Its|This|That|These|Those|They|Their|There|He|She|His|Her|We|Our|I|You|Your|In"
    r"|On|By|Since|During|After|Before|Until|At|From|For|With|To|Of|As|Some|All|Each|Every|Most|Many"
    r"|Both|No|None|Not|Only|According)\b"
)
_NAME = re.compile(r"(?<=[^\W_] )[\"'(]?([A-Z][\w-]*)")


def rewordings(claim: str) -> list[str]:
    """Return rewordings of the claim by rules, without the claim itself, in a fixed order.

    Citations and lead-ins ("The text says that ...") are removed, contractions written out or
    made, a time moved between front and end, and "It is true that" put in front.
    """
    bare = _without_frills(claim)
    forms = [bare, *_contracted(bare), *_moved(bare), f"It is true that {_lowered(bare)}"]
    others = dict.fromkeys(form for form in forms if form != claim and form.strip())
    return [form for form in others if same_facts(claim, form)]


def _without_frills(claim: str) -> str:
    plain = _CITATION.sub("", claim).strip()
    lead_in = _LEAD_IN.match(plain)
    return _raised(plain[lead_in.end() :]) if lead_in else plain


def _contracted(text: str) -> Iterator[str]:
    if _SHORT.search(text):
        yield _SHORT.sub(lambda found: _CONTRACTIONS[found[0].lower()], text)
    if _LONG.search(text):
        yield _LONG.sub(lambda found: _EXPANSIONS[found[0].lower()], text)


def _moved(text: str) -> Iterator[str]:
    fronted, last = _FRONTED.fullmatch(text), _LAST.fullmatch(text)
    if fronted and not _COMPLEX.search(fronted["rest"]):
        when = fronted["when"][:1].lower() + fronted["when"][1:]
        yield f"{_raised(fronted['rest'])} {when}{fronted['end']}"
    elif last and not _COMPLEX.search(last["rest"]):
        yield f"{_raised(last['when'])}, {_lowered(last['rest'])}{last['end']}"


def _raised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    """Return a sentence for use inside another; a first word that may be a name is kept."""
    return text[:1].lower() + text[1:] if _FUNCTION_WORD.match(text) else text


def same_facts(claim: str, other: str) -> bool:
    """Return whether two wordings have the same numbers, names and number of negations.

    Numbers, dates and units must occur equally often in both, and every name of one in the other.
    The first word, unless it is a function word, may be a name and must occur in both.
    """
    first, second = _words(claim), _words(other)
    return (
        Counter(filter(None, map(figure, first))) == Counter(filter(None, map(figure, second)))
        and sum(map(negates, first)) == sum(map(negates, second))
        and _names(claim) <= frozenset(second)
        and _names(other) <= frozenset(first)
    )


def _words(text: str) -> list[str]:
    found = words(normalise(_CITATION.sub("", text)).text)
    return [word.text.removesuffix("'s") for word in found]


def _names(text: str) -> frozenset[str]:
    """Return the capitalised words, as the words of their normal form.

    The first word may be a name, too; only a function word is surely none.
    """
    plain = _CITATION.sub("", text).strip()
    names = [found[1] for found in _NAME.finditer(plain)]
    if not _FUNCTION_WORD.match(plain):
        names += plain.split(maxsplit=1)[:1]
    return frozenset(part for name in names for part in _words(name))
