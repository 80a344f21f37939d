"""Common batches of the queries of all requests, with a deadline for each request.

A backend in this process has as many threads as there are processors. Were every request to ask it
by itself, they would fight for these; so the queries of requests are put together, in turns, and
the backend gets one batch after the other. The composition of a batch changes no estimate: the
embedded verifier scores each pair by itself.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import anyio

from veridical.core.cancellation import remaining
from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.projects import project_in_force, within_project
from veridical.pipeline.inference.wrappers.base import Wrapper, safe_estimate
from veridical.telemetry import BackendAsked
from veridical.telemetry.spans import batch_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.measurements import Measurement
    from veridical.core.ports import Backend
    from veridical.telemetry import Telemetry


class Observed(Wrapper[Query, Estimate, BackendInfo]):
    """Backend that reports the number and duration of its calls to telemetry."""

    def __init__(self, backend: Backend, telemetry: Telemetry) -> None:
        super().__init__(backend)
        self._telemetry = telemetry

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return the backend's measurements."""
        started = perf_counter()
        measured = await safe_estimate(self.wrapped, queries)
        seconds = perf_counter() - started
        cached = sum(isinstance(one, Estimate) and one.cached for one in measured)
        missing = sum(isinstance(one, Unmeasured) for one in measured)
        event = BackendAsked(self.info.name, len(queries), cached, missing, seconds)
        self._telemetry.take(event)
        return measured


@dataclass(eq=False, slots=True)
class _Entry:
    """Queries of one request; `left` are the positions that are in no batch yet."""

    queries: Sequence[Query]
    done: asyncio.Future[None]
    left: deque[int]
    project: str | None
    found: dict[int, Measurement] = field(default_factory=dict)
    context: Context = field(default_factory=copy_context)


class Batching(Wrapper[Query, Estimate, BackendInfo]):
    """Backend that joins the queries of concurrent requests into batches of at most `most`.

    A batch takes about as many from each request, so that a small one does not wait for a large
    one, and is of one project, whose cache and calibration it uses. For one event loop.
    """

    def __init__(self, backend: Backend, most: int = 32) -> None:
        super().__init__(backend)
        self._most = most
        self._entries: deque[_Entry] = deque()
        self._worker: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Number of queries that are in no batch yet."""
        return sum(len(entry.left) for entry in self._entries)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return the backend's measurements, taken together with other requests."""
        if not queries:
            return []
        done = asyncio.get_running_loop().create_future()
        entry = _Entry(queries, done, deque(range(len(queries))), project_in_force())
        self._entries.append(entry)
        if self._worker is None or self._worker.done():
            # No request's context: its work is for all of them.
            self._worker = asyncio.create_task(self._work(), context=Context())
        try:
            await done
        finally:
            with suppress(ValueError):  # it may have left the queue already
                self._entries.remove(entry)
        return [entry.found[i] for i in range(len(queries))]

    async def _work(self) -> None:
        while batch := self._next():
            try:
                queries = [entry.queries[i] for entry, i in batch]
                contexts = {id(entry): entry.context for entry, _ in batch}
                measured = await asyncio.create_task(
                    self._estimates(batch[0][0].project, queries),
                    context=batch_context(tuple(contexts.values())),
                )
            except BaseException as error:
                # Each caller has to get the error: a backend that cannot start, or a cancellation.
                for entry, _ in batch:
                    if not entry.done.done():
                        entry.done.set_exception(_told(error))
                if not isinstance(error, Exception):
                    raise
                continue
            for (entry, i), measurement in zip(batch, measured, strict=True):
                entry.found[i] = measurement
                if len(entry.found) == len(entry.queries) and not entry.done.done():
                    entry.done.set_result(None)

    async def _estimates(
        self, project: str | None, queries: Sequence[Query]
    ) -> Sequence[Measurement]:
        with within_project(project):
            return await safe_estimate(self.wrapped, queries)

    def _next(self) -> list[tuple[_Entry, int]]:
        """Take the next batch: a share from each request in turn, until it is full."""
        batch: list[tuple[_Entry, int]] = []
        others: list[_Entry] = []
        while self._entries and len(batch) < self._most:
            entry = self._entries.popleft()
            if entry.done.done():  # nobody waits for it any more
                continue
            if batch and entry.project != batch[0][0].project:
                others.append(entry)
                continue
            share = max(1, (self._most - len(batch)) // (len(self._entries) + 1))
            taken = min(share, len(entry.left))
            batch += [(entry, entry.left.popleft()) for _ in range(taken)]
            if entry.left:
                self._entries.append(entry)
        self._entries.extendleft(reversed(others))  # the next batch begins with the first of them
        return batch


def _told(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


class Deadlined(Wrapper[Query, Estimate, BackendInfo]):
    """Backend with the deadline of the `core.cancellation` around: unfinished queries are timeouts.

    They are `Unmeasured`.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._latest = math.inf
        self._scopes: set[anyio.CancelScope] = set()

    def hasten(self, seconds: float) -> None:
        """Shorten all deadlines to so many seconds from now, whatever was promised."""
        self._latest = anyio.current_time() + seconds
        for scope in self._scopes:
            scope.deadline = min(scope.deadline, self._latest)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return the measurements made in time."""
        due = min(anyio.current_time() + remaining(), self._latest)
        with anyio.CancelScope(deadline=due) as scope:
            self._scopes.add(scope)
            try:
                return await self.wrapped.estimate(queries)
            finally:
                self._scopes.discard(scope)
        late = Unmeasured(UnmeasuredReason.TIMEOUT, "the request's deadline")
        return [late] * len(queries)
