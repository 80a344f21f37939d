"""Verification results of claims, written to and read from the data of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from veridical.core.epistemic import ClaimVerification, EpistemicGap, Severity
from veridical.core.status_table import GapType
from veridical.core.types import Span
from veridical.core.verdicts import Certainty, EvidenceSpan, Note, Role, Status
from veridical.traces.values import EdgeLabel, label_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from veridical.core.printing import Document

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
    """Verification of a claim, with the id of the node that records it.

    `label` is its effect on the claim: `verifies`, `refutes` or `leaves_open`. `model` is the
    backend that measured, None if none was asked or none answered.
    """

    id: str
    claim_id: str
    created: datetime
    verification: ClaimVerification
    gap: EpistemicGap | None = None
    model: str | None = None

    @property
    def status(self) -> Status:
        """Status of the verification."""
        return self.verification.status

    @property
    def measured(self) -> bool:
        """True if it reached a verdict."""
        return self.status is not Status.UNDETERMINED

    @property
    def p1(self) -> float | None:
        """P(claim | its evidence), from 0 to 1; None if it could not be measured."""
        return self.verification.p1

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
        """Return the data of the recording node: figures as they were, not rounded."""
        figures = {name: _number(getattr(self.verification, name)) for name in _FIGURES}
        gap = self.gap
        return {
            "model": self.model,
            "verification": self.verification.body() | figures,
            "gap": None if gap is None else gap.body() | {"gap_bits": _number(gap.gap_bits)},
        }

    def __str__(self) -> str:
        return str(self.verification)


def result_from(
    node_id: str, claim_id: str, created: datetime, data: Mapping[str, Any]
) -> VerificationResult:
    """Return the recorded verification; `KeyError`, `TypeError` or `ValueError` if invalid."""
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
    kinds, severities = get_args(GapType), get_args(Severity)
    if body["gap_type"] not in kinds or body["severity"] not in severities:
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
