"""The claims as a data frame of pandas, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Unmeasured
from veridical.core.printing import number
from veridical.core.verdicts import row_of
from veridical.errors import MissingExtraError
from veridical.pipeline.reports import phrases

if TYPE_CHECKING:
    from pandas import DataFrame

    from veridical.core.assessment import Assessment
    from veridical.core.measurements import Measurement
    from veridical.core.printing import Document
    from veridical.core.verdicts import Verdict

_TYPES = {
    "claim": "object",
    "text": "object",
    "status": "object",
    "certainty": "object",
    "flagged": "bool",
    "probability_right": "float64",
    "p1": "float64",
    "p0": "float64",
    "unmeasured": "object",
    "budget_gap_bits": "float64",
    "confidence": "float64",
    "rule": "object",
    "reason": "object",
    "suggested_action": "object",
    "excluded": "object",
    "skipped": "object",
    "cites": "object",
    "source": "object",
    "evidence": "object",
    "start": "int64",
    "end": "int64",
}
"""Columns and their types, which do not depend on the claims."""


def to_pandas(assessment: Assessment) -> DataFrame:
    """Return the claims as a data frame; `MissingExtraError` without pandas."""
    try:
        from pandas import DataFrame
    except ImportError:
        msg = "pandas is not installed"
        raise MissingExtraError(msg, hint="Run: pip install pandas") from None
    rows = [_row(verdict) for verdict in assessment.claims]
    return DataFrame(rows, columns=list(_TYPES), dtype=object).astype(_TYPES)


def _row(verdict: Verdict) -> Document:
    claim, confidence = verdict.claim, verdict.claim.confidence
    return {
        "claim": claim.id,
        "text": claim.text,
        "status": verdict.status.value,
        "certainty": verdict.certainty.value,
        "flagged": verdict.flagged,
        "probability_right": number(verdict.probability_right),
        **_measured(verdict),
        "confidence": number(confidence.value) if confidence else None,
        "rule": verdict.rule,
        "reason": phrases.reason(verdict),
        "suggested_action": row_of(verdict).suggested_action,
        "excluded": claim.excluded.value if claim.excluded else None,
        "skipped": claim.skipped.value if claim.skipped else None,
        "cites": ", ".join(citation.id for citation in verdict.citations),
        **_nearest(verdict),
        "start": claim.span.start,
        "end": claim.span.end,
    }


def _measured(verdict: Verdict) -> Document:
    p1, lost = verdict.p1, None
    if verdict.checked and isinstance(p1, Unmeasured):
        lost = p1.reason.value
    return {
        "p1": _supported(p1),
        "p0": _supported(verdict.p0),
        "unmeasured": lost,
        "budget_gap_bits": number(verdict.budget.budget_gap_bits),
    }


def _supported(measurement: Measurement) -> float | None:
    return number(measurement.supported) if isinstance(measurement, Estimate) else None


def _nearest(verdict: Verdict) -> Document:
    """Return the first piece of evidence, which decided or is nearest, with its source."""
    for piece in verdict.shown[:1]:
        return {"source": piece.source, "evidence": piece.text}
    return {"source": None, "evidence": None}
