"""Verdicts -> totals, each with its denominator."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from veridical.core.assessment import Outcome, Savings, Summary
from veridical.core.measurements import Estimate, Measurement
from veridical.core.types import ClaimExtraction
from veridical.core.verdicts import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Number = TypeVar("_Number", int, float)


def summarise(
    verdicts: Sequence[Verdict],
    measured: Sequence[Measurement] = (),
    *,
    sentences: int,
    latency_ms: float,
    extraction: ClaimExtraction | None = None,
) -> Summary:
    """Return the totals of a check; the outcome of no claims is `nothing_to_check`.

    An answer of which more than half is hedged is `undetermined` where it would be grounded.

    `measured` is all that the backend answered: tokens, cost and what a cascade saved are sums over
    it, and over what the text model took that found the claims. What came from the cache was paid
    for before.
    """
    extraction = extraction or ClaimExtraction()
    asked = [extraction] if extraction.pieces else []
    savings = Savings.of(measured)
    estimates = [m for m in measured if isinstance(m, Estimate)]
    checked = [verdict for verdict in verdicts if verdict.checked]
    skipped = Counter(str(v.claim.excluded or v.claim.skipped) for v in verdicts if not v.checked)
    counts = Counter(verdict.status for verdict in checked)
    gaps = [v.budget.gap_bits for v in checked if v.budget.gap_bits is not None]
    probabilities = [v.p1.supported for v in checked if isinstance(v.p1, Estimate)]
    summary = Summary(
        outcome=_outcome(checked),
        sentences=sentences,
        claims_extracted=len(verdicts),
        claims_checked=len(checked),
        skipped=dict(sorted(skipped.items())),
        by_status={status: counts[status] for status in Status},
        max_gap_bits=max(gaps, default=None),
        overall_confidence=sum(probabilities) / len(probabilities) if probabilities else None,
        latency_ms=latency_ms,
        cost_usd=_total(
            [0.0 if e.cached else e.cost_usd for e in estimates] + [e.cost_usd for e in asked]
        ),
        tokens=_total([0 if e.cached else e.tokens for e in estimates] + [e.tokens for e in asked]),
        cascade=savings if savings.asked_first else None,
        extraction=extraction,
    )
    if summary.outcome is Outcome.GROUNDED and summary.mostly_hedged:
        return replace(summary, outcome=Outcome.UNDETERMINED)
    return summary


def _total(values: Sequence[_Number | None]) -> _Number | None:
    """Return the sum, or None if a part of it is unknown or there is nothing to sum."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None


def _outcome(checked: Iterable[Verdict]) -> Outcome:
    verdicts = list(checked)
    if not verdicts:
        return Outcome.NOTHING_TO_CHECK
    if any(verdict.flagged for verdict in verdicts):
        return Outcome.FLAGGED
    if any(verdict.status is Status.UNDETERMINED for verdict in verdicts):
        return Outcome.UNDETERMINED
    return Outcome.GROUNDED
