"""Verdicts on the claims of a trace, and their conversion to stored results."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from veridical.core.measurements import UNKNOWN, Taken, Unmeasured, UnmeasuredReason
from veridical.core.types import Citation, CitationRef, Claim, Source, Span
from veridical.core.verdicts import NOTHING_TO_REST_ON, Budget, Status, Verdict
from veridical.pipeline.evidence import resolve_citations
from veridical.pipeline.judgement.epistemic import gap, verification
from veridical.traces.reports import ClaimRecord
from veridical.traces.results import VerificationResult, result_from
from veridical.traces.rows import new_id
from veridical.traces.values import NodeKind, Trace, TraceNode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from veridical.core.policy import Policy


class CitableEvidence:
    """Citable evidence of a trace, by id."""

    def __init__(self, nodes: Iterable[TraceNode]) -> None:
        self._nodes = {node.cited_as: node for node in nodes}
        self._names = {node.id: name for name, node in self._nodes.items()}
        self.sources = {name: Source(name, node.text) for name, node in self._nodes.items()}

    def named(self, cited: Iterable[str]) -> tuple[str, ...]:
        """Return cited ids with that of a node replaced by its name."""
        return tuple(self._names.get(one, one) for one in cited)

    def resolved(self, cited: Iterable[str]) -> dict[str, TraceNode | None]:
        """Return the node of each cited id, resolved as by the verifier; None is a phantom."""
        ids = list(dict.fromkeys(cited))
        refs = [CitationRef(name, Span(0, 0)) for name in self.named(ids)]
        found = zip(ids, resolve_citations(refs, self.sources), strict=True)
        return {
            one: None if cite.source is None else self._nodes[cite.source] for one, cite in found
        }


def distinct(nodes: Collection[TraceNode | None]) -> list[TraceNode]:
    """Return the nodes without None and duplicates."""
    return list({node.id: node for node in nodes if node is not None}.values())


def unasked(node: TraceNode, cites: Sequence[str], policy: Policy) -> Verdict:
    """Return the verdict on a claim in a trace that has no evidence at all."""
    status = Status.PHANTOM_CITATION if cites else Status.UNSUPPORTED
    rule = "cited_id_does_not_exist" if cites else NOTHING_TO_REST_ON
    reason = Unmeasured(UnmeasuredReason.DISABLED, "nothing to read it against")
    return _verdict(node, cites, policy, status, rule, reason)


def failed(node: TraceNode, cites: Sequence[str], policy: Policy, why: str) -> Verdict:
    """Return the verdict on a claim that could not be measured, with the reason."""
    reason = Unmeasured(UnmeasuredReason.BACKEND_ERROR, why)
    return _verdict(
        node, cites, policy, Status.UNDETERMINED, f"p1_unmeasured:{reason.reason}", reason
    )


def _verdict(  # noqa: PLR0913, PLR0917 -- a verdict has that many parts
    node: TraceNode,
    cites: Sequence[str],
    policy: Policy,
    status: Status,
    rule: str,
    reason: Unmeasured,
) -> Verdict:
    whole = Span(0, len(node.text))
    claim = Claim.of_text(node.text, cites=cites)
    citations = tuple(Citation(cite, whole, None) for cite in cites)
    budget = Budget(policy.target_confidence)
    took = UNKNOWN if status is Status.UNDETERMINED else Taken()
    return Verdict(claim, status, rule, citations, reason, reason, budget, None, taken=took)


def new_result(node: TraceNode, verdict: Verdict, policy: Policy) -> VerificationResult:
    """Return a verdict on a claim as a new verification of it."""
    found = gap(verdict, policy)
    model = getattr(verdict.p1, "model", None)
    return VerificationResult(
        new_id(NodeKind.VERIFICATION),
        node.id,
        datetime.now(UTC),
        replace(verification(verdict), claim_id=node.id),
        None if found is None else replace(found, claim_id=node.id),
        model,
    )


def recorded(result: VerificationResult, claim: TraceNode) -> TraceNode:
    """Return the node that records a verification."""
    text = f"{result.label.value}: {result.status.value}"
    kind, data = NodeKind.VERIFICATION, result.data()
    return TraceNode(result.id, kind, text, claim.root, claim.id, result.created, data=data)


def claim_record(node: TraceNode, trace: Trace, evidence: CitableEvidence) -> ClaimRecord:
    """Return a claim with its verifications; `evidence` is that of its trace."""
    cited = evidence.resolved(node.data["evidence_ids"])
    return ClaimRecord(
        node.id,
        node.text,
        tuple(node.data["evidence_ids"]),
        node.data["confidence"],
        tuple(one for one, found in cited.items() if found is None),
        tuple(
            result_from(one.id, node.id, one.created, one.data) for one in trace.children(node.id)
        ),
    )
