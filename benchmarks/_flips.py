"""Verdicts flipped by the attacks, for one verifier against its own verdicts without the attack."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from _attacks import ATTACKS, CONTROLS, Kind, tried
from _bases import BASES
from veridical.core.measurements import Query, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Span
from veridical.pipeline.judgement.status import decide_status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from _attacks import Attack
    from _bases import Base
    from veridical import Verifier
    from veridical.core.ports import Backend
    from veridical.core.verdicts import Status

    Judge = Callable[[Sequence[Query]], Awaitable[list[Status]]]

_NOT_ASKED = Unmeasured(UnmeasuredReason.DISABLED)


@dataclass(frozen=True, slots=True)
class Flip:
    """A verdict that an attack moved."""

    attack: Attack
    base: Base
    before: Status
    after: Status


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a verifier: the number of pairs it judges right, and its flipped verdicts."""

    right: int
    tried: Counter[Kind]
    flips: Sequence[Flip]

    def attacked(self, kind: Kind | None = None) -> int:
        """Return how many pairs were attacked, by a kind of attack or by all."""
        return sum(number for each, number in self.tried.items() if _counts(each, kind))

    def flipped(self, kind: Kind | None = None, after: Status | None = None) -> int:
        """Return how many verdicts flipped, of a kind of attack or of all, to a status."""
        return sum(
            _counts(flip.attack.kind, kind) and after in {None, flip.after} for flip in self.flips
        )


def _counts(kind: Kind, wanted: Kind | None) -> bool:
    return kind is wanted if wanted else kind is not Kind.HARMLESS


async def judged(backend: Backend, queries: Sequence[Query]) -> list[Status]:
    """Return the status that each measurement alone gives, by the product's own rules."""
    policy = Policy().resolved(backend.info)
    measured = await backend.estimate(queries)
    return [
        decide_status(
            Claim("c1", q.claim, Span(0, len(q.claim)), 0), (), m, _NOT_ASKED, policy
        ).status
        for q, m in zip(queries, measured, strict=True)
    ]


async def verified(verifier: Verifier, queries: Sequence[Query]) -> list[Status]:
    """Return the status that the whole verifier gives each claim, which cites its evidence."""
    sources = [{"S1": query.context} for query in queries]
    return [
        (await verifier.verify(query.claim, source, cites=("S1",))).status
        for query, source in zip(queries, sources, strict=True)
    ]


def measure(judge: Judge, every: int = 1) -> Found:
    """Return what attacks and harmless texts do to one way to judge, on one base in `every`."""
    pairs = list(tried((*ATTACKS, *CONTROLS), BASES, every=every))
    plain = [Query(base.claim, base.evidence) for base in BASES]
    attacked = []
    for attack, base in pairs:
        evidence, claim = attack.on(base.evidence, base.claim)
        attacked.append(Query(claim, evidence))
    statuses = anyio.run(judge, [*plain, *attacked])
    before = dict(zip(BASES, statuses, strict=False))
    flips = [
        Flip(attack, base, before[base], after)
        for (attack, base), after in zip(pairs, statuses[len(BASES) :], strict=True)
        if after is not before[base]
    ]
    right = sum(before[base] is base.right for base in BASES)
    return Found(right, Counter(attack.kind for attack, _ in pairs), flips)
