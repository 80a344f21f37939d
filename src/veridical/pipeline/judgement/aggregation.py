"""Pooling of passages into one measurement: the most decisive passage counts for the claim.

A passage further off than others counts only where it supports the claim: the near ones have not
decided, and a far-off sentence that reads like the opposite is most often about something else
(docs/decisions/0018-meaning-and-reading.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.measurements import (
    NOTHING,
    Estimate,
    Measurement,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.types import FURTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Passage


@dataclass(frozen=True, slots=True)
class PooledEstimate:
    """Result of reading passages: the measurement that decides, and its passage.

    `unread` are the passages that were not read because earlier ones decided. `taken` is the usage
    of all of the reading.
    """

    measurement: Measurement
    passage: Passage | None = None
    unmeasured: int = 0
    unread: tuple[Passage, ...] = ()
    taken: Taken = NOTHING


def pool_passages(
    passages: Sequence[Passage], measurements: Sequence[Measurement], policy: Policy
) -> PooledEstimate:
    """Return the reading of the passage that supports or opposes the claim most.

    A passage that could not be measured might have held the evidence: unless another one decides,
    the claim is unmeasured too, for the same reason. Passages without a measurement were not read.
    """
    pairs, took = list(zip(passages, measurements, strict=False)), Taken.by(measurements)
    unread = tuple(passages[len(pairs) :])
    missing = [m for _, m in pairs if isinstance(m, Unmeasured)]
    scored = [(p, m) for p, m in pairs if isinstance(m, Estimate)]
    if scored:
        speaking = [pair for pair in scored if pair[0].turn < FURTHER or supports(pair[1], policy)]
        passage, estimate = max(speaking or scored, key=lambda pair: _decisiveness(pair[1]))
        if not missing or decides(estimate, policy):
            return PooledEstimate(estimate, passage, len(missing), unread, took)
    reason = missing[0] if missing else Unmeasured(UnmeasuredReason.DISABLED, "nothing to read")
    return PooledEstimate(reason, unmeasured=len(missing), unread=unread, taken=took)


def _decisiveness(estimate: Estimate) -> float:
    return max(estimate.supported, estimate.contradicted or 0.0)


def decides(measurement: Measurement, policy: Policy) -> bool:
    """Return whether a measurement reaches a threshold of the policy, for or against the claim."""
    return isinstance(measurement, Estimate) and (
        supports(measurement, policy) or contradicts(measurement, policy)
    )


def supports(estimate: Estimate, policy: Policy) -> bool:
    """Return whether P(supported) reaches the support threshold."""
    return estimate.supported >= required(policy.support_threshold)


def contradicts(estimate: Estimate, policy: Policy) -> bool:
    """Return whether P(contradicted) is known and reaches the contradiction threshold."""
    threshold = required(policy.contradiction_threshold)
    return estimate.contradicted is not None and estimate.contradicted >= threshold


def required(threshold: float | None) -> float:
    """Return a threshold of a resolved policy."""
    if threshold is None:
        msg = "the policy is not resolved: call Policy.resolved(backend.info) first"
        raise ValueError(msg)
    return threshold
