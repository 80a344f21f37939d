"""Listening socket for the service and for MCP over HTTP."""

from __future__ import annotations

import os
import socket

from veridical.errors import ConfigurationError

BACKLOG = 1024
"""Connections that wait to be accepted."""


def listen_at(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that listens, so that a port in use is reported before anything loads.

    Port 0 is a free one. Other processes may listen at a `shared` address, too; the kernel spreads
    the connections. `ConfigurationError` if the address cannot be had.
    """
    return _opened(host, port, shared=shared, backlog=BACKLOG)


def reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds an address for processes that share it, and does not listen."""
    return _opened(host, port, shared=True, backlog=None)


def address_of(opened: socket.socket) -> str:
    """Return the address of a socket for HTTP."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _opened(host: str, port: int, *, shared: bool, backlog: int | None) -> socket.socket:
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # With its protocol said, asyncio sets TCP_NODELAY: else each answer waits 40 ms for an ACK.
        opened = socket.socket(family, kind, protocol)
        _bind(opened, address, shared=shared, backlog=backlog)
    except OSError as error:
        msg = f"cannot listen on {host}:{port}: {error.strerror}"
        raise ConfigurationError(msg, hint="Choose another --host or --port") from None
    return opened


def _bind(
    opened: socket.socket, address: tuple[object, ...], *, shared: bool, backlog: int | None
) -> None:
    try:
        if os.name == "posix" and not shared:  # elsewhere two services could share a port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind(address)
        if backlog is not None:
            opened.listen(backlog)
    except OSError:
        opened.close()
        raise
