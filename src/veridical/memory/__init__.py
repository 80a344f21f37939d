"""Memory of verified facts: storage, verification gate and queue.

    from veridical.wiring.memories import build_memory

    with build_memory(settings) as memory:
        done = memory.remember("The bridge has eight lanes.", {"S1": notice}, entities=["bridge"])
        print(done.outcome, done.reason, done.confidence)

Manual: docs/memory.md.
"""

from veridical.memory.decision import FactState, GateDecision, GatePolicy, Refusal
from veridical.memory.gate import GateResult, MemoryGate
from veridical.memory.memory import Memory
from veridical.memory.values import (
    Conflict,
    Fact,
    FactContradicted,
    FactNotGrounded,
    FactOutcome,
    FactRejection,
    Link,
    Match,
    Participant,
    Pending,
    Provenance,
    QueueResult,
    RememberResult,
    Tier,
    Verification,
)

__all__ = [
    "Conflict",
    "Fact",
    "FactContradicted",
    "FactNotGrounded",
    "FactOutcome",
    "FactRejection",
    "FactState",
    "GateDecision",
    "GatePolicy",
    "GateResult",
    "Link",
    "Match",
    "Memory",
    "MemoryGate",
    "Participant",
    "Pending",
    "Provenance",
    "QueueResult",
    "Refusal",
    "RememberResult",
    "Tier",
    "Verification",
]
