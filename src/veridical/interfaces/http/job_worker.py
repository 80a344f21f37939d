"""Worker for jobs beside the requests: claims checks in the store, and tells of the end of jobs.

A worker extends its claims while it lives. The checks of one that was killed are free for others
after `LEASE_S`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from veridical.interfaces.http.limits import OverloadedError
from veridical.interfaces.http.worker import pause_s
from veridical.jobs.documents import dumped, job_document
from veridical.jobs.webhooks import delay_s
from veridical.telemetry import request_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from veridical.interfaces.http.webhook_delivery import WebhookSender
    from veridical.store import ClaimedRow, JobTables

T = TypeVar("T")

EVERY_S = 2.0
"""Seconds between two looks at a store in which nothing is due."""

LEASE_S = 15.0
"""Seconds after which a claim that was not extended is free."""

CLEANING_S = 60.0
MOST_ATTEMPTS = 3
"""Attempts at a check whose worker did not live to the end of it."""

_WEBHOOK_LEASE_S = 60.0
_GONE = 410


@dataclass(frozen=True, slots=True)
class JobRowResult:
    """Result of a check, as a line of JSON."""

    line: bytes
    failed: bool = False


@dataclass(frozen=True, slots=True)
class JobCheck:
    """Work on one claimed check.

    `check` returns its result, or raises `OverloadedError` for later; `give_up` returns the result
    of one that no worker survived.
    """

    check: Callable[[ClaimedRow], Awaitable[JobRowResult]]
    give_up: Callable[[ClaimedRow], JobRowResult]


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Checks at once, how long finished jobs are kept, and seconds between looks at the store."""

    running: int
    kept_s: float
    every_s: float = EVERY_S
    lease_s: float = LEASE_S


class JobWorker:
    """Worker of one process, on its event loop; requests come first.

    `table` returns the store's tables, None as long as there is no store. `busy` returns true if
    requests wait: then checks of jobs do, too. `failed` is called with an error, after which it
    goes on.
    """

    def __init__(  # noqa: PLR0913 -- the ports of a worker
        self,
        table: Callable[[], JobTables | None],
        work: JobCheck,
        limits: WorkerLimits,
        *,
        busy: Callable[[], bool],
        failed: Callable[[str, BaseException], object],
        sender: WebhookSender | None = None,
    ) -> None:
        self._table = table
        self._work = work
        self._limits = limits
        self._busy = busy
        self._failed = failed
        self._sender = sender
        self._name = token_hex(16)
        self._wake = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._rows: dict[tuple[str, int], asyncio.Task[None]] = {}

    @property
    def running(self) -> int:
        """Number of checks under way."""
        return len(self._rows)

    def start(self) -> None:
        """Begin to work."""
        if not self._limits.running:
            return
        steps = [
            (self._begin_one, self._limits.every_s),
            (self._renew, self._limits.lease_s / 3),
            (self._clean, CLEANING_S),
        ]
        if self._sender is not None:
            steps.append((partial(self._tell_one, self._sender), self._limits.every_s))
        self._loops = [asyncio.create_task(self._repeat(*step)) for step in steps]

    def wake(self) -> None:
        """Look at the store at once."""
        self._wake.set()

    def halt(self) -> None:
        """Begin no further check, and break off those under way."""
        for task in (*self._loops, *self._rows.values()):
            task.cancel()

    async def stop(self) -> None:
        """Halt, and leave what was claimed to others."""
        self.halt()
        if not self._loops:
            return
        await asyncio.gather(*self._loops, *self._rows.values(), return_exceptions=True)
        await self._asked(lambda table: table.release(self._name))

    # --- loops -------------------------------------------------------------------------------

    async def _repeat(self, step: Callable[[], Awaitable[bool]], every_s: float) -> None:
        """Take steps; wait after one that found nothing to do."""
        failures = 0
        while True:
            try:
                found = await step()
                failures = 0
            except Exception as error:  # noqa: BLE001 -- the next look may find the database again
                self._failed("jobs", error)
                found, failures = False, failures + 1
            if not found:
                await self._pause(pause_s(every_s, failures))

    async def _pause(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._wake.wait()
        self._wake.clear()

    async def _asked(self, ask: Callable[[JobTables], T]) -> T | None:
        """Return the store's answer; None if there is no store."""
        table = await anyio.to_thread.run_sync(self._table)
        return None if table is None else await anyio.to_thread.run_sync(ask, table)

    async def _begin_one(self) -> bool:
        """Claim a check and begin it; return whether there was one."""
        if self._busy() or len(self._rows) >= self._limits.running:
            return False
        row = await self._asked(lambda table: table.claim(self._name, self._limits.lease_s))
        if row is not None:
            task = asyncio.create_task(self._settle(row))
            self._rows[row.place] = task
            task.add_done_callback(lambda _: self._end(row))
        return row is not None

    def _end(self, row: ClaimedRow) -> None:
        self._rows.pop(row.place, None)
        self.wake()

    async def _renew(self) -> bool:
        """Extend the claims; break off checks that are another worker's now, or nobody's."""
        if self._rows:
            before = dict(self._rows)
            held = await self._asked(lambda table: table.renew(self._name, self._limits.lease_s))
            for place in before.keys() - (held or set()):
                before[place].cancel()
        return False

    async def _clean(self) -> bool:
        await self._asked(lambda table: table.remove_finished(self._limits.kept_s))
        return False

    # --- checks ------------------------------------------------------------------------------

    async def _settle(self, row: ClaimedRow) -> None:
        """Store the result of a check; leave it to others if there is no room for it now."""
        request_id.set(f"{row.job}-{row.number}")
        try:
            gone = row.attempts > MOST_ATTEMPTS
            result = self._work.give_up(row) if gone else await self._work.check(row)
            await self._asked(
                lambda table: table.settle(self._name, row.place, result.line, failed=result.failed)
            )
        except OverloadedError:
            await self._asked(lambda table: table.release(self._name, row.place))
        except Exception as error:  # noqa: BLE001 -- the claim ends, and the check is tried again
            self._failed("jobs", error)

    # --- webhooks ----------------------------------------------------------------------------

    async def _tell_one(self, sender: WebhookSender) -> bool:
        """Tell of the end of one job; return whether there was one."""
        row = await self._asked(lambda table: table.claim_webhook(_WEBHOOK_LEASE_S))
        if row is None:
            return False
        document = {"type": "job.finished", "data": job_document(row, self._limits.kept_s)}
        try:
            send = partial(sender.send, row["webhook"], row["id"], dumped(document))
            status = await anyio.to_thread.run_sync(send)
        except Exception as error:  # noqa: BLE001 -- it is tried again
            self._failed("webhook", error)
            status = 0
        state, again_s = _next(status, row["webhook_attempts"])
        await self._asked(lambda table: table.settle_webhook(row["id"], state, again_s))
        return True


def _next(status: int, attempts: int) -> tuple[str, float | None]:
    """Return the state of a webhook after an attempt, and the seconds until the next one."""
    if 200 <= status < 300:  # noqa: PLR2004 -- any success
        return "delivered", None
    again_s = None if status == _GONE else delay_s(attempts)
    return ("failed" if again_s is None else "pending"), again_s
