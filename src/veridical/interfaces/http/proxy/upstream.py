"""Service behind the proxy. Its address comes from the settings, never from a request."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from veridical.errors import MissingExtraError
from veridical.pipeline.inference.clients import ensure_url, tls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from httpx2 import AsyncClient, Headers, Response

    from veridical.settings.service_blocks import ProxySettings
    from veridical.telemetry import Telemetry, TelemetrySpan
    from veridical.telemetry.spans import Attributes

SENT = frozenset(
    {
        "accept",
        "content-type",
        "idempotency-key",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-request-id",
    }
)
"""Headers of a request that the upstream gets to see; `authorization` has its own rule."""

RETURNED = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"}
)
RETURNED_PREFIXES = ("openai-", "x-ratelimit-")
"""Headers of a reply that the client gets to see."""

BYTES = "latin-1"
"""The characters of a header are its bytes; their meaning is between client and upstream."""

CONNECT_S = 10.0


class UpstreamError(Exception):
    """Error for a missing reply; `status` and `code` are for the client."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """Response of the upstream; the span of its request ends when it is closed."""

    response: Response
    span: TelemetrySpan

    @property
    def status_code(self) -> int:
        """Status code."""
        return self.response.status_code

    @property
    def is_success(self) -> bool:
        """True if the status code is not that of an error."""
        return self.response.is_success

    @property
    def headers(self) -> Headers:
        """Headers."""
        return self.response.headers

    async def aread(self) -> bytes:
        """Return the body."""
        return await self.response.aread()

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Return the body in pieces, as they come."""
        return self.response.aiter_bytes()

    async def aclose(self) -> None:
        """Close the response, and end its span."""
        try:
            await self.response.aclose()
        finally:
            self.span.end()


class Upstream:
    """Client of the upstream. It sends its `api_key`, else, if allowed, the client's own."""

    def __init__(self, settings: ProxySettings, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        url = settings.upstream_url
        self._url = None if url is None else ensure_url(url, example="http://127.0.0.1:8080/v1")
        self._key = settings.api_key
        self._timeout_s = settings.timeout_s
        self._client: AsyncClient | None = None

    async def send(  # noqa: PLR0913 -- the parts of a request
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        authorization: bool,
        model: str | None = None,
    ) -> UpstreamResponse:
        """Return the reply, its body still to be read, and to be closed.

        `authorization` is true if the client's own key may go on. `model` names the model of a
        generation for its span. `UpstreamError` if there is none.
        """
        if self._url is None:
            msg = "there is no upstream: set proxy.upstream_url"
            raise UpstreamError(503, "proxy_not_configured", msg)
        span = self._begin(method, path, model)
        try:
            kept = self._headers(headers, span.headers(), own=authorization)
            reply = await self._reply(method, self._url + path, kept, body)
        except BaseException as error:
            span.failed(error.code if isinstance(error, UpstreamError) else type(error).__name__)
            span.end()
            raise
        if reply.is_error:
            span.failed(str(reply.status_code))
        return UpstreamResponse(reply, span)

    def _begin(self, method: str, path: str, model: str | None) -> TelemetrySpan:
        """Return the span of a request: of a generation, except for lists of models."""
        route, url = path.partition("?")[0], urlsplit(self._url or "")
        said: Attributes = {"http.request.method": method, "server.address": url.hostname or ""}
        if method == "GET":
            return self._telemetry.begin(f"{method} {route}", "client", said)
        said |= {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
        said |= {} if model is None else {"gen_ai.request.model": model}
        return self._telemetry.begin(f"chat {model}" if model else "chat", "client", said)

    async def _reply(
        self, method: str, url: str, headers: dict[bytes, bytes], body: bytes
    ) -> Response:
        import httpx2

        client = self._opened()
        try:
            request = client.build_request(method, url, headers=headers, content=body or None)
            reply = await client.send(request, stream=True)
        except httpx2.TimeoutException:
            msg = "the upstream did not answer in time"
            raise UpstreamError(504, "upstream_timeout", msg) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            msg = f"the upstream cannot be reached ({type(error).__name__})"
            raise UpstreamError(502, "upstream_unreachable", msg) from None
        if reply.is_redirect:
            await reply.aclose()
            msg = "the upstream answered with a redirect, which is not followed"
            raise UpstreamError(502, "upstream_redirect", msg)
        return reply

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _opened(self) -> AsyncClient:
        if self._client is None:
            import httpx2

            self._client = httpx2.AsyncClient(
                verify=tls("httpx2"),
                timeout=httpx2.Timeout(self._timeout_s, connect=CONNECT_S, pool=CONNECT_S),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32),
                follow_redirects=False,
                # One client's cookies are none of another one's.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            )
        return self._client

    def _headers(
        self, given: Mapping[str, str], trace: Mapping[str, str], *, own: bool
    ) -> dict[bytes, bytes]:
        # Bodies are read and added to: they should not come compressed.
        kept = {"accept-encoding": b"identity"}
        wanted = SENT | ({"authorization"} if own else frozenset())
        kept |= {name: given[name].encode(BYTES) for name in wanted if name in given}
        if trace:  # else the client's own goes on
            kept.pop("tracestate", None)
            kept |= {name: value.encode(BYTES) for name, value in trace.items()}
        if self._key is not None:
            kept["authorization"] = f"Bearer {self._key.get_secret_value()}".encode()
        return {name.encode(): value for name, value in kept.items()}


def returned(headers: Headers) -> dict[str, str]:
    """Return the headers of a reply that the client gets to see, byte for byte."""
    kept: dict[str, str] = {}
    for raw_name, raw_value in headers.raw:
        name, value = raw_name.decode(BYTES).lower(), raw_value.decode(BYTES)
        if name in RETURNED or name.startswith(RETURNED_PREFIXES):
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    return kept


def ensure_installed() -> None:
    """Raise `MissingExtraError` without the HTTP client."""
    try:
        import httpx2  # noqa: F401 -- only whether it is there
    except ImportError as error:
        msg = "the proxy needs the HTTP client httpx2"
        hint = "Install it with pip install 'veridical[server]'"
        raise MissingExtraError(msg, hint=hint) from error
