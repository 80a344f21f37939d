"""Table `reports`: recent reports of the service, as bytes."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from veridical.store.projects import delete_of
from veridical.store.tables import all_reports, reports

if TYPE_CHECKING:
    from veridical.store.database import Store


class ReportTable:
    """Last `most` reports of a project, none for longer than `kept_s` seconds."""

    def __init__(self, store: Store, *, most: int, kept_s: float) -> None:
        self._store = store
        self._most = most
        self._kept_s = kept_s

    def put(self, report_id: str, owner: str, data: bytes) -> None:
        """Store a report that `owner` asked for; old and surplus reports are removed."""
        now = time()
        last = select(reports.c.id).order_by(reports.c.created.desc(), reports.c.id)
        with self._store.write() as connection:
            row = {"id": report_id, "owner": owner, "created": now, "data": data}
            connection.execute(insert(all_reports).values(**row))
            # Those of all projects: one that nobody uses any more keeps nothing, either.
            old = delete(all_reports).where(all_reports.c.created <= now - self._kept_s)
            connection.execute(old)
            kept = last.limit(self._most)
            connection.execute(delete_of(all_reports).where(all_reports.c.id.not_in(kept)))

    def get(self, report_id: str) -> bytes | None:
        """Return a report of the project; None if it is not there, or too old."""
        wanted = select(reports.c.data).where(
            reports.c.id == report_id,
            reports.c.created > time() - self._kept_s,
        )
        with self._store.read() as connection:
            found = connection.scalar(wanted)
            return None if found is None else bytes(found)
