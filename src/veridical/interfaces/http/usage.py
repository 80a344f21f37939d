"""Usage of the service by key: requests, claims, tokens and cost, by the day."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.to_thread

from veridical.interfaces.http.callers import caller
from veridical.telemetry import ClaimsVerified, Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.interfaces.http.auth import Key
    from veridical.settings.service_blocks import ServerSettings
    from veridical.store import Store, UsageTable
    from veridical.telemetry import Event

Numbers: TypeAlias = dict[str, Any]

EVERY_S = 5.0
"""Seconds between two writes to the database."""


def _nothing() -> Numbers:
    return {"requests": 0, "claims": 0, "tokens": 0, "cost_usd": 0.0}


class UsageSink:
    """Counter of what each key used, kept in this process or in the database.

    `table` gives the table of a project; None counts since the start of the process only. Numbers
    that cannot be written are kept for the next attempt, and `failed` is called.
    """

    def __init__(
        self,
        table: Callable[[str], UsageTable] | None,
        failed: Callable[[str, Exception], object],
    ) -> None:
        self._table = table
        self._failed = failed
        self._lock = Lock()
        self._counts: dict[tuple[str, str, str], Numbers] = defaultdict(_nothing)

    def take(self, event: Event, /) -> None:
        """Count a request, or the claims of a check, for the key that asks."""
        key = caller()
        if key is None:
            return
        if isinstance(event, Served) and event.route.startswith("/v1/"):
            self._request_of(key)
        elif isinstance(event, ClaimsVerified):
            cost = {"tokens": event.tokens or 0, "cost_usd": event.cost_usd or 0.0}
            self._add((key.project, key.name, day_before(0)), {"claims": event.claims, **cost})

    def tool_called(self, _name: str, _outcome: str, _seconds: float) -> None:
        """Count a call of a tool for agents as a request; without a key, over a pipe, none."""
        key = caller()
        if key is not None:
            self._request_of(key)

    def _request_of(self, key: Key) -> None:
        self._add((key.project, key.name, day_before(0)), {"requests": 1})

    def _add(self, where: tuple[str, str, str], numbers: Numbers) -> None:
        with self._lock:
            counted = self._counts[where]
            for name, number in numbers.items():
                counted[name] += number

    async def keep_writing(self) -> None:
        """Write to the database every few seconds, until it is cancelled."""
        while self._table is not None:
            await asyncio.sleep(EVERY_S)
            await anyio.to_thread.run_sync(self.write)

    def write(self) -> None:
        """Write what was counted since the last time; without a database do nothing."""
        if self._table is None:
            return
        with self._lock:
            counted, self._counts = self._counts, defaultdict(_nothing)
        for project in {project for project, _, _ in counted}:
            own = {where: numbers for where, numbers in counted.items() if where[0] == project}
            rows = [{"key": key, "day": day, **own[_, key, day]} for _, key, day in own]
            try:
                self._table(project).add(rows)
            except Exception as error:  # noqa: BLE001 -- the requests are answered; it is tried again
                self._failed("usage", error)
                for where, numbers in own.items():
                    self._add(where, numbers)

    async def since(self, project: str, day: str, key: str | None) -> list[Numbers]:
        """Return the sums of a project's keys (or of one of them) since a day."""
        if self._table is None:
            return self._sums(project, day, key)
        table = self._table(project)
        await anyio.to_thread.run_sync(self.write)
        return await anyio.to_thread.run_sync(table.since, day, key)

    def _sums(self, project: str, day: str, key: str | None) -> list[Numbers]:
        sums: dict[str, Numbers] = defaultdict(_nothing)
        with self._lock:
            for (of, name, on), numbers in self._counts.items():
                if of == project and on >= day and key in {None, name}:
                    for what, number in numbers.items():
                        sums[name][what] += number
        return [{"key": name, **sums[name]} for name in sorted(sums)]


def day_before(days: int) -> str:
    """Return the day so many days ago, in UTC and ISO 8601."""
    return (datetime.now(UTC).date() - timedelta(days=days)).isoformat()


def usage_sink(
    server: ServerSettings, store: Callable[[], Store], failed: Callable[[str, Exception], object]
) -> UsageSink:
    """Return the counter of the settings: of this process, or of all that share the database."""
    if server.usage_in == "memory":
        return UsageSink(None, failed)
    from veridical.store import UsageTable

    return UsageSink(lambda project: UsageTable(store().of(project)), failed)
