"""Wrappers around any backend or text model, with the same protocol; `wrap` puts them in order."""

from veridical.pipeline.inference.wrappers.breaker import Breaker, Circuit
from veridical.pipeline.inference.wrappers.budget import CostLimit
from veridical.pipeline.inference.wrappers.cache import Cache
from veridical.pipeline.inference.wrappers.deadline import Deadline
from veridical.pipeline.inference.wrappers.limits import RateLimited
from veridical.pipeline.inference.wrappers.retries import Backoff, Retries
from veridical.pipeline.inference.wrappers.stack import wrap
from veridical.pipeline.inference.wrappers.stores import MemoryStore, SqliteStore
from veridical.pipeline.inference.wrappers.texts import (
    TextCache,
    WrappedTextModel,
    wrap_text_model,
)

__all__ = [
    "Backoff",
    "Breaker",
    "Cache",
    "Circuit",
    "CostLimit",
    "Deadline",
    "MemoryStore",
    "RateLimited",
    "Retries",
    "SqliteStore",
    "TextCache",
    "WrappedTextModel",
    "wrap",
    "wrap_text_model",
]
