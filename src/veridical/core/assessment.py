"""Assessment of an answer: every verdict, and the totals with their denominators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.measurements import CascadeBranch
from veridical.core.types import ClaimExtraction, Exclusion, Skip
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.core.measurements import BackendInfo, Measurement
    from veridical.core.policy import FailOn, Policy
    from veridical.core.types import Source
    from veridical.core.verdicts import Verdict


class Outcome(StrEnum):
    """Outcome of the check of a whole answer."""

    GROUNDED = "grounded"
    FLAGGED = "flagged"
    UNDETERMINED = "undetermined"
    NOTHING_TO_CHECK = "nothing_to_check"


@dataclass(frozen=True, slots=True)
class CascadeUsage:
    """Numbers of queries that each backend of a cascade was asked.

    `stood_in` counts the queries that the second could not measure and the first had measured.
    """

    asked_first: int = 0
    asked_second: int = 0
    stood_in: int = 0

    def __add__(self, other: CascadeUsage) -> CascadeUsage:
        return CascadeUsage(
            self.asked_first + other.asked_first,
            self.asked_second + other.asked_second,
            self.stood_in + other.stood_in,
        )

    @property
    def saved(self) -> float | None:
        """Share of queries (0 to 1) that the second was spared; None if there were none."""
        return 1.0 - self.asked_second / self.asked_first if self.asked_first else None

    @classmethod
    def of(cls, measured: Iterable[Measurement]) -> CascadeUsage:
        """Return the usage of the cascade that measurements come from; zeros if from none."""
        stages = Counter(measurement.stage for measurement in measured)
        stood_in = stages[CascadeBranch.STOOD_IN]
        second = stages[CascadeBranch.SECOND] + stood_in
        return cls(stages[CascadeBranch.FIRST] + second, second, stood_in)


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of verdicts, sure and unsure."""

    sure: int = 0
    unsure: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals with their denominators.

    `overall_confidence` is the mean p1 of the checked claims that could be measured, None if none
    could. `tokens` and `cost_usd` are None when the backend does not know them, `cascade` when it
    is none. Both include the usage of the text model that found the claims, if there is one.

    `probability_grounded` is the probability that every checked claim is supported, whatever the
    verdicts; None if a claim could not be measured, or if no claim can be right or wrong. `flagged`
    and `passed` count verdicts by certainty.
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
    cascade: CascadeUsage | None = None
    extraction: ClaimExtraction = field(default_factory=ClaimExtraction)
    probability_grounded: float | None = None
    flagged: Counts = Counts()
    passed: Counts = Counts()

    @property
    def hedged(self) -> int:
        """Number of statements not verified because the answer does not commit to them."""
        return self.skipped.get(Exclusion.HEDGED.value, 0)

    @property
    def mostly_hedged(self) -> bool:
        """True if more than half of the statements are hedged: such an answer does not pass."""
        left_out = sum(self.skipped.get(skip.value, 0) for skip in Skip)
        return self.hedged > self.claims_checked + left_out


@dataclass(frozen=True)
class Assessment:
    """One answer, its sources and the verdict on each of its claims."""

    answer: str = field(repr=False)
    sources: Mapping[str, Source] = field(repr=False)
    claims: tuple[Verdict, ...]
    summary: Summary
    policy: Policy
    backend: BackendInfo
    question: str | None = field(default=None, repr=False)

    @property
    def flagged(self) -> tuple[Verdict, ...]:
        """Claims that were checked and did not come out as supported."""
        return tuple(verdict for verdict in self.claims if verdict.flagged)

    @property
    def failing(self) -> tuple[Verdict, ...]:
        """Flagged claims that fail a gate under the policy's `fail_on`."""
        return self.failing_on(self.policy.fail_on)

    def failing_on(self, fail_on: FailOn | None) -> tuple[Verdict, ...]:
        """Return the flagged claims that fail a gate under `fail_on`."""
        return tuple(verdict for verdict in self.flagged if _fails(verdict, fail_on))

    @property
    def critical(self) -> tuple[Verdict, ...]:
        """Claims that need action.

        A claim is critical by its status or by a gap above the policy's threshold, as far as
        `fail_on` lets such a verdict fail. A supported claim with such a gap is not critical where
        the backend cannot tell sure verdicts from unsure ones: its P(supported) says too little for
        that.
        """
        bits, fail_on = self.policy.gap_threshold_bits, self.policy.fail_on
        return tuple(
            verdict
            for verdict in self.claims
            if verdict.is_critical(bits)
            and _fails(verdict, fail_on)
            and (verdict.flagged or self.backend.tells_sure_flags)
        )

    @property
    def to_correct(self) -> tuple[Verdict, ...]:
        """Claims that fail or are critical."""
        return self._any_of(self.failing, self.critical)

    @property
    def to_mark(self) -> tuple[Verdict, ...]:
        """Claims that are flagged or critical."""
        return self._any_of(self.flagged, self.critical)

    def _any_of(self, *groups: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
        ids = {verdict.claim.id for group in groups for verdict in group}
        return tuple(verdict for verdict in self.claims if verdict.claim.id in ids)


def _fails(verdict: Verdict, fail_on: FailOn | None) -> bool:
    if fail_on == "contradicted":
        return verdict.status is Status.CONTRADICTED
    return verdict.sure if fail_on == "sure" else True
