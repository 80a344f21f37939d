"""Memory gate: accept, queue or reject a fact from its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.information import ensure_probability
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from veridical.core.verdicts import Verdict

REDUCTION = 0.5
"""Factor on the stated confidence of a fact that could not be verified yet."""

REJECTED_AS_CONTRADICTED = "contradicted"
REJECTED_FOR_ITS_GAP = "gap_above_threshold"
REJECTED_AS_TOO_UNSURE = "below_min_confidence"
REJECTED_WITHOUT_EVIDENCE = "no_evidence"
GROUNDED = "grounded"
GATE_OFF = "gate_off"


class FactState(StrEnum):
    """Degree of verification of a stored fact."""

    VERIFIED = "verified"
    """Its evidence supports it."""
    UNSUPPORTED = "unsupported"
    """Its evidence does not support it; stored because `reject_unsupported` is off."""
    UNVERIFIED = "unverified"
    """Unknown: the gate was off, or could not measure it in time."""
    QUEUED = "queued"
    """Waits for verification, and is not remembered before that."""


class Refusal(StrEnum):
    """Reason for the rejection of a fact, in the terms of SPEC-08.16."""

    NOT_GROUNDED = "ErrFactNotGrounded"
    CONTRADICTED = "ErrFactContradicted"


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """Thresholds of the gate: bits a fact may lack, and the least confidence it must keep.

    Without `reject_unsupported` an unsupported fact is stored, with the confidence that its
    evidence supports; a contradicted one is rejected all the same.
    """

    gap_threshold_bits: float = 2.0
    min_confidence: float = 0.5
    reject_unsupported: bool = True

    def __post_init__(self) -> None:
        ensure_probability(self.min_confidence, "min_confidence")
        if not self.gap_threshold_bits >= 0:
            msg = "gap_threshold_bits must be a number of bits from 0"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Decision about a fact: stored in a `state` with a `confidence`, or rejected.

    `reason` names the deciding rule. `queue` is true if it is verified again later.
    """

    reason: str
    confidence: float
    state: FactState | None = None
    refusal: Refusal | None = None
    queue: bool = False


def decide_admission(verdict: Verdict, rules: GatePolicy) -> GateDecision:
    """Return the decision about a fact, given its verdict; the first applicable rule decides.

    `verdict.budget.target` is the stated confidence of the fact. An unmeasured fact is neither
    accepted nor rejected: see `unmeasured`.
    """
    stated = verdict.budget.target
    if isinstance(verdict.p1, Unmeasured):
        return unmeasured(verdict.p1.reason, stated)
    if verdict.status is Status.CONTRADICTED:
        return GateDecision(REJECTED_AS_CONTRADICTED, 0.0, refusal=Refusal.CONTRADICTED)
    if isinstance(verdict.p0, Unmeasured):
        return unmeasured(verdict.p0.reason, stated)
    required, observed = verdict.budget.required_bits, verdict.budget.observed_bits
    if required is None or observed is None:
        return unmeasured(UnmeasuredReason.BACKEND_ERROR, stated)
    return _by_budget(stated, required, observed, rules)


def _by_budget(stated: float, required: float, observed: float, rules: GatePolicy) -> GateDecision:
    confidence = min(stated, support_ratio(required, observed))
    if required - observed > rules.gap_threshold_bits:
        return _not_grounded(REJECTED_FOR_ITS_GAP, confidence, rules)
    if confidence < rules.min_confidence:
        return _not_grounded(REJECTED_AS_TOO_UNSURE, confidence, rules)
    return GateDecision(GROUNDED, confidence, FactState.VERIFIED)


def support_ratio(required_bits: float, observed_bits: float) -> float:
    """Return the observed share of the required bits, in [0, 1] (SPEC-08.17).

    If none are required it is 1, or 0 where the evidence lowers the probability.

    >>> support_ratio(2.0, 1.0)
    0.5
    >>> support_ratio(0.0, 0.0)
    1.0
    """
    if required_bits == 0:
        return 1.0 if observed_bits >= 0 else 0.0
    return min(max(observed_bits / required_bits, 0.0), 1.0)


def unmeasured(reason: UnmeasuredReason, stated: float) -> GateDecision:
    """Return the decision about a fact that could not be measured: it is verified later.

    Until then it is stored with a reduced confidence; after a rate limit it is only queued.
    """
    state = FactState.QUEUED if reason is UnmeasuredReason.RATE_LIMITED else FactState.UNVERIFIED
    return GateDecision(reason.value, stated * REDUCTION, state, queue=True)


def without_evidence(rules: GatePolicy) -> GateDecision:
    """Return the decision about a fact without evidence."""
    return _not_grounded(REJECTED_WITHOUT_EVIDENCE, 0.0, rules)


def accept_unverified(stated: float) -> GateDecision:
    """Return the decision about a fact while the gate is off: stored as it is, unverified."""
    return GateDecision(GATE_OFF, stated, FactState.UNVERIFIED)


def _not_grounded(reason: str, confidence: float, rules: GatePolicy) -> GateDecision:
    if rules.reject_unsupported:
        return GateDecision(reason, confidence, refusal=Refusal.NOT_GROUNDED)
    return GateDecision(reason, confidence, FactState.UNSUPPORTED)
