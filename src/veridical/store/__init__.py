"""What is kept from run to run: one database, SQLite (one file, the default) or PostgreSQL."""

from veridical.store.database import Store
from veridical.store.feedback import FeedbackTable
from veridical.store.location import default_url
from veridical.store.traces import TraceTables

__all__ = ["FeedbackTable", "Store", "TraceTables", "default_url"]
