"""Transports of the server: standard input and output, or streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage

from veridical.core.projects import DEFAULT_PROJECT
from veridical.interfaces.http.auth import ensure_guarded, is_loopback
from veridical.interfaces.http.authentication import Authentication
from veridical.interfaces.listening import listen_at
from veridical.interfaces.mcp.door import Door
from veridical.interfaces.mcp.line_repair import repair_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from socket import socket

    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp

    from veridical.interfaces.http.usage import UsageSink
    from veridical.settings.service_blocks import ServerSettings
    from veridical.telemetry.prometheus import PrometheusSink

PATH = "/mcp"
INTERRUPTED = 130
_HERE = ("127.0.0.1", "localhost", "[::1]")


def run_stdio(server: Server[Any], *, close: Callable[[], object]) -> None:
    """Serve the parent process, until its end of the pipe closes.

    SIGTERM and Ctrl-C call `close` and end the process.
    """
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, INTERRUPTED)):
        signal.signal(number, partial(_leave, close, code))
    anyio.run(_stdio, server)


def _leave(close: Callable[[], object], code: int, *_: object) -> None:
    try:
        close()
    finally:
        # A thread waits for a line that may never come: an orderly end would wait for it.
        os._exit(code)


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
        sending, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        group.start_soon(repair_lines, reading, sending, writing)
        await server.run(read, writing, server.create_initialization_options())
        group.cancel_scope.cancel()


def run_http(  # noqa: PLR0913 -- what is served, behind which keys, who is told
    server: Server[Any],
    settings: ServerSettings,
    metrics: PrometheusSink,
    usage: UsageSink,
    project: str = DEFAULT_PROJECT,
    *,
    listening: Callable[[str], object],
) -> None:
    """Serve HTTP until told to end; `listening` is called with the address.

    `ConfigurationError` if others could reach a server that asks for no key, or if the address
    cannot be had.
    """
    app = http_app(server, settings, metrics, project)
    opened = listen_at(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=10)
    # The server raises the signal that ended it once more when it is done.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listening(f"http://{host}:{opened.getsockname()[1]}{PATH}")
    anyio.run(_serve, uvicorn.Server(config), opened, usage)


async def _serve(http: uvicorn.Server, opened: socket, usage: UsageSink) -> None:
    writing = asyncio.create_task(usage.keep_writing())
    try:
        await http.serve(sockets=[opened])
    finally:
        writing.cancel()


def http_app(
    server: Server[Any],
    settings: ServerSettings,
    metrics: PrometheusSink,
    project: str = DEFAULT_PROJECT,
) -> ASGIApp:
    """Return the server as an ASGI app, behind its keys; errors are those of `run_http`.

    `project` is that of callers without a key of the file.
    """
    authentication = Authentication(settings, project)
    ensure_guarded(settings.host, authentication.keyring)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=settings.max_request_bytes,
        transport_security=_security(settings.host, settings.origins or ()),
    )
    return Door(app, authentication, settings, metrics)


def _security(host: str, origins: Collection[str]) -> TransportSecuritySettings:
    """Return the accepted hosts and origins: for this machine, only its own names.

    A public server is known by any name; its middleware requires a key.
    """
    if not is_loopback(host):
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in _HERE],
        allowed_origins=[*(f"http://{name}:*" for name in _HERE), *origins],
    )
