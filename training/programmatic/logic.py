"""Conclusions from conditions, alternatives and rules, beside the fallacies that look like them."""

# ruff: noqa: E501 -- a list is one paragraph

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from programmatic.base import World

Premises: TypeAlias = tuple[str, ...]
Inference: TypeAlias = tuple[str, Premises, Premises, Premises]
"""A conclusion with premises that give it, that exclude it, and that leave it open."""

# Each is a statement and its negation.
_FACTS = """the shop is open/the shop is not open|the train is late/the train is not late|it rains/it does not rain|{p} is tired/{p} is not tired|
the pump runs/the pump does not run|the road is closed/the road is not closed|{p} stays at home/{p} does not stay at home|the alarm rings/the alarm does not ring|
the contract is signed/the contract is not signed|{p} gets the job/{p} does not get the job|the soil is dry/the soil is not dry|the harvest is good/the harvest is not good|
the lights are on/the lights are not on|{p} passes the exam/{p} does not pass the exam|the server restarts/the server does not restart|the price rises/the price does not rise|
the river freezes/the river does not freeze|{p} sells the car/{p} does not sell the car|the concert takes place/the concert does not take place|the bakery makes a profit/the bakery does not make a profit|
the patient has a fever/the patient does not have a fever|the cache is full/the cache is not full|{p} wins the race/{p} does not win the race|the vote is postponed/the vote is not postponed|
the bridge is safe/the bridge is not safe|{p} moves to {t}/{p} does not move to {t}|the order is cancelled/the order is not cancelled|the team travels to {t}/the team does not travel to {t}|
{p} learns to swim/{p} does not learn to swim|the test fails/the test does not fail|the door is locked/the door is not locked|the museum stays closed/the museum does not stay closed""".replace(
    "\n", ""
).split("|")
_GROUPS = """works at {o}|lives in {t}|studies medicine|plays the piano|has a key|is a member of the club|was born in {m}|owns a boat|speaks Greek|
wears glasses|sings in the choir|drives a lorry|eats meat|won a medal|has two sisters|pays a fee|knows the code|keeps bees|gets a discount|is on the list""".replace(
    "\n", ""
).split("|")
_NOT = (("works", "work"), ("lives", "live"), ("studies", "study"), ("plays", "play"), ("has", "have"), ("owns", "own"), ("speaks", "speak"),
        ("wears", "wear"), ("sings", "sing"), ("drives", "drive"), ("pays", "pay"), ("knows", "know"), ("keeps", "keep"), ("gets", "get"))  # fmt: skip
_IF = (
    "if {a}, {b}",
    "{b} if {a}",
    "if {a}, then {b}",
    "whenever {a}, {b}",
    "in case {a}, {b}",
    "{a} only if {b}",
    "that {a} means that {b}",
    "provided that {a}, {b}",
)
_EITHER = (
    "either {a} or {b}, or both",
    "{a} or {b}",
    "at least one of these holds: {a}, or {b}",
    "we know that {a} or that {b}, perhaps both",
    "{a}, or {b}, or both",
)
_ASKED = (
    "does this mean that {c}?",
    "can we conclude that {c}?",
    "does it follow that {c}?",
    "is it true that {c}?",
    "can we say that {c}?",
    "does this imply that {c}?",
)
_SAID = (
    "it is known that {a}",
    "{a}",
    "{a}",
    "{a}",
    "as it turns out, {a}",
    "in fact, {a}",
    "we see that {a}",
)


def logic(world: World) -> Iterator[Trio]:
    """Yield a conclusion with premises that give it, that exclude it, and that leave it open."""
    make = world.rng.choice((_from_condition, _backwards, _alternative, _chain, _rule, _rule))
    claim, *texts = make(world)
    if world.chance(0.25):
        claim = world.pick(_ASKED).format(c=claim)
    first = world.chance(0.7)
    yield Trio(sentence(claim), *(_joined(parts, first=first) for parts in texts))


def _joined(premises: tuple[str, ...], *, first: bool) -> str:
    told = premises if first else premises[::-1]
    return " ".join(sentence(premise) for premise in told)


def _facts(world: World, count: int) -> list[tuple[str, str]]:
    names = lexicon.people(world, count)
    texts = world.several(_FACTS, count)
    place = lexicon.place(world)
    found = [
        text.format(p=name, t=place).split("/") for text, name in zip(texts, names, strict=True)
    ]
    return [(said, denied) if world.chance(0.8) else (denied, said) for said, denied in found]


def _condition(world: World) -> Callable[[str, str], str]:
    form = world.pick(_IF)
    return lambda a, b: form.format(a=a, b=b)


def _from_condition(world: World) -> Inference:
    """Modus ponens, and affirming the consequent."""
    (a, _), (b, not_b) = _facts(world, 2)
    when, seen = _condition(world), world.pick(_SAID).format(a=a)
    return b, (when(a, b), seen), (when(a, not_b), seen), (when(b, a), seen)


def _backwards(world: World) -> Inference:
    """Modus tollens, and denying the antecedent."""
    (a, not_a), (b, not_b) = _facts(world, 2)
    when, seen = _condition(world), world.pick(_SAID).format(a=not_b)
    return not_a, (when(a, b), seen), (when(not_a, b), seen), (when(b, a), seen)


def _alternative(world: World) -> Inference:
    """Disjunctive syllogism; that one holds says nothing of the other, unless both cannot."""
    (a, not_a), (b, _) = _facts(world, 2)
    first, second = (a, b) if world.chance(0.5) else (b, a)
    either = world.pick(_EITHER).format(a=first, b=second)
    said = world.pick(_SAID)
    never = f"it cannot be both that {first} and that {second}"
    seen = said.format(a=a)
    return b, (either, said.format(a=not_a)), (never, seen), (either, seen)


def _chain(world: World) -> Inference:
    """Hypothetical syllogism, told from its start."""
    (a, _), (b, _), (c, not_c) = _facts(world, 3)
    when, then = _condition(world), _condition(world)
    last = world.pick(_SAID).format(a=a)
    return (
        c,
        (when(a, b), then(b, c), last),
        (when(a, b), then(b, not_c), last),
        (when(a, b), then(c, b), last),
    )


def _rule(world: World) -> Inference:
    """Universal instantiation, and the converse of a rule."""
    place, owner, month = (
        lexicon.place(world),
        lexicon.organisation(world),
        world.rng.choice(lexicon.MONTHS),
    )
    a, b = (text.format(t=place, o=owner, m=month) for text in world.several(_GROUPS, 2))
    name = lexicon.person(world)
    everyone = world.rng.choice(
        ("everyone who {a} {b}", "everybody who {a} {b}", "anyone who {a} also {b}")
    )
    nobody = world.rng.choice(
        ("nobody who {a} {b}", "no one who {a} {b}", "not one person who {a} {b}")
    )
    some = world.rng.choice(
        ("someone who {a} {b}", "one person who {a} {b}", "not everyone who {a} {b}")
    )
    seen = f"{name} {a}"
    open_ = world.rng.choice((everyone.format(a=b, b=a), some.format(a=a, b=b)))
    if world.chance(0.5):
        return (
            f"{name} {b}",
            (everyone.format(a=a, b=b), seen),
            (nobody.format(a=a, b=b), seen),
            (open_, seen),
        )
    denied = f"{name} {negated(b)}"
    return denied, (nobody.format(a=a, b=b), seen), (everyone.format(a=a, b=b), seen), (open_, seen)


def negated(phrase: str) -> str:
    """Return a verb phrase of the third person, denied."""
    first, _, rest = phrase.partition(" ")
    bare = dict(_NOT).get(first)
    if bare:
        return f"does not {bare} {rest}"
    if first in {"is", "was"}:
        return f"{first} not {rest}"
    return {"won": "did not win", "eats": "does not eat"}.get(
        first, f"does not {first}"
    ) + f" {rest}"
