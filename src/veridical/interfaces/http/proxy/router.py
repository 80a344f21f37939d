"""Routes of the proxy, and the way of a request through it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from veridical.core.policy import Policy
from veridical.interfaces.http.proxy import openapi
from veridical.interfaces.http.proxy.checking import UNREADABLE_REQUEST, ChoiceVerifier
from veridical.interfaces.http.proxy.exchange import CHAT, RESPONSES, Exchange, Shape
from veridical.interfaces.http.proxy.options import FieldError, unverified_by
from veridical.interfaces.http.proxy.relaying import (
    error_response,
    is_stream,
    relayed,
    report_unverified,
    streaming,
    upstream_error,
    withheld,
)
from veridical.interfaces.http.proxy.request import read
from veridical.interfaces.http.proxy.upstream import (
    Upstream,
    UpstreamError,
    UpstreamResponse,
    ensure_installed,
)
from veridical.orchestrator import UnverifiedReason, VerificationConfig
from veridical.settings.service_blocks import ProxySettings
from veridical.telemetry import Generation, Telemetry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from fastapi.params import Depends

    from veridical.interfaces.http.proxy.request import ProxyRequest
    from veridical.orchestrator.checkpoint import Checks
    from veridical.settings import Settings


def build_proxy_router(  # noqa: PLR0913 -- what a host decides about its proxy
    verifier: Checks,
    settings: Settings | ProxySettings,
    *,
    policy: Policy | None = None,
    dependencies: Sequence[Depends] = (),
    forward_authorization: bool | Callable[[Request], bool] = True,
    telemetry: Telemetry | None = None,
) -> APIRouter:
    """Return the routes `/v1/chat/completions`, `/v1/responses` and `/v1/models` of the proxy.

    `verifier` is open as long as the application runs; requests change `policy` (default: its own).
    Of whole `settings`, the blocks `verification` and `hallucination` hold for the answers, too,
    except `on_failure` and `max_retries`, for which the block `proxy` has its own. `dependencies`
    hold for each route. `forward_authorization` is true, or returns true for a request, if its
    header `Authorization` is for the upstream: not where that holds a key of this service.
    `telemetry` is told of every answer. `ConfigurationError` if the upstream's address is none.

        app.include_router(build_proxy_router(verifier, settings))
    """
    ensure_installed()
    verification = (
        VerificationConfig()
        if isinstance(settings, ProxySettings)
        else (VerificationConfig.of(settings))
    )
    settings = settings if isinstance(settings, ProxySettings) else settings.proxy
    rules = policy or getattr(verifier, "policy", None) or Policy()
    telemetry = telemetry or Telemetry()
    upstream = Upstream(settings, telemetry)
    checking = ChoiceVerifier(verifier, rules, settings, verification, telemetry)
    proxy = _Proxy(upstream, checking, settings, forward_authorization, telemetry)

    @asynccontextmanager
    async def closing(_: object) -> AsyncIterator[None]:
        yield
        await upstream.aclose()

    router = APIRouter(
        prefix="/v1", tags=["proxy"], dependencies=list(dependencies), lifespan=closing
    )
    for path, method, answer, said in (
        (CHAT.path, "POST", proxy.chat, openapi.CHAT),
        (RESPONSES.path, "POST", proxy.responses, openapi.RESPONSE),
        ("/models", "GET", proxy.models, openapi.MODELS),
    ):
        router.add_api_route(
            path, answer, methods=[method], responses=openapi.ANSWERS, openapi_extra=said
        )
    return router


@dataclass(frozen=True, slots=True)
class _Proxy:
    """State shared by all requests."""

    upstream: Upstream
    checking: ChoiceVerifier
    settings: ProxySettings
    forward: bool | Callable[[Request], bool]
    telemetry: Telemetry

    async def chat(self, request: Request) -> Response:
        """Pass a chat completion on, and its answer back with a verdict."""
        return await self._answer(request, CHAT)

    async def responses(self, request: Request) -> Response:
        """Pass a request for a response on, and that back with a verdict."""
        return await self._answer(request, RESPONSES)

    async def models(self, request: Request) -> Response:
        """List the models of the upstream."""
        try:
            return await relayed(await self._send(request, b"", "/models"))
        except UpstreamError as error:
            return upstream_error(error)

    async def _answer(self, request: Request, shape: Shape) -> Response:
        body = await request.body()
        try:
            asked = read(body, self.settings, shape.turns)
        except FieldError as error:
            kind = "invalid_request_error"
            return error_response(400, kind, "invalid_field", str(error), error.where)
        sent, model = (body, None) if asked is None else (asked.body, asked.model)
        try:
            reply = await self._send(request, sent, shape.path, model)
            if asked is None or not asked.options.verify or not reply.is_success:
                return await self._unverified(reply, asked)
            exchange = self._exchange(request, shape, asked, reply)
            if is_stream(reply):
                return streaming(exchange.stream(reply), reply)
            return await exchange.whole(reply)
        except UpstreamError as error:
            return upstream_error(error)

    def _exchange(
        self, request: Request, shape: Shape, asked: ProxyRequest, reply: UpstreamResponse
    ) -> Exchange:
        async def send_again(body: bytes) -> UpstreamResponse:
            more = await self._send(request, body, shape.path, asked.model, again=True)
            if not more.is_success:
                await more.aclose()
                raise UpstreamError(502, "upstream_error", "the upstream refused another attempt")
            return more

        generation = Generation(reply.span)
        return Exchange(shape, asked, self.checking, self.telemetry, send_again, generation)

    async def _unverified(self, reply: UpstreamResponse, asked: ProxyRequest | None) -> Response:
        """Return an error as it is, or an answer that nobody wants to be, or can be, verified."""
        if not reply.is_success:
            return await relayed(reply)
        if asked is None and unverified_by(self.settings) == "block":
            await reply.aclose()
            return withheld(self.telemetry, UNREADABLE_REQUEST, "the request cannot be read")
        unwanted = UnverifiedReason.NOT_WANTED.value
        report_unverified(self.telemetry, UNREADABLE_REQUEST if asked is None else unwanted)
        return await relayed(reply)

    async def _send(
        self,
        request: Request,
        body: bytes,
        path: str,
        model: str | None = None,
        *,
        again: bool = False,
    ) -> UpstreamResponse:
        forward = self.forward if isinstance(self.forward, bool) else self.forward(request)
        headers = dict(request.headers)
        if again:
            # The client's key stands for its own body: with another one it would be refused, or
            # answered with the first reply.
            headers.pop("idempotency-key", None)
        return await self.upstream.send(
            request.method,
            _path(path, request),
            headers,
            body,
            authorization=forward,
            model=model,
        )


def _path(path: str, request: Request) -> str:
    query = request.url.query
    return f"{path}?{query}" if query else path
