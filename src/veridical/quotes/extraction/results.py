"""What an extraction found, per key and in all, and how it is written as JSON."""

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
    """What speaks to one key: the quotes kept, and how many were extracted and rejected.

    `matches` has an entry for each quote extracted, the rejected ones too, with its place in the
    transcript; it is empty if validation is switched off.
    """

    quotes: tuple[str, ...] = field(repr=False)
    matches: tuple[QuoteMatch, ...] = field(repr=False)
    llm_evidence_extracted_count: int
    llm_evidence_rejected_count: int


@dataclass(frozen=True, slots=True)
class ExtractionUsage:
    """What the text model took; tokens and cost are those of all answers, None where unknown."""

    model: str
    answers: int
    tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Evidence that is in the transcript, and what became of the rest.

    `validated` is false if validation is switched off: then nothing was looked up. `retried` says
    that the second answer counts. `failures` are those of this extraction.
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
        """The quotes kept, by key."""
        return {key: list(item.quotes) for key, item in self.items.items()}

    @property
    def llm_evidence_extracted_count(self) -> int:
        """How many quotes the text model gave."""
        return sum(item.llm_evidence_extracted_count for item in self.items.values())

    @property
    def llm_evidence_rejected_count(self) -> int:
        """How many of them were rejected."""
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
