"""Claims with the evidence to read for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veridical.core.types import Binding, Citation
from veridical.errors import TimeLimitError
from veridical.pipeline.evidence import CitationResolver
from veridical.pipeline.judgement import worded_as_evidence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from veridical.core.types import Claim, Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.evidence import Binder


@dataclass(frozen=True, slots=True)
class BoundClaim:
    """Claim, and the evidence to read for it.

    `otherwise` is the evidence to read if the claim is not supported by `binding`, a model's hint.
    `text` is the claim with its quantities as the evidence writes them, `verbatim` the sentence of
    the evidence that is this text, if there is one. A claim is `late` if there was no time to look
    for its evidence.
    """

    claim: Claim
    binding: Binding
    otherwise: Binding | None = None
    text: str = field(default="", repr=False)
    verbatim: Passage | None = None
    late: bool = False


def bind_claims(
    claims: Sequence[Claim],
    sources: Mapping[str, Source],
    binder: Binder,
    always: Collection[str] = (),
) -> list[BoundClaim]:
    """Return each claim with its evidence; the sources named `always` are read even if far off.

    Claims are `late` from the one on at which the work around the call has to end.
    """
    resolver, bound = CitationResolver(sources), list[BoundClaim]()
    try:
        binder.expect([claim.as_read for claim in claims if claim.verifiable])
        for claim in claims:
            bound.append(_bound(claim, resolver.resolve(claim.citations), binder, always))
    except TimeLimitError:
        bound += late_claims(claims[len(bound) :], sources)
    return bound


def late_claims(claims: Iterable[Claim], sources: Mapping[str, Source]) -> list[BoundClaim]:
    """Return claims without evidence, for which there was no time; their citations are known."""
    resolver = CitationResolver(sources)
    return [
        BoundClaim(
            claim, _unbound(resolver.resolve(claim.citations)), text=claim.as_read, late=True
        )
        for claim in claims
    ]


def _bound(
    claim: Claim, citations: tuple[Citation, ...], binder: Binder, always: Collection[str]
) -> BoundClaim:
    if not claim.verifiable:
        return BoundClaim(claim, _unbound(citations), text=claim.as_read)
    if claim.evidence_map is not None:
        return _worded(_hinted(claim, binder), binder)
    binding = binder.bind(claim.as_read, citations, always)
    return _worded(BoundClaim(claim, binding), binder)


def fragment_contexts(
    fragments: Iterable[tuple[str, Verdict]], binder: Binder | None
) -> list[tuple[str, tuple[Passage, ...] | None]]:
    """Return texts of claims in the words of their evidence, with the passages to read for each.

    There are no passages (None) for those that are late.
    """
    found: list[tuple[str, tuple[Passage, ...] | None]] = []
    for text, verdict in fragments:
        try:
            found.append((text, None) if binder is None else passages_for(text, binder, verdict))
        except TimeLimitError:
            found.append((text, None))
    return found


def passages_for(text: str, binder: Binder, verdict: Verdict) -> tuple[str, tuple[Passage, ...]]:
    """Return a text in the words of a claim's evidence, and the passages to read for it."""
    passages = binder.bind(text, verdict.citations).with_evidence
    return worded_as_evidence(text, passages), passages


def _hinted(claim: Claim, binder: Binder) -> BoundClaim:
    """Bind a claim without citations to the sources that a model names, and to all of them.

    Either way all sources are its evidence, and nothing is left when that is scrubbed.
    """
    whole = binder.bind(claim.as_read, ())
    named = claim.evidence_map.sources if claim.evidence_map else ()
    hint = binder.bind(claim.as_read, [Citation(each, claim.span, each) for each in named])
    if hint.with_evidence == whole.with_evidence:
        return BoundClaim(claim, whole)
    return BoundClaim(claim, replace(whole, with_evidence=hint.with_evidence), whole)


def _worded(item: BoundClaim, binder: Binder) -> BoundClaim:
    """Return a claim with its quantities in the words of its evidence."""
    text = worded_as_evidence(item.claim.as_read, item.binding.with_evidence)
    verbatim = binder.verbatim(text, item.binding.citations)
    return replace(item, text=text, verbatim=verbatim)


def _unbound(citations: tuple[Citation, ...]) -> Binding:
    return Binding(citations, with_evidence=(), without_evidence=(), windows_total=0)
