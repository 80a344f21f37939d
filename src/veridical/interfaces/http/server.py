"""Service on uvicorn, with a graceful shutdown in bounded time: accepted requests are finished."""

from __future__ import annotations

import asyncio
import errno
import math
import signal
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import ensure_guarded
from veridical.interfaces.http.connections import ConnectionLimits, bounded_protocol
from veridical.interfaces.http.memory_release import FullCollections
from veridical.interfaces.http.watchdog import Watchdog
from veridical.interfaces.listening import BACKLOG, address_of, listen_at
from veridical.telemetry import set_up_logs

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType

    from fastapi import FastAPI

    from veridical.interfaces.http.service import Service
    from veridical.settings import Settings
    from veridical.settings.service_blocks import ServerSettings
    from veridical.telemetry.otel import OtelSink

MINUTE_S = 60.0
_TICK_S = 0.1
_ACCEPTED_AT_ONCE = 16
"""Connections that are accepted in one turn of the loop; asyncio fails at each of them alike."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class _Server(uvicorn.Server):
    """Server that announces its end to the service, so that deadlines fit into the rest."""

    def __init__(self, config: uvicorn.Config, service: Service, watchdog: Watchdog) -> None:
        super().__init__(config)
        self._service = service
        self._watchdog = watchdog
        self._hurried = False
        self._told = -math.inf
        self._collections = FullCollections(lambda: service.admission.running > 0)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- a handler's signature
        """End, on a second Ctrl-C at once; the signal is not raised again, for all ended well."""
        self._watchdog.start()
        self._hurried = self.should_exit or sig == signal.SIGINT
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and listen with a long queue, though connections are accepted a few at a time."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets)
        self._collections.start()
        for opened in sockets or []:
            opened.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it ends, stop listening, answer accepted requests, end."""
        server = self._service.settings.server
        self._collections.stop()
        self._service.drain(server.shutdown_s - 2 * server.reserve_s)
        until = monotonic() + _drain_s(server)
        while monotonic() < until and not self._hurried:  # noqa: ASYNC110 -- a signal's handler sets it, outside of the loop
            await asyncio.sleep(_TICK_S)
        await super().shutdown(sockets)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report connections that cannot be accepted, once a minute; the loop tries them again."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
        elif monotonic() - self._told > MINUTE_S:
            self._told = monotonic()
            self._service.failed("accept", error)


def run(
    settings: Settings,
    *,
    listening: Callable[[str], None] = lambda _: None,
    shared: bool = False,
) -> None:
    """Serve until SIGTERM or Ctrl-C; `listening` is called with the address once it is open.

    A `shared` address is open to several processes. `ConfigurationError` if the address is public
    and there is no key, or if it cannot be opened; `BackendError` if the backend cannot start.
    """
    stop = _telemetry(settings)
    try:
        app = create_app(settings, sinks=_sinks(settings))
        service: Service = app.state.service
        server = settings.server
        ensure_guarded(server.host, service.keyring)
        with (
            Watchdog(server.shutdown_s) as watchdog,
            listen_at(server.host, server.port, shared=shared) as opened,
        ):
            listening(address_of(opened))
            _Server(_config(app, settings), service, watchdog).run(sockets=[opened])
        if service.failure is not None:
            raise service.failure
    finally:
        stop()


def _drain_s(server: ServerSettings) -> float:
    """Return the part of a shutdown in which requests are still accepted."""
    return min(server.drain_s, server.shutdown_s - 3 * server.reserve_s)


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    server = settings.server
    patience_s = server.shutdown_s - _drain_s(server) - server.reserve_s
    return uvicorn.Config(
        app,
        http=bounded_protocol(ConnectionLimits.of(server)),
        ws="none",
        log_config=None,  # ours is set up
        access_log=False,  # requests are logged as events, without their addresses
        server_header=False,
        backlog=_ACCEPTED_AT_ONCE,
        # uvicorn hands both to the event loop, which takes fractions, too.
        timeout_keep_alive=cast("int", server.idle_s),
        timeout_graceful_shutdown=cast("int", patience_s),
        lifespan="on",
    )


def _telemetry(settings: Settings) -> Callable[[], None]:
    set_up_logs(settings.telemetry.logs, settings.telemetry.level)
    if not settings.telemetry.otel:
        return lambda: None
    from veridical.telemetry import otel

    return otel.set_up()


def _sinks(settings: Settings) -> list[OtelSink]:
    if not settings.telemetry.otel:
        return []
    from veridical.telemetry.otel import OtelSink

    return [OtelSink()]
