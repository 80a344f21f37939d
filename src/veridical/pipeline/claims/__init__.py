"""Claim extraction from text: sentences with exact offsets, citations, confidence, conjuncts."""

from veridical.pipeline.claims.antecedents import with_known_names
from veridical.pipeline.claims.decomposition import decomposition_request, split_for_model
from veridical.pipeline.claims.extract import extract_claims, sentence_parts
from veridical.pipeline.claims.merging import decompose
from veridical.pipeline.claims.selection import select
from veridical.pipeline.claims.sentences import split_sentences

__all__ = [
    "decompose",
    "decomposition_request",
    "extract_claims",
    "select",
    "sentence_parts",
    "split_for_model",
    "split_sentences",
    "with_known_names",
]
