"""Rules that decide on a claim after the model: verbatim sentences, and quantities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from veridical.pipeline.judgement import (
    SubclaimScore,
    differing,
    may_stand_verbatim,
    part_verdicts,
    replaced,
    stands_verbatim,
    underived,
    unread_parts,
)
from veridical.verification.bound_claims import passages_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.evidence import Binder
    from veridical.pipeline.judgement import PooledEstimate
    from veridical.pipeline.judgement.quantities import Replaced
    from veridical.verification.bound_claims import BoundClaim
    from veridical.verification.scoring import ClaimScorer


@dataclass(frozen=True, slots=True)
class RuleStage:
    """Rules of a check: their readings go to the backend, bounded by two texts a claim."""

    binder: Binder
    sources: Mapping[str, Source]
    policy: Policy
    asker: ClaimScorer

    async def decide(
        self, verdicts: Sequence[Verdict], bound: Iterable[BoundClaim]
    ) -> list[Verdict]:
        """Return the verdicts after claims that stand verbatim, or differ in a quantity alone."""
        verdicts = await self._verbatim(verdicts, bound)
        found = [(verdict, replaced(verdict, self.sources)) for verdict in verdicts]
        contexts = [self._contexts(verdict, again) for verdict, again in found]
        readings = iter(await self.asker.read([*chain(*contexts)], self.policy))
        decided = []
        for (verdict, again), asked in zip(found, contexts, strict=True):
            read = [next(readings) for _ in asked]
            ruled = self._differing(verdict, again, asked, read)
            decided.append(_charged(underived(ruled, self.sources), read))
        return decided

    def _contexts(
        self, verdict: Verdict, again: Sequence[Replaced]
    ) -> list[tuple[str, tuple[Passage, ...]]]:
        """Return the readings with another quantity, and those of the parts of such a claim."""
        other = [passages_for(each.text, self.binder, verdict) for each in again]
        parts = unread_parts(verdict, again)
        return [*other, *(self._for_part(part.text, verdict) for part in parts)]

    def _for_part(self, text: str, verdict: Verdict) -> tuple[str, tuple[Passage, ...]]:
        """Return a part with its passages, or with the sentence of the evidence that it is."""
        verbatim = self.binder.verbatim(text, verdict.citations)
        if verbatim is not None:
            return text, (verbatim,)
        return passages_for(text, self.binder, verdict)

    def _differing(
        self,
        verdict: Verdict,
        again: Sequence[Replaced],
        asked: Sequence[tuple[str, tuple[Passage, ...]]],
        read: Sequence[PooledEstimate],
    ) -> Verdict:
        number = len(again)
        looks = [
            SubclaimScore(passages, reading)
            for (_, passages), reading in zip(asked[number:], read[number:], strict=True)
        ]
        parts = part_verdicts(verdict, looks, self.policy)
        return differing(verdict, again, read[:number], self.policy, parts)

    async def _verbatim(
        self, verdicts: Sequence[Verdict], bound: Iterable[BoundClaim]
    ) -> list[Verdict]:
        """Read claims that are refused, but are a sentence of their evidence, with that alone."""
        items = {item.claim.id: item for item in bound}
        lifted = [v for v in verdicts if may_be_lifted(v, items[v.claim.id])]
        standing = [items[v.claim.id] for v in lifted]
        contexts = [(item.text, (item.verbatim,)) for item in standing if item.verbatim]
        readings = await self.asker.read(contexts, self.policy)
        found = {
            v.claim.id: _charged(stands_verbatim(v, reading, self.policy, self.sources), [reading])
            for v, reading in zip(lifted, readings, strict=True)
        }
        return [found.get(verdict.claim.id, verdict) for verdict in verdicts]


def may_change(verdict: Verdict, bound: BoundClaim, sources: Mapping[str, Source]) -> bool:
    """Return whether a rule may give the claim another verdict."""
    if may_be_lifted(verdict, bound) or replaced(verdict, sources):
        return True
    return underived(verdict, sources) is not verdict


def may_be_lifted(verdict: Verdict, item: BoundClaim) -> bool:
    """Return whether the sentence that is the claim is to be read alone."""
    return item.verbatim is not None and may_stand_verbatim(verdict)


def _charged(verdict: Verdict, readings: Iterable[PooledEstimate]) -> Verdict:
    """Return the verdict with the usage of further readings."""
    return replace(verdict, taken=sum((each.taken for each in readings), verdict.taken))
