"""Check as server-sent events: `progress`, `claim`, then `report`, or `error` in its place.

The check is a task of its own. It ends with the stream if the client goes away, and gives its place
back even if the stream was never begun.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.interfaces.http.errors import document_of, status_of
from veridical.pipeline.reports.document import to_claim, to_compact_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from veridical.core.verdicts import Verdict
    from veridical.interfaces.http.service import Service
    from veridical.pipeline.reports import Report

KEEP_ALIVE_S = 15.0
_PROGRESS_EVERY_S = 0.1

Event: TypeAlias = tuple[str, Any]


class Stream:
    """Watcher of a check that sends its events on."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._told = 0.0
        self._task: asyncio.Task[None] | None = None

    # --- a Watcher, and a Progress -----------------------------------------------------------

    def decided(self, verdict: Verdict, /) -> None:
        """Send a final verdict."""
        self._events.put_nowait(("claim", to_claim(verdict)))

    def stage(self, name: str, seconds: float, /) -> None:
        """Leave stages to telemetry."""
        self._service.telemetry.stage(name, seconds)

    def progress(self, done: int, total: int, /) -> None:
        """Send the progress, ten times a second at most."""
        now = monotonic()
        if done == total or now - self._told >= _PROGRESS_EVERY_S:
            self._told = now
            self._events.put_nowait(("progress", {"done": done, "total": total}))

    # --- the task, and its reader -------------------------------------------------------------

    def start(self, work: Callable[[], Awaitable[Report]], after: Callable[[], None]) -> None:
        """Begin to work; `after` is called at the end in any case."""
        self._task = asyncio.create_task(self._run(work))
        self._task.add_done_callback(lambda _: after())

    async def _run(self, work: Callable[[], Awaitable[Report]]) -> None:
        try:
            report = await work()
            text = await self._service.rendered(partial(to_compact_json, report))
            self._events.put_nowait(("report", text))
        except Exception as error:  # noqa: BLE001 -- the status is out already: it becomes an event
            if status_of(error) == 500:  # noqa: PLR2004 -- a failure of ours
                self._service.failed("stream", error)
            self._events.put_nowait(("error", document_of(error)))
        finally:
            self._events.put_nowait(None)

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield the events as they are sent; a comment where nothing happens for a while."""
        try:
            while True:
                try:
                    event = await asyncio.wait_for(self._events.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield b": still at it\n\n"
                    continue
                if event is None:
                    return
                yield _written(*event)
        finally:
            if self._task is not None:
                self._task.cancel()


def _written(name: str, data: object) -> bytes:
    is_json = isinstance(data, str)
    text = data if is_json else json.dumps(data, ensure_ascii=False, allow_nan=False)
    return f"event: {name}\ndata: {text}\n\n".encode()
