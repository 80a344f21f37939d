"""What is kept from run to run: one database, SQLite (one file, the default) or PostgreSQL."""

from veridical.store.database import Store
from veridical.store.feedback import FeedbackTable
from veridical.store.location import default_url
from veridical.store.memory import MemoryTables
from veridical.store.memory_queue import MemoryQueue
from veridical.store.traces import TraceTables

__all__ = ["FeedbackTable", "MemoryQueue", "MemoryTables", "Store", "TraceTables", "default_url"]
