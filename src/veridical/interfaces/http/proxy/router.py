"""The routes of the proxy, and how a request goes through it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from veridical.core.policy import Policy
from veridical.interfaces.http.proxy.asked import read
from veridical.interfaces.http.proxy.checking import (
    BROKE_OFF,
    UNREADABLE,
    Checking,
    undetermined,
)
from veridical.interfaces.http.proxy.openapi import CHAT, MODELS, RESPONSES
from veridical.interfaces.http.proxy.options import FieldError
from veridical.interfaces.http.proxy.replies import read_reply
from veridical.interfaces.http.proxy.settling import Settling, headers_of
from veridical.interfaces.http.proxy.streams import Heard, error_event
from veridical.interfaces.http.proxy.upstream import (
    Upstream,
    UpstreamError,
    ensure_installed,
    returned,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence

    from fastapi.params import Depends
    from httpx2 import Response as Upstreams

    from veridical.interfaces.http.proxy.asked import Asked
    from veridical.interfaces.http.proxy.checking import Judged
    from veridical.orchestrator.checkpoint import Checks
    from veridical.settings_blocks import ProxySettings

HTTP_OK = 200
EVENTS = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
PATH = "/chat/completions"


def build_proxy_router(
    verifier: Checks,
    settings: ProxySettings,
    *,
    policy: Policy | None = None,
    dependencies: Sequence[Depends] = (),
    forward_authorization: bool | Callable[[Request], bool] = True,
) -> APIRouter:
    """Return the routes `POST /v1/chat/completions` and `GET /v1/models` of the proxy.

    `verifier` is open as long as the application runs; requests change `policy` (default: its own).
    `dependencies` hold for each route. `forward_authorization` says, or says of a request, whether
    its header `Authorization` is for the upstream: not where that holds a key of this service.
    `ConfigurationError` if the upstream's address is none.

        app.include_router(build_proxy_router(verifier, settings.proxy))
    """
    ensure_installed()
    rules = policy or getattr(verifier, "policy", None) or Policy()
    upstream = Upstream(settings)
    proxy = _Proxy(upstream, Checking(verifier, rules, settings), settings, forward_authorization)

    @asynccontextmanager
    async def closing(_: object) -> AsyncIterator[None]:
        yield
        await upstream.aclose()

    router = APIRouter(
        prefix="/v1", tags=["proxy"], dependencies=list(dependencies), lifespan=closing
    )
    router.add_api_route(
        PATH, proxy.chat, methods=["POST"], responses=RESPONSES, openapi_extra=CHAT
    )
    router.add_api_route(
        "/models", proxy.models, methods=["GET"], responses=RESPONSES, openapi_extra=MODELS
    )
    return router


@dataclass(frozen=True, slots=True)
class _Proxy:
    """What all requests have in common."""

    upstream: Upstream
    checking: Checking
    settings: ProxySettings
    forward: bool | Callable[[Request], bool]

    async def chat(self, request: Request) -> Response:
        """Pass a chat completion on, and its answer back with a verdict."""
        body = await request.body()
        try:
            asked = read(body, self.settings)
        except FieldError as error:
            return _error(400, "invalid_request_error", "invalid_field", str(error), error.where)
        try:
            reply = await self._send(request, body if asked is None else asked.body)
            if asked is None or not asked.options.verify or reply.status_code != HTTP_OK:
                return await _relayed(reply)
            if _is_stream(reply):
                return _streaming(self._verified_stream(request, asked, reply), reply)
            return await self._verified(request, asked, reply)
        except UpstreamError as error:
            return _upstream_error(error)

    async def models(self, request: Request) -> Response:
        """List the models of the upstream."""
        try:
            reply = await self._send(request, b"", "/models")
            return await _relayed(reply)
        except UpstreamError as error:
            return _upstream_error(error)

    async def _send(self, request: Request, body: bytes, path: str = PATH) -> Upstreams:
        forward = self.forward if isinstance(self.forward, bool) else self.forward(request)
        return await self.upstream.send(
            request.method, _path(path, request), request.headers, body, authorization=forward
        )

    async def _another(self, request: Request, body: bytes) -> Upstreams:
        """Return the reply to a second attempt; `UpstreamError` if it is none that can be used."""
        reply = await self._send(request, body)
        if reply.status_code != HTTP_OK:
            await reply.aclose()
            raise UpstreamError(502, "upstream_error", "the upstream refused another attempt")
        return reply

    # --- in one piece ------------------------------------------------------------------------

    async def _verified(self, request: Request, asked: Asked, reply: Upstreams) -> Response:
        body = await _body(reply)
        found = read_reply(body)
        if found is None:
            lost = {0: undetermined("", UNREADABLE)}
            return Response(body, headers=returned(reply.headers) | headers_of(lost))
        attempts = [found]

        async def again(answer: str, guidance: str) -> str:
            more = await self._another(request, asked.again(answer, guidance))
            written = read_reply(await _body(more))
            if written is None or written.calling:
                raise UpstreamError(502, UNREADABLE, "the upstream did not answer in text")
            attempts.append(written)
            return written.choices[0].text

        texts = {choice.index: choice.text for choice in found.choices}
        judged = await self._judged(texts, found.calling, asked, again)
        settling = Settling(asked, judged, found.calling)
        best = attempts[next(iter(judged.values())).number - 1]
        changed = best.changed(settling.marked, settling.withheld, settling.verdict)
        headers = returned(reply.headers) | headers_of(judged)
        return Response(changed, headers=headers)

    async def _judged(
        self,
        texts: Mapping[int, str],
        calling: Collection[int],
        asked: Asked,
        again: Callable[[str, str], Awaitable[str]],
    ) -> dict[int, Judged]:
        """Return the verdicts; only the text of a single choice without calls is written again."""
        alone = len(texts) == 1 and not calling and asked.options.on_failure == "retry"
        found = await asyncio.gather(
            *(self.checking.judge(text, asked, again if alone else None) for text in texts.values())
        )
        return dict(zip(texts, found, strict=True))

    # --- in pieces ---------------------------------------------------------------------------

    async def _verified_stream(
        self, request: Request, asked: Asked, reply: Upstreams
    ) -> AsyncIterator[bytes]:
        """Pass events on as they come; hold them back if they may have to be replaced."""
        hold = asked.options.on_failure in {"retry", "block"}
        attempts = [Heard()]
        async for event in attempts[0].listen(reply):
            if hold:
                attempts[0].kept.append(event)
                yield b":\n\n"  # a comment: the connection is alive
            else:
                yield event
        if attempts[0].broke_off:
            yield error_event("the upstream broke off", BROKE_OFF)
            return

        async def again(answer: str, guidance: str) -> str:
            more = await self._another(request, asked.again(answer, guidance))
            heard = Heard()
            heard.kept += [event async for event in heard.listen(more)]
            if heard.unusable:
                raise UpstreamError(502, UNREADABLE, "the upstream did not answer in text")
            attempts.append(heard)
            return heard.transcript.whole().get(0, "")

        first = attempts[0].transcript
        texts = first.whole() or {0: ""}
        judged = {} if first.failed else await self._judged(texts, first.calling, asked, again)
        number = next(iter(judged.values())).number if judged else 1
        best = attempts[number - 1]
        settling = Settling(asked, judged, first.calling)
        if settling.withheld:
            yield first.chunk(settling.withheld, finish="content_filter")
        else:
            for event in best.kept:
                yield event
        if judged:
            yield best.transcript.chunk(settling.legends, verdict=settling.verdict)
        yield best.end


# --- what goes back as it came ---------------------------------------------------------------


async def _relayed(reply: Upstreams) -> Response:
    if _is_stream(reply):
        heard = Heard()
        return _streaming(_passed_on(heard, reply), reply)
    return Response(await _body(reply), reply.status_code, returned(reply.headers))


async def _passed_on(heard: Heard, reply: Upstreams) -> AsyncIterator[bytes]:
    async for event in heard.listen(reply):
        yield event
    if heard.broke_off:
        yield error_event("the upstream broke off", BROKE_OFF)
    yield heard.end


def _streaming(events: AsyncIterator[bytes], reply: Upstreams) -> Response:
    headers = returned(reply.headers) | UNBUFFERED
    return StreamingResponse(events, reply.status_code, headers)


def _is_stream(reply: Upstreams) -> bool:
    kind: str = reply.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == EVENTS


async def _body(reply: Upstreams) -> bytes:
    """Return the body of a reply; `UpstreamError` if it broke off."""
    import httpx2

    try:
        return await reply.aread()
    except httpx2.TimeoutException:
        raise UpstreamError(504, "upstream_timeout", "the upstream stopped answering") from None
    except httpx2.HTTPError:
        raise UpstreamError(502, BROKE_OFF, "the upstream broke off") from None
    finally:
        await reply.aclose()


def _path(path: str, request: Request) -> str:
    query = request.url.query
    return f"{path}?{query}" if query else path


def _upstream_error(error: UpstreamError) -> Response:
    return _error(error.status, "upstream_error", error.code, error.message)


def _error(status: int, kind: str, code: str, message: str, where: str | None = None) -> Response:
    """Return an error in the shape that clients of chat completions read."""
    body = {"message": message, "type": kind, "param": where, "code": code}
    return JSONResponse({"error": body}, status)
