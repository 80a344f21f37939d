"""Service behind the proxy. Its address comes from the settings, never from a request."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

from veridical.errors import MissingExtraError
from veridical.pipeline.inference.clients import ensure_url, tls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient, Headers, Response

    from veridical.settings.service_blocks import ProxySettings

SENT = frozenset(
    {
        "accept",
        "content-type",
        "idempotency-key",
        "openai-beta",
        "openai-organization",
        "openai-project",
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


class Upstream:
    """Client of the upstream. It sends its `api_key`, else, if allowed, the client's own."""

    def __init__(self, settings: ProxySettings) -> None:
        url = settings.upstream_url
        self._url = None if url is None else ensure_url(url, example="http://127.0.0.1:8080/v1")
        self._key = settings.api_key
        self._timeout_s = settings.timeout_s
        self._client: AsyncClient | None = None

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        authorization: bool,
    ) -> Response:
        """Return the reply, its body still to be read, and to be closed.

        `authorization` is true if the client's own key may go on.

        `UpstreamError` if there is none.
        """
        import httpx2

        if self._url is None:
            msg = "there is no upstream: set proxy.upstream_url"
            raise UpstreamError(503, "proxy_not_configured", msg)
        client = self._opened()
        try:
            request = client.build_request(
                method,
                self._url + path,
                headers=self._headers(headers, authorization),
                content=body or None,
            )
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

    def _headers(self, given: Mapping[str, str], own: bool) -> dict[bytes, bytes]:  # noqa: FBT001 -- see `send`
        # Bodies are read and added to: they should not come compressed.
        kept = {"accept-encoding": b"identity"}
        wanted = SENT | ({"authorization"} if own else frozenset())
        kept |= {name: given[name].encode(BYTES) for name in wanted if name in given}
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
