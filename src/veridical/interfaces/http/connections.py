"""HTTP connections with bounds: time-outs, size of headers, number of connections.

uvicorn bounds the idle time of a connection. The rest is in its protocol class here.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from veridical.interfaces.http import errors

if TYPE_CHECKING:
    import asyncio

    from veridical.settings.service_blocks import ServerSettings

LEAVE_S = 2.0
"""Seconds for the last bytes of a connection that is closed."""

# A client can provoke its warnings, one for each broken request.
_logger = logging.getLogger("uvicorn.error.connections")
_logger.setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of each connection, and the maximum number of connections.

    `header_s` is for a whole header, `body_s` for a whole body, and for the client to take any part
    of an answer.
    """

    header_s: float
    body_s: float
    header_bytes: int
    connections: int

    @classmethod
    def of(cls, server: ServerSettings) -> ConnectionLimits:
        """Return the limits of the settings."""
        return cls(server.header_s, server.body_s, server.max_header_bytes, server.connections)


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return the protocol class for a server with these limits."""
    return type("BoundedProtocol", (_BoundedProtocol,), {"limits": limits})


class _BoundedProtocol(HttpToolsProtocol):
    """Connection that is closed where a bound is exceeded."""

    limits: ConnectionLimits

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 -- those of uvicorn
        super().__init__(*given, **named)
        self.logger = _logger
        self.since = self.loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._in_header = False
        self._header_bytes = 0
        self._refused = False

    @property
    def free(self) -> bool:
        """True if no request is under way."""
        return self.cycle is None or bool(self.cycle.response_complete)

    # --- the connection ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Take the connection if there is room; the one that was free for longest makes some."""
        super().connection_made(transport)
        self._within(self.limits.header_s)
        if len(self.connections) > self.limits.connections and not self._make_room():
            self._refuse(503, "too many connections are open", "Come again later")

    def _make_room(self) -> bool:
        others = [one for one in self.connections if isinstance(one, _BoundedProtocol)]
        free = [one for one in others if one.free and one is not self and not one.closing]
        if free:
            min(free, key=lambda one: one.since).transport.close()
        return bool(free)

    @property
    def closing(self) -> bool:
        """True if the connection ends."""
        return self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._stop_timer()
        self.resume_writing()
        super().connection_lost(exc)

    # --- reading -----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse data, unless the connection is given up."""
        if self._refused:
            return
        super().data_received(data)
        if self._in_header:
            self._count(len(data))
        elif self.free and self._timer is None and not self.closing:
            self._within(self.limits.header_s)  # blank lines before a request

    def on_message_begin(self) -> None:
        """Begin a request: its header has to be complete in time."""
        super().on_message_begin()
        self._in_header, self._header_bytes = True, 0
        if self._timer is None:
            self._within(self.limits.header_s)

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field."""
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """Hand the request to the application; its body has to be complete in time."""
        self._in_header = False
        self._stop_timer()
        if not self._refused:
            super().on_headers_complete()
            self._within(self.limits.body_s)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        self._stop_timer()
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note since when the connection is free."""
        self.since = self.loop.time()
        super().on_response_complete()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self.limits.header_bytes and not self._refused:
            detail = f"the header has more than {self.limits.header_bytes} bytes"
            self._refuse(431, detail, "Send less, or raise server.max_header_bytes")

    # --- time --------------------------------------------------------------------------------

    def _within(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """Close the connection; a request that has begun hears of it, unless it is answered."""
        self._timer = None
        if self._in_header and not self.free:  # the next request waits for the one under way
            self._within(self.limits.header_s)
            return
        begun = self._in_header or not self.free
        if begun and (self.free or not self.cycle.response_started):
            self._refuse(408, "the request was not complete in time", "Send it faster")
        else:
            self._close()

    def pause_writing(self) -> None:
        """Expect the client to take a part of the answer in time."""
        super().pause_writing()
        self._expect_progress(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _expect_progress(self, left: int) -> None:
        self._writing = self.loop.call_later(self.limits.body_s, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._expect_progress(left)
        else:
            self.transport.abort()

    # --- the end -----------------------------------------------------------------------------

    def _refuse(self, status: int, detail: str, hint: str) -> None:
        """Answer with a problem document, and close."""
        self._refused = True
        if self.closing:
            return
        body = json.dumps(errors.document(status, detail, hint)).encode()
        lines = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"content-type: {errors.MEDIA_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self.loop.call_later(LEAVE_S, self.transport.abort)
