"""Table `feedback`: labels of verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select

from veridical.store.tables import dialect, feedback, fetched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.store.database import Store

_KEY = ("report", "claim")


class FeedbackTable:
    """Labels of verdicts: at most one row for a claim of a report."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, row: Mapping[str, Any]) -> int:
        """Store a row in place of an earlier one for the same claim, and return its number."""
        with self._store.write() as connection:
            insert = dialect(connection).insert(feedback).values(**row)
            changed = {name: insert.excluded[name] for name in row if name not in _KEY}
            replace = insert.on_conflict_do_update(index_elements=_KEY, set_=changed)
            number: int = connection.execute(replace.returning(feedback.c.id)).scalar_one()
            return number

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows, in the order of their numbers."""
        with self._store.read() as connection:
            return fetched(connection, select(feedback).order_by(feedback.c.id))

    def remove(self, number: int) -> bool:
        """Remove a row, and return whether there was one."""
        with self._store.write() as connection:
            return bool(
                connection.execute(delete(feedback).where(feedback.c.id == number)).rowcount
            )
