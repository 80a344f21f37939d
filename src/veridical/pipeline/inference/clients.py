"""Shared parts of the backends of remote services: options, addresses, keys, connections."""

from __future__ import annotations

import itertools
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit

import anyio
from anyio.lowlevel import RunVar

from veridical.core.hashing import short_hash
from veridical.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI

NO_KEY = "none"
"""Placeholder key for an SDK that insists on one and a server that needs none."""


_numbers = itertools.count()


class ConnectionLimiter:
    """Limit on concurrent requests, over all calls of one event loop together."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        # One event loop cannot wait for another's limiter.
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar(f"veridical-room-{next(_numbers)}")

    def here(self) -> anyio.CapacityLimiter:
        """Return the limiter of this event loop."""
        limiter = self._limiter.get(None)
        if limiter is None:
            limiter = anyio.CapacityLimiter(self._requests)
            self._limiter.set(limiter)
        return limiter


def ensure_positive(**options: float) -> None:
    """Raise `ConfigurationError` unless every option is above 0."""
    for name, value in options.items():
        if not value > 0:  # true for NaN
            msg = f"{name} must be more than 0, not {value}"
            raise ConfigurationError(msg, hint="Leave it out for the default")


def ensure_url(url: str, *, example: str) -> str:
    """Return the address of a server without a slash at its end; `ConfigurationError` otherwise."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        msg = "base_url is not the address of a server"  # not repeated: it may hold a password
        raise ConfigurationError(msg, hint=f"It looks like {example}")
    return url.rstrip("/")


@cache
def tls(library: Literal["httpx", "httpx2"]) -> ssl.SSLContext:
    """Return the certificates that are trusted, as a library reads them.

    They are read once: that takes longer than a request.
    """
    context: ssl.SSLContext = import_module(library).create_ssl_context()
    return context


def openai_client(
    backend: str, base_url: str | None, api_key: str | None, timeout_s: float
) -> AsyncOpenAI:
    """Return a client of OpenAI's SDK for the backend of that name; nothing is sent yet.

    Without `base_url` the SDK takes address and key from its own environment variables; with it,
    only `api_key` is sent. `ConfigurationError` if there is no key at all, or no address in
    `base_url`; `MissingExtraError` without the SDK.
    """
    if base_url is not None:
        ensure_url(base_url, example="http://127.0.0.1:8080/v1")
    address, _, query = (base_url or "").partition("?")
    # Azure's addresses with `api-version` take a key in a header of their own.
    headers = {"api-key": api_key} if api_key and "api-version" in query else None
    try:
        import openai
    except ImportError as error:
        msg = f"the backend {backend} needs the SDK openai"
        hint = "Install it with pip install 'veridical[openai]'"
        raise MissingExtraError(msg, hint=hint) from error
    try:
        return openai.AsyncOpenAI(
            base_url=address or None,
            api_key=api_key or (NO_KEY if base_url else None),
            default_query=dict(parse_qsl(query)),
            default_headers=headers,
            timeout=timeout_s,
            max_retries=0,
            http_client=openai_connections(),
        )
    except openai.OpenAIError as error:
        msg = f"the backend {backend} has neither a key nor the address of a server without one"
        raise ConfigurationError(msg, hint="Set OPENAI_API_KEY, or give base_url") from error


def address_print(client: AsyncOpenAI) -> str:
    """Return the address of a client for a fingerprint, with a hash of its query.

    The query may choose the model that answers, and may hold a key.
    """
    address, query = str(client.base_url), sorted(client.default_query.items())
    return f"{address}?{short_hash(repr(query))}" if query else address


def openai_connections() -> Any:  # noqa: ANN401 -- of the library that the SDK brings with it
    """Return the connections of one event loop, for the client or a copy of it."""
    import openai

    return openai.DefaultAsyncHttpxClient(verify=tls("httpx2"))
