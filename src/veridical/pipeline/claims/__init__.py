"""Text -> claims: sentences with exact offsets, citations, confidence, atomic parts."""

from veridical.pipeline.claims.extract import extract_claims
from veridical.pipeline.claims.selection import select
from veridical.pipeline.claims.sentences import split_sentences

__all__ = ["extract_claims", "select", "split_sentences"]
