"""Tokens and sign-ins of an OpenID Connect provider, which runs on this machine."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from _upstream import serving
from veridical.errors import ConfigurationError
from veridical.interfaces.http import oidc
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import (
    KeyRefusedError,
    Scope,
    ensure_guarded,
    new_key,
    write_keys,
)
from veridical.interfaces.http.authentication import Authentication
from veridical.interfaces.http.service import Service
from veridical.settings import Settings
from veridical.settings.service_blocks import OidcSettings, ServerSettings

pytestmark = pytest.mark.slow

Opened = AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]
Open = Callable[..., Opened]
Claims = dict[str, Any]

AUDIENCE, CLIENT, SECRET = "https://veridical.example/api", "veridical-page", "a client's secret"
HOME = "http://127.0.0.1"
SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
CHECK = {"answer": "It carries eight lanes [S1].", "sources": SOURCES}


class Provider:
    """OpenID Connect provider: metadata, keys, authorization with PKCE, and tokens."""

    def __init__(self) -> None:
        self.issuer = ""
        self.keys: dict[str, Any] = {}
        self.asked: list[str] = []
        self.down = False
        self.nonce: str | None = None
        self.codes: dict[str, dict[str, str]] = {}
        self.add_key("k1")

    def add_key(self, kid: str) -> None:
        self.keys[kid] = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, kid: str = "k1", **changes: object) -> str:
        """Return a token; a claim that is None is left out."""
        claims: Claims = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "u-17",
            "exp": time() + 300,
            "project": "clinic",
            "scope": "openid check memory",
        } | changes
        given = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(given, self.keys[kid], "RS256", headers={"kid": kid})

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.middleware("http")
        async def watched(request: Request, go_on: Any) -> Response:  # noqa: ANN401
            self.asked.append(request.url.path)
            if self.down:
                return Response(status_code=503)
            answer: Response = await go_on(request)
            return answer

        @app.get("/.well-known/openid-configuration")
        async def metadata() -> Claims:
            return {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/jwks",
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
            }

        @app.get("/jwks")
        async def jwks() -> Claims:
            public = {
                kid: json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
                for kid, key in self.keys.items()
            }
            return {"keys": [one | {"kid": kid, "use": "sig"} for kid, one in public.items()]}

        @app.get("/authorize")
        async def authorize(request: Request) -> Response:
            given = dict(request.query_params)
            self.codes["c0de"] = given
            back = {"code": "c0de", "state": given["state"]}
            return RedirectResponse(f"{given['redirect_uri']}?{urlencode(back)}", 302)

        @app.post("/token")
        async def token(request: Request) -> Response:
            form = {name: one[0] for name, one in parse_qs((await request.body()).decode()).items()}
            asked = self.codes.pop(form["code"])
            proof = sha256(form["code_verifier"].encode()).digest()
            right = (
                urlsafe_b64encode(proof).rstrip(b"=").decode() == asked["code_challenge"],
                form["client_secret"] == SECRET,
                form["redirect_uri"] == asked["redirect_uri"],
                form["client_id"] == asked["client_id"] == CLIENT,
            )
            if not all(right):
                return JSONResponse({"error": "invalid_grant"}, 400)
            nonce = self.nonce or asked["nonce"]
            return JSONResponse({"id_token": self.token(aud=CLIENT, nonce=nonce)})

        return app


@pytest.fixture
def provider() -> Iterator[Provider]:
    found = Provider()
    with serving(found.app()) as address:
        found.issuer = address
        yield found


def settings_of(provider: Provider, **changes: object) -> dict[str, Any]:
    return {"oidc": {"issuer": provider.issuer, "audience": AUDIENCE} | changes}


def use(
    opened: Open,
    work: Callable[[httpx.AsyncClient, Service], Awaitable[None]],
    server: dict[str, Any],
) -> None:
    async def run() -> None:
        async with opened(server=server) as (client, service):
            await work(client, service)

    anyio.run(run)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# --- tokens ----------------------------------------------------------------------------------


def test_a_token_of_the_provider_is_a_key_of_its_project_and_scopes(
    opened: Open, provider: Provider
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        token = bearer(provider.token())
        assert (await client.post("/v1/check", json=CHECK, headers=token)).status_code == 200
        assert (await client.get("/metrics", headers=token)).status_code == 403
        used = (await client.get("/v1/usage", headers=token)).json()
        assert (used["project"], used["keys"][0]["key"]) == ("clinic", "oidc:u-17")
        admin = bearer(provider.token(scope=["admin"], project="bank"))
        assert (await client.get("/metrics", headers=admin)).status_code == 200
        assert (await client.get("/v1/usage", headers=admin)).json()["keys"] == []
        assert (await client.post("/v1/check", json=CHECK)).status_code == 401

    use(opened, work, settings_of(provider))
    assert provider.asked == ["/.well-known/openid-configuration", "/jwks"]  # once for all tokens


def signed(claims: Claims, key: Any, algorithm: str, kid: str = "k1") -> str:  # noqa: ANN401 -- keys have no common type
    return jwt.encode(claims, key, algorithm, headers={"kid": kid})


def as_shared_secret(claims: Claims, provider: Provider) -> str:
    """Sign with HMAC, and what everybody knows as the secret."""
    public = provider.keys["k1"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = ({"alg": "HS256", "kid": "k1"}, claims)
    body = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{body}.{encoded(hmac.digest(pem, body.encode(), 'sha256'))}"


def changed(claims: Claims, provider: Provider) -> str:
    head, _, signature = provider.token().split(".")
    return f"{head}.{encoded(json.dumps(claims | {'scope': 'admin'}).encode())}.{signature}"


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def stranger() -> Any:  # noqa: ANN401 -- a private key
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


FORGED: dict[str, Callable[[Claims, Provider], str]] = {
    "of no algorithm": lambda claims, _: signed(claims, None, "none"),
    "signed with the public key as a shared secret": as_shared_secret,
    "of another algorithm than its key": lambda claims, _: signed(
        claims, ec.generate_private_key(ec.SECP256R1()), "ES256"
    ),
    "signed with another key": lambda claims, _: signed(claims, stranger(), "RS256"),
    "of a key that is not published": lambda claims, provider: signed(
        claims, provider.keys["k1"], "RS256", "k9"
    ),
    "changed after it was signed": changed,
    "nested too deeply": lambda *_: f"eyJ{encoded(b'[' * 30_000)}.e30.e30",
    "no token at all": lambda *_: "eyJ.eyJ.eyJ",
}


@pytest.mark.parametrize("how", FORGED)
def test_a_token_that_the_provider_did_not_sign_is_refused(provider: Provider, how: str) -> None:
    claims = jwt.decode(provider.token(), options={"verify_signature": False})
    with pytest.raises(KeyRefusedError, match="not valid"):
        anyio.run(trusting(provider).key_of, FORGED[how](claims, provider))


def trusting(provider: Provider, **changes: Any) -> oidc.IdentityProvider:  # noqa: ANN401
    given = OidcSettings(issuer=provider.issuer, audience=AUDIENCE, **changes)
    return trusted_by(given)


def trusted_by(given: OidcSettings) -> oidc.IdentityProvider:
    return oidc.IdentityProvider(ServerSettings(oidc=given), "own")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "another service"}, "not valid"),
        ({"aud": None}, "not valid"),
        ({"iss": "http://127.0.0.1:1"}, "not valid"),
        ({"sub": None}, "not valid"),
        ({"exp": None}, "not valid"),
        ({"exp": 1.0}, "has expired"),
        ({"nbf": 9e9}, "not valid"),
        ({"project": None}, "names no project"),
        ({"project": "a/b"}, "names no project"),
        ({"project": ["clinic"]}, "names no project"),
    ],
)
def test_a_token_for_somebody_else_or_of_another_time_is_refused(
    provider: Provider, claims: Claims, why: str
) -> None:
    with pytest.raises(KeyRefusedError, match=why):
        anyio.run(trusting(provider).key_of, provider.token(**claims))


def test_clocks_may_differ_a_little(provider: Provider) -> None:
    late = provider.token(exp=time() - 30)
    assert anyio.run(trusting(provider).key_of, late).project == "clinic"
    with pytest.raises(KeyRefusedError):
        anyio.run(trusting(provider, clock_skew_s=5.0).key_of, late)


def test_claims_have_the_names_that_the_settings_say(provider: Provider) -> None:
    token = provider.token(tenant="bank", roles=["check", "admin", "other"])
    named = trusting(provider, project_claim="tenant", scope_claim="roles")
    key = anyio.run(named.key_of, token)
    assert (key.project, key.scopes) == ("bank", (Scope.CHECK, Scope.ADMIN))
    assert anyio.run(trusting(provider, project_claim=None).key_of, token).project == "own"


def test_a_new_key_of_the_provider_is_read_when_it_signs_and_not_with_each_stranger(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        trusted = trusting(provider)
        await trusted.key_of(provider.token())
        provider.add_key("k2")
        for _ in range(3):
            with pytest.raises(KeyRefusedError):
                await trusted.key_of(provider.token("k2"))
        assert provider.asked.count("/jwks") == 1  # it was asked a moment ago
        monkeypatch.setattr(oidc, "PAUSE_S", 0.0)
        assert (await trusted.key_of(provider.token("k2"))).name == "oidc:u-17"
        assert provider.asked.count("/jwks") == 2

    anyio.run(work)


def test_known_keys_hold_while_the_provider_is_down(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        trusted = trusting(provider)
        provider.down = True
        with pytest.raises(oidc.IdentityProviderError):
            await trusted.key_of(provider.token())
        provider.down = False
        monkeypatch.setattr(oidc, "PAUSE_S", 0.0)
        await trusted.key_of(provider.token())
        provider.down = True
        monkeypatch.setattr(oidc, "LIFETIME_S", 0.0)
        await trusted.key_of(provider.token())

    anyio.run(work)


def test_known_keys_are_refused_after_a_day_between_two_attempts_too(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(oidc, "monotonic", lambda: clock[0])
    day = oidc.STALE_S

    async def work() -> None:
        trusted = trusting(provider)
        await trusted.key_of(provider.token())
        provider.down = True
        clock[0] = day - 1
        await trusted.key_of(provider.token())
        for clock[0] in (day + 1, day + 20, day + 21):  # the second is an attempt, the others none
            with pytest.raises(oidc.IdentityProviderError):
                await trusted.key_of(provider.token())
        provider.down = False
        clock[0] = day + 40
        await trusted.key_of(provider.token())

    anyio.run(work)


def test_while_the_provider_is_down_at_first_keys_of_the_file_still_open(
    opened: Open, provider: Provider, tmp_path: Path
) -> None:
    token, key = new_key("app")
    write_keys(tmp_path / "keys.json", [key])
    provider.down = True

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for headers, status in ((bearer(token), 200), (bearer(provider.token()), 503)):
            reply = await client.post("/v1/check", json=CHECK, headers=headers)
            assert reply.status_code == status

    use(opened, work, settings_of(provider) | {"keys": str(tmp_path / "keys.json")})


def test_a_provider_closes_the_service_to_everybody_else(provider: Provider) -> None:
    settings = Settings.load(server=settings_of(provider)).server
    keyring = Authentication(settings, "default").keyring
    assert not keyring.open
    ensure_guarded("0.0.0.0", keyring)  # noqa: S104 -- the point of it


def test_settings_that_would_trust_anybody_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no audience"):
        trusted_by(OidcSettings(issuer="https://id.example"))
    with pytest.raises(ConfigurationError, match="over https"):
        trusted_by(OidcSettings(issuer="http://id.example", audience="a"))


# --- the sign-in of the page -------------------------------------------------------------------


def page(provider: Provider) -> dict[str, Any]:
    more = {"client_id": CLIENT, "client_secret": SECRET, "public_url": HOME, "audience": None}
    more["login_scope"] = "openid tenant"
    return settings_of(provider, **more)


async def sign_in(client: httpx.AsyncClient) -> httpx.Response:
    """Go to the provider and back, as a browser does."""
    there = await client.get("/page/login")
    async with httpx.AsyncClient() as outside:
        back = await outside.get(there.headers["location"])
    return await client.get(back.headers["location"])


def test_a_browser_signs_in_and_asks_with_its_cookie(opened: Open, provider: Provider) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        assert (await client.get("/page/session")).json() == {"login": True, "signed_in": False}
        done = await sign_in(client)
        assert (done.status_code, done.headers["location"]) == (302, f"{HOME}/")
        said = [one for one in done.headers.get_list("set-cookie") if "veridical_session" in one]
        assert "HttpOnly" in said[0]
        assert "SameSite=strict" in said[0]
        assert (await client.get("/page/session")).json()["signed_in"]
        assert (await client.post("/v1/check", json=CHECK)).status_code == 200
        assert (await client.get("/v1/usage")).json()["project"] == "clinic"
        await client.post("/page/logout")
        assert (await client.post("/v1/check", json=CHECK)).status_code == 401

    use(opened, work, page(provider))


def test_another_site_cannot_ask_with_the_cookie(opened: Open, provider: Provider) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        await sign_in(client)
        for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            reply = await client.post("/v1/check", json=CHECK, headers=headers)
            assert reply.status_code == 401
        own = {"origin": HOME, "sec-fetch-site": "same-origin"}
        assert (await client.post("/v1/check", json=CHECK, headers=own)).status_code == 200

    use(opened, work, page(provider))


def test_an_answer_to_a_sign_in_that_was_not_begun_here_is_refused(
    opened: Open, provider: Provider
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.get("/page/callback?code=c0de&state=s")
        assert reply.status_code == 400
        there = await client.get("/page/login")
        asked = parse_qs(urlsplit(there.headers["location"]).query)
        assert (asked["code_challenge_method"], asked["scope"]) == (["S256"], ["openid tenant"])
        reply = await client.get("/page/callback?code=c0de&state=of-another")
        assert reply.status_code == 400
        provider.nonce = "of another"
        assert (await sign_in(client)).status_code == 400
        assert "veridical_session" not in client.cookies

    use(opened, work, page(provider))


def test_a_code_of_another_browser_is_no_use(opened: Open, provider: Provider) -> None:
    """A stolen code fails at the provider: its verifier stayed in the browser that began."""

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        there = await client.get("/page/login")
        async with httpx.AsyncClient() as outside:
            back = await outside.get(there.headers["location"])
        client.cookies.clear()
        theirs = await client.get("/page/login")
        state = parse_qs(urlsplit(theirs.headers["location"]).query)["state"][0]
        code = parse_qs(urlsplit(back.headers["location"]).query)["code"][0]
        reply = await client.get(f"/page/callback?code={code}&state={state}")
        assert reply.status_code == 503
        assert "veridical_session" not in client.cookies

    use(opened, work, page(provider))


def test_without_a_client_there_is_no_sign_in(opened: Open, provider: Provider) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        assert (await client.get("/page/session")).json() == {"login": False, "signed_in": False}
        assert (await client.get("/page/login")).status_code == 404

    use(opened, work, settings_of(provider))
    assert create_app(Settings.load()).state.service.authentication.provider is None
