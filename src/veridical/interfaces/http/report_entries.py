"""Entries of the list of kept reports: the outcome, and the words by which a report is found."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from veridical.core.verdicts import Status
from veridical.pipeline.reports import phrases

if TYPE_CHECKING:
    from veridical.core.types import Source
    from veridical.pipeline.reports import Report

MOST_CHARACTERS = 2_000
"""Characters of a question, an answer or the names of sources that are kept for the search."""

SHOWN_CHARACTERS = 200
"""Characters of the answer in the list."""


def _names(source: Source) -> list[str]:
    return [source.id] if source.path in {None, source.id} else [source.id, str(source.path)]


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """Entry of one report; `created` is in seconds since 1970."""

    id: str
    created: float
    outcome: str
    headline: str
    claims_checked: int
    flagged: int
    undetermined: int
    question: str = field(repr=False)
    answer: str = field(repr=False)
    sources: str = field(repr=False)

    @classmethod
    def of(cls, report_id: str, created: float, report: Report) -> ReportEntry:
        """Return the entry of a report."""
        summary = report.summary
        names = (" ".join(_names(one)) for one in report.sources.values())
        return cls(
            id=report_id,
            created=created,
            outcome=summary.outcome.value,
            headline=phrases.headline(report),
            claims_checked=summary.claims_checked,
            flagged=len(report.flagged),
            undetermined=summary.by_status.get(Status.UNDETERMINED, 0),
            question=(report.question or "")[:MOST_CHARACTERS],
            answer=report.answer[:MOST_CHARACTERS],
            sources=", ".join(names)[:MOST_CHARACTERS],
        )

    def matches(self, words: str) -> bool:
        """Return whether question, beginning of the answer, sources or headline have all words."""
        text = f"{self.question} {self.answer} {self.sources} {self.headline} {self.id}"
        return all(word in text.casefold() for word in words.casefold().split())

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        created = datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds")
        return asdict(self) | {"created": created, "answer": self.answer[:SHOWN_CHARACTERS]}

    def to_bytes(self) -> bytes:
        """Return the entry as it is stored."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ReportEntry | None:
        """Return the entry; None if the data are damaged, or of a version with other fields."""
        try:
            return cls(**json.loads(data))
        except (TypeError, ValueError):
            return None
