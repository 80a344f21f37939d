"""Claim that is a sentence of its evidence, word for word: that sentence alone decides.

The text around it cannot make it unsupported. The backend still has to read it so, which it nearly
always does (docs/decisions/0016-quantities-by-rule.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.status_table import STATUS_TABLE
from veridical.pipeline.judgement.verdict import supported_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.policy import Policy
    from veridical.core.types import Source
    from veridical.core.verdicts import Verdict
    from veridical.pipeline.judgement.aggregation import PooledEstimate

_REFUSED = {status for status, row in STATUS_TABLE.items() if row.by_probability and row.flagged}


def may_stand_verbatim(verdict: Verdict) -> bool:
    """Return whether a claim was read and not found supported."""
    return verdict.status in _REFUSED and isinstance(verdict.p1, Estimate)


def stands_verbatim(
    verdict: Verdict, reading: PooledEstimate, policy: Policy, sources: Mapping[str, Source]
) -> Verdict:
    """Return the verdict as supported, if it is so by the sentence that is the claim."""
    return supported_by(verdict, reading, "stands_verbatim", policy, sources)
