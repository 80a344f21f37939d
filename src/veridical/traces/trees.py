"""Traces and their reports as trees for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from veridical.core.status_table import Status
from veridical.pipeline.reports import figures, phrases
from veridical.pipeline.reports.escaping import one_line
from veridical.traces.values import EdgeLabel, NodeKind

if TYPE_CHECKING:
    from rich.console import RenderableType

    from veridical.traces.reports import ClaimRecord, EpistemicReport
    from veridical.traces.results import VerificationResult
    from veridical.traces.values import Trace, TraceNode

_GOOD, _BAD, _OPEN, _QUIET = map(
    phrases.style, (Status.SUPPORTED, Status.CONTRADICTED, Status.UNDETERMINED, phrases.EXCLUDED)
)
_STYLES = {EdgeLabel.VERIFIES: _GOOD, EdgeLabel.REFUTES: _BAD, EdgeLabel.LEAVES_OPEN: _OPEN}
_OUTCOMES = {"grounded": _GOOD, "flagged": _BAD, "undetermined": _OPEN}
_SHOWN = 200


class TraceLayout:
    """Layout of traces in characters of a terminal's encoding."""

    def __init__(self, encoding: str) -> None:
        self._unicode = encoding.startswith("utf")
        self._encoding = encoding

    # --- the whole trace ---------------------------------------------------------------------

    def trace(self, trace: Trace) -> RenderableType:
        """Return the tree of all nodes, with their ids."""
        branches: dict[str | None, Tree] = {}
        for _, node in trace.walk():
            line = self._node(node, trace)
            above = branches.get(node.parent)
            branches[node.id] = Tree(line) if above is None else above.add(line)
        return branches[trace.goal]

    def _node(self, node: TraceNode, trace: Trace) -> Text:
        style = "bold" if node.kind is NodeKind.GOAL else ""
        if node.kind is NodeKind.VERIFICATION and node.parent is not None:
            style = _STYLES[trace.labels(node.id, node.parent)[0]]
        line = self._ink(f"{node.kind.value}{self._marked(node, trace)} ", _QUIET)
        line.append_text(self._ink(self._said(node), style))
        tail = f"  {node.id}" if node.name is None else f"  {node.name} ({node.id})"
        return line.append_text(self._ink(tail, _QUIET))

    def _marked(self, node: TraceNode, trace: Trace) -> str:
        """Return whether a decision chose or rejected an option, as text."""
        labels = () if node.parent is None else trace.labels(node.parent, node.id)
        done = [one for one in labels if one in {EdgeLabel.CHOSE, EdgeLabel.REJECTED}]
        return f" ({'chosen' if done[-1] is EdgeLabel.CHOSE else 'rejected'})" if done else ""

    def _said(self, node: TraceNode) -> str:
        if node.kind is NodeKind.VERIFICATION:
            verified = node.data["verification"]
            return f"{node.text}, {_support(verified['evidence_support'])}"
        if node.kind is NodeKind.CLAIM:
            cited = ", ".join(node.data["evidence_ids"]) or "no source"
            return f"{_cut(node.text)} [{cited}]"
        return _cut(node.text)

    # --- the report --------------------------------------------------------------------------

    def report(self, report: EpistemicReport) -> RenderableType:
        """Return the counts, and every claim with its verdict, gap and advice."""
        tree = Tree(self._ink(_cut(report.goal), "bold"))
        for claim in report.claims:
            self._add(tree, claim)
        head = self._ink(report.headline, _OUTCOMES.get(report.outcome.value, ""))
        return Group(head, tree) if report.claims else head

    def _add(self, tree: Tree, claim: ClaimRecord) -> None:
        latest, gap = claim.latest, claim.gap
        style = _QUIET if latest is None else _STYLES[latest.label]
        state = claim.state.replace("_", " ")
        line = self._ink(f"{self._mark(claim)} {state} ", style)
        branch = tree.add(line.append_text(self._ink(_cut(claim.text))))
        branch.add(self._ink(self._figures(claim, latest), _QUIET))
        missing = ", ".join(map(one_line, claim.phantom_citations))
        if missing:
            branch.add(self._ink(f"no such evidence: {missing}", _BAD))
        for span in () if latest is None else latest.verification.evidence[:1]:
            branch.add(self._ink(f"{span.role.value} {span.source}: “{_cut(span.text)}”"))
        if gap is not None:
            words_of = gap.gap_type.replace("_", " ")
            branch.add(self._ink(f"{gap.severity} gap, {words_of}: {gap.suggested_action}", style))

    def _figures(self, claim: ClaimRecord, latest: VerificationResult | None) -> str:
        parts = [claim.id, f"cites {', '.join(claim.evidence_ids) or 'no source'}"]
        if latest is not None:
            found = latest.verification
            bits = "unknown" if found.budget_gap is None else f"{found.budget_gap:+.2f} bits"
            parts += [_support(found.p1), f"gap {bits} at target {found.target:.2f}"]
            parts += [f"unmeasured: {found.unmeasured}"] if found.unmeasured else []
            times = len(claim.history)
            parts += [f"verified {times} times"] if times > 1 else []
        return ", ".join(parts)

    def _mark(self, claim: ClaimRecord) -> str:
        look = phrases.LOOKS.get(claim.state, phrases.LOOKS[phrases.EXCLUDED])
        return look.mark if self._unicode else look.ascii_mark

    def _ink(self, text: str, style: str = "") -> Text:
        shown = f"{one_line(text)}{' ' if text.endswith(' ') else ''}"
        shown = f"{'  ' if text.startswith('  ') else ''}{shown}"
        shown = shown.encode(self._encoding, "backslashreplace").decode(self._encoding)
        return Text(shown, style=style, overflow="fold")


def _support(value: float | None) -> str:
    return "not measured" if value is None else f"support {figures.probability(value)}"


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"
