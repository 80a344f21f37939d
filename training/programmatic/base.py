"""What a generator is: a source of trios, one claim with an evidence text for each label.

A trio puts the *same* claim next to evidence that supports it, contradicts it and lacks it: nothing
in the claim alone tells the label. Training and probes draw from disjoint parts of every list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from random import Random

T = TypeVar("T")

SUPPORTED = "supported"
CONTRADICTED = "contradicted"
NOT_IN_CONTEXT = "not_in_context"
NOT_SUPPORTED = "not_supported"
LABELS = (SUPPORTED, CONTRADICTED, NOT_IN_CONTEXT, NOT_SUPPORTED)

_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]|[A-Z]|\.py)")
_HELD_OUT = 5
"""Every fifth item of a list belongs to the probes; a shorter list is shared."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One training row."""

    evidence: str
    claim: str
    label: str
    source: str


@dataclass(frozen=True, slots=True)
class Trio:
    """A claim and the evidence that supports, contradicts and lacks it; an empty text is none.

    `opposed` is the label of the second where it does not quite exclude the claim.
    """

    claim: str
    supports: str
    contradicts: str = ""
    lacks: str = ""
    opposed: str = CONTRADICTED

    def pairs(self, source: str) -> Iterator[Pair]:
        """Yield a pair for each evidence there is."""
        texts = (self.supports, self.contradicts, self.lacks)
        labels = (SUPPORTED, self.opposed, NOT_IN_CONTEXT)
        for label, evidence in zip(labels, texts, strict=True):
            if evidence:
                yield Pair(evidence, self.claim, label, source)


@dataclass(frozen=True, slots=True)
class World:
    """Chance, and the part of every list that may be drawn from."""

    rng: Random
    probe: bool = False
    used: set[str] = field(default_factory=set)

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of this side of the split; a list too short to split is shared."""
        if len(items) < _HELD_OUT:
            return items
        held = _HELD_OUT - 1
        return [item for i, item in enumerate(items) if (i % _HELD_OUT == held) is self.probe]

    def pick(self, items: Sequence[T]) -> T:
        """Return one item of this side of the split."""
        return self.rng.choice(self.part(items))

    def several(self, items: Sequence[T], count: int) -> list[T]:
        """Return different items; of the whole list where the side has too few."""
        part = self.part(items)
        return self.rng.sample(part if len(part) >= count else items, count)

    def other(self, items: Sequence[T], *known: T) -> T:
        """Return an item that is none of those known; of the whole list if the side has none."""
        left = [item for item in self.part(items) if item not in known]
        return self.rng.choice(left or [item for item in items if item not in known])

    def chance(self, probability: float) -> bool:
        """Return true with a probability."""
        return self.rng.random() < probability

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """Return the items in a new order."""
        result = list(items)
        self.rng.shuffle(result)
        return result


if TYPE_CHECKING:
    Generator = Callable[[World], Iterable[Trio]]


def generate(name: str, generator: Generator, world: World, count: int) -> list[Pair]:
    """Return about `count` pairs of a generator, no pair twice."""
    found: dict[Pair, None] = {}
    for _ in range(count * 3):
        if len(found) >= count:
            break
        for trio in generator(world):
            found.update(dict.fromkeys(trio.pairs(name)))
    return list(found)


def capital(text: str) -> str:
    """Return the text with its first letter in upper case, unless it begins with a name of code."""
    if _IDENTIFIER.match(text):
        return text
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return the text as a sentence."""
    text = capital(text.strip())
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def listed(items: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
