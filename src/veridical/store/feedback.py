"""Table `feedback`: labels of verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from veridical.store.projects import delete_of
from veridical.store.tables import all_feedback, dialect, feedback, fetched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.store.database import Store

_KEY = ("project", "report", "claim")


class FeedbackTable:
    """Labels of verdicts of a project: at most one row for a claim of a report."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, row: Mapping[str, Any]) -> int:
        """Store a row in place of an earlier one for the same claim, and return its number."""
        with self._store.write() as connection:
            insert = dialect(connection).insert(all_feedback).values(**row)
            changed = {name: insert.excluded[name] for name in row if name not in _KEY}
            replace = insert.on_conflict_do_update(index_elements=_KEY, set_=changed)
            number: int = connection.execute(replace.returning(all_feedback.c.id)).scalar_one()
            return number

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows, in the order of their numbers."""
        with self._store.read() as connection:
            return fetched(connection, select(feedback).order_by(feedback.c.id))

    def remove(self, number: int) -> bool:
        """Remove a row, and return whether there was one."""
        with self._store.write() as connection:
            gone = delete_of(all_feedback).where(all_feedback.c.id == number)
            return bool(connection.execute(gone).rowcount)
