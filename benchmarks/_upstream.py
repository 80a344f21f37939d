"""Scripted model service on loopback, with replies defined byte for byte."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import sleep
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator, Sequence

    from starlette.types import ASGIApp


@dataclass
class Upstream:
    """Answers the requests in turn; the last answer is given again and again.

    Bytes are JSON; a list is a stream, cut like that, where an exception breaks off.
    """

    answers: Sequence[bytes | Sequence[bytes | Exception]]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[bytes] = field(default_factory=list)
    seen: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def app(self) -> FastAPI:
        """Return the application."""
        app = FastAPI()
        for path in ("/v1/chat/completions", "/v1/responses"):
            app.add_api_route(path, self.answer, methods=["POST"])
        app.add_api_route("/v1/models", self.answer, methods=["GET"])
        return app

    async def answer(self, request: Request) -> Response:
        """Note the request, and give the next answer."""
        self.bodies.append(await request.body())
        self.seen.append(dict(request.headers))
        self.paths.append(f"{request.url.path}?{request.url.query}")
        said = self.answers[min(len(self.bodies), len(self.answers)) - 1]
        if isinstance(said, bytes):
            headers = {"content-type": "application/json", **self.headers}
            return Response(said, self.status, headers)
        return StreamingResponse(
            _cut(said), self.status, self.headers, media_type="text/event-stream"
        )


async def _cut(parts: Sequence[bytes | Exception]) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, Exception):
            raise part
        yield part


class _Server(uvicorn.Server):
    """Server that waits for nobody at its end, and closes what its application opened."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, with the application's own shutdown, which a forced end would leave out."""
        await super().shutdown(sockets)
        await self.lifespan.shutdown()


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an application on loopback, in a thread; its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical")
    server = _Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            msg = "the server did not start"
            raise OSError(msg)
        sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
