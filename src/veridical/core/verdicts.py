"""Verdict on a claim: its status, its bits, and the places that decided it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from veridical.core.measurements import NOTHING, Estimate, Taken
from veridical.core.status_table import NOTED_ROWS, STATUS_TABLE, StatusRow
from veridical.core.status_table import Note as Note  # noqa: PLC0414 -- a verdict's vocabulary
from veridical.core.status_table import Status as Status  # noqa: PLC0414 -- a verdict's vocabulary

if TYPE_CHECKING:
    from veridical.core.measurements import Measurement, Unmeasured
    from veridical.core.types import Citation, Claim, SourceSpan, Span


NOTHING_TO_REST_ON = "nothing_to_rest_on"
"""The rule for a claim that cites nothing and has no evidence to be read against."""


SHOWN = 5
"""Number of sentences shown to a reader where they do not plainly support the claim."""

PLAIN = 0.8
"""P(supported) from which the sentences that decided are shown alone."""

_CLOSERS = " \n\"'”’»)]*_"


class Role(StrEnum):
    """Relation of a piece of evidence to the claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NEAREST = "nearest"


class Certainty(StrEnum):
    """Certainty of a verdict: fit to be acted upon, or in need of review."""

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

    `confidence_justified` is None when the interval of the gap straddles 0 (undecided), or nothing
    was measured.
    """

    target: float
    required_bits: float | None = None
    observed_bits: float | None = None
    budget_gap_bits: float | None = None
    gap_interval_bits: Interval | None = None
    confidence_justified: bool | None = None


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A place in a source and its relation to the claim."""

    source: str
    span: Span
    text: str = field(repr=False)
    role: Role

    @property
    def asks(self) -> bool:
        """True if it is a question, so that it states nothing."""
        return self.text.rstrip(_CLOSERS).endswith(("?", "？"))

    def overlaps(self, other: EvidenceSpan) -> bool:
        """Return whether the two places share some text."""
        return self.source == other.source and self.span.overlaps(other.span)


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """Verdict on one part, or on the softened form, of a claim that was looked at again."""

    text: str = field(repr=False)
    span: Span
    status: Status
    p1: Measurement


@dataclass(frozen=True, slots=True)
class QuantityDifference:
    """Quantity of a claim and the differing one that its evidence states.

    `claimed` and `stated` are their texts, `span` is the place of the second in `source`.
    """

    claimed: str
    stated: str
    dimension: str
    source: str
    span: Span


@dataclass(frozen=True, slots=True)
class Verdict:
    """Complete record of the check of one claim.

    `windows_scored` lists the windows read of the `windows_total` that its evidence has, and
    `stitched_scored` the sentences that were joined into further passages. `taken` is the usage of
    the measurement. `difference` is present where the rule `quantity_differs` decided. `nearest`
    are the sentences of the evidence that are nearest to the claim, read or not.

    `probability_right` is the probability that the verdict is right: that a supported claim is
    supported, that a flagged one is not. It is None where no verdict was reached, and where the
    claim is too vague to be right or wrong.

    `second_look` is the failure of a further reading, for a rule, that could have changed the
    verdict. No report shows it.
    """

    claim: Claim
    status: Status
    rule: str
    citations: tuple[Citation, ...]
    p1: Measurement
    p0: Measurement
    budget: Budget
    evidence_dependence: float | None
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
    nearest: tuple[EvidenceSpan, ...] = ()
    second_look: Unmeasured | None = None

    @property
    def shown(self) -> tuple[EvidenceSpan, ...]:
        """Evidence for a reader: statements, with the nearest ones unless support is plain."""
        stated = tuple(piece for piece in self.evidence if not piece.asks) or self.evidence
        plain = isinstance(self.p1, Estimate) and self.p1.supported >= PLAIN
        if not stated or (plain and self.status is Status.SUPPORTED):
            return stated
        others = (
            near
            for near in self.nearest
            if not near.asks and not any(near.overlaps(piece) for piece in stated)
        )
        return (*stated, *islice(others, max(SHOWN - len(stated), 0)))

    @property
    def checked(self) -> bool:
        """True if a verdict was reached: on every assertion, and on every phantom citation."""
        return self.claim.verifiable or self.status is Status.PHANTOM_CITATION

    @property
    def flagged(self) -> bool:
        """True if the claim was checked and did not come out as supported."""
        return self.checked and STATUS_TABLE[self.status].flagged

    @property
    def sure(self) -> bool:
        """True if the verdict can be acted upon as it is."""
        return self.certainty is Certainty.SURE

    @property
    def please_look(self) -> bool:
        """True if the evidence was read for or against the claim, and the verdict is not sure."""
        return self.checked and STATUS_TABLE[self.status].by_probability and not self.sure

    def is_critical(self, gap_threshold_bits: float) -> bool:
        """Return whether the claim needs action.

        It does if the evidence opposes it, if it cites a missing source, or if its gap is above the
        threshold, of a supported claim, too; of a flagged one also if it was not measured. A claim
        that is merely too vague is not critical.
        """
        level = STATUS_TABLE[self.status].level
        if not self.checked or level == "note":
            return False
        if level == "error":
            return True
        gap = self.budget.budget_gap_bits
        return self.flagged if gap is None else gap > gap_threshold_bits


def row_of(verdict: Verdict) -> StatusRow:
    """Return the row of a verdict's status, refined by its notes.

    A verdict on what asserts nothing has no gap, no step label and no action.
    """
    row = STATUS_TABLE[verdict.status]
    if not verdict.checked:
        return replace(row, gap_type=None, step_label=None, suggested_action=None)
    refined = (NOTED_ROWS.get((verdict.status, note)) for note in verdict.notes)
    return next((entry for entry in refined if entry), row)
