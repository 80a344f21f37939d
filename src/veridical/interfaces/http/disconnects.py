"""End of a request's work when its client leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def while_connected(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Handle a request; cancel that if the client leaves after its body and before the answer."""
    call = _Call(receive, send)
    with anyio.CancelScope() as work:
        watcher = asyncio.create_task(call.cancel_when_gone(work))
        try:
            await app(scope, call.receive, call.send)
        finally:
            watcher.cancel()


class _Call:
    """Messages of one request: `receive` notes the end of its body, `send` that of its answer."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._whole = asyncio.Event()
        self._answered = False

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body"):
            self._whole.set()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._answered = True  # behind it the server says that the client has gone, in any case
        await self._send(message)

    async def cancel_when_gone(self, work: anyio.CancelScope) -> None:
        # Two that receive hear the same: the server answers each with the end of the connection.
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._answered:
            work.cancel()
