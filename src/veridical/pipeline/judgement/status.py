"""Status of a claim from its measurements, by rules in the documented order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Measurement, Unmeasured
from veridical.core.verdicts import Status
from veridical.pipeline.judgement.aggregation import contradicts, required, supports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.policy import Policy
    from veridical.core.types import Citation, Claim


@dataclass(frozen=True, slots=True)
class StatusDecision:
    """Status and the name of the rule that decided it."""

    status: Status
    rule: str


def decide_status(
    claim: Claim,
    citations: Sequence[Citation],
    p1: Measurement,
    p0: Measurement,
    policy: Policy,
) -> StatusDecision:
    """Return the first status whose rule applies; `unsupported` if none does.

    A citation has to exist whether or not the claim could be measured, or asserts anything.
    """
    if not all(citation.resolved for citation in citations):
        return StatusDecision(Status.PHANTOM_CITATION, "cited_id_does_not_exist")
    if claim.skipped is not None:
        return StatusDecision(Status.UNDETERMINED, f"skipped:{claim.skipped}")
    if claim.excluded is not None:
        return StatusDecision(Status.UNVERIFIABLE, f"not_assertive:{claim.excluded}")
    if isinstance(p1, Unmeasured):
        return StatusDecision(Status.UNDETERMINED, f"p1_unmeasured:{p1.reason}")
    if claim.vague:
        return StatusDecision(Status.UNVERIFIABLE, "no_checkable_content")
    return _by_probability(p1, p0, policy)


def _by_probability(p1: Estimate, p0: Measurement, policy: Policy) -> StatusDecision:
    if contradicts(p1, policy):
        return StatusDecision(Status.CONTRADICTED, "p_contradicted_reaches_threshold")
    if _opposes(p1, p0, policy):
        return StatusDecision(Status.CONTRADICTED, "p1_low_and_below_p0")
    if supports(p1, policy):
        return StatusDecision(Status.SUPPORTED, "p1_reaches_support_threshold")
    return StatusDecision(Status.UNSUPPORTED, "p1_below_support_threshold")


def _opposes(p1: Estimate, p0: Measurement, policy: Policy) -> bool:
    """Return whether a yes/no-only backend's p1 is low, with its interval wholly below p0's."""
    if p1.contradicted is not None or not isinstance(p0, Estimate):
        return False
    low = 1.0 - required(policy.support_threshold)
    return p1.supported <= low and p1.high < p0.low
