"""Access to the server over HTTP: keys, origins, requests a minute, health and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response

from veridical.interfaces.http.auth import KeyRefusedError, Scope
from veridical.interfaces.http.limits import OverloadedError, RateLimiter
from veridical.interfaces.http.oidc import IdentityProviderError
from veridical.telemetry.prometheus import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

    from veridical.interfaces.http.auth import Key
    from veridical.interfaces.http.authentication import Authentication
    from veridical.settings.service_blocks import ServerSettings
    from veridical.telemetry.prometheus import PrometheusSink


class Door:
    """ASGI middleware: a key and a known origin, if there are keys, and a limit per key.

    `GET /healthz` needs no key, `GET /metrics` the scope `admin`.
    """

    def __init__(
        self,
        app: ASGIApp,
        authentication: Authentication,
        settings: ServerSettings,
        metrics: PrometheusSink,
    ) -> None:
        self._app = app
        self._authentication = authentication
        self._origins: Collection[str] = frozenset(settings.origins or ())
        self._per_minute = settings.per_minute
        self._rates = RateLimiter()
        self._metrics = metrics

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        answer = await self._answer(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    async def _answer(self, scope: Connection) -> Response | None:
        """Return the answer to a refused request or one of an operator, else None."""
        if scope["path"] == "/healthz":
            return JSONResponse({"status": "ok"})
        refused = await self._refused(scope) or await self._over_its_rate(scope["state"]["key"])
        if refused is not None or scope["path"] != "/metrics":
            return refused
        if not scope["state"]["key"].allows(Scope.ADMIN):
            return PlainTextResponse("the key lacks the scope admin", 403)
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def _refused(self, scope: Connection) -> Response | None:
        """Return the refusal of a request; note the key of one that passes."""
        headers = Headers(scope=scope)
        keyring = self._authentication.keyring
        if keyring.open:
            scope.setdefault("state", {})["key"] = keyring.anyone
            return None  # of this machine only: hosts and origins are looked at further in
        if "origin" in headers and headers["origin"] not in self._origins:
            return PlainTextResponse("this origin is not allowed", 403)
        try:
            key = await self._authentication.key_of(scope)
        except IdentityProviderError as error:
            return PlainTextResponse(str(error), 503)
        except KeyRefusedError as error:
            challenge = {"www-authenticate": 'Bearer realm="veridical"'}
            return PlainTextResponse(str(error), 401, challenge)
        scope.setdefault("state", {})["key"] = key
        return None

    async def _over_its_rate(self, key: Key) -> Response | None:
        try:
            await self._rates.take(key.id, key.per_minute or self._per_minute)
        except OverloadedError as error:
            return PlainTextResponse(error.reason, 429, error.headers)
        return None
