"""Totals of verdicts, each with its denominator."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from veridical.core.assessment import CascadeUsage, Counts, Outcome, Summary
from veridical.core.measurements import UNKNOWN, Estimate, Measurement, Taken
from veridical.core.types import ClaimExtraction
from veridical.core.verdicts import Status, Verdict
from veridical.pipeline.judgement.certainty import grounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veridical.core.certainty import CertaintyModel


def summarise(  # noqa: PLR0913 -- a keyword for each thing that is summed up
    verdicts: Sequence[Verdict],
    measured: Sequence[Measurement] = (),
    *,
    sentences: int,
    latency_ms: float,
    extraction: ClaimExtraction | None = None,
    certainty: CertaintyModel | None = None,
) -> Summary:
    """Return the totals of a check; the outcome of no claims is `nothing_to_check`.

    An answer of which more than half is hedged is `undetermined` where it would be grounded.

    `measured` holds all results of the backend: tokens, cost and the savings of a cascade are sums
    over it, billed failures included, and over the usage of the text model that found the claims.
    Cached results were paid for before. Where nothing was asked, they are None. `certainty` is the
    backend's.
    """
    extraction = extraction or ClaimExtraction()
    savings = CascadeUsage.of(measured)
    took = _took(measured, extraction)
    checked = [verdict for verdict in verdicts if verdict.checked]
    skipped = Counter(str(v.claim.excluded or v.claim.skipped) for v in verdicts if not v.checked)
    counts = Counter(verdict.status for verdict in checked)
    gaps = [v.budget.budget_gap_bits for v in checked if v.budget.budget_gap_bits is not None]
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
        cost_usd=took.cost_usd,
        tokens=took.tokens,
        cascade=savings if savings.asked_first else None,
        extraction=extraction,
        probability_grounded=grounded(checked, certainty),
        flagged=_counts(v for v in checked if v.flagged),
        passed=_counts(v for v in checked if v.status is Status.SUPPORTED),
    )
    if summary.outcome is Outcome.GROUNDED and summary.mostly_hedged:
        return replace(summary, outcome=Outcome.UNDETERMINED)
    return summary


def _counts(verdicts: Iterable[Verdict]) -> Counts:
    sure = Counter(verdict.sure for verdict in verdicts)
    return Counts(sure[True], sure[False])


def _took(measured: Sequence[Measurement], extraction: ClaimExtraction) -> Taken:
    if not measured and not extraction.pieces:
        return UNKNOWN
    by_model = Taken(extraction.tokens, extraction.cost_usd) if extraction.pieces else Taken()
    return Taken.by(measured) + by_model


def _outcome(checked: Iterable[Verdict]) -> Outcome:
    verdicts = list(checked)
    if not verdicts:
        return Outcome.NOTHING_TO_CHECK
    if any(verdict.flagged for verdict in verdicts):
        return Outcome.FLAGGED
    if any(verdict.status is Status.UNDETERMINED for verdict in verdicts):
        return Outcome.UNDETERMINED
    return Outcome.GROUNDED
