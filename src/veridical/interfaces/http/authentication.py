"""Authentication of requests: by a key of the file, a token of an identity provider, or a cookie.

A cookie is what a browser holds after a sign-in (`login`): it has to come from the page itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from veridical.interfaces.http.auth import KeyRefusedError, Keyring
from veridical.interfaces.http.oidc import IdentityProvider, looks_like_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope

    from veridical.interfaces.http.auth import Key
    from veridical.settings.service_blocks import ServerSettings

KEY_HEADER = "x-veridical-key"
SESSION = "veridical_session"
"""Cookie of a browser that has signed in: the identity provider's token."""

CROSS_SITE = "another site may not ask with this sign-in"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Authentication:
    """Keys of a service, and the identity provider if the settings name one.

    `project` is that of callers for whom no key or claim names one. `ConfigurationError` if the
    file of keys or the settings of the provider are wrong.
    """

    def __init__(self, settings: ServerSettings, project: str) -> None:
        named = settings.oidc.issuer is not None
        self.provider = IdentityProvider(settings, project) if named else None
        self.keyring = Keyring(settings.keys, settings.api_key, project, guarded=named)

    async def key_of(self, scope: Scope) -> Key:
        """Return the key that a request is sent with, whatever it is.

        `KeyRefusedError` without a valid one, `IdentityProviderError` if that cannot be told.
        """
        request = HTTPConnection(scope)
        token = _given(request.headers)
        if self.provider is None:
            return self.keyring.find(token)
        if not token and (session := request.cookies.get(SESSION)):
            if not _from_own_page(scope["method"], request.headers, self.provider.oidc.public_url):
                raise KeyRefusedError(CROSS_SITE)
            token = session
        return (
            await self.provider.key_of(token)
            if looks_like_token(token)
            else (self.keyring.find(token))
        )


def _given(headers: Mapping[str, str]) -> str:
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    return (headers.get(KEY_HEADER) or (bearer if kind.lower() == "bearer" else "")).strip()


def _from_own_page(method: str, headers: Mapping[str, str], public_url: str | None) -> bool:
    """Return whether a request with a cookie is from a page of this service, if it is from one."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    # A reverse proxy may have changed the host: then the address that browsers know is ours.
    own = {headers.get("host"), urlsplit(public_url or "").netloc}
    return method in _SAFE or origin is None or urlsplit(origin).netloc in own
