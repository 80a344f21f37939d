"""Verification around any function that answers questions: check, retry, annotate or ask.

    orchestrator = Orchestrator(generate, verifier, on_failure="retry")
    answer = await orchestrator.process("Who built it?", {"history.md": text})
    print(answer.text)

Manual: docs/orchestrator.md.
"""

from veridical.core.guidance import guidance
from veridical.orchestrator.annotation import annotate
from veridical.orchestrator.config import VerificationConfig
from veridical.orchestrator.generation import ANSWERING, Generate, from_text_model
from veridical.orchestrator.loop import Ask, Orchestrator
from veridical.orchestrator.removal import without_failing
from veridical.orchestrator.results import (
    Action,
    Attempt,
    FailureChoice,
    FailureKind,
    ProcessedAnswer,
    ProcessingFailure,
    Replacement,
    Spent,
    UnverifiedReason,
)
from veridical.orchestrator.trajectory import Trajectory

__all__ = [
    "ANSWERING",
    "Action",
    "Ask",
    "Attempt",
    "FailureChoice",
    "FailureKind",
    "Generate",
    "Orchestrator",
    "ProcessedAnswer",
    "ProcessingFailure",
    "Replacement",
    "Spent",
    "Trajectory",
    "UnverifiedReason",
    "VerificationConfig",
    "annotate",
    "from_text_model",
    "guidance",
    "without_failing",
]
