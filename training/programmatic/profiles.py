"""Descriptions of people, companies, products and places: paraphrase, two sentences, coreference."""

# ruff: noqa: E501 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World


@dataclass(frozen=True, slots=True)
class Trait:
    """Ways to tell a trait as a sentence on {s}, as a clause for `who ...`, and its values."""

    told: tuple[str, ...]
    clause: str
    make: Callable[[World], str]


def _number(low: int, high: int, step: int = 1) -> Callable[[World], str]:
    return lambda world: f"{world.rng.randrange(low, high, step):,}"


def _of(items: Sequence[str]) -> Callable[[World], str]:
    return lambda world: world.pick(items)


_PERSON = (
    Trait(("{s} was born in {v}", "{s} is a native of {v}", "{v} is the birthplace of {s}", "{s} came into the world in {v}"), "was born in {v}", lexicon.place),
    Trait(("{s} works as a {v}", "{s} is a {v} by profession", "{s} earns a living as a {v}", "by trade, {s} is a {v}"), "works as a {v}", _of(lexicon.JOBS)),
    Trait(("{s} studied {v}", "{s} holds a degree in {v}", "{s} is a graduate in {v}", "{s} read {v} at university"), "studied {v}", _of(lexicon.FIELDS)),
    Trait(("{s} is married to {v}", "{v} is the spouse of {s}", "{s} and {v} are married", "{s} has {v} for a spouse"), "is married to {v}", lexicon.person),
    Trait(("{s} works for {v}", "{s} is on the staff of {v}", "{v} employs {s}", "{s} is employed by {v}"), "works for {v}", lexicon.organisation),
    Trait(("{s} keeps a pet {v}", "{s} has a {v} as a pet", "the pet of {s} is a {v}"), "keeps a pet {v}", _of(lexicon.ANIMALS)),
    Trait(("{s} lives in {v}", "{s} resides in {v}", "the home of {s} is in {v}", "{s} has a flat in {v}"), "lives in {v}", lexicon.place),
)  # fmt: skip
_COMPANY = (
    Trait(("{s} has its headquarters in {v}", "{s} is headquartered in {v}", "the head office of {s} is in {v}", "{v} is the seat of {s}"), "has its headquarters in {v}", lexicon.place),
    Trait(("{s} was founded in {v}", "{s} was set up in {v}", "{v} is the founding year of {s}", "{s} was established in {v}"), "was founded in {v}", lexicon.year),
    Trait(("{v} founded {s}", "{s} was founded by {v}", "{v} is the founder of {s}", "{s} was started by {v}"), "was founded by {v}", lexicon.person),
    Trait(("{s} employs {v} people", "{s} has {v} employees", "{s} has a staff of {v}", "{v} people work for {s}"), "employs {v} people", _number(40, 9000, 10)),
    Trait(("{v} runs {s}", "{v} is the chief executive of {s}", "{s} is led by {v}", "{s} has {v} as its CEO"), "is led by {v}", lexicon.person),
    Trait(("{s} mainly sells {v}s", "the main product of {s} is a {v}", "{s} is known for its {v}s"), "mainly sells {v}s", _of(lexicon.PRODUCTS)),
    Trait(("{s} had revenue of ${v} million last year", "last year {s} took in ${v} million", "the revenue of {s} was ${v} million last year"), "had revenue of ${v} million last year", _number(3, 900)),
)  # fmt: skip
_PRODUCT = (
    Trait(("{s} weighs {v} grams", "{s} has a weight of {v} g", "the weight of {s} is {v} grams"), "weighs {v} grams", _number(120, 4800, 20)),
    Trait(("{s} costs {v} euros", "{s} sells for {v} euros", "the price of {s} is {v} euros", "you pay {v} euros for {s}"), "costs {v} euros", _number(15, 990)),
    Trait(("{s} comes in {v}", "{s} is {v}", "the colour of {s} is {v}", "{s} has a {v} finish"), "comes in {v}", _of(lexicon.COLOURS)),
    Trait(("{s} runs {v} hours on one charge", "the battery of {s} lasts {v} hours", "one charge gives {s} {v} hours"), "runs {v} hours on one charge", _number(2, 48)),
    Trait(("{s} is made in {v}", "{s} is manufactured in {v}", "{v} is where {s} is built", "{s} is a product of {v}"), "is made in {v}", _of(lexicon.COUNTRIES)),
    Trait(("{s} has a warranty of {v} months", "the warranty of {s} covers {v} months", "{s} is under warranty for {v} months"), "has a warranty of {v} months", _number(6, 61, 6)),
    Trait(("{v} designed {s}", "{s} was designed by {v}", "{s} is {v}'s design"), "was designed by {v}", lexicon.person),
)  # fmt: skip


def _product(world: World) -> str:
    return f"the {world.pick(lexicon.ORG_HEAD)} {world.pick(lexicon.PRODUCTS)}"


_SORTS: tuple[tuple[tuple[Trait, ...], Callable[[World], str], tuple[str, ...]], ...] = (
    (_PERSON, lexicon.person, ("They", "This person")),
    (_COMPANY, lexicon.organisation, ("It", "The company", "The firm")),
    (_PRODUCT, _product, ("It", "The device", "The product")),
)  # fmt: skip


def profiles(world: World) -> Iterator[Trio]:
    """Yield one or two traits of a subject, another subject standing by with other values."""
    traits, make, names = world.rng.choice(_SORTS)
    subject, stranger = lexicon.distinct(world, make, 2)
    chosen = world.rng.sample(traits, world.rng.randint(2, 4))
    values = {trait: trait.make(world) for trait in chosen}
    asked = chosen[: 2 if world.chance(0.45) else 1]
    key = world.rng.choice(asked)
    wrong = next(v for v in iter(lambda: key.make(world), None) if v != values[key])
    tell = _telling(world, names, chosen)
    rival = sentence(world.pick(key.told).format(s=stranger, v=wrong))
    own = sentence(key.told[0].format(s=stranger, v=values[key]))
    aside = world.chance(0.5)
    yield Trio(
        _claim(world, subject, asked, values),
        tell(subject, values) + (f"\n{rival}" if aside else ""),
        tell(subject, values | {key: wrong}) + (f"\n{own}" if aside else ""),
        tell(subject, {t: v for t, v in values.items() if t is not key}) + f"\n{own}",
    )


def _claim(world: World, subject: str, asked: Sequence[Trait], values: dict[Trait, str]) -> str:
    first = asked[0]
    if len(asked) == 1:
        return sentence(world.pick(first.told).format(s=subject, v=values[first]))
    second = asked[1]
    one, two = (trait.clause.format(v=values[trait]) for trait in (first, second))
    form = world.pick(
        (
            "{s} {a} and {b}",
            "{s}, who {a}, {b}",
            "{s} {b}, and also {a}",
            "{s} both {a} and {b}",
            "the one that {a} and {b} is {s}",
        )
    )
    return sentence(form.format(s=subject, a=one, b=two))


def _telling(
    world: World, names: Sequence[str], traits: Sequence[Trait]
) -> Callable[[str, dict[Trait, str]], str]:
    """Return how the traits are told: the same forms for each of the texts."""
    order = world.shuffled(traits)
    forms = {trait: world.rng.choice(trait.told) for trait in traits}
    back = world.rng.choice(names) if world.chance(0.6) else ""
    style = world.rng.randrange(4)

    def tell(subject: str, values: dict[Trait, str]) -> str:
        kept = [trait for trait in order if trait in values]
        if style == 0:
            return f"{sentence(subject)}\n" + "\n".join(
                f"- {t.clause.format(v=values[t])}" for t in kept
            )
        told = [
            _told(forms[t], t, values[t], subject if i == 0 or not back else back)
            for i, t in enumerate(kept)
        ]
        return " ".join(map(sentence, told))

    return tell


def _told(form: str, trait: Trait, value: str, subject: str) -> str:
    """Return a trait as a sentence; a pronoun takes the form that begins with the subject."""
    if subject in {"It", "They"}:
        text = f"{subject} {trait.clause.format(v=value)}"
        return text.replace("They was", "They were").replace("They works", "They work").replace(
            "They is", "They are").replace("They keeps", "They keep").replace("They lives", "They live")  # fmt: skip
    return form.format(s=subject, v=value)
