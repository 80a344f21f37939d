"""What is concluded about a claim: its status, its bits, and the places that decided it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.measurements import NOTHING, Taken
from veridical.core.status_table import STATUS_TABLE
from veridical.core.status_table import Note as Note  # noqa: PLC0414 -- a verdict's vocabulary
from veridical.core.status_table import Status as Status  # noqa: PLC0414 -- a verdict's vocabulary

if TYPE_CHECKING:
    from veridical.core.measurements import Measurement
    from veridical.core.types import Citation, Claim, SourceSpan, Span


NOTHING_TO_REST_ON = "nothing_to_rest_on"
"""The rule for a claim that cites nothing and has no evidence to be read against."""


class Role(StrEnum):
    """What a piece of evidence does to the claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NEAREST = "nearest"


class Certainty(StrEnum):
    """Whether a verdict can be acted upon as it is, or somebody should look."""

    SURE = "sure"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval, in the unit of the value it belongs to."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Budget:
    """The information budget of a claim, in bits; None where p0 or p1 was not measured.

    `justified` is None when the interval of the gap straddles 0 (undecided), or nothing was
    measured.
    """

    target: float
    required_bits: float | None = None
    observed_bits: float | None = None
    gap_bits: float | None = None
    gap_interval: Interval | None = None
    justified: bool | None = None


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A place in a source and what it does to the claim."""

    source: str
    span: Span
    text: str = field(repr=False)
    role: Role


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """The verdict on one part, or on the softened form, of a claim that was looked at again."""

    text: str = field(repr=False)
    span: Span
    status: Status
    p1: Measurement


@dataclass(frozen=True, slots=True)
class QuantityDifference:
    """A quantity of a claim and the one that its evidence states in its place.

    `claimed` and `stated` are their texts, `span` is where the second stands in `source`.
    """

    claimed: str
    stated: str
    dimension: str
    source: str
    span: Span


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that is known about one claim.

    `windows_scored` lists the windows read of the `windows_total` that its evidence has, and
    `stitched_scored` the sentences that were joined into further passages. `taken` is what
    measuring the claim took. `difference` is there where the rule `quantity_differs` decided.

    `probability_right` is how probable it is that the verdict is right: that what is supported is,
    and that what is flagged is not. It is None where no verdict was reached, and where the claim is
    too vague to be right or wrong.
    """

    claim: Claim
    status: Status
    rule: str
    citations: tuple[Citation, ...]
    p1: Measurement
    p0: Measurement
    budget: Budget
    dependence: float | None
    notes: tuple[Note, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    parts: tuple[PartVerdict, ...] = ()
    windows_scored: tuple[SourceSpan, ...] = ()
    windows_total: int = 0
    stitched_scored: tuple[SourceSpan, ...] = ()
    certainty: Certainty = Certainty.UNSURE
    probability_right: float | None = None
    taken: Taken = NOTHING
    difference: QuantityDifference | None = None

    @property
    def checked(self) -> bool:
        """Whether a verdict was reached: on what is asserted, and on every phantom citation."""
        return self.claim.verifiable or self.status is Status.PHANTOM_CITATION

    @property
    def flagged(self) -> bool:
        """Whether the claim was checked and did not come out as supported."""
        return self.checked and STATUS_TABLE[self.status].flagged

    @property
    def sure(self) -> bool:
        """Whether the verdict can be acted upon as it is."""
        return self.certainty is Certainty.SURE

    @property
    def please_look(self) -> bool:
        """Whether the evidence was read for or against the claim, and the verdict is not sure."""
        return self.checked and STATUS_TABLE[self.status].by_probability and not self.sure

    def is_critical(self, gap_threshold_bits: float) -> bool:
        """Say whether something has to be done about the claim.

        It is so if the evidence opposes it, if it cites what does not exist, or if its gap is above
        the threshold, of a supported claim, too; of a flagged one also if it was not measured.
        What is merely too vague is not critical.
        """
        level = STATUS_TABLE[self.status].level
        if not self.checked or level == "note":
            return False
        if level == "error":
            return True
        gap = self.budget.gap_bits
        return self.flagged if gap is None else gap > gap_threshold_bits
