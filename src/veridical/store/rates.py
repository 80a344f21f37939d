"""Table `rates`: recent request rates, counted for all processes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import case, select
from sqlalchemy.dialects import postgresql, sqlite

from veridical.store.tables import clock, has_passed, rates

if TYPE_CHECKING:
    from veridical.store.database import Store


class RateTable:
    """Rate limits by key: each row is the time until which its turns are taken (GCRA)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self) -> None:
        """Open the database, and migrate it if it has to be."""
        with self._store.read():
            pass

    def take(self, key: str, *, turn_s: float, ahead_s: float) -> float:
        """Take a turn of `turn_s` seconds: 0.0, or the seconds until there is one.

        Turns may be taken `ahead_s` seconds ahead of time. The clock is the database's, so that
        machines with different ones count alike; the row is read and written at once.
        """
        with self._store.write() as connection:
            now = clock(connection)
            dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
            full = rates.c.full_until
            until = case((has_passed(full, now), now), else_=full) + turn_s
            taken = dialect.insert(rates).values(key=key, full_until=now + turn_s)
            taken = taken.on_conflict_do_update(
                index_elements=[rates.c.key],
                set_={rates.c.full_until: until},
                where=until - now <= ahead_s,
            )
            if connection.scalar(taken.returning(rates.c.key)) is not None:
                return 0.0
            wait = select(rates.c.full_until + turn_s - ahead_s - now).where(rates.c.key == key)
            return max(0.0, connection.scalar(wait) or 0.0)
