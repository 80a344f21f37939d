"""Routes of the proxy, and the way of a request through it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from veridical.core.policy import Policy
from veridical.interfaces.http.proxy import openapi
from veridical.interfaces.http.proxy.checking import (
    BROKE_OFF,
    UNREADABLE,
    ChoiceVerifier,
    UpstreamText,
    VerifiedChoice,
    undetermined,
)
from veridical.interfaces.http.proxy.options import FieldError
from veridical.interfaces.http.proxy.replies import read_reply
from veridical.interfaces.http.proxy.reply_edits import ReplyEdits, headers_of
from veridical.interfaces.http.proxy.request import chat_turns, read
from veridical.interfaces.http.proxy.responses import (
    ResponseTranscript,
    read_response,
    response_turns,
)
from veridical.interfaces.http.proxy.streams import BufferedStream, ChatReplyStream, error_event
from veridical.interfaces.http.proxy.upstream import (
    Upstream,
    UpstreamError,
    ensure_installed,
    returned,
)
from veridical.orchestrator import VerificationConfig
from veridical.settings.service_blocks import ProxySettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from fastapi.params import Depends
    from httpx2 import Response as Upstreams

    from veridical.interfaces.http.proxy.request import ProxyRequest, Turns
    from veridical.interfaces.http.proxy.streams import ReplyStream
    from veridical.orchestrator.checkpoint import Checks
    from veridical.settings import Settings

HTTP_OK = 200
EVENTS = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
ALIVE = b":\n\n"
"""A comment: the connection is alive."""
ALIVE_S = 5.0


class WholeReply(Protocol):
    """Reply in one piece: its texts by the index of their choice.

    `calling` are the choices that call tools, `cut_off` the ones that ended at the limit on tokens.
    """

    @property
    def texts(self) -> dict[int, str]: ...  # noqa: D102 -- see above

    @property
    def calling(self) -> frozenset[int]: ...  # noqa: D102 -- see above

    @property
    def cut_off(self) -> frozenset[int]: ...  # noqa: D102 -- see above

    def changed(self, settling: ReplyEdits) -> bytes:
        """Return the reply with the edits, and with the verdict."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """Parsers of the requests, replies and streams of one address."""

    path: str
    turns: Callable[[Mapping[str, Any]], Turns]
    reply: Callable[[bytes], WholeReply | None]
    transcript: Callable[[], ReplyStream]


CHAT = Shape("/chat/completions", chat_turns, read_reply, ChatReplyStream)
RESPONSES = Shape("/responses", response_turns, read_response, ResponseTranscript)


def build_proxy_router(  # noqa: PLR0913 -- what a host decides about its proxy
    verifier: Checks,
    settings: Settings | ProxySettings,
    *,
    policy: Policy | None = None,
    dependencies: Sequence[Depends] = (),
    forward_authorization: bool | Callable[[Request], bool] = True,
    shed: Callable[[], object] = lambda: None,
) -> APIRouter:
    """Return the routes `/v1/chat/completions`, `/v1/responses` and `/v1/models` of the proxy.

    `verifier` is open as long as the application runs; requests change `policy` (default: its own).
    Of whole `settings`, the blocks `verification` and `hallucination` hold for the answers, too,
    except `on_failure` and `max_retries`, for which the block `proxy` has its own. `dependencies`
    hold for each route. `forward_authorization` is true, or returns true for a request, if its
    header `Authorization` is for the upstream: not where that holds a key of this service. `shed`
    is called for each answer that is left unverified for `max_concurrent_checks`.
    `ConfigurationError` if the upstream's address is none.

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
    upstream = Upstream(settings)
    checking = ChoiceVerifier(verifier, rules, settings, verification, shed)
    proxy = _Proxy(upstream, checking, settings, forward_authorization)

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

    async def chat(self, request: Request) -> Response:
        """Pass a chat completion on, and its answer back with a verdict."""
        return await self._answer(request, CHAT)

    async def responses(self, request: Request) -> Response:
        """Pass a request for a response on, and that back with a verdict."""
        return await self._answer(request, RESPONSES)

    async def models(self, request: Request) -> Response:
        """List the models of the upstream."""
        try:
            reply = await self._send(request, b"", "/models")
            return await _relayed(reply)
        except UpstreamError as error:
            return _upstream_error(error)

    async def _answer(self, request: Request, shape: Shape) -> Response:
        body = await request.body()
        try:
            asked = read(body, self.settings, shape.turns)
        except FieldError as error:
            return _error(400, "invalid_request_error", "invalid_field", str(error), error.where)
        try:
            reply = await self._send(request, body if asked is None else asked.body, shape.path)
            if asked is None or not asked.options.verify or reply.status_code != HTTP_OK:
                return await _relayed(reply)
            exchange = _Exchange(self, request, shape, asked)
            if _is_stream(reply):
                return _streaming(exchange.stream(reply), reply)
            return await exchange.whole(reply)
        except UpstreamError as error:
            return _upstream_error(error)

    async def _send(self, request: Request, body: bytes, path: str) -> Upstreams:
        forward = self.forward if isinstance(self.forward, bool) else self.forward(request)
        return await self.upstream.send(
            request.method, _path(path, request), request.headers, body, authorization=forward
        )

    async def send_again(self, request: Request, body: bytes, path: str) -> Upstreams:
        """Return the reply to a second attempt; `UpstreamError` if it is none that can be used."""
        reply = await self._send(request, body, path)
        if reply.status_code != HTTP_OK:
            await reply.aclose()
            raise UpstreamError(502, "upstream_error", "the upstream refused another attempt")
        return reply


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request, and the handling of the reply to it."""

    proxy: _Proxy
    request: Request
    shape: Shape
    asked: ProxyRequest

    async def whole(self, reply: Upstreams) -> Response:
        """Return a reply in one piece with its verdict."""
        body = await _body(reply)
        found = self.shape.reply(body)
        if found is None:
            lost = {0: undetermined("", UNREADABLE)}
            return Response(body, headers=returned(reply.headers) | headers_of(lost))
        attempts = [found]

        async def again(answer: str, guidance: str) -> UpstreamText:
            written = self.shape.reply(await _body(await self._another(answer, guidance)))
            if written is None or written.calling:
                raise UpstreamError(502, UNREADABLE, "the upstream did not answer in text")
            attempts.append(written)
            ((index, text),) = list(written.texts.items())[:1]
            return UpstreamText(text, index in written.cut_off)

        judged = await self._judged(found, found.texts, again)
        best = attempts[next(iter(judged.values())).number - 1]
        changed = best.changed(ReplyEdits(self.asked, judged, found.calling))
        return Response(changed, headers=returned(reply.headers) | headers_of(judged))

    async def stream(self, reply: Upstreams) -> AsyncIterator[bytes]:
        """Pass events on as they come; hold them back if they may have to be replaced."""
        hold = self.asked.options.on_failure in {"retry", "block"}
        attempts = [BufferedStream(self.shape.transcript())]
        async for event in attempts[0].listen(reply):
            if hold:
                attempts[0].kept.append(event)
                yield ALIVE
            else:
                yield event
        if attempts[0].broke_off:
            yield error_event("the upstream broke off", BROKE_OFF)
            return

        async def again(answer: str, guidance: str) -> UpstreamText:
            heard = BufferedStream(self.shape.transcript())
            more = await self._another(answer, guidance)
            heard.kept += [event async for event in heard.listen(more)]
            if heard.unusable:
                raise UpstreamError(502, UNREADABLE, "the upstream did not answer in text")
            attempts.append(heard)
            transcript = heard.transcript
            return UpstreamText(transcript.whole().get(0, ""), 0 in transcript.cut_off)

        first, judged = attempts[0].transcript, dict[int, VerifiedChoice]()
        if not first.failed:
            texts = first.whole() or {0: ""}
            judging = asyncio.create_task(self._judged(first, texts, again))
            async for comment in _until(judging, apart=attempts[0].loose and not hold):
                yield comment
            judged = judging.result()
        best = attempts[next(iter(judged.values())).number - 1 if judged else 0]
        settling = ReplyEdits(self.asked, judged, first.calling)
        for event in best.transcript.shown(best.kept, settling):
            yield event
        yield best.closing(settling) if judged else best.end

    async def _another(self, answer: str, guidance: str) -> Upstreams:
        body = self.asked.again(answer, guidance)
        return await self.proxy.send_again(self.request, body, self.shape.path)

    async def _judged(
        self,
        reply: WholeReply | ReplyStream,
        texts: Mapping[int, str],
        again: Callable[[str, str], Awaitable[UpstreamText]],
    ) -> dict[int, VerifiedChoice]:
        """Return the verdicts; only the text of a single choice without calls is written again."""
        wanted = self.asked.options.on_failure == "retry" and self.asked.turns.repeatable
        alone = wanted and len(texts) == 1 and not reply.calling
        judge = self.proxy.checking.judge
        found = await asyncio.gather(
            *(
                judge(
                    UpstreamText(text, index in reply.cut_off), self.asked, again if alone else None
                )
                for index, text in texts.items()
            )
        )
        return dict(zip(texts, found, strict=True))


async def _until(work: asyncio.Task[Any], *, apart: bool) -> AsyncIterator[bytes]:
    """Yield comments until the work is done; it ends with its reader.

    `apart` is true if the last event, which is out, was never ended.
    """
    try:
        while not (await asyncio.wait({work}, timeout=ALIVE_S))[0]:
            yield b"\n\n" + ALIVE if apart else ALIVE
    finally:
        work.cancel()


# --- replies passed on unchanged --------------------------------------------------------------


async def _relayed(reply: Upstreams) -> Response:
    if _is_stream(reply):
        heard = BufferedStream()
        return _streaming(_passed_on(heard, reply), reply)
    return Response(await _body(reply), reply.status_code, returned(reply.headers))


async def _passed_on(heard: BufferedStream, reply: Upstreams) -> AsyncIterator[bytes]:
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
