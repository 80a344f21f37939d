"""All generators with their shares, and the probes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from programmatic import (
    certainty,
    events,
    fields,
    logic,
    monotone,
    profiles,
    quantities,
    relations,
    roles,
)
from programmatic.base import World, generate
from programmatic.code_data import CODE
from programmatic.document_data import DOCUMENTS
from programmatic.variants import maker

if TYPE_CHECKING:
    from programmatic.base import Generator, Pair

SHARES: dict[str, tuple[Generator, int]] = {
    "roles": (roles.role_swaps, 7000),
    "order/prose": (events.narratives, 3200),
    "order/steps": (events.steps, 1700),
    "order/log": (events.logs, 1500),
    "order/changelog": (events.changelogs, 600),
    "code": (maker(CODE, code=True), 5500),
    "settings": (fields.settings, 3600),
    "ports": (fields.ports, 700),
    "tables": (fields.tables, 3000),
    "numbers/counts": (quantities.counts, 900),
    "numbers/sums": (quantities.sums, 1200),
    "numbers/shares": (quantities.shares, 900),
    "numbers/thresholds": (quantities.thresholds, 1800),
    "numbers/units": (quantities.units, 1200),
    "numbers/spans": (quantities.spans, 1200),
    "plain": (quantities.plain, 4000),
    "certainty/happened": (certainty.happened, 3000),
    "certainty/strength": (certainty.strength, 2000),
    "documents": (maker(DOCUMENTS, code=False), 4500),
    "profiles": (profiles.profiles, 5000),
    "relations": (relations.relations, 6000),
    "monotone": (monotone.monotone, 6000),
    "logic": (logic.logic, 4000),
}


def programmatic_pairs(seed: int, *, scale: float = 1.0) -> list[Pair]:
    """Return the training pairs of all generators."""
    return [
        pair
        for name, (generator, count) in SHARES.items()
        for pair in generate(name, generator, World(Random(f"{seed}/{name}")), int(count * scale))
    ]


PROBES = {
    "roles": ("roles",),
    "order": ("order/prose", "order/steps", "order/log", "order/changelog"),
    "numbers": tuple(name for name in SHARES if name.startswith("numbers/")),
    "plain": ("plain",),
    "code": ("code", "settings", "ports"),
    "logs": ("order/log",),
    "tables": ("tables",),
    "negation": ("certainty/happened",),
    "certainty": ("certainty/strength",),
    "documents": ("documents",),
    "profiles": ("profiles",),
    "relations": ("relations",),
    "monotone": ("monotone",),
    "logic": ("logic",),
}


def probe_pairs(seed: int, each: int) -> list[tuple[str, Pair]]:
    """Return pairs of held-out templates, words and seeds, with the kind each belongs to."""
    return [
        (kind, pair)
        for kind, names in PROBES.items()
        for name in names
        for pair in _probe(name, f"{seed}/{kind}", each // len(names))
    ]


def _probe(name: str, seed: str, count: int) -> list[Pair]:
    world = World(Random(f"probe/{seed}/{name}"), probe=True)
    return generate(f"probe/{name}", SHARES[name][0], world, count)[:count]
