"""Table `feedback`: labels of verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from veridical.store.projects import delete_of
from veridical.store.tables import all_feedback, dialect, feedback, fetched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

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

    def rows(self, report: str | None = None) -> list[dict[str, Any]]:
        """Return all rows, or those of a report, in the order of their numbers."""
        wanted = select(feedback).order_by(feedback.c.id)
        if report is not None:
            wanted = wanted.where(feedback.c.report == report)
        with self._store.read() as connection:
            return fetched(connection, wanted)

    def remove(self, number: int) -> bool:
        """Remove a row, and return whether there was one."""
        return self._removed(all_feedback.c.id == number)

    def remove_claim(self, report: str, claim: str) -> bool:
        """Remove the row of a claim, and return whether there was one."""
        mine = (all_feedback.c.report == report) & (all_feedback.c.claim == claim)
        return self._removed(mine)

    def _removed(self, where: ColumnElement[bool]) -> bool:
        with self._store.write() as connection:
            return bool(connection.execute(delete_of(all_feedback).where(where)).rowcount)
