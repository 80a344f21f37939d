"""Changes to a sentence of real text: what each makes of the claim is known by construction."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from programmatic.base import CONTRADICTED, NOT_IN_CONTEXT, NOT_SUPPORTED
from programmatic.lexicon import MONTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-]|[.,]\d)")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_ENTITY = re.compile(r"(?<=[a-z,)] )(?:[A-Z][a-z]+(?:[ -][A-Z][a-z]+){0,3})(?![\w'-])")
_BEFORE = re.compile(r"(\w+),? $")
_FUNCTIONAL = re.compile(
    r"\b(?:born|died|located|founded|capital|directed|released|established|premiered|invented|"
    r"headquartered|elected|published|created|written|won by|succeeded|married|opened)\b"
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|has been|have been|had been|should|must|does|did|do)"
    r"(?! not\b|n't)(?= [a-z])"
)
_NEGATED = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|has|have|had) not ")

NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve twenty".split()
UNITS = {
    "km": "miles", "kilometres": "miles", "kilometers": "miles", "miles": "kilometres",
    "minutes": "hours", "hours": "minutes", "days": "weeks", "weeks": "months", "months": "years",
    "million": "billion", "billion": "million", "percent": "percentage points", "feet": "metres",
    "kg": "grams", "mg": "g", "metres": "feet", "dollars": "euros",
}  # fmt: skip
_OPPOSITES = """increased:decreased rose:fell higher:lower more:less before:after first:last won:lost
largest:smallest older:younger north:south east:west northern:southern eastern:western early:late
best:worst highest:lowest most:fewest above:below began:ended opened:closed accepted:rejected
success:failure successful:unsuccessful male:female positive:negative major:minor
increase:decrease improved:worsened greater:smaller longer:shorter married:divorced joined:left
public:private always:never all:none old:new hot:cold strong:weak increases:decreases reduces:increases
reduced:raised longest:shortest former:current passed:failed winning:losing winner:loser won:lost
victory:defeat king:queen brother:sister father:mother son:daughter husband:wife
American:British English:French German:Italian Indian:Chinese actor:singer film:novel album:play
actress:model band:orchestra town:lake city:village river:mountain television:radio season:tour
maximum:minimum buy:sell bought:sold up:down inside:outside majority:minority significant:negligible
with:without supported:opposed agreed:refused gained:lost faster:slower earlier:later""".split()
OPPOSITES = {a: b for pair in _OPPOSITES for a, b in (pair.split(":"), pair.split(":")[::-1])}
STRONGER = {
    "some": "all", "many": "all", "several": "all", "most": "all", "often": "always",
    "usually": "always", "sometimes": "always", "may": "will", "might": "will",
    "could": "will", "one of the": "the only", "suggests": "proves", "suggest": "prove",
    "associated with": "caused by", "linked to": "caused by", "likely": "certainly",
    "reportedly": "definitely", "including": "only", "a few": "most", "mainly": "only",
    "generally": "always",  "appears to be": "is", "seems": "is proven",
    "probably": "certainly", "primarily": "exclusively", "believed": "proven", "at least": "exactly",
    "nearly": "exactly", "possible": "certain", "expected": "guaranteed",
}  # fmt: skip
_STRONGER = re.compile(rf"\b({'|'.join(sorted(STRONGER, key=len, reverse=True))})\b")
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Change:
    """A changed sentence, and its label where the evidence still says the original."""

    text: str
    label: str
    kind: str
    symmetric: bool = True


def replace(text: str, match: re.Match[str], new: str) -> str:
    """Return the text with a match replaced."""
    return text[: match.start()] + new + text[match.end() :]


def change_number(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Change a year, a number or a number word."""
    found = list(_NUMBER.finditer(text))
    if found:
        match = rng.choice(found)
        return Change(replace(text, match, _numbered(match.group(), rng)), CONTRADICTED, "number")
    found = [m for m in _WORD.finditer(text) if m.group().lower() in NUMBER_WORDS]
    if not found:
        return None
    match = rng.choice(found)
    new = rng.choice([word for word in NUMBER_WORDS if word != match.group().lower()])
    return Change(replace(text, match, new), CONTRADICTED, "number")


def _numbered(old: str, rng: Random) -> str:
    plain = old.replace(",", "")
    value = float(plain)
    if "." in plain:
        places = len(plain.split(".")[1])
        return f"{value * rng.choice((0.5, 0.8, 1.2, 1.5, 2.1)) + 0.1**places:.{places}f}"
    near = 1000 < value < 2100 and "," not in old
    step = rng.randint(1, 30) if near else max(1, int(value * rng.choice((0.1, 0.3, 0.5, 1))))
    new = int(value) + (step if value < step + 1 or rng.random() < 0.5 else -step)
    return f"{new:,}" if "," in old else str(new)


def change_month(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Change the month of a date."""
    found = list(_MONTH.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    new = rng.choice([month for month in MONTHS if month != match.group()])
    return Change(replace(text, match, new), CONTRADICTED, "date")


def change_unit(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Change the unit behind a number."""
    found = [
        m for m in _WORD.finditer(text) if m.group() in UNITS and text[m.start() - 2].isdigit()
    ]
    if not found:
        return None
    match = rng.choice(found)
    return Change(replace(text, match, UNITS[match.group()]), CONTRADICTED, "unit")


def change_entity(text: str, rng: Random, names: Mapping[str, Sequence[str]]) -> Change | None:
    """Swap a name for one that follows the same word elsewhere."""
    found = list(_ENTITY.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    options = [n for n in names.get(slot_of(text, match), ()) if n not in text]
    if not options:
        return None
    label = CONTRADICTED if _FUNCTIONAL.search(text) else NOT_SUPPORTED
    return Change(replace(text, match, rng.choice(options)), label, "entity")


def slot_of(text: str, match: re.Match[str]) -> str:
    """Return what stands before a name, and of how many words it is: a crude type."""
    before = _BEFORE.search(text[: match.start()])
    return f"{before.group(1).lower() if before else ''}/{match.group().count(' ')}"


def names_of(text: str) -> list[tuple[str, str]]:
    """Return the names of a sentence with their crude types."""
    return [(slot_of(text, match), match.group()) for match in _ENTITY.finditer(text)]


def change_polarity(text: str, _: Random, __: Mapping[str, Sequence[str]]) -> Change | None:
    """Negate the first verb, or take its negation away."""
    match = _NEGATED.search(text)
    if match:
        return Change(replace(text, match, f"{match.group(1)} "), CONTRADICTED, "negation")
    match = _AUXILIARY.search(text)
    if match is None or match.start() > 60 or " not " in text:
        return None
    return Change(replace(text, match, _negation(match.group(1))), CONTRADICTED, "negation")


def _negation(auxiliary: str) -> str:
    first, _, rest = auxiliary.partition(" ")
    return f"{first} not {rest}".strip()


def change_opposite(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Put the opposite of a word in its place."""
    found = [m for m in _WORD.finditer(text) if m.group() in OPPOSITES]
    if not found:
        return None
    match = rng.choice(found)
    return Change(replace(text, match, OPPOSITES[match.group()]), CONTRADICTED, "opposite")


def change_strength(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Say more than the sentence says."""
    found = list(_STRONGER.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    new = STRONGER[match.group()]
    return Change(replace(text, match, new), NOT_IN_CONTEXT, "strength", symmetric=False)


def change_order(text: str, _: Random, __: Mapping[str, Sequence[str]]) -> Change | None:
    """Swap the two names around a verb that has a direction."""
    match = _DIRECTED.search(text)
    if match is None or match.group(1) == match.group(3):
        return None
    new = f"{match.group(3)}{match.group(2)}{match.group(1)}"
    return Change(replace(text, match, new), CONTRADICTED, "roles")


_NAME = r"([A-Z][a-z]+(?: [A-Z][a-z]+){0,2})"
_DIRECTED = re.compile(
    rf"{_NAME}( (?:defeated|beat|succeeded|replaced|acquired|bought|was defeated by|"
    rf"was succeeded by|was acquired by|was written by|wrote|directed|produced|founded|invaded|sued|"
    rf"preceded|taught|influenced|was directed by|was produced by|is owned by|owns|conquered|"
    rf"discovered|was founded by|killed|was killed by|painted|hired|signed|was named after|"
    rf"is older than|is larger than|borders on the north of|played for|was influenced by) ){_NAME}"
)


def change_places(text: str, rng: Random, _: Mapping[str, Sequence[str]]) -> Change | None:
    """Swap two names of a sentence that does not treat them alike."""
    found = [m for m in _ANY_NAME.finditer(text) if m.group().split()[0] not in _NO_NAME]
    pairs = [
        (first, second)
        for i, first in enumerate(found)
        for second in found[i + 1 : i + 3]
        if first.group() != second.group()
        and first.group().count(" ") == second.group().count(" ")
        and not _ALIKE.search(text[first.end() : second.start()])
        and _VERB_BETWEEN.search(text[first.end() : second.start()])
    ]
    if not pairs or _MUTUAL.search(text):
        return None
    first, second = rng.choice(pairs)
    between = text[first.end() : second.start()]
    new = f"{text[: first.start()]}{second.group()}{between}{first.group()}{text[second.end() :]}"
    return Change(new, NOT_SUPPORTED, "places")


_ANY_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+){0,3}(?![\w'’-])")
_NO_NAME = frozenset(
    """The A An In On At It He She They His Her Its Their This That These Those As After Before By For From Of
    During Since While When Where With Although But And Or Some Many Most All Both Each One Two Mr Mrs Dr
    January February March April May June July August September October November December Monday Tuesday
    Wednesday Thursday Friday Saturday Sunday If There Here However Also To Not No Another Other""".split()
)
_ALIKE = re.compile(r"^(?:,|,? and|,? or|,? &)\s*$|\b(?:and|or)\s*$")
_VERB_BETWEEN = re.compile(
    r"\b\w+(?:ed|es|s)\b|\b(?:was|were|is|are|had|has|by|to|from|with|in|of|as)\b"
)
_MUTUAL = re.compile(
    r"\b(?:both|together|between|each other|respectively|alongside|same|married|co-|versus|vs)\b"
)
CHANGES: tuple[Callable[[str, Random, Mapping[str, Sequence[str]]], Change | None], ...] = (
    change_number, change_number, change_month, change_unit, change_entity, change_entity,
    change_polarity, change_opposite, change_opposite, change_strength, change_strength,
    change_order, change_order, change_places, change_places,
)  # fmt: skip
