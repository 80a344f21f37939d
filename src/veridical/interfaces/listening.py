"""Listening socket for the service and for MCP over HTTP."""

from __future__ import annotations

import os
import socket

from veridical.errors import ConfigurationError


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port in use is reported before anything loads.

    Port 0 is a free one. `ConfigurationError` if the address cannot be had.
    """
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # With its protocol said, asyncio sets TCP_NODELAY: else each answer waits 40 ms for an ACK.
        opened = socket.socket(family, kind, protocol)
        _listen(opened, address)
    except OSError as error:
        msg = f"cannot listen on {host}:{port}: {error.strerror}"
        raise ConfigurationError(msg, hint="Choose another --host or --port") from None
    return opened


def _listen(opened: socket.socket, address: tuple[object, ...]) -> None:
    try:
        if os.name == "posix":  # elsewhere it would let two services share a port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(1024)
    except OSError:
        opened.close()
        raise
