"""Resolution of pronouns and noun phrases (`It`, `This plan`) to names, where it is certain.

It is certain if the sentence before, in the same paragraph, has one candidate: its subject, with no
other thing of the same number in it. Else the words stay: a wrong name is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from veridical.core.cancellation import checkpoint
from veridical.core.types import Span
from veridical.pipeline.claims.lexicon import (
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    word_set,
    words,
)
from veridical.pipeline.claims.softening import soften
from veridical.pipeline.claims.syntax import ADVERBS, clause_verb, protected_spans, tokens_of
from veridical.pipeline.claims.vagueness import is_vague

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.core.types import Claim, ClaimSet
    from veridical.pipeline.claims.syntax import Token

_POINTER = re.compile(r"(?P<word>It|They|He|She|Its|Their|His|Her)(?P<short>['’]s|['’]re)?(?= \w)")
_DEMONSTRATIVE = re.compile(r"(?:This|These|That|Those) (?P<noun>[a-z]{3,})(?= \w)")
# "It is clear that", "It took two years to", "It rained": nothing that came before is meant.
_EXPLETIVE = re.compile(
    r"It(?:['’]s| is| was| will be| would be| has been| remains| became)"
    r" (?:(?:\w+ ){0,4}(?:that|to|whether|how|why|who|which|when|if)\b|(?:in|on|at|during|only"
    r"|not|worth|raining|snowing|cold|hot|dark|late|early|time|\d)\b)"
    r"|It (?:seems|appears|turns|follows|takes|took|rain|snow|happen|depends|looks|feels"
    r"|costs? \w+ \w+ to)"
)
_MAX_SUBJECT = 6
_MAX_LENGTH = 600
_PLURAL_VERBS = word_set("are were have do")
_SINGULAR_VERBS = word_set("is was has does")
_COPULAS = word_set("is are was were became remains remained")
_SINGULAR_DETERMINERS = word_set(
    "a an the this that its his her their our my your each every one another"
)
_JOINING = word_set("and but or which who that")
_POINTING = word_set("this that these those its their his her")
_OF_PERSONS = word_set("he she his her")
_OF_MANY = word_set("they their")
_PRONOUN_WORDS = PRONOUNS | word_set("its their his her him them who")


def with_known_names(claims: ClaimSet, sources: Iterable[str]) -> ClaimSet:
    """Return the claims, read with a name only if a source has it: else it would oppose none."""
    if all(claim.read_as is None for claim in claims.claims):
        return claims
    texts = [text.lower() for text in sources]

    @cache
    def having(name: str) -> frozenset[int]:
        checkpoint()
        return frozenset(i for i, text in enumerate(texts) if name in text)

    def is_known(claim: Claim) -> bool:
        own = frozenset(words(claim.text.lower()))
        names = [w for w in words(claim.as_read.lower().replace("'s", "")) if w not in own]
        return not names or bool(frozenset.intersection(*map(having, names)))

    return replace(
        claims,
        claims=tuple(
            claim if claim.read_as is None or is_known(claim) else _as_written(claim)
            for claim in claims.claims
        ),
    )


def _as_written(claim: Claim) -> Claim:
    return replace(claim, read_as=None, weaker=soften(claim.text))


def resolve(text: str, before: str) -> str | None:
    """Return a sentence with the name in place of the word that points back; None if unsure.

    `before` is the sentence before it, in which such words are replaced already.
    """
    if not before or len(before) > _MAX_LENGTH or is_vague(text) or _EXPLETIVE.match(text):
        return None
    if noun := _DEMONSTRATIVE.match(text):
        named = _named_before(noun["noun"], before)
        return f"{_capital(named)}{text[noun.end() :]}" if named else None
    pointer = _POINTER.match(text)
    if pointer is None:
        return None
    name = _antecedent(pointer["word"].lower(), before)
    return _replaced(text, pointer, name) if name else None


def _replaced(text: str, pointer: re.Match[str], name: str) -> str:
    rest = text[pointer.end() :]
    if pointer["short"]:
        return f"{_capital(name)} {'are' if pointer['short'].endswith('re') else 'is'}{rest}"
    if pointer["word"] in {"Its", "Their", "His", "Her"}:
        name += "’" if name.endswith("s") and "’" in text else "'" if name.endswith("s") else "'s"
    return f"{_capital(name)}{rest}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _named_before(noun: str, before: str) -> str | None:
    """Return the one thing of a kind that the sentence before names: `the Gold plan`."""
    found = re.findall(rf"\b{noun}\b", before, re.IGNORECASE)
    named = re.search(rf"\b(?:[Tt]he|[Aa]n?|[Oo]ur|[Ii]ts) ((?:[\w-]+ ){{1,3}}){noun}\b", before)
    if len(found) != 1 or named is None:
        return None
    if any(
        word in PREPOSITIONS | SUBORDINATORS | _PRONOUN_WORDS for word in named[1].lower().split()
    ):
        return None
    return f"the {named[1]}{noun}"


def _antecedent(pointer: str, before: str) -> str | None:
    """Return the subject of the sentence before, if `pointer` can mean nothing else in it."""
    tokens = tokens_of(before, Span(0, len(before)), protected_spans(before))
    verb = clause_verb(tokens)
    if verb is None:
        return None
    subject, rest = list(tokens[:verb]), tokens[verb:]
    while len(subject) > 1 and (subject[-1].word in ADVERBS or subject[-1].word.endswith("ly")):
        subject.pop()
    person, plural = pointer in _OF_PERSONS, pointer in _OF_MANY
    if not _is_name(subject, person=person) or _is_plural(subject, rest[0]) is not plural:
        return None
    if _has_rival(rest, plural=plural, person=person):
        return None
    return before[subject[0].span.start : subject[-1].span.end]


def _is_name(subject: Sequence[Token], *, person: bool) -> bool:
    """Return whether a subject is a name on its own; a person has a name of two words.

    The first word of a sentence has a capital anyway, so that one word tells nothing.
    """
    if not 0 < len(subject) <= _MAX_SUBJECT or subject[0].word in _POINTING:
        return False
    if any(token.word in _PRONOUN_WORDS - DETERMINERS or token.protected for token in subject):
        return False
    return not person or (len(subject) > 1 and all(token.capitalised for token in subject))


def _is_plural(subject: Sequence[Token], verb: Token) -> bool | None:
    """Return whether a subject is plural, by its verb, else by its words; None if they differ."""
    head = next(
        (subject[i - 1] for i, t in enumerate(subject) if i and t.word in PREPOSITIONS), subject[-1]
    )
    by_word = any(t.word == "and" for t in subject) or (
        head.word.endswith("s")
        and not head.word.endswith(("ss", "us", "is"))
        and not head.capitalised
    )
    if verb.word in _PLURAL_VERBS:
        return True
    if verb.word in _SINGULAR_VERBS:
        return False
    is_open = head.capitalised and head.word.endswith("s")
    return None if is_open else by_word


def _has_rival(rest: Sequence[Token], *, plural: bool, person: bool) -> bool:
    """Return whether the text after the subject names another possible antecedent.

    The complement of a copula is the subject itself, but for a name: "The choice is the Acme". A
    place or a time is no rival.
    """
    adjunct = rest[0].word in _COPULAS
    if adjunct and any(token.word == "the" or token.text[0].isupper() for token in rest[1:2]):
        return True
    for token in rest[1:]:
        if token.word in PREPOSITIONS:
            adjunct = token.word not in {"with", "by", "of", "like", "than"}
        elif token.word in _JOINING or token.text in ",;:":
            adjunct = False
        elif not adjunct and _may_be_meant(token, plural=plural, person=person):
            return True
    return False


def _may_be_meant(token: Token, *, plural: bool, person: bool) -> bool:
    """Return whether a word opens, or is, a thing of the number in question."""
    if token.text[0].isupper():
        return True
    if plural:
        return token.word.endswith("s") and not token.word.endswith("ss")
    return token.word in _SINGULAR_DETERMINERS and not person
