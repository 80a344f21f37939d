"""Service on uvicorn, with a graceful shutdown: accepted requests are finished."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import uvicorn

from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import ensure_guarded
from veridical.interfaces.listening import listen_at
from veridical.telemetry import set_up_logs

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType

    from fastapi import FastAPI

    from veridical.interfaces.http.service import Service
    from veridical.settings import Settings
    from veridical.telemetry.otel import OtelSink


class _Server(uvicorn.Server):
    """Server that announces its end to the service, so that deadlines fit into the rest."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- a handler's signature
        """End, on a second Ctrl-C at once; the signal is not raised again, for all ended well."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer accepted requests, end."""
        self._service.drain()
        await super().shutdown(sockets)


def run(settings: Settings, *, listening: Callable[[str], None] = lambda _: None) -> None:
    """Serve until SIGTERM or Ctrl-C; `listening` is called with the address once it is open.

    `ConfigurationError` if the address is public and there is no key, or if it cannot be opened;
    `BackendError` if the backend cannot start.
    """
    stop = _telemetry(settings)
    try:
        app = create_app(settings, sinks=_sinks(settings))
        service: Service = app.state.service
        ensure_guarded(settings.server.host, service.keyring)
        with listen_at(settings.server.host, settings.server.port) as opened:
            listening(_address(opened))
            _Server(_config(app, settings), service).run(sockets=[opened])
        if service.failure is not None:
            raise service.failure
    finally:
        stop()


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,  # ours is set up
        access_log=False,  # requests are logged as events, without their addresses
        server_header=False,
        timeout_graceful_shutdown=max(1, round(settings.server.shutdown_s)),
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


def _address(opened: socket.socket) -> str:
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
