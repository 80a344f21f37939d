"""Output lines of a row: one for the answer, or one for each of its claims.

Nothing in them depends on the run: no latency, no cost, no mark of a cache. A row whose estimates
are missing for a passing reason is an error: it has no outcome, and the next run checks it again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.assessment import Outcome
from veridical.core.measurements import NOTHING, Estimate, Taken, Unmeasured, UnmeasuredReason
from veridical.core.printing import number
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.batch.rows import AnyRow, BatchRow, FaultyRow
    from veridical.core.assessment import Assessment
    from veridical.core.measurements import Measurement
    from veridical.core.printing import Document
    from veridical.core.verdicts import Verdict

LASTING = frozenset({UnmeasuredReason.CONTEXT_TOO_LONG, UnmeasuredReason.LANGUAGE_NOT_SUPPORTED})
"""Reasons that hold for the next run, too."""

LASTING_OF_CLAIMS = LASTING | {UnmeasuredReason.MALFORMED_REPLY}
"""The same for the text model of claims, whose replies to one answer are much alike."""

WORKER_DIED = "worker_died"
"""Error of a row that ended the process that checked it."""

ROW_COLUMNS: Document = {
    "outcome": None,
    "claims_checked": None,
    "flagged": None,
    "flagged_sure": None,
    "by_status": {},
    "unmeasured": {},
    "probability_grounded": None,
}
"""Columns of an answer, with the values of one that has no outcome."""

CLAIM_COLUMNS: Document = {
    "outcome": None,
    "claim": None,
    "text": None,
    "status": None,
    "rule": None,
    "flagged": None,
    "certainty": None,
    "probability_right": None,
    "p1": None,
    "unmeasured": None,
}
"""Columns of a claim, with the values of an answer that has no claims, or no outcome."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """Output lines of one row, and the usage of its check."""

    lines: tuple[Document, ...]
    taken: Taken = NOTHING


@dataclass(frozen=True, slots=True)
class _Checked:
    """Verdicts on a row, and what follows from all of them."""

    verdicts: tuple[Verdict, ...]
    outcome: Outcome
    probability_grounded: float | None


def of_report(row: BatchRow, report: Assessment, *, per_claim: bool) -> RowResult:
    """Return the result of the check of an answer."""
    summary = report.summary
    checked = tuple(verdict for verdict in report.claims if verdict.checked)
    found = _Checked(checked, summary.outcome, summary.probability_grounded)
    asked = bool(checked or summary.extraction.pieces)
    taken = Taken(summary.tokens, summary.cost_usd) if asked else NOTHING
    fallback = summary.extraction.fallback
    if fallback is not None and fallback not in LASTING_OF_CLAIMS:
        detail = "the text model of claims did not answer"
        return RowResult(of_error(row, fallback.value, detail, per_claim=per_claim).lines, taken)
    return _result(row, found, taken, per_claim=per_claim)


def of_verdict(row: BatchRow, verdict: Verdict, *, per_claim: bool) -> RowResult:
    """Return the result of the check of a single claim."""
    right = verdict.probability_right
    grounded = 1.0 - right if right is not None and verdict.flagged else right
    found = _Checked((verdict,), _outcome(verdict), grounded)
    return _result(row, found, verdict.taken, per_claim=per_claim)


def of_error(row: AnyRow, name: str, detail: str, *, per_claim: bool) -> RowResult:
    """Return the result of a row that could not be checked."""
    return RowResult((_line(row, per_claim=per_claim, error=name, detail=detail),))


def of_fault(row: FaultyRow, *, per_claim: bool) -> RowResult:
    """Return the result of a row that cannot be checked."""
    return of_error(row, row.name.value, row.detail, per_claim=per_claim)


def _outcome(verdict: Verdict) -> Outcome:
    if verdict.flagged:
        return Outcome.FLAGGED
    supported = verdict.status is Status.SUPPORTED
    return Outcome.GROUNDED if supported else Outcome.UNDETERMINED


def _result(row: BatchRow, found: _Checked, taken: Taken, *, per_claim: bool) -> RowResult:
    passing = next((m for m in _missing(found.verdicts) if m.reason not in LASTING), None)
    if passing is not None:
        failed = of_error(row, passing.reason.value, passing.detail, per_claim=per_claim)
        return RowResult(failed.lines, taken)
    columns = list(_claims(found)) if per_claim else [_answer(found)]
    lines = (
        _line(row, columns=one, place=(n, len(columns)) if per_claim else None, per_claim=per_claim)
        for n, one in enumerate(columns, start=1)
    )
    return RowResult(tuple(lines), taken)


def _missing(verdicts: Sequence[Verdict]) -> Iterator[Unmeasured]:
    """Yield the missing estimates on which a verdict could have depended."""
    for verdict in verdicts:
        asked: list[Measurement | None] = [verdict.second_look]
        if verdict.status is Status.UNDETERMINED:
            asked.append(verdict.p1)
        if verdict.status is not Status.SUPPORTED:
            asked += [part.p1 for part in verdict.parts]
        yield from (one for one in asked if isinstance(one, Unmeasured))


def _answer(found: _Checked) -> Document:
    flagged = [verdict for verdict in found.verdicts if verdict.flagged]
    by_status = Counter(verdict.status.value for verdict in found.verdicts)
    unmeasured = Counter(one.reason.value for one in _missing(found.verdicts))
    return {
        "outcome": found.outcome.value,
        "claims_checked": len(found.verdicts),
        "flagged": len(flagged),
        "flagged_sure": sum(verdict.sure for verdict in flagged),
        "by_status": dict(sorted(by_status.items())),
        "unmeasured": dict(sorted(unmeasured.items())),
        "probability_grounded": number(found.probability_grounded),
    }


def _claims(found: _Checked) -> Iterator[Document]:
    """Yield the columns of each claim; of an answer without claims one line that says so."""
    if not found.verdicts:
        yield {"outcome": found.outcome.value}
    for verdict in found.verdicts:
        p1 = verdict.p1
        yield {
            "outcome": found.outcome.value,
            "claim": verdict.claim.id,
            "text": verdict.claim.text,
            "status": verdict.status.value,
            "rule": verdict.rule,
            "flagged": verdict.flagged,
            "certainty": verdict.certainty.value,
            "probability_right": number(verdict.probability_right),
            "p1": number(p1.supported) if isinstance(p1, Estimate) else None,
            "unmeasured": next((one.reason.value for one in _missing([verdict])), None),
        }


def _line(  # noqa: PLR0913 -- a keyword for each group of columns
    row: AnyRow,
    *,
    per_claim: bool,
    columns: Document | None = None,
    place: tuple[int, int] | None = None,
    error: str | None = None,
    detail: str | None = None,
) -> Document:
    number_of = {"line": place[0], "lines": place[1]} if place else {"line": 1, "lines": 1}
    return {
        "id": row.id,
        "input": row.digest,
        **(number_of if per_claim else {}),
        **(CLAIM_COLUMNS if per_claim else ROW_COLUMNS),
        **(columns or {}),
        "error": error,
        "error_detail": detail,
        "meta": row.meta,
    }
