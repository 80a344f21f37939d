"""Reasoning traces that are kept: goals, decisions, what was done and seen, claims and verdicts.

    from veridical.traces import ReasoningTraces

    with ReasoningTraces("sqlite:///traces.db") as traces:
        goal = traces.add_goal("Say how wide the bridge is")
        decision = traces.add_decision(goal, "Read the notice")
        traces.add_evidence(decision, "S1", "It carries eight lanes.")
        claim = traces.add_claim(decision, "It has six lanes.", ["S1"])
        print(traces.verify_claim(claim))
        print(traces.get_verification_report(goal))

The calls block; `averify_claim` and `averify_claims` are for async programs. What was written is
never changed: a second verification stands beside the first, and the last that measured counts.
"""

from veridical.traces.reasoning import ReasoningTraces, TraceSummary
from veridical.traces.reports import ClaimRecord, EpistemicReport
from veridical.traces.results import VerificationResult
from veridical.traces.values import EdgeLabel, NodeKind, Trace, TraceEdge, TraceNode

__all__ = [
    "ClaimRecord",
    "EdgeLabel",
    "EpistemicReport",
    "NodeKind",
    "ReasoningTraces",
    "Trace",
    "TraceEdge",
    "TraceNode",
    "TraceSummary",
    "VerificationResult",
]
