"""Client of the vendor's SDK for Claude: the key goes to its own service only, no SDK retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference.clients import NO_KEY, ensure_url, tls

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient


def make_client(base_url: str | None, api_key: str | None, timeout_s: float) -> AsyncAnthropic:
    """Return a client of the Messages API; nothing is sent yet.

    Without `base_url` the SDK takes address and key from its environment variables and profiles;
    with it, only `api_key` is sent. `ConfigurationError` if there is no key at all, or no address
    in `base_url`; `MissingExtraError` without the SDK.
    """
    if base_url is not None:
        ensure_url(base_url, example="https://gateway.example")
    try:
        import anthropic
    except ImportError as error:
        msg = "the backend anthropic needs the SDK of the same name"
        raise MissingExtraError(
            msg, hint="Install it with pip install 'veridical[anthropic]'"
        ) from error
    try:
        return anthropic.AsyncAnthropic(
            base_url=base_url,
            api_key=api_key or (NO_KEY if base_url else None),
            timeout=timeout_s,
            max_retries=0,
            http_client=make_http_client(),
        )
    except (anthropic.AnthropicError, OSError, ValueError) as error:
        # The SDK's message about a profile is not repeated: it may quote it.
        msg = f"the backend anthropic has neither a key nor a profile ({type(error).__name__})"
        raise ConfigurationError(msg, hint="Set ANTHROPIC_API_KEY, or give api_key") from None


def make_http_client() -> DefaultAsyncHttpxClient:
    """Return the connections of one event loop, for the client or a copy of it."""
    import anthropic

    return anthropic.DefaultAsyncHttpxClient(verify=tls("httpx2"))
