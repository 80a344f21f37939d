"""Synthetic texts from a seed: an answer, and the sources for its verification.

Each source is a gazetteer of one subject (bridges, rivers, companies): entries of six sentences
with their own names, dates and figures. A claim repeats one of these sentences, word for word
different; every other claim has one figure or name altered, so that it is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORDS = 2000
"""Words of a source."""

_FIRST = [
    "Alder",
    "Amber",
    "Arl",
    "Ash",
    "Bar",
    "Beck",
    "Birch",
    "Black",
    "Brad",
    "Bram",
    "Cal",
    "Carn",
    "Clay",
    "Cold",
    "Crow",
    "Dal",
    "Dun",
    "East",
    "Elm",
    "Fair",
    "Fern",
    "Glen",
    "Gran",
    "Hal",
    "Har",
    "Hart",
    "High",
    "Holm",
    "Ivy",
    "Kel",
    "Kirk",
    "Lang",
    "Lin",
    "Marl",
    "Mill",
    "Mor",
    "Nether",
    "North",
    "Oak",
    "Old",
    "Pen",
    "Quarry",
    "Raven",
    "Red",
    "Rush",
    "Sand",
    "Silver",
    "Stan",
    "Thorn",
    "Up",
    "Wal",
    "Wel",
    "West",
    "Whit",
    "Win",
    "Wood",
    "Yar",
]
_SECOND = [
    "beck",
    "borough",
    "bourne",
    "bridge",
    "bury",
    "by",
    "combe",
    "cote",
    "dale",
    "den",
    "field",
    "fold",
    "ford",
    "gate",
    "ham",
    "hurst",
    "ley",
    "low",
    "mere",
    "mond",
    "mouth",
    "ness",
    "over",
    "port",
    "ridge",
    "shaw",
    "side",
    "stead",
    "stoke",
    "thorpe",
    "ton",
    "vale",
    "wall",
    "water",
    "well",
    "wick",
    "worth",
]
_PEOPLE = """Ada Kessler|Bruno Vance|Clara Whitlow|Daniel Okafor|Edith Marlowe|Felix Brandt|Greta
Lindqvist|Hugo Serrano|Irene Castell|Jonas Petrov|Katrin Mbeki|Leo Farrant|Mina Halloran|Nils Ostby|
Olga Renner|Paul Derrington""".replace("\n", " ").split("|")
_STUFF = ["steel", "granite", "reinforced concrete", "wrought iron", "sandstone", "timber"]
_GOODS = [
    "pumps",
    "paper",
    "glass lenses",
    "bicycles",
    "marine engines",
    "textiles",
    "cement",
    "clocks",
]
_ROCK = ["limestone", "slate", "chalk", "basalt", "clay", "gneiss"]


@dataclass(frozen=True)
class Topic:
    """A subject: what its entries are called, and what is said of each, in source and answer."""

    title: str
    name: str
    sentences: tuple[tuple[str, str], ...]
    asides: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """One thing a source says, and the same as a claim: as it is, and altered."""

    source: str
    claim: str
    altered: str


@dataclass(frozen=True)
class Case:
    """An answer of `claims` claims, and its sources."""

    answer: str
    sources: Mapping[str, str]
    claims: int


TOPICS = (
    Topic(
        "Bridges",
        "the {town} Bridge",
        (
            (
                "{Name} was opened to traffic in {year}, after {few} years of construction.",
                "{Name} opened in {year}.",
            ),
            (
                "It carries the road to {other} over a gorge that is {small} metres deep.",
                "{Name} carries the road to {other}.",
            ),
            (
                "The main span is {big} metres long and made of {stuff}, quarried or cast nearby.",
                "The main span of {name} is {big} metres long.",
            ),
            (
                "It was designed by {person}, who had won the competition against {few} rivals.",
                "{Name} was designed by {person}.",
            ),
        ),
        (
            "On an average weekday about {thousands} vehicles cross it, fewer in winter.",
            "Repairs to the deck and railings were carried out in {later} at the town's expense.",
            "Anglers value the pool below the eastern pier.",
            "A toll was collected until {later}, when the county council took over the upkeep.",
        ),
    ),
    Topic(
        "Rivers",
        "the River {town}",
        (
            (
                "{Name} is {big} kilometres long from its source to the confluence at {other}.",
                "{Name} is {big} kilometres long.",
            ),
            (
                "It rises in the hills of {other}, at {height} metres above the level of the sea.",
                "{Name} rises at {height} metres above sea level.",
            ),
            (
                "Its highest flood on record was measured in {year}, when {few} mills were lost.",
                "The highest recorded flood of {name} was in {year}.",
            ),
            (
                "For most of its course it runs over {rock}, which makes its water hard or brown.",
                "{Name} runs mostly over {rock}.",
            ),
        ),
        (
            "Its basin covers {thousands} hectares of pasture, forest and a few villages.",
            "Salmon returned in {later}, once the lowest of the {few} weirs had been taken down.",
            "Canoeists know the middle reach for its rapids.",
            "A gauge below the old railway crossing has reported the level hourly since {later}.",
        ),
    ),
    Topic(
        "Companies",
        "{town} & Sons",
        (
            (
                "{Name} was founded in {year} by {person}, then a foreman in a neighbouring works.",
                "{Name} was founded by {person}.",
            ),
            (
                "The firm makes {goods} and sells most of them abroad, through {few} agencies.",
                "{Name} makes {goods}.",
            ),
            (
                "At the end of last year it employed {thousands} people at {few} sites.",
                "{Name} employs {thousands} people.",
            ),
            (
                "Its headquarters moved to {other} in {later}, into a former grain warehouse.",
                "The headquarters of {name} moved to {other}.",
            ),
        ),
        (
            "Revenue came to {big} million, of which exports made up {small} percent.",
            "The founder's family still holds {small} percent of the shares.",
            "An apprentice school is attached to the main works.",
            "A fire in {later} destroyed the pattern store, which was rebuilt within {few} months.",
        ),
    ),
)


def case(claims: int = 10, *, words: int = WORDS) -> Case:
    """Return an answer of that many claims and three sources; two claims in three cite theirs."""
    random = Random(f"{claims} claims, {words} words")  # noqa: S311 -- text, not a secret
    sources, facts = {}, []
    for number, topic in enumerate(TOPICS, 1):
        text, found = _source(topic, f"S{number}", words)
        sources[f"S{number}"] = text
        facts.append(random.sample(found, len(found)))
    chosen = [facts[i % len(facts)][i // len(facts)] for i in range(claims)]
    answer = " ".join(_claim(i, fact) for i, fact in enumerate(chosen))
    return Case(answer, sources, claims)


def chunks(claims: int = 10) -> Case:
    """Return the answer of `case` and its sources as a retriever's chunks of 10 to 200 words."""
    whole, random = case(claims), Random("chunks")  # noqa: S311 -- text, not a secret
    parts = [part for text in whole.sources.values() for part in _chunks(text, random)]
    uncited = whole.answer
    for source in whole.sources:
        uncited = uncited.replace(f" [{source}]", "")
    return Case(uncited, {f"C{i}": part for i, part in enumerate(parts, 1)}, claims)


def long_source(size: int) -> str:
    """Return a source of at least `size` bytes on one subject."""
    parts, total = [], 0
    for paragraph, _ in _entries(TOPICS[0], "S1", Random(size)):  # noqa: S311 -- text
        parts.append(paragraph)
        total += len(paragraph) + 2
        if total >= size:
            break
    return "\n\n".join(parts)


def _source(topic: Topic, source: str, words: int) -> tuple[str, list[Fact]]:
    """Return a text of about `words` words, and what it says."""
    parts, facts, total = [f"# {topic.title}"], [], 1
    for paragraph, said in _entries(topic, source, Random(topic.title)):  # noqa: S311 -- text
        parts.append(paragraph)
        facts += said
        total += len(paragraph.split())
        if total >= words:
            break
    return "\n\n".join(parts), facts


def _entries(topic: Topic, source: str, random: Random) -> Iterator[tuple[str, list[Fact]]]:
    """Yield paragraphs without end, each about one bridge, river or company."""
    while True:
        town = random.choice(_FIRST) + random.choice(_SECOND)
        true, false = _values(topic, town, random), _values(topic, town, random)
        order = [0, *random.sample(range(1, len(topic.sentences)), len(topic.sentences) - 1)]
        text = [topic.sentences[i][0].format_map(true) for i in order]
        text += [aside.format_map(true) for aside in random.sample(topic.asides, 2)]
        facts = [
            Fact(source, claim.format_map(true), claim.format_map(false))
            for _, claim in topic.sentences
        ]
        yield " ".join(text), facts


def _values(topic: Topic, town: str, random: Random) -> dict[str, str]:
    name = topic.name.format(town=town)
    year = random.randint(1780, 1960)
    return {
        "name": name,
        "Name": name[0].upper() + name[1:],
        "other": random.choice(_FIRST) + random.choice(_SECOND),
        "person": random.choice(_PEOPLE),
        "stuff": random.choice(_STUFF),
        "goods": random.choice(_GOODS),
        "rock": random.choice(_ROCK),
        "year": str(year),
        "later": str(year + random.randint(5, 60)),
        "few": str(random.randint(2, 9)),
        "small": str(random.randint(11, 79)),
        "big": str(random.randint(81, 690)),
        "height": str(random.randint(210, 1490)),
        "thousands": f"{random.randint(1, 48)},{random.randint(100, 999)}",
    }


def _claim(index: int, fact: Fact) -> str:
    text = fact.altered if index % 2 else fact.claim
    return text if index % 3 == 0 else f"{text[:-1]} [{fact.source}]."


def _chunks(text: str, random: Random) -> Iterator[str]:
    words = text.split()
    while words:
        size = random.randint(10, 200)
        yield " ".join(words[:size])
        words = words[size:]
