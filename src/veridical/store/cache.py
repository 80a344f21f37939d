"""Cache of estimates in the database, for programs that share it: keys and values are bytes.

It never raises: a failure is counted in `errors` and returns nothing.
"""

from __future__ import annotations

import threading
from time import monotonic, time
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread
from sqlalchemy import delete, func, select

from veridical.errors import StoreError
from veridical.store.tables import cache_entries, dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from veridical.store.database import Store

T = TypeVar("T")

PAUSE_S = 10.0
"""Seconds without calls after a failure of the database, so that not each call waits for it."""

WAIT_S = 1.0
"""Seconds that a write waits for others: beyond that, a new measurement is no slower."""

_AT_ONCE = 500  # ids in one query; SQLite of old takes 999
_PRUNE_AT_MOST_EVERY = 1000


class CacheTable:
    """Key-value cache of about `max_entries` values at most; the oldest are evicted.

    `store` should wait for other writers for `WAIT_S` only.
    """

    def __init__(self, store: Store, *, max_entries: int, pause_s: float = PAUSE_S) -> None:
        self._store = store
        self._limit = max_entries
        self._pause_s = pause_s
        self._every = max(1, min(_PRUNE_AT_MOST_EVERY, max_entries // 20))
        self._since_pruning = self._every  # the first to write prunes earlier entries
        self._resume = float("-inf")
        self._lock = threading.Lock()
        self.errors = 0

    async def get(self, keys: Sequence[bytes], *, ttl_s: float) -> dict[bytes, bytes]:
        """Return the values of the keys that are stored and younger than `ttl_s` seconds."""
        oldest = time() - ttl_s

        def read() -> dict[bytes, bytes]:
            with self._store.read() as connection:
                return _found(connection, keys, oldest)

        return await anyio.to_thread.run_sync(self._run, read) or {}

    async def put(self, values: Mapping[bytes, bytes], *, ttl_s: float) -> None:
        """Store values; entries older than `ttl_s` seconds, or beyond the limit, are evicted."""
        now = time()

        def write() -> None:
            with self._store.write() as connection:
                _keep(connection, values, now)
                self._since_pruning += len(values)
                if self._since_pruning >= self._every:
                    _prune(connection, now - ttl_s, self._limit)
                    self._since_pruning = 0

        if values:
            await anyio.to_thread.run_sync(self._run, write)

    def _run(self, work: Callable[[], T]) -> T | None:
        """Do `work` on the database; None if it fails, or failed a short while ago."""
        with self._lock:
            if monotonic() < self._resume:
                return None
        try:
            return work()
        except StoreError:
            with self._lock:
                self.errors += 1
                self._resume = monotonic() + self._pause_s
            return None


def _found(connection: Connection, keys: Sequence[bytes], oldest: float) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    wanted = select(cache_entries.c.key, cache_entries.c.value)
    for start in range(0, len(keys), _AT_ONCE):
        part = cache_entries.c.key.in_(keys[start : start + _AT_ONCE])
        rows = connection.execute(wanted.where(part, cache_entries.c.created > oldest))
        found.update((bytes(row.key), bytes(row.value)) for row in rows)
    return found


def _keep(connection: Connection, values: Mapping[bytes, bytes], now: float) -> None:
    new = dialect(connection).insert(cache_entries)
    kept = {name: new.excluded[name] for name in ("created", "value")}
    # Sorted, so that writers at the same time wait for each other in one order.
    rows = [{"key": key, "created": now, "value": values[key]} for key in sorted(values)]
    connection.execute(new.on_conflict_do_update(index_elements=["key"], set_=kept), rows)


def _prune(connection: Connection, oldest: float, limit: int) -> None:
    created = cache_entries.c.created
    connection.execute(delete(cache_entries).where(created <= oldest))
    count = connection.scalar(select(func.count()).select_from(cache_entries)) or 0
    if count > limit:
        first = select(cache_entries.c.key).order_by(created).limit(count - limit)
        connection.execute(delete(cache_entries).where(cache_entries.c.key.in_(first)))
