"""Persistent storage: one database, SQLite (one file, the default) or PostgreSQL."""

from veridical.errors import MissingExtraError

try:
    from veridical.store.cache import CacheTable
    from veridical.store.database import Store
    from veridical.store.feedback import FeedbackTable
    from veridical.store.location import default_url
    from veridical.store.memory import MemoryTables
    from veridical.store.memory_queue import MemoryQueue
    from veridical.store.memory_vectors import VectorTable
    from veridical.store.rates import RateTable
    from veridical.store.reports import ReportTable
    from veridical.store.traces import TraceTables
    from veridical.store.usage import UsageTable
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    _msg = "memory, traces, feedback and caches need the extra 'store' (sqlalchemy is missing)"
    raise MissingExtraError(_msg, hint="pip install 'veridical[store]'") from None

__all__ = [
    "CacheTable",
    "FeedbackTable",
    "MemoryQueue",
    "MemoryTables",
    "RateTable",
    "ReportTable",
    "Store",
    "TraceTables",
    "UsageTable",
    "VectorTable",
    "default_url",
]
