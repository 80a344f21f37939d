"""Headings, bold lines and lead-ins that assert something: `It collapsed in 2001`, `Total: $5`."""

from __future__ import annotations

import re

from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    INTRANSITIVE_PAST,
    PAST,
    PREPOSITIONS,
    PRESENT,
    PRONOUNS,
    SUBORDINATORS,
    is_regular_past,
    word_set,
    words,
)

_MIN_CONTENT_WORDS = 4
_NUMBERING = re.compile(r"^\d{1,2}(?:(?:\.\d{1,2}){0,5}[.):]|(?:\.\d{1,2}){1,5})\s+")
# A title may name a question: "How the bridge was built", "Overview of what is known".
_INDIRECT = re.compile(
    r"(?:^|\b(?:of|to|on|about|for|into|with|from|and|\w{2,20}ing)\s+)"
    r"(?:what|how|why|when|where|who|whether|which)\b",
    re.IGNORECASE,
)
# Names rather than verbs when they start with a capital.
_NAMES = word_set("may will can might must")
# Third-person forms that are nouns as often: "Key features of Python 3".
_NOUN_LIKE = word_set(
    "accounts appeals attracts calls causes claims controls covers displays exports features finds"
    " flows follows forms hosts houses imports increases leads leaves lists lives looks"
    " measures means moves needs notes offers plays ranks reaches reports returns rises runs shares"
    " shows spreads starts states stays supports takes turns uses works yields estimates retries"
)
# Endings of nouns that have no plural in mind: "Smoking causes cancer", "Key causes explained".
_MASS_NOUN = re.compile(r"(?:.ing|[ts]ion|ism|ity|ness|ment|ance|ence|ine|cohol|acco|ise)$")
# Participles that rarely are the verb of a title: "Lessons learned in 2001".
_PARTICIPLES = word_set("based related needed required used learned involved compared made held")
_FUNCTION_WORDS = (
    AUXILIARIES
    | DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | SUBORDINATORS
    | {"and", "or", "but", "not"}
)
# Phrases that only announce: "are as follows", "has the following 3 features".
_ANNOUNCES = re.compile(
    r"(?:(?:(?:^|\s)(?:is|are|was|were|as|here|below|includes?|included|contains?|supports?|offers?"
    r"|provides?|follows|has|have|that|by|to|for|of))+"
    r"|(?:\s(?:is|are|was|were|has|have|includes?|contains?|supports?|offers?|provides?))?"
    r"(?:^|\s)(?:\d{1,3}|the|these|some|several|many|two"
    r"|three|four|five|six|seven|eight|nine|ten|a few)"
    r"(?:\s[\w-]{1,30}){0,2}\s(?:following|these|points?|reasons?|steps?|things?|ways?|details?"
    r"|examples?|takeaways?|summary|highlights?|considerations?|options?|topics?|findings?"
    r"|factors?|aspects?|features?)(?:\s[\w-]{1,30}){0,4})$",
    re.IGNORECASE,
)
# Distance before the colon in which such a phrase is searched.
_REACH = 300


_KEY_VALUE = re.compile(r"(?P<key>[^\W\d_][^:;.!?]{0,60}):\s+(?P<value>\S.*)$")
# Labels that number a part of a text, "Part 2: Methods", or address one, "Tip for cooks: ...",
# rather than naming a property, "Unit price: $5".
_STRUCTURAL = re.compile(
    r"(?:step|part|chapter|section|phase|stage|figure|fig|table|appendix|option|example|case|lesson"
    r"|unit|module|topic|question|point|day|week|tip|note|q|problem|task|exercise|method|reason)\b"
    r"(?:\s*$|\s*[^\w\s]|\s+(?:\d|(?:[a-z]|[ivx]+|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|for|to|on|about|from)\b))",
    re.IGNORECASE,
)
# Words of titles: a title with one names a section and states nothing.
_TITLE_WORD = re.compile(
    r"\b(?:overview|introduction|intro|summary|background|details?|explanations?|analysis|answers?"
    r"|discussions?|examples?|results?|methods?|conclusions?|guide|steps?|features?|benefits?"
    r"|history|points?|findings?|notes?|references?|sources?|context|questions?|responses?|tips?"
    r"|recommendations?|considerations?|limitations?|approach|comparison|contents?|basics"
    r"|takeaways?|insights?|reasons?|causes?|effects?|definitions?|update|report|list)\b",
    re.IGNORECASE,
)
_MAX_ANSWER_WORDS = 8


def asserts(text: str) -> bool:
    """Return whether a title has a finite verb and enough content to be true or false."""
    body = _NUMBERING.sub("", text, count=1)
    body = without_question(body)
    found = words(body)
    verbs = [index for index in range(1, len(found)) if _is_verb(found, index)]
    # "Smoking causes cancer" asserts, "Key causes explained" does not.
    goes_on = any(index + 1 < len(found) for index in verbs)
    return bool(verbs) and _has_content(
        body, _MIN_CONTENT_WORDS - 1 if goes_on else _MIN_CONTENT_WORDS
    )


def states_value(text: str, *, bold: bool) -> bool:
    """Return whether a title gives a property its value: `Dosage: 5000 mg`.

    In a heading the value is a figure; in a bold line it may be a word, such as a name.
    """
    pair = _KEY_VALUE.match(_NUMBERING.sub("", text, count=1))
    if pair is None or _STRUCTURAL.match(pair["key"]) or _TITLE_WORD.search(text):
        return False
    has_figure = any(character.isdigit() for character in pair["value"])
    return has_figure or (bold and len(words(pair["value"])) <= _MAX_ANSWER_WORDS)


def may_answer(text: str) -> bool:
    """Return whether a bold line may be the whole answer to a question: `Paris`, `12 %`."""
    is_short = 0 < len(words(text)) <= _MAX_ANSWER_WORDS
    return is_short and not _TITLE_WORD.search(text) and not text.endswith((":", "："))


def without_question(title: str) -> str:
    """Return a title up to the question that it names, if it has one."""
    question = _INDIRECT.search(title)
    if question is None or "," in title[question.end() :]:
        return title
    return title[: question.start()]


def announces_only(lead_in: str) -> bool:
    """Return whether a lead-in, without its colon, asserts nothing but that something follows."""
    head, tail = lead_in[:-_REACH], lead_in[-_REACH:]
    return not asserts(head + _ANNOUNCES.sub("", tail))


def has_main_verb(text: str, *, participles: bool = True) -> bool:
    """Return whether a listed verb follows a word and does not look like a noun or a participle.

    Without `participles`, a form that may be one counts only before an object: `found no effect`.
    """
    found = words(text)
    return any(
        _is_verb(found, index) and (participles or not _may_be_participle(found, index))
        for index in range(1, len(found))
    )


def _may_be_participle(found: list[str], index: int) -> bool:
    word = found[index].lower()
    after = found[index + 1].lower() if index + 1 < len(found) else ""
    has_object = after in DETERMINERS or after[:1].isdigit()
    is_past = word in AMBIGUOUS_PAST or is_regular_past(word)
    return is_past and word not in INTRANSITIVE_PAST and not has_object


def _is_verb(found: list[str], index: int) -> bool:
    word = found[index].lower()
    if word in AUXILIARIES | PAST:
        return found[index][0].islower() or word not in _NAMES
    if word in PRESENT and word not in _NOUN_LIKE:
        return True
    if word in FINITE | AMBIGUOUS_PAST or is_regular_past(word):
        return _governs(found, index)
    return False


def _governs(found: list[str], index: int) -> bool:
    """Return whether the words around a possible noun or participle make it a verb."""
    word, before = found[index].lower(), found[index - 1].lower()
    after = found[index + 1].lower() if index + 1 < len(found) else ""
    if before in PRONOUNS - DETERMINERS or after in DETERMINERS or after[:1].isdigit():
        return before not in DETERMINERS
    if word in _NOUN_LIKE and _takes_object(found, index):
        return True
    if word in _NOUN_LIKE | _PARTICIPLES or before in DETERMINERS | PREPOSITIONS or after == "by":
        return False
    return found[index][0].islower() or after in PREPOSITIONS


def _takes_object(found: list[str], index: int) -> bool:
    """Return whether a word like `causes` stands between a mass noun and a thing in lower case."""
    subject, after = found[index - 1], found[index + 1 : index + 2]
    return (
        found[index][0].islower()
        and bool(_MASS_NOUN.search(subject))
        and bool(after)
        and after[0][0].islower()
        and after[0] not in _FUNCTION_WORDS
        and not is_regular_past(after[0])
    )


def _has_content(text: str, at_least: int) -> bool:
    found = words(text)
    content = [word for word in found if word.lower() not in _FUNCTION_WORDS]
    return (
        any(word[0].isdigit() for word in found)
        or any(word[0].isupper() and word != "I" for word in found[1:])
        or len(content) >= at_least
    )
