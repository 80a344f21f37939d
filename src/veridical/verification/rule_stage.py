"""Rules that decide on a claim after the model: verbatim sentences, quantities, and mentions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Unmeasured, UnmeasuredReason
from veridical.errors import TimeLimitError
from veridical.pipeline.judgement import (
    PROPOSITION,
    SubclaimScore,
    asserted,
    differing,
    may_stand_verbatim,
    mentions,
    part_verdicts,
    replaced,
    stands_verbatim,
    supported_elsewhere,
    supports,
    underived,
    unread_parts,
)
from veridical.verification.bound_claims import fragment_contexts
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.evidence import Binder
    from veridical.pipeline.judgement import Mentions, PooledEstimate
    from veridical.pipeline.judgement.quantities import Replaced
    from veridical.verification.bound_claims import BoundClaim
    from veridical.verification.scoring import ClaimScorer, Context


@dataclass(frozen=True, slots=True)
class _Reread:
    """Verdict, its readings with another quantity, and what is read for these."""

    verdict: Verdict
    again: tuple[Replaced, ...]
    contexts: list[Context]


@dataclass(frozen=True, slots=True)
class RuleStage:
    """Rules of a check: their readings go to the backend, a few short texts a claim."""

    binder: Binder | None
    sources: Mapping[str, Source]
    policy: Policy
    asker: ClaimScorer

    async def decide(
        self, verdicts: Sequence[Verdict], bound: Iterable[BoundClaim]
    ) -> list[Verdict]:
        """Return the verdicts after the rules on verbatim claims, quantities and mentions."""
        verdicts = await self._verbatim(verdicts, bound)
        found = await in_worker_thread(partial(self._replaced, verdicts))
        readings = await self.asker.read([*chain(*(item.contexts for item in found))], self.policy)
        return await self._asserted(await in_worker_thread(partial(self._decided, found, readings)))

    async def _asserted(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Look at supported claims that their evidence mentions; read the frames of these."""
        if not self.asker.reads_passages:
            return list(verdicts)
        found = await in_worker_thread(lambda: [mentions(v, self.sources) for v in verdicts])
        contexts: list[Context] = [(PROPOSITION, (text,)) for each in found for text in each.frames]
        left, decided = iter(await self.asker.read(contexts, self.policy)), []
        for verdict, each in zip(verdicts, found, strict=True):
            read = [next(left) for _ in each.frames]
            looks = [] if self._carried(read) else read
            decided.append(_charged(asserted(verdict, each, read, self.policy), read, looks))
        lost = [i for i, each in enumerate(decided) if each.status is not verdicts[i].status]
        if lost:
            await self._reread(decided, {i: (verdicts[i], found[i]) for i in lost})
        return decided

    def _carried(self, readings: Iterable[PooledEstimate]) -> bool:
        """Return whether one of the frames of a claim asserts it, whatever the others do."""
        found = [each.measurement for each in readings]
        return any(isinstance(each, Estimate) and supports(each, self.policy) for each in found)

    async def _reread(
        self, decided: list[Verdict], mentioned: Mapping[int, tuple[Verdict, Mentions]]
    ) -> None:
        """Read claims without the sentences that only mention them: those may not be needed."""
        passages = await in_worker_thread(
            lambda: {i: self._without(*each) for i, each in mentioned.items()}
        )
        asked = [(i, mentioned[i][0], each) for i, each in passages.items() if each is not None]
        contexts: list[Context] = [(v.claim.as_read, (each,)) for _, v, each in asked]
        readings = await self.asker.read(contexts, self.policy)

        def kept() -> list[Verdict | None]:
            pairs = zip((verdict for _, verdict, _ in asked), readings, strict=True)
            return [supported_elsewhere(*each, self.policy, self.sources) for each in pairs]

        for (i, *_), found, reading in zip(
            asked, await in_worker_thread(kept), readings, strict=True
        ):
            decided[i] = _charged(
                decided[i] if found is None else replace(found, taken=decided[i].taken), [reading]
            )

    def _without(self, verdict: Verdict, found: Mentions) -> Passage | None:
        """Return the evidence without the mentions of a claim; None without time or evidence."""
        if self.binder is None:
            return None
        try:
            return self.binder.without(verdict.claim.as_read, verdict.citations, found.pieces)
        except TimeLimitError:
            return None

    def _replaced(self, verdicts: Sequence[Verdict]) -> list[_Reread]:
        found = [(verdict, replaced(verdict, self.sources)) for verdict in verdicts]
        return [_Reread(*each, self._contexts(*each)) for each in found]

    def _decided(
        self, found: Iterable[_Reread], readings: Iterable[PooledEstimate]
    ) -> list[Verdict]:
        left, decided = iter(readings), []
        for item in found:
            read = [next(left) for _ in item.contexts]
            ruled = self._differing(item, read)
            looks = read[: len(item.again)] if ruled is item.verdict else []
            decided.append(_charged(underived(ruled, self.sources), read, looks))
        return decided

    def _contexts(self, verdict: Verdict, again: Sequence[Replaced]) -> list[Context]:
        """Return the readings with another quantity, and those of the parts of such a claim."""
        other = fragment_contexts([(each.text, verdict) for each in again], self.binder)
        parts = unread_parts(verdict, again)
        return [*other, *(self._for_part(part.text, verdict) for part in parts)]

    def _for_part(self, text: str, verdict: Verdict) -> Context:
        """Return a part with its passages, or with the sentence of the evidence that it is."""
        if self.binder is not None:
            verbatim = self.binder.verbatim(text, verdict.citations)
            if verbatim is not None:
                return text, (verbatim,)
        (found,) = fragment_contexts([(text, verdict)], self.binder)
        return found

    def _differing(self, item: _Reread, read: Sequence[PooledEstimate]) -> Verdict:
        number = len(item.again)
        looks = [
            SubclaimScore(passages or (), reading)
            for (_, passages), reading in zip(item.contexts[number:], read[number:], strict=True)
        ]
        parts = part_verdicts(item.verdict, looks, self.policy)
        return differing(item.verdict, item.again, read[:number], self.policy, parts)

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
    return bool(mentions(verdict, sources)) or underived(verdict, sources) is not verdict


def may_be_lifted(verdict: Verdict, item: BoundClaim) -> bool:
    """Return whether the sentence that is the claim is to be read alone."""
    return item.verbatim is not None and may_stand_verbatim(verdict)


def _charged(
    verdict: Verdict,
    readings: Sequence[PooledEstimate],
    looks: Sequence[PooledEstimate] | None = None,
) -> Verdict:
    """Return the verdict with the usage of further readings, and the first failure of `looks`.

    `looks` are the readings that could have changed it (default: all of them).
    """
    failures = filter(None, map(_failure, readings if looks is None else looks))
    return replace(
        verdict,
        taken=sum((each.taken for each in readings), verdict.taken),
        second_look=verdict.second_look or next(failures, None),
    )


def _failure(reading: PooledEstimate) -> Unmeasured | None:
    """Return the failure of a reading; None if it was measured, or had nothing to read."""
    found = reading.measurement
    if not isinstance(found, Unmeasured):
        return None
    unread = found.reason is UnmeasuredReason.DISABLED and not reading.unmeasured
    return None if unread else found
