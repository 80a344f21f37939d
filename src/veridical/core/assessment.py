"""The whole of a check: every verdict, and the totals with their denominators."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.policy import Policy
    from veridical.core.types import BackendInfo, Source
    from veridical.core.verdicts import Status, Verdict


class Outcome(StrEnum):
    """What became of the whole answer."""

    GROUNDED = "grounded"
    FLAGGED = "flagged"
    UNDETERMINED = "undetermined"
    NOTHING_TO_CHECK = "nothing_to_check"


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals with their denominators.

    `overall_confidence` is the mean p1 of the checked claims that could be measured, None if none
    could. `tokens` and `cost_usd` are None when the backend does not know them.
    """

    outcome: Outcome
    sentences: int
    claims_extracted: int
    claims_checked: int
    skipped: Mapping[str, int]
    by_status: Mapping[Status, int]
    max_gap_bits: float | None
    overall_confidence: float | None
    latency_ms: float
    cost_usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Assessment:
    """One answer, its sources and the verdict on each of its claims."""

    answer: str
    sources: Mapping[str, Source]
    claims: tuple[Verdict, ...]
    summary: Summary
    policy: Policy
    backend: BackendInfo
    question: str | None = None

    @property
    def flagged(self) -> tuple[Verdict, ...]:
        """The claims that were checked and did not come out as supported."""
        return tuple(verdict for verdict in self.claims if verdict.flagged)
