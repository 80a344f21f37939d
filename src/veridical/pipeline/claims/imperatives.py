"""Instructions: imperative sentences addressed to the reader."""

from __future__ import annotations

import re

from veridical.pipeline.claims.lexicon import (
    AMBIGUOUS_PAST,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    PREPOSITIONS,
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
    " swap switch take talk tap tell think try turn type understand uninstall unplug unzip"
    " update upgrade upload use utilize validate verify visit wait wash watch wear write"
)
# Base forms that are nouns or adjectives as often.
_NOUN_VERBS = word_set(
    "back call cause change charge check clean clear close cook cover cut document do double"
    " drain drive drop dry eat exit exercise export finish force form format guess heat help"
    " highlight leave limit link list load lock log mark match measure name note order pack pass"
    " pay plan play plug plot point post print process prompt query raise record release rest"
    " ring run scan schedule search set ship sign sort split step stick stop study support"
    " target test touch trace track train travel treat trust view visit vote walk warm water"
    " weigh work wrap"
)
_OBJECTS = word_set("sure it them that me us up out off down with")

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
    # "Status: open" is no command, "Setup: open the box" is one.
    if match is None or (label and match["next"] is None):
        return False
    return _is_imperative(match["verb"].lower(), match["next"], match["rest"])


def _is_imperative(verb: str, following: str | None, rest: str) -> bool:
    if verb not in _VERBS | _NOUN_VERBS:
        return False
    if following is None:
        return verb in _VERBS and not rest.strip(" .!")
    word = following.strip("`\"'“”‘’*.,;:()!").lower()
    # "Make is a tool", "Touch up was released", "Use of force": the verb is a name or a noun.
    if word in FINITE | AMBIGUOUS_PAST | {"of"} or rest.partition(" ")[0] in AUXILIARIES:
        return False
    if word in DETERMINERS | _OBJECTS or following[0] in "`\"“'‘":
        return True
    has_verb = has_finite_verb(f"{verb} {word} {rest}")
    if verb in _NOUN_VERBS:
        return following[0].isdigit() and not has_verb
    return word in PREPOSITIONS or word.endswith("ly") or not has_verb
