"""Table `usage`: numbers of requests, claims and tokens, and their cost, by key and day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Float, Integer, String, Table, func, select

from veridical.store.projects import project_column, rows_of
from veridical.store.tables import dialect, fetched, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from veridical.store.database import Store

all_usage = Table(
    "usage",
    metadata,
    project_column(primary_key=True),
    Column("key", String, primary_key=True),
    Column("day", String, primary_key=True),  # ISO 8601, UTC
    Column("requests", Integer, nullable=False),
    Column("claims", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost_usd", Float(53), nullable=False),
)
usage = rows_of(all_usage)

NUMBERS = ("requests", "claims", "tokens", "cost_usd")


class UsageTable:
    """Usage of a project's keys."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add numbers to those of a key and a day."""
        # Sorted, so that writers at the same time wait for each other in one order.
        given = sorted((dict(row) for row in rows), key=lambda row: (row["key"], row["day"]))
        with self._store.write() as connection:
            new = dialect(connection).insert(all_usage)
            sums = {name: all_usage.c[name] + new.excluded[name] for name in NUMBERS}
            added = new.on_conflict_do_update(index_elements=["project", "key", "day"], set_=sums)
            connection.execute(added, given)

    def since(self, day: str, key: str | None = None) -> list[dict[str, Any]]:
        """Return the sums of each key (or of one) since a day, in the order of their names."""
        sums = [func.sum(usage.c[name]).label(name) for name in NUMBERS]
        wanted = select(usage.c.key, *sums).where(usage.c.day >= day).group_by(usage.c.key)
        if key is not None:
            wanted = wanted.where(usage.c.key == key)
        with self._store.read() as connection:
            return fetched(connection, wanted.order_by(usage.c.key))
