"""What is known of the claims of a trace: their verifications, gaps, and the report on a goal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Outcome
from veridical.core.epistemic import ClaimVerification, EpistemicGap
from veridical.core.measurements import Taken
from veridical.core.printing import number, one_line
from veridical.core.status_table import VIEWS
from veridical.core.types import Span
from veridical.core.verdicts import Certainty, EvidenceSpan, Note, Role, Status
from veridical.traces.values import EdgeLabel, label_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from veridical.core.printing import Document

UNVERIFIED = "unverified"
"""The state of a claim that was never verified; else it is the status of what counts."""


_FIGURES = (
    "evidence_support",
    "evidence_dependence",
    "consistency_score",
    "evidence_gap_bits",
    "target",
    "p0",
    "p1",
    "required_bits",
    "observed_bits",
    "budget_gap",
    "cost_usd",
)


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """One verification of a claim, and the id of the node that records it.

    `label` is what it does to the claim: `verifies`, `refutes` or `leaves_open`. `model` is who
    measured, None if nobody was asked or nobody answered.
    """

    id: str
    claim_id: str
    created: datetime
    verification: ClaimVerification
    gap: EpistemicGap | None = None
    model: str | None = None

    @property
    def status(self) -> Status:
        """What came of it."""
        return self.verification.status

    @property
    def measured(self) -> bool:
        """Whether it came to a verdict."""
        return self.status is not Status.UNDETERMINED

    @property
    def support(self) -> float | None:
        """P(claim | its evidence), from 0 to 1; None if it could not be measured."""
        return self.verification.evidence_support

    @property
    def label(self) -> EdgeLabel:
        """The label of the edge from the verification to its claim."""
        return label_of(self.status)

    def to_dict(self) -> Document:
        """Return the result as a JSON object of schema `veridical.trace_verification/1`."""
        return {"schema": "veridical.trace_verification/1", **self.body()}

    def body(self) -> Document:
        """Return the JSON object without its schema, as part of another."""
        return {
            "id": self.id,
            "claim_id": self.claim_id,
            "created": self.created.isoformat(),
            "label": self.label.value,
            "model": self.model,
            "verification": self.verification.body(),
            "gap": None if self.gap is None else self.gap.body(),
        }

    def data(self) -> Document:
        """Return what the node that records it keeps: figures as they were, not rounded."""
        figures = {name: _number(getattr(self.verification, name)) for name in _FIGURES}
        gap = self.gap
        return {
            "model": self.model,
            "verification": self.verification.body() | figures,
            "gap": None if gap is None else gap.body() | {"gap_bits": _number(gap.gap_bits)},
        }

    def __str__(self) -> str:
        return str(self.verification)


@dataclass(frozen=True, slots=True, repr=False)
class ClaimRecord:
    """A claim of a trace with the evidence it cites and all its verifications, the oldest first.

    `phantoms` are the cited ids that no evidence of the trace has.
    """

    id: str
    text: str
    evidence_ids: tuple[str, ...]
    confidence: float
    phantoms: tuple[str, ...] = ()
    history: tuple[VerificationResult, ...] = ()

    @property
    def latest(self) -> VerificationResult | None:
        """The verification that counts: the last that measured, else the last."""
        measured = len(self.history) - len(self.failed_since)
        return self.history[measured - 1] if self.history else None

    @property
    def failed_since(self) -> tuple[VerificationResult, ...]:
        """The verifications after the one that counts, none of which measured anything."""
        found = [i for i, one in enumerate(self.history, start=1) if one.measured]
        return self.history[max(found) :] if found else ()

    @property
    def state(self) -> str:
        """The status of the verification that counts, or `unverified`."""
        counts = self.latest
        return UNVERIFIED if counts is None else counts.status.value

    @property
    def gap(self) -> EpistemicGap | None:
        """The gap found by the verification that counts; before the first, a phantom citation."""
        if self.latest is not None:
            return self.latest.gap
        if not self.phantoms:
            return None
        action = VIEWS[Status.PHANTOM_CITATION].action or ""
        return EpistemicGap(self.id, self.text, "phantom_citation", None, action, "critical")

    def body(self) -> Document:
        """Return the claim as part of a JSON object."""
        return {
            "id": self.id,
            "text": self.text,
            "evidence_ids": list(self.evidence_ids),
            "confidence": number(self.confidence),
            "phantoms": list(self.phantoms),
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
    `overall_confidence` is the mean support of those measured. None is what is unknown.
    """

    goal_id: str
    goal: str
    claims: tuple[ClaimRecord, ...]

    @property
    def total_claims(self) -> int:
        """How many claims there are under the goal."""
        return len(self.claims)

    @property
    def by_state(self) -> Mapping[str, int]:
        """How many claims are in each state."""
        return dict(Counter(claim.state for claim in self.claims))

    @property
    def unverified_claims(self) -> int:
        """How many claims were never verified."""
        return self.by_state.get(UNVERIFIED, 0)

    @property
    def undetermined_claims(self) -> int:
        """How many claims could not be measured."""
        return self.by_state.get(Status.UNDETERMINED.value, 0)

    @property
    def stale_claims(self) -> int:
        """Number of claims with a verdict that could not be measured again since."""
        return sum(1 for claim in self.claims if claim.failed_since)

    @property
    def verified_claims(self) -> int:
        """How many claims a verdict was reached on."""
        return self.total_claims - self.unverified_claims - self.undetermined_claims

    @property
    def flagged(self) -> tuple[ClaimRecord, ...]:
        """The claims whose last verdict is against them."""
        latest = ((claim, claim.latest) for claim in self.claims)
        return tuple(claim for claim, one in latest if one and one.verification.is_flagged)

    @property
    def flagged_claims(self) -> int:
        """How many claims have a verdict against them."""
        return len(self.flagged)

    @property
    def gaps(self) -> tuple[EpistemicGap, ...]:
        """The gaps between claims and their evidence, in the order of the claims."""
        found = (claim.gap for claim in self.claims)
        return tuple(gap for gap in found if gap is not None)

    @property
    def has_critical_gaps(self) -> bool:
        """Whether a claim is contradicted, cites what is not there, or lacks many bits."""
        return any(gap.severity == "critical" for gap in self.gaps)

    @property
    def overall_confidence(self) -> float | None:
        """The mean support, from 0 to 1; None if no claim was measured."""
        found = [one.support for one in self._latest() if one.support is not None]
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
        """What became of the whole; what is not verified is no pass."""
        if not self.claims:
            return Outcome.NOTHING_TO_CHECK
        if self.flagged or any(not claim.history and claim.phantoms for claim in self.claims):
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
        """The counts, in one line."""
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


# --- data of nodes -> values -----------------------------------------------------------------


def result_from(
    node_id: str, claim_id: str, created: datetime, data: Mapping[str, Any]
) -> VerificationResult:
    """Return what a node records; `KeyError`, `TypeError` or `ValueError` if it is no such data."""
    found, gap, model = data["verification"], data["gap"], data["model"]
    verification = replace(_verification(found), claim_id=claim_id)
    made = None if gap is None else replace(_gap(gap), claim_id=claim_id)
    model = None if model is None else _text(model)
    return VerificationResult(node_id, claim_id, created, verification, made, model)


def _verification(body: Mapping[str, Any]) -> ClaimVerification:
    target = _number(body["target"])
    if target is None:
        raise ValueError
    return ClaimVerification(
        claim_id=_text(body["claim_id"]),
        claim_text=_text(body["claim_text"]),
        evidence_ids=tuple(map(_text, body["evidence_ids"])),
        confidence_justified=_flag(body["confidence_justified"]),
        is_flagged=bool(_flag(body["is_flagged"])),
        flag_reason=None if body["flag_reason"] is None else _text(body["flag_reason"]),
        status=Status(body["status"]),
        rule=_text(body["rule"]),
        certainty=Certainty(body.get("certainty", Certainty.UNSURE)),
        target=target,
        notes=tuple(map(Note, body["notes"])),
        evidence=tuple(map(_span, body["evidence"])),
        unmeasured=None if body["unmeasured"] is None else _text(body["unmeasured"]),
        evidence_support=_number(body["evidence_support"]),
        evidence_dependence=_number(body["evidence_dependence"]),
        consistency_score=_number(body["consistency_score"]),
        evidence_gap_bits=_number(body["evidence_gap_bits"]),
        p0=_number(body["p0"]),
        p1=_number(body["p1"]),
        required_bits=_number(body["required_bits"]),
        observed_bits=_number(body["observed_bits"]),
        budget_gap=_number(body["budget_gap"]),
        tokens=_count(body.get("tokens")),  # records of before have none
        cost_usd=_number(body.get("cost_usd")),
    )


def _gap(body: Mapping[str, Any]) -> EpistemicGap:
    kinds = {view.gap_type for view in VIEWS.values()} - {None}
    kinds |= {"over_extrapolation", "evidence_independent"}
    if body["gap_type"] not in kinds or body["severity"] not in {"critical", "major", "minor"}:
        raise ValueError
    return EpistemicGap(
        claim_id=_text(body["claim_id"]),
        claim_text=_text(body["claim_text"]),
        gap_type=body["gap_type"],
        gap_bits=_number(body["gap_bits"]),
        suggested_action=_text(body["suggested_action"]),
        severity=body["severity"],
        nearest=tuple(map(_span, body["nearest"])),
    )


def _span(body: Mapping[str, Any]) -> EvidenceSpan:
    span = Span(int(body["start"]), int(body["end"]))
    return EvidenceSpan(_text(body["source"]), span, _text(body["text"]), Role(body["role"]))


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise TypeError
    return value


def _flag(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
