"""Shallow syntactic analysis of a sentence: words, protected spans, subject and finite verb."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.types import Span
from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    INTRANSITIVE_PAST,
    PAST,
    PERSONAL,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    is_regular_past,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.pipeline.claims.citations import CitationMark

_MAX_SUBJECT = 9
ADVERBS = word_set(
    "then also later now still today eventually once soon often usually currently formerly"
    " originally previously subsequently thus hence therefore however meanwhile instead otherwise"
    " never always sometimes finally first second yesterday tomorrow already even just only not"
    " nor so yet please"
)
_CLAUSE_PRONOUNS = word_set("it they he she we i there")
_POSSESSIVES = word_set("its their his her our your my")
_TOKEN = re.compile(r"\w[\w'’.-]*\w|\w|[,:;–—]")
_PROTECTED = re.compile(
    r"\"[^\"]{0,400}\"|“[^”]{0,400}”|«[^»]{0,400}»|`[^`]{0,400}`|\([^()]{0,400}\)"
    r"|\[[^\[\]]{0,400}\]|\{[^{}]{0,400}\}"
)
_MARKUP = re.compile(r"[*`]")


class Token(NamedTuple):
    """A word or a separating punctuation mark of a sentence.

    `word` is in lower case; it is empty in a protected stretch, so that no word list matches.
    """

    text: str
    start: int
    end: int
    word: str
    protected: bool

    def __repr__(self) -> str:
        return f"Token({self.start}..{self.end})"  # a repr ends up in logs, where no text belongs

    @property
    def span(self) -> Span:
        """Stretch of the sentence."""
        return Span(self.start, self.end)

    @property
    def capitalised(self) -> bool:
        """True if it starts like a name or a number."""
        return self.text[0].isupper() or self.text[0].isdigit()


def mask_marks(prose: str, marks: Sequence[CitationMark]) -> str:
    """Mask citation marks, and of links everything but their words, with NULs."""
    pieces: list[str] = []
    done = 0
    for mark in marks:
        whole = mark.span.of(prose)
        at = whole.find(mark.words) if mark.words else -1
        blank = "\0" * len(whole)
        if at >= 0:
            blank = "\0" * at + mark.words + "\0" * (len(whole) - at - len(mark.words))
        pieces += [prose[done : mark.span.start], blank]
        done = mark.span.end
    return "".join([*pieces, prose[done:]])


def protected_spans(masked: str) -> list[Span]:
    """Return quotations, parentheses and code: nothing is split in them."""
    return [Span(*match.span()) for match in _PROTECTED.finditer(masked)]


def tokens_of(masked: str, span: Span, protected: Sequence[Span]) -> list[Token]:
    """Return the words and separators of `masked` within `span`; `protected` is in order."""
    found: list[Token] = []
    index = 0
    for match in _TOKEN.finditer(masked, span.start, span.end):
        text, (start, end) = match[0], match.span()
        while index < len(protected) and protected[index].end <= start:
            index += 1
        is_protected = index < len(protected) and protected[index].start < end
        word = "" if is_protected else text.lower().replace("’", "'")
        found.append(Token(text, start, end, word, is_protected))
    return found


def finite_verb(tokens: Sequence[Token]) -> int | None:
    """Return the index of the finite verb that follows a subject at the start; None if unsure."""
    index = _verb_of_subject(tokens, _is_verb)
    return index if index is not None and index + 1 < len(tokens) else None


def clause_verb(tokens: Sequence[Token]) -> int | None:
    """Return the index of the finite verb of a clause, whatever its subject; None if unsure.

    Unlike `finite_verb`, the verb may be the last word, and a possessive may open the subject.
    """
    if len(tokens) > 1 and tokens[0].word in _CLAUSE_PRONOUNS:
        # Behind "they" a past form is no participle.
        return 1 if _is_finite(tokens, 1) or is_past(tokens[1].word) else None
    owned = bool(tokens) and tokens[0].word in _POSSESSIVES
    return _verb_of_subject(tokens, _is_finite, opening=int(owned))


def _verb_of_subject(
    tokens: Sequence[Token], is_verb: Callable[[Sequence[Token], int], bool], opening: int = 0
) -> int | None:
    """Return the index of the first verb behind a subject whose first noun may be `opening`."""
    if len(tokens) <= opening or not _opens_subject(tokens[opening]):
        return None
    for index in range(opening + 1, min(len(tokens), opening + _MAX_SUBJECT)):
        word = tokens[index].word
        if tokens[index].text in ",:;–—" or word in SUBORDINATORS or word in PERSONAL:
            return None
        if is_verb(tokens, index):
            return None if tokens[index - 1].word in {"and", "or", "but"} else index
    return None


def _is_finite(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a word is a verb in the past or present, with or without an object."""
    if _is_verb(tokens, index) or _measures(tokens, index):
        return True
    token, rest = tokens[index], tokens[index + 1 :]
    if not is_past(token.word) or token.text[0].isupper():
        return False
    # "The man injured in Paris ... were": a participle, if a surer verb follows.
    if any(each.word in AUXILIARIES or each.word in PAST for each in rest):
        return False
    named = all(each.capitalised for each in tokens[:index])
    if not rest:
        return named or token.word in INTRANSITIVE_PAST or token.word in {"won", "lost"}
    return _is_past_form(tokens, index, named=named)


def _is_past_form(tokens: Sequence[Token], index: int, *, named: bool) -> bool:
    """Return whether a past form with words after it is no participle."""
    after = tokens[index + 1]
    if tokens[index].word in INTRANSITIVE_PAST and after.word in PREPOSITIONS | ADVERBS:
        return tokens[index - 1].word not in DETERMINERS  # "the failed"
    if after.word not in PREPOSITIONS:
        return named or tokens[0].word in DETERMINERS
    # "rose by 5", but not "a woman jailed for theft"
    return (named and after.word != "by") or any(
        each.text[0].isdigit() for each in tokens[index + 2 : index + 3]
    )


def _measures(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a word is the verb of `The plan costs 5 dollars`."""
    after = tokens[index + 1 : index + 2]
    named = all(each.capitalised for each in tokens[:index])
    return (
        (named or (index > 1 and tokens[0].word in DETERMINERS))
        and tokens[index].text.islower()
        and tokens[index].word.endswith("s")
        and tokens[index - 1].text.isalpha()
        and tokens[index - 1].word not in DETERMINERS | PREPOSITIONS
        and bool(after)
        and after[0].text[0].isdigit()
    )


def is_past(word: str) -> bool:
    """Return whether a lower-case word looks like a past form, one that may be a participle too."""
    return word in PAST or word in AMBIGUOUS_PAST or is_regular_past(word)


def _opens_subject(token: Token) -> bool:
    word = token.word
    return bool(word) and not (
        word in PREPOSITIONS
        or word in SUBORDINATORS
        or word in PRONOUNS
        or word in ADVERBS
        or word in _POSSESSIVES
        or word in FINITE
        or word.endswith(("ly", "ing"))
    )


def _is_verb(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    if token.word in AUXILIARIES or token.word in PAST:
        return not token.text[0].isupper()
    named = tokens[0].word in DETERMINERS or tokens[0].capitalised
    if token.word in FINITE:
        return named and not token.text[0].isupper()
    if token.word in AMBIGUOUS_PAST or is_regular_past(token.word):
        return named and not token.text[0].isupper() and _has_object(tokens, index)
    return False


def _has_object(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the words after an -ed form show that it is no participle."""
    if index + 1 >= len(tokens):
        return False
    after = tokens[index + 1]
    named_subject = all(token.capitalised for token in tokens[:index])
    return after.word in DETERMINERS or after.capitalised or (named_subject and after.word != "by")
