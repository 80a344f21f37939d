"""Reasoning traces: the public interface to write, verify and query them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self, cast

import anyio.to_thread

from veridical.core.information import ensure_probability
from veridical.core.verdicts import Status
from veridical.errors import InputError, SourceError
from veridical.store import Store, TraceTables
from veridical.traces.document import trace_from_document
from veridical.traces.reports import UNVERIFIED, ClaimRecord, EpistemicReport
from veridical.traces.rows import (
    ensure_importable,
    ensure_storable,
    folded,
    new_node,
    to_edge_row,
    to_node,
    to_row,
    under,
)
from veridical.traces.values import (
    DRAWN,
    EVIDENCE,
    EdgeLabel,
    NodeKind,
    Trace,
    TraceEdge,
    TraceNode,
    ensure_edge,
    label_under,
)
from veridical.traces.verdicts import (
    CitableEvidence,
    claim_record,
    distinct,
    new_result,
    recorded,
)
from veridical.traces.verifiers import VerifierPool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.core.epistemic import EpistemicGap
    from veridical.core.policy import Policy
    from veridical.settings import Settings
    from veridical.traces.results import VerificationResult
    from veridical.verification.verifier import Verifier

_STATES = frozenset({UNVERIFIED, *(status.value for status in Status)})
_OPEN = frozenset({UNVERIFIED, Status.UNDETERMINED.value})


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Root goal of a trace, with its numbers of nodes and claims."""

    goal: TraceNode
    nodes: int
    claims: int


class ReasoningTraces:
    """Traces in a database that threads and processes may share.

    `store` is a URL or a `Store`, `verifier` verifies claims, `policy` are its thresholds; omitted
    arguments are taken from the settings. Close it, or use it as a context manager. Every method
    may raise `StoreError`, and `InputError` for an id that does not exist, an invalid text, and
    nodes that cannot be joined.
    """

    def __init__(
        self,
        store: Store | str | None = None,
        verifier: Verifier | None = None,
        *,
        policy: Policy | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._asking = VerifierPool(verifier, policy, settings)
        self._own = None if isinstance(store, Store) else self._asking.store(store)
        self._tables = TraceTables(self._own or cast("Store", store))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and verifiers opened here; objects of the caller stay open."""
        self._asking.close()
        if self._own is not None:
            self._own.close()

    # --- nodes -------------------------------------------------------------------------------

    def add_goal(self, text: str, parent_id: str | None = None) -> str:
        """Return the id of a new goal: the root of a new trace, or a sub-goal of its parent."""
        if parent_id is not None:
            return self._add(NodeKind.GOAL, text, parent_id)
        goal = new_node(NodeKind.GOAL, text, None)
        self._tables.put([to_row(goal)], ())
        return goal.id

    def add_decision(self, goal_id: str, text: str) -> str:
        """Return the id of a new decision under a goal."""
        return self._add(NodeKind.DECISION, text, goal_id)

    def add_option(self, decision_id: str, text: str, *, chosen: bool = False) -> str:
        """Return the id of a new option that a decision considers, or chose."""
        more = (EdgeLabel.CHOSE,) if chosen else ()
        return self._add(NodeKind.OPTION, text, decision_id, more)

    def add_action(self, parent_id: str, text: str) -> str:
        """Return the id of a new action under a decision, an option or a goal."""
        return self._add(NodeKind.ACTION, text, parent_id)

    def add_outcome(self, action_id: str, text: str) -> str:
        """Return the id of a new outcome of an action; claims may cite it."""
        return self._add(NodeKind.OUTCOME, text, action_id)

    def add_observation(self, parent_id: str, text: str) -> str:
        """Return the id of a new observation; claims may cite it."""
        return self._add(NodeKind.OBSERVATION, text, parent_id)

    def add_evidence(self, parent_id: str, evidence_id: str, text: str) -> str:
        """Return the id of an observation that claims of this trace cite as `evidence_id`.

        The same text again is no new node; `SourceError` if that id has another text.
        """
        ensure_storable(evidence_id, "an evidence id")
        parent = self.node(parent_id)
        node = new_node(NodeKind.OBSERVATION, text, parent, name=evidence_id)
        label = label_under(parent.kind, node.kind)
        edge = to_edge_row(parent.root, TraceEdge(parent.id, label, node.id))
        kept = to_node(self._tables.put_named(to_row(node), [edge]))
        if kept.text != text:
            msg = f"this trace has another evidence of the id {evidence_id[:40]!r}"
            raise SourceError(msg, hint="Give every evidence of a trace an id of its own")
        return kept.id

    def add_claim(
        self,
        decision_id: str,
        claim: str,
        evidence_ids: Sequence[str] = (),
        confidence: float = 0.5,
    ) -> str:
        """Return the id of a new claim under a decision or another node.

        Its evidence are the cited observations and outcomes (by id), or all of its trace if
        it cites none. An id that does not exist is a phantom citation, which is stored and
        reported. `confidence`, from 0 to 1, is its target probability.
        """
        try:
            ensure_probability(confidence, "confidence")
        except ValueError as error:
            raise InputError(str(error), hint="0.5 is the default") from None
        parent = self.node(decision_id)
        cited = self._cited(parent, evidence_ids)
        data = {"evidence_ids": list(evidence_ids), "confidence": float(confidence)}
        node = new_node(NodeKind.CLAIM, claim, parent, data=data)
        edges = [TraceEdge(parent.id, label_under(parent.kind, node.kind), node.id)]
        edges += [TraceEdge(node.id, EdgeLabel.CITES, one.id) for one in cited]
        self._tables.put([to_row(node)], [to_edge_row(parent.root, edge) for edge in edges])
        return node.id

    def link(self, source_id: str, label: str, target_id: str) -> None:
        """Draw an edge between nodes of a trace: `chose`, `rejected` or `leads_to`."""
        if label not in DRAWN:
            msg = "an edge of this label cannot be drawn by itself"
            raise InputError(msg, hint=f"Draw one of {', '.join(sorted(DRAWN))}")
        source, target = self.node(source_id), self.node(target_id)
        ensure_edge(EdgeLabel(label), source.kind, target.kind)
        if source.root != target.root:
            msg = "the nodes are of different traces"
            raise InputError(msg, hint="Link nodes under one goal")
        edge = TraceEdge(source.id, EdgeLabel(label), target.id)
        self._tables.put((), [to_edge_row(source.root, edge)])

    def _add(
        self, kind: NodeKind, text: str, parent_id: str, more: Iterable[EdgeLabel] = ()
    ) -> str:
        parent = self.node(parent_id)
        labels = (label_under(parent.kind, kind), *more)
        node = new_node(kind, text, parent)
        edges = [to_edge_row(node.root, TraceEdge(parent.id, label, node.id)) for label in labels]
        self._tables.put([to_row(node)], edges)
        return node.id

    def _cited(self, parent: TraceNode, evidence_ids: object) -> list[TraceNode]:
        """Return the existing nodes among the cited ids; `InputError` if one is no evidence."""
        if isinstance(evidence_ids, str) or not hasattr(evidence_ids, "__iter__"):
            msg = f"evidence_ids must be a list of ids, not {type(evidence_ids).__name__}"
            raise InputError(msg, hint="Pass ['S1'], or [] to rest on all evidence of the trace")
        cited = list(evidence_ids)
        for one in cited:
            ensure_storable(one, "an evidence id")
        called = [to_node(row) for row in self._tables.called(parent.root, cited)]
        for one in called:
            ensure_edge(EdgeLabel.CITES, NodeKind.CLAIM, one.kind)
        found = CitableEvidence(called).resolved(cited)
        if not all(found.values()):  # a line of a file, a number, or a phantom
            found = self._evidence(parent.root).resolved(cited)
        return distinct(found.values())

    # --- verification ------------------------------------------------------------------------

    def verify_claim(
        self, claim_id: str, verification_model: str | None = None
    ) -> VerificationResult:
        """Verify a claim against the evidence it cites, and store the result.

        `verification_model` is the name of a backend, such as `haiku` or `openai:MODEL`, in place
        of the settings'. A claim that could not be measured is `undetermined`, also if the backend
        fails; `ConfigurationError` if there is no backend of that name.
        """
        return self._asking.run(partial(self.averify_claim, claim_id, verification_model))

    def verify_claims(
        self, goal_id: str, verification_model: str | None = None, *, again: bool = False
    ) -> list[VerificationResult]:
        """Verify the claims under a goal that have no verdict yet; with `again`, all of them."""
        call = partial(self.averify_claims, goal_id, verification_model, again=again)
        return self._asking.run(call)

    async def averify_claim(
        self, claim_id: str, verification_model: str | None = None
    ) -> VerificationResult:
        """Verify as `verify_claim` does, without blocking."""
        node = await anyio.to_thread.run_sync(self._of_kind, claim_id, NodeKind.CLAIM)
        evidence = await anyio.to_thread.run_sync(self._evidence, node.root)
        cited = evidence.resolved(node.data["evidence_ids"])
        confidence = node.data["confidence"]
        policy = replace(self._asking.policy, target_confidence=confidence)
        verdict = await self._asking.verdict(node, evidence, policy, verification_model)
        result = new_result(node, verdict, policy)
        edges = [TraceEdge(result.id, result.label, node.id)]
        edges += [TraceEdge(node.id, EdgeLabel.CITES, one.id) for one in distinct(cited.values())]
        rows = [to_edge_row(node.root, edge) for edge in edges]
        await anyio.to_thread.run_sync(self._tables.put, [to_row(recorded(result, node))], rows)
        return result

    async def averify_claims(
        self, goal_id: str, verification_model: str | None = None, *, again: bool = False
    ) -> list[VerificationResult]:
        """Verify as `verify_claims` does, without blocking."""
        claims = await anyio.to_thread.run_sync(self.claims, goal_id)
        left = [claim.id for claim in claims if again or claim.state in _OPEN]
        if verification_model is not None and not left:
            self._asking.verifier(verification_model)  # raises if there is none of that name
        return [await self.averify_claim(claim_id, verification_model) for claim_id in left]

    # --- queries -----------------------------------------------------------------------------

    def node(self, node_id: str) -> TraceNode:
        """Return a node by its id."""
        found = self._tables.node(node_id) if isinstance(node_id, str) else None
        if found is None:
            msg = f"there is no node {_shown(node_id)}"
            raise InputError(msg, hint="Pass the id that an add_... call returned")
        return to_node(found)

    def find_goal(self, beginning: str) -> str:
        """Return the id of the one goal whose id begins like this."""
        found = self._tables.beginning_with(beginning, NodeKind.GOAL.value)
        if self._tables.node(beginning) is not None:
            found = [beginning]
        if len(found) != 1:
            many = "more than one goal begins" if found else "no goal begins"
            msg = f"{many} with {_shown(beginning)}"
            raise InputError(msg, hint="veridical traces list shows the goals")
        return self._of_kind(found[0], NodeKind.GOAL).id

    def goals(self) -> list[TraceSummary]:
        """Return the root goal of each trace, the oldest first."""
        rows = self._tables.roots()
        return [TraceSummary(to_node(row), row["nodes"], row["claims"]) for row in rows]

    def children(self, node_id: str) -> list[TraceNode]:
        """Return the children of a node, the oldest first."""
        return [to_node(row) for row in self._tables.children(self.node(node_id).id)]

    def path(self, node_id: str) -> list[TraceNode]:
        """Return the nodes from the root goal of the trace to this one."""
        return [to_node(row) for row in self._tables.path(self.node(node_id).id)]

    def tree(self, goal_id: str) -> Trace:
        """Return a goal with all its descendants, and the evidence that its claims cite."""
        return under(self._of_kind(goal_id, NodeKind.GOAL), *self._whole(goal_id))

    def search(
        self, text: str, goal_id: str | None = None, *, kind: str | None = None, limit: int = 50
    ) -> list[TraceNode]:
        """Return the nodes that hold all words of `text`, in any case, the newest first.

        `goal_id` restricts the search to the trace of this goal.
        """
        ensure_storable(text, "the text to search for")
        if kind is not None and kind not in set(NodeKind):
            msg = "there is no node of this kind"
            raise InputError(msg, hint=f"Name one of {', '.join(NodeKind)}")
        root = None if goal_id is None else self.node(goal_id).root
        words = folded(text).split()
        return [
            to_node(row) for row in self._tables.search(words, root=root, kind=kind, limit=limit)
        ]

    def claims(self, goal_id: str, status: str | None = None) -> list[ClaimRecord]:
        """Return the claims under a goal with their verifications, the oldest claim first.

        `status` is that of the last measured verification, or `unverified`.
        """
        if status is not None and status not in _STATES:
            msg = "there is no claim of this status"
            raise InputError(msg, hint=f"Name one of {', '.join(sorted(_STATES))}")
        goal = self._of_kind(goal_id, NodeKind.GOAL)
        nodes, edges = self._whole(goal_id)
        part = under(goal, nodes, edges)
        evidence = CitableEvidence(one for one in nodes if one.kind in EVIDENCE)
        found = [claim_record(node, part, evidence) for node in part.of_kind(NodeKind.CLAIM)]
        return [claim for claim in found if status in {None, claim.state}]

    def get_epistemic_gaps(self, goal_id: str) -> list[EpistemicGap]:
        """Return the gaps between the claims under a goal and their evidence.

        Each is from the last verdict on a claim; before the first, its phantom citation.
        """
        return list(self.get_verification_report(goal_id).gaps)

    def get_verification_report(self, goal_id: str) -> EpistemicReport:
        """Return the report on the claims under a goal, by the last verdict on each.

        Verifies nothing, unless `hallucination.trace_auditing` is on: then the claims without a
        verdict.
        """
        goal = self._of_kind(goal_id, NodeKind.GOAL)
        if self._asking.audits:
            self.verify_claims(goal_id, self._asking.auditor)
        return EpistemicReport(goal.id, goal.text, tuple(self.claims(goal_id)))

    # --- whole traces ------------------------------------------------------------------------

    def import_trace(self, document: object) -> str:
        """Store a trace made by `tree(goal).to_dict()`, ids included, and return its goal's id.

        Its verifications are not repeated. `InputError` if it is no such document, or if one of
        its nodes is in the store already.
        """
        trace = trace_from_document(document)
        for number, node in enumerate(trace.nodes):
            ensure_importable(node, trace, f"node {number}")
        if self._tables.any_of([node.id for node in trace.nodes]):
            msg = "a node of this trace is in the store already"
            raise InputError(msg, hint="Remove the trace that it is of, or use another store")
        edges = [to_edge_row(trace.goal, edge) for edge in trace.edges]
        self._tables.put([to_row(node) for node in trace.nodes], edges)
        return trace.goal

    def remove(self, goal_id: str) -> int:
        """Remove a whole trace by its root goal; return the number of its nodes."""
        goal = self._of_kind(goal_id, NodeKind.GOAL)
        if goal.parent is not None:
            msg = f"{goal.id} is a sub-goal"
            raise InputError(msg, hint=f"Only whole traces can be removed: {goal.root}")
        return self._tables.remove(goal.id)

    def _whole(self, node_id: str) -> tuple[list[TraceNode], list[TraceEdge]]:
        nodes, edges = self._tables.trace(self.node(node_id).root)
        drawn = [TraceEdge(row["source"], EdgeLabel(row["label"]), row["target"]) for row in edges]
        return [to_node(row) for row in nodes], drawn

    def _of_kind(self, node_id: str, kind: NodeKind) -> TraceNode:
        node = self.node(node_id)
        if node.kind is not kind:
            msg = f"the node {_shown(node_id)} is of the kind {node.kind.value}"
            raise InputError(msg, hint=f"Pass the id of a {kind.value}")
        return node

    def _evidence(self, root: str) -> CitableEvidence:
        return CitableEvidence(map(to_node, self._tables.of_kinds(root, EVIDENCE)))


def _shown(node_id: object) -> str:
    """Return an id, cut to a length; the type of an invalid one."""
    return repr(node_id[:40]) if isinstance(node_id, str) else f"this {type(node_id).__name__}"
