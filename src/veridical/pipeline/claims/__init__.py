"""Text -> claims: sentences with exact offsets, citations, confidence, atomic parts."""

from veridical.pipeline.claims.extract import extract_claims
from veridical.pipeline.claims.sentences import split_sentences

__all__ = ["extract_claims", "split_sentences"]
