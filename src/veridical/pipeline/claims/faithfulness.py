"""Faithfulness of a text model's claim to its place in the answer.

The check is lexical and strict: a model that takes an answer apart needs no new words. An accepted
claim is put together from words of one sentence, in their order, with names from the text before it
in place of pronouns; the rules put rejected claims back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veridical.core.fact_tokens import figure, negates, words
from veridical.core.text import normalise
from veridical.pipeline.claims.lexicon import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    REPORTING,
    SUBORDINATORS,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_CONDITIONS = word_set("if unless whether assuming provided suppose")
_QUALIFIERS = word_set(
    "all every each any some most only always usually often sometimes rarely mostly generally"
    " typically largely partly about around nearly almost approximately roughly up over under least"
    " may might could would should must can likely probably possibly perhaps maybe reportedly"
    " allegedly apparently presumably supposedly potentially"
)
_GRAMMAR = (
    (
        AUXILIARIES
        | DETERMINERS
        | PRONOUNS
        | PREPOSITIONS
        | SUBORDINATORS
        | word_set(
            "be been being am and or but nor yet also then thus hence too just even still however"
            " therefore moreover furthermore besides meanwhile instead likewise again both his her"
            " hers its him them themselves itself himself herself us me mine ours yours theirs s"
        )
    )
    - _QUALIFIERS
    - _CONDITIONS
)
_NOT = "!not"
_REACH = 3
"""Maximum distance in words between a negation or qualifier and a word in its scope."""
_ENDINGS = ("ing", "ed", "ly", "es", "s", "e")
_SHORTEST_STEM = 3


def facts(text: str) -> tuple[str, ...]:
    """Return the comparison form of a text: its words but for function words, in order.

    Words without their endings, numbers, dates and units by value, any negation as one sign.
    """
    found = (_fact(word.text) for word in words(normalise(text).text))
    return tuple(fact for fact in found if fact)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Facts of a sentence, and of the text before it."""

    sentence: frozenset[str] = field(repr=False)
    before: frozenset[str] = field(repr=False)

    def has(self, fact: str) -> bool:
        """Return whether a claim of the sentence may have it: numbers only from the sentence."""
        return fact in self.sentence or (fact in self.before and not _is_critical(fact))


def is_faithful(claim: str, quote: str, vocabulary: Vocabulary) -> bool:
    """Return whether a claim says no more, and nothing else, than the `quote` of its sentence.

    Its words are in the sentence, most of them in the quote and these in the quote's order; only
    words that are no number, negation or qualifier may come from the text before. It leaves out no
    negation, qualifier, condition or reporting verb of the repeated part.
    """
    said, quoted = facts(claim), facts(quote)
    if not any(fact != _NOT for fact in said):
        return False
    if not all(map(vocabulary.has, said)):
        return False
    if 2 * sum(fact in quoted for fact in said) < len(said):
        return False
    return _in_order(said, quoted) and not _drops_a_governor(said, quoted)


def lacks(text: str, claims: Collection[str]) -> bool:
    """Return whether a text has anything that none of the claims has."""
    said = frozenset(fact for claim in claims for fact in facts(claim))
    return not said.issuperset(facts(text))


def _fact(word: str) -> str:
    if negates(word):
        return _NOT
    if value := figure(word):
        return f"#{value}"
    if word in _QUALIFIERS or word in _CONDITIONS or word in REPORTING:
        return f"~{word}"
    return "" if word in _GRAMMAR else _stem(word)


def _stem(word: str) -> str:
    word = word.partition("'")[0]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _is_critical(fact: str) -> bool:
    return fact[0] in "!#~"


def _in_order(said: Sequence[str], quoted: Sequence[str]) -> bool:
    """Return whether the words of the quote that a claim has are in it in the quote's order."""
    shared = (Counter(said) & Counter(quoted)).total()
    return _common(said, quoted) == shared


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for fact in first:
        diagonal = 0
        for index, other in enumerate(second, 1):
            above = row[index]
            row[index] = diagonal + 1 if fact == other else max(above, row[index - 1])
            diagonal = above
    return row[-1]


def _drops_a_governor(said: Sequence[str], quoted: Sequence[str]) -> bool:
    """Return whether a claim repeats a governed phrase of the quote without its governor."""
    missing = Counter(quoted) - Counter(said)
    for index, fact in enumerate(quoted):
        if fact not in missing or fact[0] not in "!~":
            continue
        far = fact[1:] in _CONDITIONS or fact[1:] in REPORTING
        governed = quoted[index + 1 :] if far else quoted[index + 1 : index + 1 + _REACH]
        if any(each in said for each in governed):
            return True
    return False
