"""Reports that were made a while ago, in memory only: they hold texts, which are not for a disk."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.pipeline.reports import Report

MOST_CHARACTERS = 64_000_000
"""Characters of answers and sources of all reports together."""

KEPT_S = 3600.0


@dataclass(frozen=True, slots=True)
class _Kept:
    report: Report
    owner: str
    since: float
    size: int


class Shelf:
    """Keeps the last reports for an hour; only the key that asked for a report gets it again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    @staticmethod
    def new_id() -> str:
        """Return an id that nobody can guess."""
        return token_hex(16)

    def put(self, report_id: str, report: Report, owner: str) -> None:
        """Keep a report; the oldest ones make room for it."""
        size = len(report.answer) + sum(len(one.text) for one in report.sources.values())
        if size > MOST_CHARACTERS or not self._most:
            return
        self._kept[report_id] = _Kept(report, owner, monotonic(), size)
        self._size += size
        while len(self._kept) > self._most or self._size > MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    def get(self, report_id: str, owner: str) -> Report | None:
        """Return a report; None if it is not there, too old, or somebody else's."""
        kept = self._kept.get(report_id)
        if kept is None or kept.owner != owner:
            return None
        if monotonic() - kept.since > KEPT_S:
            self._drop(report_id)
            return None
        return kept.report

    def _drop(self, report_id: str) -> None:
        self._size -= self._kept.pop(report_id).size
