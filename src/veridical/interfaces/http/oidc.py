"""OpenID Connect: tokens of an identity provider, verified by its published keys.

A token is a JWT, signed by the provider with an asymmetric algorithm. Its claims name the project
and the scopes, so that it stands for a `Key` like one of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from veridical.core.projects import is_project
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.interfaces.http.auth import Key, KeyRefusedError, Scope, hash_of, is_loopback
from veridical.pipeline.inference.clients import tls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient
    from jwt import PyJWK

    from veridical.settings.service_blocks import ServerSettings

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures that are accepted: by a key pair, never by a shared secret, never none."""

LIFETIME_S = 300.0
"""Seconds after which the provider's keys are read again."""

STALE_S = 86_400.0
"""Seconds for which they hold if the provider does not answer."""

PAUSE_S = 10.0
"""Seconds between two attempts to read them, whatever tokens come."""

TIMEOUT_S = 10.0

NOT_VALID = "the token is not valid for this service"
EXPIRED_TOKEN = "the token has expired"  # noqa: S105 -- words for people
NO_PROJECT = "the token names no project"


class IdentityProviderError(Exception):
    """Error for a provider that does not answer, or not as it should."""


def looks_like_token(text: str) -> bool:
    """Return whether a text has the form of a JWT, which no key of ours has."""
    return text.startswith("eyJ") and text.count(".") == 2  # noqa: PLR2004 -- header, claims, signature


@dataclass(slots=True)
class _Known:
    """Metadata and keys of the provider, as they were read at a time."""

    metadata: Mapping[str, Any]
    keys: Mapping[str, PyJWK]
    since: float


class IdentityProvider:
    """OpenID Connect provider of the settings; nothing is asked before the first token comes.

    `project` is that of tokens where no claim names one. `ConfigurationError` if the settings do
    not say whose tokens are for this service, `MissingExtraError` without the extra.
    """

    def __init__(self, settings: ServerSettings, project: str) -> None:
        _ensure_installed()
        self.oidc = settings.oidc
        issuer, audience = self.oidc.issuer, self.oidc.audience or self.oidc.client_id
        if issuer is None or audience is None:
            msg = "server.oidc has an issuer and no audience"
            raise ConfigurationError(msg, hint="Set server.oidc.audience, or its client_id")
        ensure_secure(issuer)
        self._issuer = issuer
        self._audience = audience
        self._project = project
        self._known: _Known | None = None
        self._tried = -PAUSE_S
        self._lock = anyio.Lock()

    async def key_of(self, token: str) -> Key:
        """Return the key that a token stands for.

        `KeyRefusedError` if it is not valid, `IdentityProviderError` if that cannot be told.
        """
        return self._as_key(await self.claims(token, self._audience))

    async def claims(self, token: str, audience: str) -> Mapping[str, Any]:
        """Return the claims of a token for an audience; errors are those of `key_of`."""
        import jwt

        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid"))
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=self._issuer,
                leeway=self.oidc.clock_skew_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise KeyRefusedError(EXPIRED_TOKEN) from None
        except (jwt.PyJWTError, RecursionError):
            raise KeyRefusedError(NOT_VALID) from None
        return found

    def _as_key(self, claims: Mapping[str, Any]) -> Key:
        subject = str(claims["sub"])
        project: object = self._project
        if self.oidc.project_claim is not None:
            project = claims.get(self.oidc.project_claim)
        if not isinstance(project, str) or not is_project(project):
            raise KeyRefusedError(NO_PROJECT)
        unique = hash_of(f"{self._issuer}\n{subject}")
        scopes = _scopes(claims.get(self.oidc.scope_claim))
        return Key(f"oidc:{subject}"[:200], unique, scopes, project=project)

    # --- what the provider publishes ---------------------------------------------------------

    async def metadata(self) -> Mapping[str, Any]:
        """Return the provider's metadata; `IdentityProviderError` if there is none."""
        return (await self._read(None)).metadata

    async def _key(self, kid: object) -> PyJWK:
        known = await self._read(kid)
        if kid is None and len(known.keys) == 1:
            return next(iter(known.keys.values()))
        if not isinstance(kid, str) or kid not in known.keys:
            raise KeyRefusedError(NOT_VALID)
        return known.keys[kid]

    async def _read(self, kid: object) -> _Known:
        """Return what is known, read again if it is old, or lacks a key."""
        async with self._lock:
            known, now = self._known, monotonic()
            fresh = known is not None and now - known.since < LIFETIME_S
            missing = known is not None and kid is not None and kid not in known.keys
            if (not fresh or missing) and now - self._tried >= PAUSE_S:
                self._tried = now
                try:
                    known = self._known = await self._fetched()
                except IdentityProviderError:
                    if known is None or now - known.since >= STALE_S:
                        raise
            if known is None or now - known.since >= STALE_S:
                msg = "the identity provider does not answer"
                raise IdentityProviderError(msg)
            return known

    async def _fetched(self) -> _Known:
        import jwt

        since = monotonic()
        async with self.client() as client:
            place = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
            metadata = await _document(client, place)
            if metadata.get("issuer") != self._issuer:
                msg = "the identity provider calls itself by another name than server.oidc.issuer"
                raise IdentityProviderError(msg)
            published = await _document(client, str(metadata.get("jwks_uri")))
        try:
            found = jwt.PyJWKSet.from_dict(dict(published)).keys
        except jwt.PyJWTError:
            msg = "the identity provider publishes no keys"
            raise IdentityProviderError(msg) from None
        return _Known(metadata, {key.key_id or "": key for key in found}, since)

    def client(self) -> AsyncClient:
        """Return a client for requests to the provider."""
        import httpx2

        return httpx2.AsyncClient(verify=tls("httpx2"), timeout=TIMEOUT_S, trust_env=True)


async def _document(client: AsyncClient, place: str) -> Mapping[str, Any]:
    import httpx2

    try:
        ensure_secure(place)
        reply = await client.get(place)
        found = reply.raise_for_status().json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        msg = f"the identity provider does not answer as it should ({type(error).__name__})"
        raise IdentityProviderError(msg) from None
    if not isinstance(found, dict):
        msg = "the identity provider does not answer with JSON objects"
        raise IdentityProviderError(msg)
    return found


def _scopes(claim: object) -> tuple[Scope, ...]:
    """Return the scopes among the words of a claim, which may be text or a list."""
    named = claim.split() if isinstance(claim, str) else claim
    words = named if isinstance(named, list) else []
    return tuple(scope for scope in Scope if scope.value in words)


def ensure_secure(address: str) -> None:
    """Raise `ConfigurationError` for an address that others on the way could answer for."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        msg = "an identity provider is asked over https"
        raise ConfigurationError(msg, hint="Set server.oidc.issuer to an https:// address")


def _ensure_installed() -> None:
    try:
        import cryptography  # noqa: F401 -- without it PyJWT knows no asymmetric algorithm
        import httpx2  # noqa: F401
        import jwt  # noqa: F401
    except ImportError as error:
        msg = f"OpenID Connect needs the extra 'oidc' ({error.name} is missing)"
        raise MissingExtraError(msg, hint="pip install 'veridical[oidc]'") from None
