"""Closed word classes and the moderate verb lists used in place of a part-of-speech tagger."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a space-separated list."""
    return frozenset(text.split())


# Finite whatever stands around them.
AUXILIARIES = word_set(
    "is are was were has have had does do did will would can could shall should must may might"
    " isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't"
    " can't cannot couldn't shouldn't mustn't"
)
# Third-person forms that are rarely nouns.
PRESENT = word_set(
    "accounts achieves acts adds allows applies appears argues asserts attracts becomes begins"
    " belongs breaks brings calls causes claims comes comprises concludes confirms connects"
    " consists contains contributes controls converts covers creates defines depends describes"
    " determines develops differs displays employs enables encourages ensures exceeds exists"
    " exports imports explains expresses fails features finds flows follows forms generates gets"
    " gives goes grows happens helps holds hosts houses implements implies improves includes"
    " increases indicates involves keeps lacks lasts leads leaves lets lies lists lives looks"
    " loses boils melts maintains makes manages means measures moves needs notes occurs offers"
    " operates opens orbits owns performs plays predicts prevents produces promotes protects"
    " proves provides publishes raises ranks reaches receives recommends reduces refers reflects"
    " relies remains replaces reports represents requires resides responds returns reveals rises"
    " runs says seems sells sends serves shares shows signifies sits speaks specializes spends"
    " spreads stands starts states stays stores suggests supports surrounds takes teaches tells"
    " tends threatens treats turns uses varies wants weighs wins works writes yields retries"
    " validates accepts rejects"
)
# Past forms that differ from the participle.
PAST = word_set(
    "became began broke came chose did drank drew drove ate fell flew forgot froze gave went"
    " grew knew lay rang ran rode rose sang sank saw shook spoke stole swam swore took threw"
    " tore woke wore wrote arose awoke blew forbade forgave foresaw mistook outgrew oversaw"
    " overthrew overtook partook shrank slew sprang stank strode strove undertook underwent"
    " withdrew"
)
# Past forms that may also be participles, and so count only straight after a subject.
AMBIGUOUS_PAST = word_set(
    "bought brought built caught cost felt fought found got held hit kept led left lost made"
    " meant met paid put read said sat sent set shot sold spent stood taught thought told"
    " understood won cut fed heard laid lent let"
)
# Past forms in -ed of verbs without an object, so that they are no participles behind a noun.
INTRANSITIVE_PAST = word_set(
    "agreed appeared arrived collapsed crashed declined decreased died disappeared disagreed"
    " doubled emerged failed graduated halved happened improved increased moved occurred peaked"
    " plummeted quadrupled rained recovered remained resigned retired snowed soared stagnated"
    " succeeded surged tripled vanished worsened"
)
FINITE = AUXILIARIES | PRESENT | PAST

DETERMINERS = word_set(
    "a an the this that these those its their his her our your my each every all some any no"
    " both most many several few another one two three four five six seven eight nine ten"
)
PRONOUNS = word_set("i you he she it we they this that these those there")
PERSONAL = word_set("he she it they")
PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath"
    " beside between beyond by despite down during except for from in inside into like near of"
    " off on onto out outside over past per since through throughout to toward towards under"
    " underneath until up upon via with within without according because compared due unlike"
)
SUBORDINATORS = word_set(
    "if when while whereas because although though since unless whether once until after before"
    " that which who whom whose where why how what wherever whenever whoever as than so given"
    " provided assuming suppose"
)
RELATIVES = word_set("which who whom whose where whereby that when because if unless whether")
REPORTING = word_set(
    "said says say saying stated states state claimed claims claim argued argues argue believed"
    " believes believe think thinks thought reported reports report announced announces noted"
    " notes suggested suggests suggest concluded concludes showed shows show found finds"
    " explained explains told tells asked asks wrote writes added adds confirmed confirms warned"
    " warns denied denies according indicated indicates revealed reveals estimates estimated"
)

_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_PAST_ENDING = re.compile(r"[a-z]{2,}ed$")


def words(text: str) -> list[str]:
    """Return the words of `text` as they are written."""
    return [word.replace("’", "'") for word in _WORD.findall(text)]


def has_any(text: str, parts: tuple[str, ...]) -> bool:
    """Return whether one of some lower-case strings is in a text: far cheaper than a pattern."""
    lowered = text.lower()
    for part in parts:  # noqa: SIM110 -- `any` with a generator takes twice the time
        if part in lowered:
            return True
    return False


def has_finite_verb(text: str, *, participles: bool = True) -> bool:
    """Return whether a listed finite verb is in `text`, or an -ed form that may be a participle."""
    found = [word.lower() for word in words(text)]
    if any(word in FINITE for word in found):
        return True
    return participles and any(
        word in AMBIGUOUS_PAST or is_regular_past(word) for word in found[1:]
    )


def is_regular_past(word: str) -> bool:
    """Return whether a lower-case word looks like a past form in -ed."""
    return bool(_PAST_ENDING.match(word)) and word not in {"indeed", "hundred", "need", "speed"}
