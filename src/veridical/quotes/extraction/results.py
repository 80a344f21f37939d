"""Results of an extraction, per key and in all, and their JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.quotes.extraction.failures import ExtractionFailure
    from veridical.quotes.grounding import Deviation, QuoteMatch

SCHEMA = "veridical.extraction/1"


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    """Evidence for one key: accepted quotes, and numbers of extracted and rejected ones.

    `matches` has an entry for each extracted quote, also for rejected ones, with its place in the
    transcript; it is empty if validation is switched off.
    """

    quotes: tuple[str, ...] = field(repr=False)
    matches: tuple[QuoteMatch, ...] = field(repr=False)
    llm_evidence_extracted_count: int
    llm_evidence_rejected_count: int


@dataclass(frozen=True, slots=True)
class ExtractionUsage:
    """Usage of the text model; tokens and cost include all answers, None where unknown."""

    model: str
    answers: int
    tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Grounded evidence of a transcript, with the number of rejected quotes.

    `validated` is false if validation is switched off: then nothing was looked up. `retried` is
    true if the second answer counts. `failures` are from this extraction.
    """

    items: Mapping[str, ItemEvidence]
    usage: ExtractionUsage
    participant_id: str | None = None
    validated: bool = True
    retried: bool = False
    deviations: tuple[Deviation, ...] = ()
    failures: tuple[ExtractionFailure, ...] = ()

    @property
    def evidence(self) -> dict[str, list[str]]:
        """Accepted quotes, by key."""
        return {key: list(item.quotes) for key, item in self.items.items()}

    @property
    def llm_evidence_extracted_count(self) -> int:
        """Number of quotes from the text model."""
        return sum(item.llm_evidence_extracted_count for item in self.items.values())

    @property
    def llm_evidence_rejected_count(self) -> int:
        """Number of rejected quotes."""
        return sum(item.llm_evidence_rejected_count for item in self.items.values())

    def to_dict(self) -> dict[str, object]:
        """Return everything in values that JSON has."""
        return {
            "schema": SCHEMA,
            "participant_id": self.participant_id,
            "validated": self.validated,
            "llm_evidence_extracted_count": self.llm_evidence_extracted_count,
            "llm_evidence_rejected_count": self.llm_evidence_rejected_count,
            "items": {key: asdict(item) for key, item in self.items.items()},
            "deviations": list(self.deviations),
            "retried": self.retried,
            "usage": asdict(self.usage),
            "failures": [asdict(failure) for failure in self.failures],
        }
