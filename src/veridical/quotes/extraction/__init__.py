"""Extraction of quoted evidence from a transcript: for the PHQ-8 domains, or other keys.

A text model copies quotes, and none counts before it is found in the transcript.

    extractor = EvidenceExtractor(text_model, settings)
    found = await extractor.extract(transcript, participant_id="301")

No diagnosis and no severity is judged here.
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
