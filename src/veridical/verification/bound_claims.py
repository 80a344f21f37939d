"""Claims with the evidence to read for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veridical.core.types import Binding, Citation
from veridical.pipeline.evidence import resolve_citations
from veridical.pipeline.judgement import worded_as_evidence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from veridical.core.types import Claim, Passage, Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.evidence import Binder


@dataclass(frozen=True, slots=True)
class BoundClaim:
    """Claim, and the evidence to read for it.

    `otherwise` is the evidence to read if the claim is not supported by `binding`, a model's hint.
    `text` is the claim with its quantities as the evidence writes them, `verbatim` the sentence of
    the evidence that is this text, if there is one.
    """

    claim: Claim
    binding: Binding
    otherwise: Binding | None = None
    text: str = field(default="", repr=False)
    verbatim: Passage | None = None


def bind_claims(
    claims: Iterable[Claim],
    sources: Mapping[str, Source],
    binder: Binder,
    always: Collection[str] = (),
) -> list[BoundClaim]:
    """Return each claim with its evidence; the sources named `always` are read even if far off."""
    bound = []
    for claim in claims:
        citations = resolve_citations(claim.citations, sources)
        if not claim.verifiable:
            bound.append(BoundClaim(claim, _unbound(citations), text=claim.as_read))
        elif claim.evidence_map is not None:
            bound.append(_worded(_hinted(claim, binder), binder))
        else:
            binding = binder.bind(claim.as_read, citations, always)
            bound.append(_worded(BoundClaim(claim, binding), binder))
    return bound


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
