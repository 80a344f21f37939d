"""ASGI middleware: request id, host and origin check, API key, rate limit, security headers.

Plain ASGI: nothing of a body is read before its key is known.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AbstractContextManager, ExitStack, nullcontext
from secrets import token_hex
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from veridical.interfaces.http import errors
from veridical.interfaces.http.auth import KeyRefusedError, is_loopback
from veridical.interfaces.http.callers import calling
from veridical.interfaces.http.limits import OverloadedError
from veridical.interfaces.http.oidc import IdentityProviderError
from veridical.telemetry import Served, Shed, request_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from veridical.interfaces.http.auth import Key
    from veridical.interfaces.http.service import Service


OPEN_PATHS = frozenset({"/", "/docs", "/healthz", "/readyz", "/openapi.json"})
_OPEN_FOLDERS = ("/page/", "/docs/")
UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
CLIENT_LEFT = 499
"""Status in logs and metrics of a request whose client left before there was an answer."""
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestMiddleware:
    """ASGI middleware: request id, host and origin check, API key, rate limit, headers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if _REQUEST_ID.fullmatch(given) else token_hex(8)
        token = request_id.set(name)
        try:
            with self._span(scope):
                await self._answer(scope, receive, _Sender(scope, send, name))
        finally:
            request_id.reset(token)

    def _span(self, scope: Scope) -> AbstractContextManager[None]:
        """Return the span of a request; probes and scrapes have none."""
        if scope["path"] in UNTRACED:
            return nullcontext()
        return self._service.telemetry.span("request", "server", Headers(scope=scope))

    async def _answer(self, scope: Scope, receive: Receive, send: _Sender) -> None:
        started = perf_counter()
        with ExitStack() as acting:
            try:
                refused = await self._refused(scope, acting) or await self._over_its_rate(scope)
                if refused is not None:
                    await refused(scope, receive, send)
                else:
                    limit = self._service.settings.server.max_request_bytes
                    await self._served(scope, _limited(receive, limit), send)
            except Exception as error:  # noqa: BLE001 -- the last line of defence
                self._service.failed("request", error)
                if not send.started:
                    await errors.response_of(RuntimeError())(scope, receive, send)
            finally:
                seconds = perf_counter() - started
                method = scope["method"] if scope["method"] in _METHODS else "other"
                event = Served(method, _route(scope), send.status, seconds)
                self._service.telemetry.take(event)

    async def _served(self, scope: Scope, receive: Receive, send: _Sender) -> None:
        """Answer a request; the work for it ends if the client goes away before that.

        A fact on its way into memory is decided on in any case.
        """
        if not scope["path"].startswith("/v1/") or scope["path"].startswith("/v1/memory"):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)
        with anyio.CancelScope() as work:
            leaving = asyncio.create_task(body.left(lambda: _end(work, send)))
            try:
                await self._app(scope, body.read, send)
            finally:
                leaving.cancel()
        if work.cancelled_caught and not send.started:
            send.status = CLIENT_LEFT

    async def _refused(self, scope: Scope, acting: ExitStack) -> Response | None:
        """Return the refusal of a request, None if it passes; act for its key from then on."""
        headers, path = Headers(scope=scope), scope["path"]
        state = scope.setdefault("state", {})
        state["key"] = self._service.keyring.anyone
        if self._service.keyring.open and not self._ours(headers):
            hint = "Ask it by the address that it listens on"
            return errors.response(421, "this service is for this machine only", hint)
        if self._service.keyring.open and not self._welcome(scope["method"], headers):
            hint = "Name its origin in server.origins, or ask with a key"
            return errors.response(403, "a page of another origin may not ask this", hint)
        if path in OPEN_PATHS or path.startswith(_OPEN_FOLDERS):
            return None
        if not self._service.keyring.open:
            try:
                state["key"] = await self._service.authentication.key_of(scope)
            except KeyRefusedError as error:
                hint = "Send Authorization: Bearer KEY, or X-Veridical-Key: KEY"
                challenge = {"www-authenticate": 'Bearer realm="veridical"'}
                return errors.response(401, str(error), hint, headers=challenge)
            except IdentityProviderError as error:
                self._service.failed("identity_provider", error)
                return errors.response(503, str(error), "Ask again later, or with a key")
        acting.enter_context(calling(state["key"]))
        return self._too_large(headers)

    def _ours(self, headers: Headers) -> bool:
        """Return whether a request names this machine: no page can rebind its own name to us."""
        host = headers.get("host", "")
        bare = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        return is_loopback(bare)

    def _welcome(self, method: str, headers: Headers) -> bool:
        """Return whether a request may change something, if it is from a page."""
        origin = headers.get("origin")
        if origin is None or method in {"GET", "HEAD", "OPTIONS"}:
            return True
        named = self._service.settings.server.origins or ()
        return origin in named or is_loopback(_host_of(origin))

    async def _over_its_rate(self, scope: Scope) -> Response | None:
        if not scope["path"].startswith("/v1/"):
            return None
        key: Key = scope["state"]["key"]
        per_minute = key.per_minute or self._service.settings.server.per_minute
        try:
            await self._service.rates.take(key.id, per_minute)
        except OverloadedError as error:
            self._service.telemetry.take(Shed("request", "rate"))
            return errors.response_of(error)
        return None

    def _too_large(self, headers: Headers) -> Response | None:
        length = headers.get("content-length", "")
        limit = self._service.settings.server.max_request_bytes
        if length.isdecimal() and int(length[:20]) > limit:
            return errors.response(413, f"the body has more than {limit} bytes", "Send less")
        return None


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _route(scope: Scope) -> str:
    """Return the pattern of the route: an address may hold anything, and would be a label each."""
    known = scope["path"] if scope["path"] in OPEN_PATHS else "unmatched"
    return str(getattr(scope.get("route"), "path", known))


def _limited(receive: Receive, limit: int) -> Receive:
    """Return `receive` that stops reading where a body is too large, whatever its length says."""
    size = 0

    async def read() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(413)
        return message

    return read


def _end(work: anyio.CancelScope, send: _Sender) -> None:
    if not send.ended:
        work.cancel()


class _Body:
    """Body of a request, and behind it the news that the client has left."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = asyncio.Event()

    async def read(self) -> Message:
        """Return the next message, as an application receives it."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._complete.set()
        return message

    async def left(self, then: Callable[[], object]) -> None:
        """Call `then` when the client has left; before the end of the body nobody listens."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        then()


class _Sender:
    """Sender of an answer with the common headers."""

    def __init__(self, scope: Scope, send: Send, name: str) -> None:
        self._send = send
        self._name = name
        self._private = scope["path"].startswith("/v1/")
        self.started = self.ended = False
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", API_POLICY)
            headers["x-request-id"] = self._name
            if self._private:
                headers.setdefault("cache-control", "no-store")
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.ended = True
