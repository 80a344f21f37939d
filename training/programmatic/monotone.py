"""Quantifiers, negation and what may be said more generally or more specifically under them.

"All dogs slept" entails "all brown dogs slept", "some brown dogs slept" entails "some dogs slept":
each place of a quantifier points one way, or none (Barwise & Cooper 1981; van Benthem 1986).
"""

# ruff: noqa: E501, SIM905 -- a list of words is one paragraph

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from programmatic.base import World

UP, DOWN, NONE = 1, -1, 0


@dataclass(frozen=True, slots=True)
class Form:
    """A sentence with places for a noun and a verb phrase, and the way that each points."""

    text: str
    noun: int
    verb: int
    opposite: str
    """What excludes it; one of the forms."""


_FORMS = [
    Form(text, noun, verb, opposite)
    for text, noun, verb, opposite in (
        ("all {n} {past}", DOWN, UP, "some {n} did not {bare}"),
        ("every one of the {n} {past}", DOWN, UP, "not all {n} {past}"),
        ("no {n} {past}", DOWN, DOWN, "some {n} {past}"),
        ("none of the {n} {past}", DOWN, DOWN, "at least {k} of the {n} {past}"),
        ("some {n} {past}", UP, UP, "no {n} {past}"),
        ("at least {k} of the {n} {past}", UP, UP, "none of the {n} {past}"),
        ("at least {k} {n} {past}", UP, UP, "fewer than {k} {n} {past}"),
        ("fewer than {k} {n} {past}", DOWN, DOWN, "at least {k} {n} {past}"),
        ("more than {k} {n} {past}", UP, UP, "at most {k} {n} {past}"),
        ("at most {k} {n} {past}", DOWN, DOWN, "more than {k} {n} {past}"),
        ("not all {n} {past}", UP, DOWN, "all {n} {past}"),
        ("some {n} did not {bare}", UP, DOWN, "all {n} {past}"),
        ("several {n} {past}", UP, UP, "no {n} {past}"),
        ("hardly any {n} {past}", DOWN, DOWN, "most {n} {past}"),
        ("few {n} {past}", DOWN, DOWN, "most {n} {past}"),
        ("most {n} {past}", NONE, UP, "few {n} {past}"),
        ("exactly {k} {n} {past}", NONE, NONE, "more than {k} {n} {past}"),
        ("the {n} {past}", NONE, UP, "the {n} did not {bare}"),
        ("the {n} did not {bare}", NONE, DOWN, "the {n} {past}"),
        ("not a single one of the {n} {past}", DOWN, DOWN, "several {n} {past}"),
        ("there were {n} that {past}", UP, UP, "no {n} {past}"),
        ("{p} {past}", NONE, UP, "{p} did not {bare}"),
        ("{p} did not {bare}", NONE, DOWN, "{p} {past}"),
        ("{p} never {past}", NONE, DOWN, "{p} {past}"),
        ("{p} wanted to {bare}", NONE, UP, "{p} did not want to {bare}"),
        ("{p} did not want to {bare}", NONE, DOWN, "{p} wanted to {bare}"),
        ("{p} was not able to {bare}", NONE, DOWN, "{p} {past}"),
        ("{p} was able to {bare}", NONE, UP, "{p} was not able to {bare}"),
        ("{p} must not {bare}", NONE, DOWN, "{p} may {bare}"),
        ("nobody {past}", NONE, DOWN, "someone {past}"),
        ("someone {past}", NONE, UP, "nobody {past}"),
        ("everyone {past}", NONE, UP, "someone did not {bare}"),
        ("someone did not {bare}", NONE, DOWN, "everyone {past}"),
        ("everyone who {past} got a letter", NONE, DOWN, "some people who {past} got no letter"),
        ("some people who {past} got no letter", NONE, UP, "everyone who {past} got a letter"),
        ("nobody who {past} got a letter", NONE, DOWN, "some people who {past} got a letter"),
        ("some people who {past} got a letter", NONE, UP, "nobody who {past} got a letter"),
        ("{p} refused to {bare}", NONE, DOWN, "{p} {past}"),
        ("{p} doubts that anyone {past}", NONE, DOWN, "{p} is sure that someone {past}"),
        ("{p} is sure that someone {past}", NONE, UP, "{p} doubts that anyone {past}"),
        ("it is not true that {p} {past}", NONE, DOWN, "{p} {past}"),
    )
]  # fmt: skip
_BY_TEXT = {form.text: form for form in _FORMS}

# From the general to the specific.
_NOUNS = """people>women>young women>young women from {t}|people>children>small children>small children with hats
animals>dogs>big dogs>big dogs with collars|employees>engineers>senior engineers>senior engineers in {t}
students>law students>foreign law students>foreign law students at {o}|animals>birds>owls>old owls
patients>male patients>elderly male patients>elderly male patients with diabetes|plants>trees>oak trees>tall oak trees
vehicles>cars>electric cars>electric cars made by {o}|musicians>violinists>famous violinists>famous violinists from {t}
visitors>tourists>foreign tourists>foreign tourists from {t}|workers>nurses>night nurses>night nurses at {o}
teachers>music teachers>retired music teachers>retired music teachers from {t}|guests>wedding guests>hungry wedding guests>hungry wedding guests from {t}
members>paying members>paying members under thirty>paying members under thirty in {t}|cats>black cats>old black cats>old black cats of {o}
companies>software companies>small software companies>small software companies in {t}|athletes>runners>fast runners>fast runners without shoes
farmers>young farmers>young farmers with horses>young farmers with white horses|passengers>sleeping passengers>sleeping passengers on the left>sleeping passengers on the left with a ticket
scientists>chemists>female chemists>female chemists at {o}|voters>undecided voters>undecided voters in {t}>undecided older voters in {t}
soldiers>wounded soldiers>wounded soldiers in the camp>badly wounded soldiers in the camp|robots>blue robots>blue robots with arms>blue robots with long arms
readers>loyal readers>loyal readers abroad>loyal readers abroad with a subscription""".replace(
    "\n", "|"
).split("|")
# A verb, then what it may be done with, from the general to the specific.
_OBJECTS = """bought/buy>something>a vehicle>a car>a red car|ate/eat>food>fruit>apples>green apples|ate/eat>meat>beef>a beef stew>a spicy beef stew
drank/drink>something>a hot drink>tea>tea without sugar|saw/see>an animal>a dog>a poodle>a white poodle|read/read>something>a book>a novel>a novel by {p}
played/play>a game>a card game>poker>poker for money|wore/wear>clothes>a coat>a winter coat>a black winter coat|visited/visit>a building>a museum>an art museum>an art museum in {t}
drew/draw>something>a plant>a flower>a yellow rose|met/meet>somebody>a relative>an aunt>an aunt from {t}|wrote/write>something>a letter>a love letter>a love letter to {p}
heard/hear>a sound>music>loud music>loud jazz music|owned/own>property>a house>a wooden house>a wooden house by the sea|studied/study>a language>a Romance language>Spanish>Spanish grammar
used/use>a tool>a hammer>a heavy hammer>a heavy hammer from {o}|found/find>a mistake>a spelling mistake>a spelling mistake in the title>an embarrassing spelling mistake in the title
planted/plant>something>a tree>an apple tree>a young apple tree|sold/sell>furniture>a chair>an old chair>an old chair with three legs|carried/carry>a bag>a heavy bag>a heavy leather bag>a heavy leather bag with a lock
called/call>a professional>a doctor>an eye doctor>an eye doctor in {t}|liked/like>sports>ball games>basketball>basketball on the street|cooked/cook>a meal>a soup>a fish soup>a fish soup with rice
signed/sign>a document>a contract>a sales contract>a sales contract with {o}|lost/lose>an object>jewellery>a ring>a gold ring|watched/watch>something>a film>a silent film>a silent film about {t}""".replace(
    "\n", "|"
).split("|")
_ACTS = """danced/dance|sang/sing|slept/sleep|laughed/laugh|worked/work|swam/swim|cried/cry|ran/run|prayed/pray|waited/wait|complained/complain|
travelled/travel|painted/paint|argued/argue|jumped/jump|fell asleep/fall asleep|left the party/leave the party|asked a question/ask a question|
paid the bill/pay the bill|opened the window/open the window|caught a cold/catch a cold|took the bus/take the bus|passed the test/pass the test""".replace(
    "\n", ""
).split("|")
_ADVERBS = """on {d}>on {d} morning>early on {d} morning|in Europe>in France>in Paris|outside>in the garden>in the garden behind the house|at work>at the office>at the office of {o}|
with others>with friends>with old friends|in {m}>in late {m}>in late {m}, at night|quickly>very quickly>very quickly and without help|in a hurry>in a great hurry>in a great hurry, in the rain|
near {t}>in the centre of {t}>in a hotel in the centre of {t}|because of the weather>because of the rain>because of the heavy rain""".replace(
    "\n", ""
).split("|")
_NEUTRAL = """It was a busy week.|The notes are from {m}.|{q} wrote this down.|This is from a report on {t}.|More will follow.""".split(
    "|"
)


def monotone(world: World) -> Iterator[Trio]:
    """Yield a claim with evidence that is stronger, that excludes it, and that is weaker."""
    form, slots = world.pick(_FORMS), _slots(world)
    nouns = [text.format(**slots) for text in world.pick(_NOUNS).split(">")]
    verbs = _verb_phrases(world, slots)
    at = world.rng.randint(1, 2), world.rng.randint(1, 2)
    claim = _said(form, nouns, verbs, at, slots)
    opposite = _BY_TEXT.get(form.opposite) or Form(form.opposite, NONE, NONE, "")
    told = (
        _said(form, nouns, verbs, _moved(world, form, at, UP), slots),
        _said(opposite, nouns, verbs, _moved(world, opposite, at, UP), slots),
        _said(form, nouns, verbs, _moved(world, form, at, DOWN), slots),
    )
    aside = world.pick(_NEUTRAL).format(q=lexicon.person(world), **slots)
    aside = aside if world.chance(0.2) else ""
    yield Trio(sentence(claim), *(" ".join(filter(None, (aside, sentence(t)))) for t in told))


def _slots(world: World) -> dict[str, str]:
    return {
        "p": lexicon.person(world),
        "t": lexicon.place(world),
        "o": lexicon.organisation(world),
        "d": world.rng.choice(lexicon.DAYS),
        "m": world.rng.choice(lexicon.MONTHS),
        "k": world.rng.choice(("two", "three", "four", "five", "seven", "ten", "12", "20")),
    }


def _verb_phrases(world: World, slots: dict[str, str]) -> list[tuple[str, str]]:
    """Return four verb phrases, past and bare, from the general to the specific."""
    if world.chance(0.5):
        verb, *objects = world.pick(_OBJECTS).split(">")
        past, bare = verb.split("/")
        slots = slots | {"p": lexicon.person(world)}
        return [(f"{past} {o}".format(**slots), f"{bare} {o}".format(**slots)) for o in objects]
    (past, bare), (past2, bare2) = (act.split("/") for act in world.several(_ACTS, 2))
    first, second, third = world.pick(_ADVERBS).format(**slots).split(">")
    if world.chance(0.4):
        both = (f"{past} and {past2}", f"{bare} and {bare2}")
        return [(f"{past} or {past2}", f"{bare} or {bare2}"), (past, bare), both,
                (f"{both[0]} {first}", f"{both[1]} {first}")]  # fmt: skip
    return [(past, bare), *((f"{past} {a}", f"{bare} {a}") for a in (first, second, third))]


def _moved(world: World, form: Form, at: tuple[int, int], way: int) -> tuple[int, int]:
    """Return places from which the claim follows (`UP`), or does not (`DOWN`).

    To follow, what points up must be told more specifically, what points down more generally.
    """
    noun, verb = at
    if way == UP:
        moved = [
            (noun + form.noun, verb),
            (noun, verb + form.verb),
            (noun + form.noun, verb + form.verb),
        ]
        return world.rng.choice([place for place in moved if place != at] or [at])
    moved = [(noun, verb - form.verb)] if form.verb else [(noun, verb + 1), (noun, verb - 1)]
    if form.noun:
        moved.append((noun - form.noun, verb))
    elif "{n}" in form.text and not form.text.startswith("the "):
        moved += [(noun + 1, verb), (noun - 1, verb)]
    return world.rng.choice(moved)


def _said(
    form: Form, nouns: Sequence[str], verbs: Sequence[tuple[str, str]], at: tuple[int, int],
    slots: dict[str, str],
) -> str:  # fmt: skip
    past, bare = verbs[at[1]]
    return form.text.format(n=nouns[at[0]], past=past, bare=bare, **slots)
