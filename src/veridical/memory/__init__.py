"""A memory that keeps what its evidence carries: facts, the gate before them, and what waits.

from veridical.wiring.build import build_memory

with build_memory(settings) as memory:
    done = memory.remember("The bridge has eight lanes.", {"S1": notice}, about=["bridge"])
    print(done.outcome, done.reason, done.confidence)
"""

from veridical.memory.decision import Decision, GateRules, Refusal, State
from veridical.memory.gate import GateResult, MemoryGate
from veridical.memory.memory import Memory
from veridical.memory.values import (
    Conflict,
    Fact,
    FactContradicted,
    FactNotGrounded,
    Link,
    Match,
    Outcome,
    Participant,
    Pending,
    Provenance,
    Rejection,
    Remembered,
    Tier,
    Verification,
    Worked,
)

__all__ = [
    "Conflict",
    "Decision",
    "Fact",
    "FactContradicted",
    "FactNotGrounded",
    "GateResult",
    "GateRules",
    "Link",
    "Match",
    "Memory",
    "MemoryGate",
    "Outcome",
    "Participant",
    "Pending",
    "Provenance",
    "Refusal",
    "Rejection",
    "Remembered",
    "State",
    "Tier",
    "Verification",
    "Worked",
]
