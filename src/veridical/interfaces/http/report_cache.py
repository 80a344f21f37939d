"""Recent reports: in memory, or in the database if the settings say so.

They hold the texts of answers and sources, which is why they are not on a disk by default.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from time import monotonic, time
from typing import TYPE_CHECKING, Protocol

import anyio.to_thread

from veridical.interfaces.http.report_entries import ReportEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.interfaces.http.auth import Key
    from veridical.pipeline.reports import Report
    from veridical.settings.service_blocks import ServerSettings
    from veridical.store import ReportTable, Store

MOST_CHARACTERS = 64_000_000
"""Characters of answers and sources of all reports together."""


def new_id() -> str:
    """Return an id that nobody can guess."""
    return token_hex(16)


class ReportCache(Protocol):
    """Cache of the last reports; only keys of the project that asked for one get it again."""

    async def put(self, report_id: str, report: Report, key: Key) -> None:
        """Keep a report; the oldest ones make room for it."""
        ...

    async def get(self, report_id: str, project: str) -> Report | None:
        """Return a report; None if it is not there, too old, or another project's."""
        ...

    async def entries(self, project: str) -> list[ReportEntry]:
        """Return the entries of all reports of a project, the newest first."""
        ...


class StoredReportCache:
    """Reports in the database, for all processes that share it.

    `table` gives the table of a project, opened when it is first needed. A report that cannot be
    written is not kept; `failed` is called.
    """

    def __init__(
        self, table: Callable[[str], ReportTable], failed: Callable[[str, Exception], object]
    ) -> None:
        self._table = table
        self._failed = failed

    async def put(self, report_id: str, report: Report, key: Key) -> None:
        """Keep a report; the oldest ones make room for it."""
        from veridical.pipeline.reports.archive import to_bytes

        def write() -> None:
            entry = ReportEntry.of(report_id, time(), report)
            self._table(key.project).put(report_id, key.id, to_bytes(report), entry.to_bytes())

        try:
            await anyio.to_thread.run_sync(write)
        except Exception as error:  # noqa: BLE001 -- the check is done, and its answer goes out
            self._failed("reports", error)

    async def get(self, report_id: str, project: str) -> Report | None:
        """Return a report; None if it is not there, too old, or another project's."""
        from veridical.pipeline.reports.archive import from_bytes

        data = await anyio.to_thread.run_sync(lambda: self._table(project).get(report_id))
        return None if data is None else await anyio.to_thread.run_sync(partial(from_bytes, data))

    async def entries(self, project: str) -> list[ReportEntry]:
        """Return the entries of all reports of a project, the newest first."""
        found = await anyio.to_thread.run_sync(lambda: self._table(project).entries())
        return [entry for data in found if (entry := ReportEntry.from_bytes(data)) is not None]


@dataclass(frozen=True, slots=True)
class _Kept:
    report: Report
    project: str
    since: float
    size: int
    entry: ReportEntry


class MemoryReportCache:
    """The last `most` reports of this process, none for longer than `kept_s` seconds."""

    def __init__(self, most: int, kept_s: float) -> None:
        self._most = most
        self._kept_s = kept_s
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    async def put(self, report_id: str, report: Report, key: Key) -> None:
        """Keep a report; the oldest ones make room for it."""
        size = len(report.answer) + sum(len(one.text) for one in report.sources.values())
        if size > MOST_CHARACTERS or not self._most:
            return
        entry = ReportEntry.of(report_id, time(), report)
        self._kept[report_id] = _Kept(report, key.project, monotonic(), size, entry)
        self._size += size
        while len(self._kept) > self._most or self._size > MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    async def get(self, report_id: str, project: str) -> Report | None:
        """Return a report; None if it is not there, too old, or another project's."""
        self._drop_old()
        kept = self._kept.get(report_id)
        return kept.report if kept is not None and kept.project == project else None

    async def entries(self, project: str) -> list[ReportEntry]:
        """Return the entries of all reports of a project, the newest first."""
        self._drop_old()
        return [kept.entry for kept in reversed(self._kept.values()) if kept.project == project]

    def _drop_old(self) -> None:
        oldest = monotonic() - self._kept_s
        for report_id in [name for name, kept in self._kept.items() if kept.since < oldest]:
            self._drop(report_id)

    def _drop(self, report_id: str) -> None:
        self._size -= self._kept.pop(report_id).size


def report_cache(
    server: ServerSettings, store: Callable[[], Store], failed: Callable[[str, Exception], object]
) -> ReportCache:
    """Return the cache of the settings: of this process, or of all that share the database."""
    if server.reports_in == "memory" or not server.reports:
        return MemoryReportCache(server.reports, server.reports_s)
    from veridical.store import ReportTable

    def table(project: str) -> ReportTable:
        return ReportTable(store().of(project), most=server.reports, kept_s=server.reports_s)

    return StoredReportCache(table, failed)
