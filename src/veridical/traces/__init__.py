"""Stored reasoning traces: goals, decisions, actions, observations, claims and verdicts.

    from veridical.traces import ReasoningTraces

    with ReasoningTraces("sqlite:///traces.db") as traces:
        goal = traces.add_goal("Say how wide the bridge is")
        decision = traces.add_decision(goal, "Read the notice")
        traces.add_evidence(decision, "S1", "It carries eight lanes.")
        claim = traces.add_claim(decision, "It has six lanes.", ["S1"])
        print(traces.verify_claim(claim))
        print(traces.get_verification_report(goal))

The calls block; `averify_claim` and `averify_claims` are for async programs. Nodes are never
changed: a second verification is added to the first, and the last measured one counts.
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
