"""Verification results of the claims of a trace: verdicts, gaps, and the report on a goal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.assessment import Outcome
from veridical.core.epistemic import EpistemicGap
from veridical.core.measurements import Taken
from veridical.core.printing import number, one_line
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.core.printing import Document
    from veridical.traces.results import VerificationResult

UNVERIFIED = "unverified"
"""State of a claim never verified; otherwise it is the status that counts."""


@dataclass(frozen=True, slots=True, repr=False)
class ClaimRecord:
    """Claim of a trace with the evidence it cites and all its verifications, the oldest first.

    `phantom_citations` are the cited ids that no evidence of the trace has.
    """

    id: str
    text: str
    evidence_ids: tuple[str, ...]
    confidence: float
    phantom_citations: tuple[str, ...] = ()
    history: tuple[VerificationResult, ...] = ()

    @property
    def latest(self) -> VerificationResult | None:
        """Verification that counts: the last measured one, else the last."""
        measured = len(self.history) - len(self.failed_since)
        return self.history[measured - 1] if self.history else None

    @property
    def failed_since(self) -> tuple[VerificationResult, ...]:
        """Unmeasured verifications after the one that counts."""
        found = [i for i, one in enumerate(self.history, start=1) if one.measured]
        return self.history[max(found) :] if found else ()

    @property
    def state(self) -> str:
        """Status of the verification that counts, or `unverified`."""
        counts = self.latest
        return UNVERIFIED if counts is None else counts.status.value

    @property
    def gap(self) -> EpistemicGap | None:
        """Gap found by the verification that counts; before the first, a phantom citation."""
        if self.latest is not None:
            return self.latest.gap
        if not self.phantom_citations:
            return None
        action = STATUS_TABLE[Status.PHANTOM_CITATION].suggested_action or ""
        return EpistemicGap(self.id, self.text, "phantom_citation", None, action, "critical")

    def body(self) -> Document:
        """Return the claim as part of a JSON object."""
        return {
            "id": self.id,
            "text": self.text,
            "evidence_ids": list(self.evidence_ids),
            "confidence": number(self.confidence),
            "phantom_citations": list(self.phantom_citations),
            "state": self.state,
            "failed_since": len(self.failed_since),
            "verifications": [one.body() for one in self.history],
        }

    def __str__(self) -> str:
        if self.latest is not None:
            return f"{self.latest}{self._failures}"
        return f"· {self.id} not verified: {one_line(self.text)}"

    @property
    def _failures(self) -> str:
        """The failures beside the verdict, as a line of its own; empty if there are none."""
        if not self.failed_since:
            return ""
        why = self.failed_since[-1].verification.unmeasured or Status.UNDETERMINED.value
        return f"\n  verified again {len(self.failed_since)} times since, not measured ({why})"

    def __repr__(self) -> str:
        return f"ClaimRecord(id={self.id!r}, state={self.state!r})"


@dataclass(frozen=True, slots=True, repr=False)
class EpistemicReport:
    """Summary of the claims under a goal, by the last measured verification of each.

    Of `total_claims`, `verified_claims` have a verdict (`flagged_claims` of them against the
    claim), `undetermined_claims` could not be measured and `unverified_claims` were never verified.
    A verification that fails later leaves a verdict as it is: `stale_claims` counts those claims.
    `overall_confidence` is the mean support of the measured claims. Unknown values are None.
    """

    goal_id: str
    goal: str
    claims: tuple[ClaimRecord, ...]

    @property
    def total_claims(self) -> int:
        """Number of claims under the goal."""
        return len(self.claims)

    @property
    def by_state(self) -> Mapping[str, int]:
        """Number of claims in each state."""
        return dict(Counter(claim.state for claim in self.claims))

    @property
    def unverified_claims(self) -> int:
        """Number of claims never verified."""
        return self.by_state.get(UNVERIFIED, 0)

    @property
    def undetermined_claims(self) -> int:
        """Number of claims that could not be measured."""
        return self.by_state.get(Status.UNDETERMINED.value, 0)

    @property
    def stale_claims(self) -> int:
        """Number of claims with a verdict that could not be measured again since."""
        return sum(1 for claim in self.claims if claim.failed_since)

    @property
    def verified_claims(self) -> int:
        """Number of claims with a verdict."""
        return self.total_claims - self.unverified_claims - self.undetermined_claims

    @property
    def flagged(self) -> tuple[ClaimRecord, ...]:
        """Claims with a last verdict against them."""
        latest = ((claim, claim.latest) for claim in self.claims)
        return tuple(claim for claim, one in latest if one and one.verification.is_flagged)

    @property
    def flagged_claims(self) -> int:
        """Number of claims with a verdict against them."""
        return len(self.flagged)

    @property
    def gaps(self) -> tuple[EpistemicGap, ...]:
        """The gaps between claims and their evidence, in the order of the claims."""
        found = (claim.gap for claim in self.claims)
        return tuple(gap for gap in found if gap is not None)

    @property
    def has_critical_gaps(self) -> bool:
        """True if a claim is contradicted, has a phantom citation, or lacks many bits."""
        return any(gap.severity == "critical" for gap in self.gaps)

    @property
    def overall_confidence(self) -> float | None:
        """The mean support, from 0 to 1; None if no claim was measured."""
        found = [one.p1 for one in self._latest() if one.p1 is not None]
        return sum(found) / len(found) if found else None

    @property
    def max_gap_bits(self) -> float | None:
        """The largest gap in bits; None if none is known."""
        found = (one.verification.evidence_gap_bits for one in self._latest())
        return max((bits for bits in found if bits is not None), default=None)

    @property
    def taken(self) -> Taken:
        """Tokens and cost of all verifications of the claims, earlier ones included."""
        found = (one.verification for claim in self.claims for one in claim.history)
        return sum((Taken(one.tokens, one.cost_usd) for one in found), Taken())

    @property
    def tokens(self) -> int | None:
        """Tokens of all verifications; None if a part is unknown."""
        return self.taken.tokens

    @property
    def cost_usd(self) -> float | None:
        """Cost of all verifications in USD; None if a part is unknown."""
        return self.taken.cost_usd

    @property
    def outcome(self) -> Outcome:
        """Outcome of the whole; unverified claims are no pass."""
        if not self.claims:
            return Outcome.NOTHING_TO_CHECK
        if self.flagged or any(
            not claim.history and claim.phantom_citations for claim in self.claims
        ):
            return Outcome.FLAGGED
        open_claims = self.undetermined_claims + self.unverified_claims
        return Outcome.UNDETERMINED if open_claims else Outcome.GROUNDED

    def _latest(self) -> Iterator[VerificationResult]:
        return (claim.latest for claim in self.claims if claim.latest is not None)

    def to_dict(self) -> Document:
        """Return the report as a JSON object of schema `veridical.trace_report/1`."""
        return {
            "schema": "veridical.trace_report/1",
            "goal_id": self.goal_id,
            "goal": self.goal,
            "outcome": self.outcome.value,
            "total_claims": self.total_claims,
            "verified_claims": self.verified_claims,
            "flagged_claims": self.flagged_claims,
            "undetermined_claims": self.undetermined_claims,
            "unverified_claims": self.unverified_claims,
            "stale_claims": self.stale_claims,
            "by_state": dict(self.by_state),
            "overall_confidence": number(self.overall_confidence),
            "max_gap_bits": number(self.max_gap_bits),
            "has_critical_gaps": self.has_critical_gaps,
            **self.taken.body(),
            "claims": [claim.body() for claim in self.claims],
            "gaps": [gap.body() for gap in self.gaps],
        }

    def __str__(self) -> str:
        return "\n".join([self.headline, *map(str, self.claims)])

    @property
    def headline(self) -> str:
        """Counts, in one line."""
        if not self.claims:
            return "Nothing to check: no claim under this goal"
        head = f"{self.flagged_claims} of {self.verified_claims} verified claims flagged"
        head += f", of {self.total_claims}"
        lost, never = self.undetermined_claims, self.unverified_claims
        head += f"; {lost} could not be measured" if lost else ""
        head += f"; {self.stale_claims} not measured again since" if self.stale_claims else ""
        return head + (f"; {never} not verified" if never else "")

    def __repr__(self) -> str:
        return (
            f"EpistemicReport(goal_id={self.goal_id!r}, total={self.total_claims}, "
            f"flagged={self.flagged_claims})"
        )
