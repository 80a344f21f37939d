"""Texts that exist in variants: what is true of one variant is false of the others."""

# ruff: noqa: E501, SIM905 -- a template is one line, a list of words one paragraph

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

_ERRORS = """ValueError KeyError TimeoutError OSError TypeError IndexError ConnectionError LookupError
PermissionError RuntimeError FileNotFoundError ZeroDivisionError""".split()


@dataclass(frozen=True, slots=True)
class Variant:
    """Ways to write one variant, and claims that hold of it; `|` separates them.

    A claim that ends in `~` may hold of other variants too: nothing contradicts it.
    """

    texts: str
    claims: str


Subject = tuple[Variant, ...]
"""Variants that exclude each other."""


def maker(subjects: Sequence[Subject], *, code: bool) -> Callable[[World], Iterator[Trio]]:
    """Return the generator of a list of subjects."""

    def generator(world: World) -> Iterator[Trio]:
        subject = world.pick(subjects)
        own, other = world.rng.sample(subject, 2)
        slots = fill(world)
        about = world.rng.choice([s for s in subjects if s is not subject])
        texts = [_one(world, v, slots) for v in (own.texts, other.texts)]
        form = world.pick(own.claims.split("|")).strip()
        if form.endswith("~"):
            form, texts[1] = form[:-1], ""
        claim = form.format(**slots)
        strange = _renamed(world, slots)
        near = form.format(**strange) != claim and world.chance(0.6)
        unrelated = world.rng.choice(about).texts
        texts.append(_one(world, own.texts, strange) if near else _one(world, unrelated, slots))
        context = _context(world, subjects, (subject, about))
        yield Trio(
            sentence(claim), *(_within(world, t, context, code=code) if t else "" for t in texts)
        )

    return generator


def fill(world: World) -> dict[str, str]:
    """Return a value for every slot a text may have."""
    numbers = [
        str(n) for n in world.rng.sample((*range(2, 13), 15, 20, 25, 30, 40, 50, 60, 90, 100), 3)
    ]
    functions = lexicon.distinct(world, lexicon.function, 3)
    names = lexicon.people(world, 2)
    return {
        "n": numbers[0], "m": numbers[1], "k": numbers[2], "f": functions[0], "g": functions[1],
        "h": functions[2], "x": world.pick(lexicon.NOUNS), "y": world.pick(lexicon.NOUNS) + "s",
        "E": world.pick(_ERRORS), "v": lexicon.variable(world), "p": names[0], "q": names[1],
        "o": lexicon.organisation(world), "c": lexicon.organisation(world), "s": world.pick(lexicon.SERVICES),
        "t": lexicon.place(world), "d": world.rng.choice(lexicon.DAYS), "w": world.pick(lexicon.PRODUCTS),
        "N": world.pick(lexicon.NOUNS).capitalize(), "mo": world.rng.choice(lexicon.MONTHS),
    }  # fmt: skip


def _renamed(world: World, slots: dict[str, str]) -> dict[str, str]:
    """Return the slots with other names, and the same numbers."""
    return fill(world) | {key: slots[key] for key in "nmkd"}


def _one(world: World, texts: str, slots: dict[str, str]) -> str:
    return world.rng.choice(texts.split("|")).strip("\n").format(**slots)


def _context(world: World, subjects: Sequence[Subject], used: Sequence[Subject]) -> list[str]:
    """Return texts on other subjects, the same around each of the three."""
    free = [s for s in subjects if s not in used]
    count = world.rng.choice((0, 0, 1, 1, 2))
    return [
        _one(world, world.rng.choice(s).texts, fill(world)) for s in world.rng.sample(free, count)
    ]


def _within(world: World, text: str, context: Sequence[str], *, code: bool) -> str:
    place = world.rng.randint(0, len(context))
    joint = "\n\n" if code else world.rng.choice((" ", " ", "\n", "\n- "))
    tidy = str if code else sentence
    return joint.join(tidy(part) for part in [*context[:place], text, *context[place:]])
