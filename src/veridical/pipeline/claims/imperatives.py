"""Instructions: imperative sentences addressed to the reader."""

from __future__ import annotations

import re

from veridical.pipeline.claims.headings import has_main_verb
from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    PREPOSITIONS,
    RELATIVES,
    SUBORDINATORS,
    has_finite_verb,
    word_set,
)

# Base forms that are hardly ever nouns at the start of a sentence.
_VERBS = word_set(
    "add adjust allow analyze apply ask assess assign assume attach avoid be begin bring build"
    " calculate choose click collect combine compare complete compute configure confirm connect"
    " consider consult contact convert copy create define delete describe determine disable"
    " discuss download drag edit employ enable encourage ensure enter establish evaluate examine"
    " execute explain explore extract fill find follow gather generate get give go grab handle"
    " hold identify ignore imagine implement import include incorporate increase insert inspect"
    " install integrate keep launch learn leave let listen locate look maintain make manage mix"
    " modify monitor move navigate obtain open optimize organize paste perform pick place pour"
    " practice prepare press prevent prioritize proceed provide pull push put read recall reduce"
    " refer regenerate register remember remind remove rename repeat replace report require"
    " reset resolve restart retrieve return reveal review rewrite save scroll see seek select"
    " send serve share show simplify solve specify start stay stir store submit subtract suppose"
    " swap switch take talk tap tell think try turn understand uninstall unplug unzip"
    " update upgrade upload use utilize validate verify visit wait wash watch wear write"
)
# Base forms that are nouns or adjectives as often.
_NOUN_VERBS = word_set(
    "back call cause change charge check clean clear close cook cover cut document do double"
    " drain drive drop dry eat exit exercise export finish force form format guess heat help"
    " highlight leave limit link list load lock log mark match measure name note order pack pass"
    " pay plan play plug plot point post print process prompt query raise record release rest"
    " ring run scan schedule search set ship sign sort split step stick stop study support"
    " target test touch trace track train travel treat trust type view visit vote walk warm water"
    " weigh work wrap"
)
# Those of the first list that are nouns where a preposition follows: "Use in pregnancy".
_NOUNS = _NOUN_VERBS | word_set(
    "contact copy display download increase launch look move practice report return review share"
    " show start stay switch talk turn update upgrade upload use watch wear"
)
_QUOTES = "`\"“'‘"
_PARTICLES = word_set("up out off down")
_PRONOUNS = word_set("sure it them that me us")
_OBJECTS = _PRONOUNS | _PARTICLES | {"with"}

_POLITE = re.compile(
    r"(?i:please|kindly|let us|make sure|be sure)\b|(?i:do not|don(?:'|’)t|let(?:'|’)s) [a-z]"
)
_ADVICE_NOUN = re.compile(
    r"(?:always|never|then|next|now|also|simply|just|first|finally)\b,? ", re.IGNORECASE
)
_ADJUNCT = re.compile(
    r"(?:to|if|when|once|after|before|for|in|on|at|with|from|optionally|alternatively|first|firstly"
    r"|second|secondly|third|then|next|finally|lastly|also|instead|otherwise|afterwards|now"
    r"|step \d+)"
    r"\b[^,.;:]{0,100}[,:] ",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Z][\w /&-]{0,40}(?::| [–—-]) ")
_FIRST = re.compile(
    r"[\"“'(]?(?P<verb>[A-Za-z]+)(?:[,:]|\s+(?P<next>\S+)|$|[.!])(?P<rest>.*)", re.DOTALL
)
# The end of a subject, or of a command: a comma, or the start of another clause.
_OPENERS = SUBORDINATORS | RELATIVES | word_set("i you he she we they")
_CLAUSE_END = re.compile(rf"[,;:]|\b(?:{'|'.join(sorted(_OPENERS))})\b", re.IGNORECASE)


def is_instruction(text: str) -> bool:
    """Return whether a sentence tells its reader to do something."""
    body = text
    if adjunct := _ADJUNCT.match(body):
        body = body[adjunct.end() :]
    if adverb := _ADVICE_NOUN.match(body):
        body = body[adverb.end() :]
    if _POLITE.match(body):
        return True
    label = _LABEL.match(body)
    match = _FIRST.match(body[label.end() :] if label else body)
    # "Access: read only" is no command, "Setup: open the box" is one.
    if match is None or (label and not _is_object(match["next"])):
        return False
    return _is_imperative(match["verb"].lower(), match["next"], match["rest"])


def _is_object(following: str | None) -> bool:
    """Return whether a determiner, a pronoun or a quotation opens what the verb acts on."""
    if following is None:
        return False
    return following[0] in _QUOTES or _bare(following) in DETERMINERS | _PRONOUNS


def _is_imperative(verb: str, following: str | None, rest: str) -> bool:
    if verb not in _VERBS | _NOUN_VERBS:
        return False
    if following is None:
        return verb in _VERBS and not rest.strip(" .!")
    word = _bare(following)
    # "Make is a tool", "Use of force": the verb is a name or a noun.
    if word in FINITE | AMBIGUOUS_PAST | {"of"} or _is_subject(verb, word, rest):
        return False
    if word in DETERMINERS | _OBJECTS or following[0] in _QUOTES:
        return True
    has_verb = has_finite_verb(f"{verb} {word} {rest}")
    if verb in _NOUN_VERBS:
        # "Type 2 diabetes" is a kind of it.
        return following[0].isdigit() and verb != "type" and not has_verb
    return word in PREPOSITIONS or word.endswith("ly") or not has_verb


def _is_subject(verb: str, word: str, rest: str) -> bool:
    """Return whether a noun opens the sentence: `Set up costs were $500`, `Use in infants is rare`.

    "Water that is hot" is one as well, but "Ensure that is so" is none.
    """
    if word == "that":
        return verb in _NOUN_VERBS and rest.strip().partition(" ")[0] in AUXILIARIES
    if verb not in _NOUNS or word not in PREPOSITIONS | _PARTICLES:
        return False
    clause = _CLAUSE_END.split(f"{verb} {word}{rest}", maxsplit=1)[0]
    return has_main_verb(clause, participles=False)


def _bare(word: str) -> str:
    return word.strip("`\"'“”‘’*.,;:()!").lower()
