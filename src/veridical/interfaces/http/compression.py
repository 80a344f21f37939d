"""Compressed bodies of requests, bounded by their size when decompressed."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

_GZIP = 16 + zlib.MAX_WBITS
_IDENTITY = frozenset({"", "identity"})
GZIP = frozenset({"gzip", "x-gzip"})
_LEFT_OUT = frozenset({b"content-encoding", b"content-length"})


def encoding_of(headers: Headers) -> str:
    """Return the encoding of a body, "" of one that has none."""
    found = headers.get("content-encoding", "").strip().lower()
    return "" if found in _IDENTITY else found


def decompressed(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Return the `receive` of a request as if its body had been sent plain; so says its header.

    `HTTPException` 413 is raised as soon as the body has more than `limit` bytes, 400 if it is no
    gzip.
    """
    if encoding_of(Headers(scope=scope)) not in GZIP:
        return receive
    scope["headers"] = [pair for pair in scope["headers"] if pair[0].lower() not in _LEFT_OUT]
    return _Inflated(receive, limit).receive


class _Inflated:
    """Messages of a request with their bodies decompressed."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self._stream = zlib.decompressobj(_GZIP)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        body = self._read(message.get("body", b""))
        if not message.get("more_body") and not self._stream.eof:
            raise HTTPException(400)
        return {**message, "body": body}

    def _read(self, data: bytes) -> bytes:
        """Return data decompressed, at most one byte more than is left."""
        parts: list[bytes] = []
        while data:
            if self._stream.eof:  # a file of gzip may have several members
                self._stream = zlib.decompressobj(_GZIP)
            parts.append(self._inflated(data))
            self._left -= len(parts[-1])
            if self._left < 0:
                raise HTTPException(413)
            data = self._stream.unconsumed_tail or self._stream.unused_data
        return b"".join(parts)

    def _inflated(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, self._left + 1)
        except zlib.error:
            raise HTTPException(400) from None
