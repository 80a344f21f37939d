"""Preparation of a check: claims of the answer, and the evidence to read for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from veridical.core.limits import Limits
from veridical.core.sources import as_sources
from veridical.core.types import ClaimSet, ensure_text
from veridical.errors import TimeLimitError
from veridical.pipeline.claims import (
    extract_claims,
    select,
    sentence_parts,
    split_sentences,
    with_known_names,
)
from veridical.pipeline.evidence import Binder, CorpusCache
from veridical.pipeline.inference.vectors import packaged_vectors
from veridical.verification.bound_claims import bind_claims, late_claims
from veridical.verification.worker_threads import in_worker_thread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from veridical.core.policy import Policy
    from veridical.core.sources import Sources
    from veridical.core.types import Part, Source
    from veridical.verification.bound_claims import BoundClaim
    from veridical.verification.decomposer import ModelDecomposer

BRIEF = 4_000
"""Characters up to which texts are read in the caller's thread: a change of threads takes longer
than that, where many checks run at once."""


CORPORA = CorpusCache(split_sentences, packaged_vectors)
"""Corpora of this process: a one-call check finds the sources of the one before it, too."""


@dataclass(frozen=True, slots=True)
class BoundAnswer:
    """Claims with their evidence; without a binder there was no time to index the sources."""

    claims: list[BoundClaim]
    binder: Binder | None


class Preparation:
    """Steps before the first query of a check, in threads of their own where texts are long."""

    def __init__(self, limits: Limits | None, decomposer: ModelDecomposer | None) -> None:
        self.limits = limits or Limits()
        self._decomposer = decomposer

    def accepted(
        self, text: str, what: str, sources: Sources, question: str | None
    ) -> Mapping[str, Source]:
        """Return the sources of a check whose texts can be checked.

        `InputError` if a text, the question or the sources cannot be, or are too long.
        """
        ensure_text(text, what)
        self.limits.ensure_answer(text, what)
        if question is not None:
            ensure_text(question, "the question")
            self.limits.ensure_answer(question, "the question")
        texts = as_sources(sources)
        self.limits.ensure_sources(texts.values())
        return texts

    async def claims(
        self, answer: str, sources: Mapping[str, Source], question: str | None, policy: Policy
    ) -> ClaimSet:
        """Return the claims of an answer; `TimeLimitError` if there is no time to find them."""
        extract = partial(extract_claims, answer, sources.keys(), question)
        brief = len(answer) <= BRIEF
        claims = extract() if brief else await in_worker_thread(extract, characters=len(answer))
        if self._decomposer is not None:
            claims = await self._decomposer.decompose(answer, claims, sources)
        self.limits.ensure_claims(claims)
        return await in_worker_thread(partial(_selected, claims, sources, answer, policy))

    async def parts(self, claim: str) -> tuple[Part, ...]:
        """Return the sentences of a claim that is taken as it stands, see `sentence_parts`."""
        work = partial(sentence_parts, claim)
        brief = len(claim) <= BRIEF
        return work() if brief else await in_worker_thread(work, characters=len(claim))

    async def bound(
        self,
        claims: ClaimSet,
        sources: Mapping[str, Source],
        policy: Policy,
        always: Collection[str] = (),
    ) -> BoundAnswer:
        """Return the claims with the evidence to read for them; those that are late have none."""
        work = partial(self._bound, claims, sources, policy, always)
        characters = sum(len(source.text) for source in sources.values())
        try:
            return await in_worker_thread(work, characters=characters)
        except TimeLimitError:
            return BoundAnswer(late_claims(claims.claims, sources), None)

    def _bound(
        self,
        claims: ClaimSet,
        sources: Mapping[str, Source],
        policy: Policy,
        always: Collection[str],
    ) -> BoundAnswer:
        binder = Binder(CORPORA.of(sources), windows=policy.windows or 0)
        return BoundAnswer(bind_claims(claims.claims, sources, binder, always), binder)


def _selected(
    claims: ClaimSet, sources: Mapping[str, Source], answer: str, policy: Policy
) -> ClaimSet:
    known = with_known_names(claims, (source.text for source in sources.values()))
    return select(known, policy, answer)
