"""Replies passed on unchanged, and errors in the shape of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Response
from fastapi.responses import JSONResponse, StreamingResponse

from veridical.core.assessment import Outcome
from veridical.interfaces.http.proxy.checking import BROKE_OFF, undetermined
from veridical.interfaces.http.proxy.reply_edits import proxy_answer, verdict_headers
from veridical.interfaces.http.proxy.streams import BufferedStream, error_event
from veridical.interfaces.http.proxy.upstream import UpstreamError, returned

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from veridical.interfaces.http.proxy.upstream import UpstreamResponse
    from veridical.telemetry import Telemetry

EVENTS = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}


async def relayed(reply: UpstreamResponse) -> Response:
    """Return a reply as it comes."""
    if is_stream(reply):
        return streaming(_passed_on(reply), reply)
    return Response(await body_of(reply), reply.status_code, returned(reply.headers))


async def _passed_on(reply: UpstreamResponse) -> AsyncIterator[bytes]:
    heard = BufferedStream()
    async for event in heard.listen(reply):
        yield event
    if heard.broke_off:
        yield error_event("the upstream broke off", BROKE_OFF)
    yield heard.end


def streaming(events: AsyncIterator[bytes], reply: UpstreamResponse) -> Response:
    """Return events as a response with the headers of the upstream."""
    headers = returned(reply.headers) | UNBUFFERED
    return StreamingResponse(events, reply.status_code, headers)


def is_stream(reply: UpstreamResponse) -> bool:
    """Return whether a reply comes in events."""
    kind: str = reply.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == EVENTS


async def body_of(reply: UpstreamResponse) -> bytes:
    """Return the body of a reply; `UpstreamError` if it broke off."""
    import httpx2

    try:
        return await reply.aread()
    except httpx2.TimeoutException:
        reply.span.failed("upstream_timeout")
        raise UpstreamError(504, "upstream_timeout", "the upstream stopped answering") from None
    except httpx2.HTTPError:
        reply.span.failed(BROKE_OFF)
        raise UpstreamError(502, BROKE_OFF, "the upstream broke off") from None
    finally:
        await reply.aclose()


# --- answers without a verdict ----------------------------------------------------------------


def report_unverified(telemetry: Telemetry, reason: str, *, withheld: bool = False) -> None:
    """Report an answer without a verdict."""
    answer = undetermined("", reason)
    telemetry.take(proxy_answer("blocked" if withheld else "passed", answer))


def withheld(telemetry: Telemetry, reason: str, message: str) -> Response:
    """Return an error in the place of a reply that has no place for a notice; report it."""
    report_unverified(telemetry, reason, withheld=True)
    said = f"{message}, and answers that are not verified are withheld"
    response = error_response(502, "upstream_error", reason, said)
    response.headers.update(verdict_headers(Outcome.UNDETERMINED, "blocked", reason))
    return response


# --- errors ----------------------------------------------------------------------------------


def upstream_error(error: UpstreamError) -> Response:
    """Return the error of an upstream without a reply."""
    return error_response(error.status, "upstream_error", error.code, error.message)


def error_response(
    status: int, kind: str, code: str, message: str, where: str | None = None
) -> Response:
    """Return an error in the shape that clients of chat completions read."""
    body = {"message": message, "type": kind, "param": where, "code": code}
    return JSONResponse({"error": body}, status)
