"""Feedback labels: users mark verdicts as right or wrong, for `veridical calibrate`.

    from veridical.wiring.build import build_store
    from veridical.feedback.labels import Feedback

    feedback = Feedback(build_store(settings))
    feedback.mark(report, "c3", right=False)

Numbers, ids and hashes are stored, and no text but a comment (docs/feedback.md).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

from veridical.core.hashing import short_hash
from veridical.core.measurements import Estimate, Estimator
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Status
from veridical.errors import InputError
from veridical.store import FeedbackTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.pipeline.reports import Report
    from veridical.store import Store

REPORT_SCHEMA = "veridical.report/1"
BY_PROBABILITY = frozenset(status for status, row in STATUS_TABLE.items() if row.by_probability)
"""Statuses decided by the backend's probabilities: only these measure its calibration."""

_FIELDS = {"report": "report_id", "claim": "claim_id"}
"""Names of fields by the name of their column."""
_NAMED = 20  # claims in the hint of an error
_NUMBERS = ("supported", "contradicted", "not_in_context", "low", "high", "estimator", "samples")


@dataclass(frozen=True, slots=True)
class FeedbackLabel:
    """Label of a verdict as right or wrong.

    `report_id` identifies the answer and its evidence, `claim_id` is the claim in it; only holders
    of the report can match `claim_hash` with a text. p1 and p0 are None where they were not
    measured, `fingerprint` where it is unknown. The thresholds are from the time of
    the verdict.
    """

    id: int
    created: datetime
    report_id: str
    claim_id: str
    claim_hash: str
    backend: str
    model: str
    estimator: str
    fingerprint: str | None
    p1: Estimate | None
    p0: Estimate | None
    status: Status
    support_threshold: float
    contradiction_threshold: float
    right: bool
    actual: Status | None = None
    comment: str | None = field(default=None, repr=False)

    @property
    def truly_supported(self) -> bool | None:
        """True if the claim is truly supported; None if the label does not tell.

        None where no probability decided: undetermined, phantom citation, unverifiable. A wrongly
        flagged claim counts as supported, unless `actual` says otherwise.
        """
        if self.status not in BY_PROBABILITY or self.p1 is None:
            return None
        if self.actual is not None:
            return self.actual is Status.SUPPORTED if self.actual in BY_PROBABILITY else None
        return (self.status is Status.SUPPORTED) == self.right

    def to_dict(self) -> dict[str, Any]:
        """Return the mark as a JSON object."""
        numbers = {name: _numbers(getattr(self, name)) for name in ("p1", "p0")}
        return asdict(self) | {"created": self.created.isoformat(), **numbers}


@dataclass(frozen=True, slots=True)
class PreparedReport:
    """Report read once for many marks: its document, its id, its claims by id.

    `key` is that of the hashes of its claims.
    """

    document: Mapping[str, Any] = field(repr=False)
    claims: Mapping[str, Mapping[str, Any]] = field(repr=False)
    id: str
    key: bytes = field(repr=False)
    fingerprint: str | None


def prepare_report(
    report: Report | Mapping[str, Any], fingerprint: str | None = None
) -> PreparedReport:
    """Return a report for `Feedback.mark`; `InputError` if it is none."""
    document, found = _document(report, fingerprint)
    try:
        claims = {claim["id"]: claim for claim in document["claims"]}
        content = _content(document)
    except (KeyError, TypeError, AttributeError):
        raise _no_report() from None
    key = sha256(b"claims of " + content.encode()).digest()
    return PreparedReport(document, claims, short_hash(content), key, found)


class Feedback:
    """Labels in a store; every method may raise `StoreError`."""

    def __init__(self, store: Store) -> None:
        self._table = FeedbackTable(store)

    def mark(  # noqa: PLR0913 -- a keyword for each thing that may be said
        self,
        report: Report | Mapping[str, Any] | PreparedReport,
        claim_id: str,
        *,
        right: bool,
        actual: str | None = None,
        comment: str | None = None,
        fingerprint: str | None = None,
    ) -> FeedbackLabel:
        """Store whether the verdict on a claim was right, in place of an earlier label.

        `report` may also be the document printed by `check --json`; for many marks it is prepared
        once. `actual` is the correct
        status, `comment` the reason in words. `fingerprint` is that of the backend, for documents
        without it. `InputError` if there is no such report, claim or status, or if `right` and
        `actual` contradict each other.
        """
        made = report if isinstance(report, PreparedReport) else prepare_report(report, fingerprint)
        try:
            row = _row(made, _claim(made.claims, claim_id))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise _no_report() from None
        status = _actual(actual, Status(row["status"]), right=right)
        row |= {"right": right, "actual": status.value if status else None, "comment": comment}
        return _mark(row | {"id": self._table.put(row)})

    def list(self, report: Report | Mapping[str, Any] | None = None) -> list[FeedbackLabel]:
        """Return all marks, or those of a report, the oldest first."""
        return [_mark(row) for row in self._table.rows(None if report is None else _id(report))]

    def unmark(self, report: Report | Mapping[str, Any], claim_id: str) -> bool:
        """Remove the label of a claim, and return whether it existed; `InputError` as `mark`."""
        return self._table.remove_claim(_id(report), claim_id)

    def remove(self, mark_id: int) -> bool:
        """Remove a label, and return whether it existed."""
        return self._table.remove(mark_id)


def report_id(document: Mapping[str, Any]) -> str:
    """Return twelve hexadecimal digits that identify a report by its content and model.

    The same answer checked again with the same evidence has the same id, whatever the thresholds.
    """
    return short_hash(_content(document))


def to_document(marks: Iterable[FeedbackLabel]) -> dict[str, Any]:
    """Return marks as the JSON document `veridical.feedback/1`."""
    return {"schema": "veridical.feedback/1", "marks": [mark.to_dict() for mark in marks]}


# --- reports -> rows -------------------------------------------------------------------------


def _document(
    report: Report | Mapping[str, Any], fingerprint: str | None
) -> tuple[Mapping[str, Any], str | None]:
    from veridical.core.assessment import Assessment

    if isinstance(report, Assessment):
        return report.to_dict(), report.backend.fingerprint
    if not hasattr(report, "get") or report.get("schema") != REPORT_SCHEMA:
        raise _no_report()
    backend = report.get("backend")
    own = backend.get("fingerprint") if isinstance(backend, dict) else None
    return report, own or fingerprint


def _id(report: Report | Mapping[str, Any]) -> str:
    """Return the id of a report; `InputError` if it is none."""
    try:
        return report_id(_document(report, None)[0])
    except (KeyError, TypeError, AttributeError):
        raise _no_report() from None


def _no_report() -> InputError:
    msg = f"this is not a report of schema {REPORT_SCHEMA}"
    return InputError(msg, hint="veridical check --json prints one")


def _claim(claims: Mapping[str, Mapping[str, Any]], claim_id: str) -> Mapping[str, Any]:
    if claim_id not in claims:
        msg = f"the report has no claim {claim_id[:20]!r}"
        named = ", ".join([*islice(claims, _NAMED), *(["..."] if len(claims) > _NAMED else [])])
        raise InputError(msg, hint=f"It has {named or 'none at all'}")
    return claims[claim_id]


def _row(report: PreparedReport, claim: Mapping[str, Any]) -> dict[str, Any]:
    backend, policy = report.document["backend"], report.document["policy"]
    row = {
        "created": datetime.now(UTC),
        "report": report.id,
        "claim": claim["id"],
        "claim_hash": short_hash(claim["text"], report.key),
        "backend": _word(backend["name"]),
        "model": _word(backend["model"]),
        "estimator": _word(backend["estimator"]),
        "fingerprint": None if report.fingerprint is None else _word(report.fingerprint),
        "p1": _measured(claim["p1"]),
        "p0": _measured(claim["p0"]),
        "status": Status(claim["status"]).value,
        "support_threshold": float(policy["support_threshold"]),
        "contradiction_threshold": float(policy["contradiction_threshold"]),
    }
    given = {"id": 0, "right": True, "actual": None, "comment": None}
    _mark(row | given)  # unreadable reports are never written
    return row


def _word(value: object) -> str:
    """Return a value as it is; `TypeError` or `ValueError` if a database cannot hold it as text."""
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


def _content(document: Mapping[str, Any]) -> str:
    """Return the identifying content of a report as canonical text."""
    claims = [_bound(claim) for claim in document["claims"]]
    backend = [document["backend"][key] for key in ("name", "model", "estimator")]
    return json.dumps([backend, claims], sort_keys=True)


def _bound(claim: Mapping[str, Any]) -> list[Any]:
    """Return the input of a claim's verification: its text and evidence, not the result."""
    # The role of a piece of evidence comes from the status, and that from the thresholds.
    evidence = [
        [one[key] for key in ("source", "start", "end", "text")] for one in claim["evidence"]
    ]
    keys = ("id", "text", "span", "citations", "windows_scored")
    return [*(claim[key] for key in keys), evidence]


def _measured(estimate: Mapping[str, Any]) -> dict[str, Any] | None:
    return None if "unmeasured" in estimate else {name: estimate[name] for name in _NUMBERS}


def _actual(actual: str | None, status: Status, *, right: bool) -> Status | None:
    if actual is None:
        return None
    known = [one.value for one in Status if one is not Status.UNDETERMINED]
    if actual not in known:
        msg = "the actual status is not one that a claim can have"
        raise InputError(msg, hint=f"Name one of {', '.join(known)}")
    if (Status(actual) is status) != right:
        word = "right" if right else "wrong"
        msg = f"a verdict of {status} is not {word} where {actual} would have been right"
        raise InputError(msg, hint="Leave the actual status out, or say the other thing")
    return Status(actual)


# --- rows -> marks ---------------------------------------------------------------------------


def _mark(row: Mapping[str, Any]) -> FeedbackLabel:
    created = row["created"]
    if created.tzinfo is None:  # SQLite keeps no time zone; what was written is UTC
        created = created.replace(tzinfo=UTC)
    return FeedbackLabel(
        **{
            **{_FIELDS.get(column, column): value for column, value in row.items()},
            "created": created,
            "p1": _estimate(row, "p1"),
            "p0": _estimate(row, "p0"),
            "status": Status(row["status"]),
            "actual": None if row["actual"] is None else Status(row["actual"]),
        }
    )


def _estimate(row: Mapping[str, Any], name: str) -> Estimate | None:
    numbers = row[name]
    if numbers is None:
        return None
    estimator = Estimator(numbers["estimator"])
    return Estimate(
        **{**numbers, "estimator": estimator},
        model=row["model"],
        fingerprint=row["fingerprint"] or "unknown",
    )


def _numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {name: getattr(estimate, name) for name in _NUMBERS}
