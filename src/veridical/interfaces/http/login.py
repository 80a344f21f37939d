"""Sign-in of the page: the authorization code flow of OpenID Connect, with PKCE.

The browser holds the provider's token in a cookie that no script can read; the service keeps
nothing, so that each of its processes knows whoever has signed in.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from time import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from veridical.errors import ConfigurationError
from veridical.interfaces.http.auth import KeyRefusedError
from veridical.interfaces.http.authentication import SESSION
from veridical.interfaces.http.errors import response
from veridical.interfaces.http.oidc import IdentityProviderError, ensure_secure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.interfaces.http.oidc import IdentityProvider

CALLBACK = "/page/callback"
_FLOW = "veridical_login"
"""Cookie of a sign-in under way: state, nonce and code verifier."""

FLOW_S = 600
MOST_COOKIE = 3800
"""Characters of a token that fits into a cookie: browsers drop more than 4 KB."""

_HINT = "Sign in again"


def build_login_router(provider: IdentityProvider | None) -> APIRouter:
    """Return the routes of the sign-in; without a provider, one that says that there is none."""
    router = APIRouter(include_in_schema=False)
    can = provider is not None and provider.oidc.client_id and provider.oidc.public_url

    @router.get("/page/session")
    async def session(request: Request) -> Response:
        """Say whether there is a sign-in, and whether this browser has signed in."""
        found = {"login": bool(can), "signed_in": bool(can) and SESSION in request.cookies}
        return JSONResponse(found, headers={"cache-control": "no-store"})

    if provider is not None and can:
        flow = _Login(provider)
        router.add_api_route("/page/login", flow.begin, methods=["GET"])
        router.add_api_route(CALLBACK, flow.end, methods=["GET"])
        router.add_api_route("/page/logout", flow.leave, methods=["POST"])
    return router


class _Login:
    """Sign-in with a provider whose settings name a client and the address of this service."""

    def __init__(self, provider: IdentityProvider) -> None:
        self._provider = provider
        self._client_id = provider.oidc.client_id or ""
        self._home = (provider.oidc.public_url or "").rstrip("/")
        self._secure = self._home.startswith("https://")

    async def begin(self) -> Response:
        """Send the browser to the provider."""
        state, nonce, verifier = (token_urlsafe(32) for _ in range(3))
        try:
            place = await self._place("authorization_endpoint")
        except IdentityProviderError as error:
            return response(503, str(error), _HINT)
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._home + CALLBACK,
            "scope": self._provider.oidc.login_scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in place else "?"
        found = RedirectResponse(place + joint + urlencode(query), 302)
        self._set(found, _FLOW, f"{state}.{nonce}.{verifier}", FLOW_S, path=CALLBACK, same="lax")
        return found

    async def end(self, request: Request, code: str = "", state: str = "") -> Response:
        """Take the provider's answer: keep the token, and send the browser to the page."""
        known, nonce, verifier = (*request.cookies.get(_FLOW, "").split("."), "", "", "")[:3]
        if not (code and known) or not compare_digest(known.encode(), state.encode()):
            return response(400, "this sign-in was not begun here, or was given up", _HINT)
        try:
            token = await self._token(code, verifier)
            claims = await self._provider.claims(token, self._client_id)
            await self._provider.key_of(token)
        except IdentityProviderError as error:
            return response(503, str(error), _HINT)
        except KeyRefusedError as error:
            return response(403, str(error), "Ask whoever runs this service for access")
        if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            return response(400, "the token is of another sign-in", _HINT)
        if len(token) > MOST_COOKIE:
            return response(403, "the token is too long for a cookie", "Have it hold fewer claims")
        found = RedirectResponse(self._home + "/", 302)
        found.delete_cookie(_FLOW, path=CALLBACK)
        self._set(found, SESSION, token, max(1, int(claims["exp"] - time())), path="/")
        return found

    async def leave(self) -> Response:
        """Forget the sign-in."""
        found = Response(status_code=204)
        found.delete_cookie(SESSION, path="/")
        return found

    async def _token(self, code: str, verifier: str) -> str:
        """Return the ID token for a code."""
        import httpx2

        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._home + CALLBACK,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        secret = self._provider.oidc.client_secret
        if secret is not None:
            form["client_secret"] = secret.get_secret_value()
        place = await self._place("token_endpoint")
        try:
            async with self._provider.client() as client:
                reply = await client.post(place, data=form)
                found = reply.raise_for_status().json()
            return str(found["id_token"])
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            msg = f"the identity provider gave no token ({type(error).__name__})"
            raise IdentityProviderError(msg) from None

    async def _place(self, name: str) -> str:
        """Return an address from the provider's metadata."""
        metadata: Mapping[str, Any] = await self._provider.metadata()
        place = metadata.get(name)
        if not isinstance(place, str):
            msg = f"the identity provider has no {name}"
            raise IdentityProviderError(msg)
        try:
            ensure_secure(place)
        except ConfigurationError as error:
            raise IdentityProviderError(error.message) from None
        return place

    def _set(  # noqa: PLR0913 -- what a cookie consists of
        self,
        found: Response,
        name: str,
        value: str,
        seconds: int,
        *,
        path: str,
        same: Literal["lax", "strict"] = "strict",
    ) -> None:
        found.set_cookie(
            name,
            value,
            max_age=seconds,
            path=path,
            secure=self._secure,
            httponly=True,
            samesite=same,
        )


def _challenge(verifier: str) -> str:
    """Return the code challenge of a verifier (RFC 7636, S256)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
