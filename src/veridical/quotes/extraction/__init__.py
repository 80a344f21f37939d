"""Evidence for the eight domains of the PHQ-8, or any other names, copied out of a transcript.

A text model copies, and nothing that it says counts before its quotes are found in the transcript.

    extractor = EvidenceExtractor(text_model, settings)
    found = await extractor.extract(transcript, participant_id="301")

Whose quotes they are, what the person has and how badly is not judged here.
"""

from veridical.quotes.extraction.domains import DOMAINS
from veridical.quotes.extraction.extractor import EvidenceExtractor
from veridical.quotes.extraction.failures import (
    ExtractionFailure,
    FailureCategory,
    FailureRegistry,
    FailureSeverity,
)
from veridical.quotes.extraction.results import Extraction, ItemEvidence

__all__ = [
    "DOMAINS",
    "EvidenceExtractor",
    "Extraction",
    "ExtractionFailure",
    "FailureCategory",
    "FailureRegistry",
    "FailureSeverity",
    "ItemEvidence",
]
