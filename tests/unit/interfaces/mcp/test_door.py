"""Access over HTTP: health, metrics, keys and their limits."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx
from starlette.responses import PlainTextResponse

from veridical.interfaces.http.auth import Scope, new_key, write_keys
from veridical.interfaces.http.authentication import Authentication
from veridical.interfaces.mcp.door import Door
from veridical.settings.service_blocks import ServerSettings
from veridical.telemetry import Shed
from veridical.telemetry.prometheus import PrometheusSink

ADMIN = "a key of this test alone"


def answers(
    *requests: tuple[str, str | None], keys: Path | None = None, **server: int | None
) -> list[httpx.Response]:
    """Return the answers to requests, each a path and a key, of a server behind the door."""

    async def ask() -> list[httpx.Response]:
        metrics = PrometheusSink()
        metrics.take(Shed("check", "rate"))
        given = {"api_key": ADMIN, "keys": None if keys is None else str(keys), **server}
        settings = ServerSettings.model_validate(given)
        door = Door(
            PlainTextResponse("the tools"), Authentication(settings, "default"), settings, metrics
        )
        transport = httpx.ASGITransport(door)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(path, headers=_key(key)) for path, key in requests]

    return anyio.run(ask)


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"x-veridical-key": key}


def test_health_needs_no_key() -> None:
    (found,) = answers(("/healthz", None))
    assert (found.status_code, found.json()) == (200, {"status": "ok"})


def test_metrics_need_the_scope_admin(tmp_path: Path) -> None:
    token, key = new_key("agent", [Scope.CHECK])
    write_keys(tmp_path / "keys.json", [key])
    asked = [("/metrics", None), ("/metrics", token), ("/metrics", ADMIN)]
    none, agent, admin = answers(*asked, keys=tmp_path / "keys.json")
    assert (none.status_code, agent.status_code, admin.status_code) == (401, 403, 200)
    assert 'veridical_shed_total{operation="check",reason="rate"} 1.0' in admin.text


def test_a_server_without_keys_shows_its_metrics_on_this_machine() -> None:
    (found,) = answers(("/metrics", None), api_key=None)
    assert found.status_code == 200


def test_the_limit_of_the_settings_holds_for_a_key_without_one() -> None:
    found = answers(*[("/mcp", ADMIN)] * 3, per_minute=2)
    assert [each.status_code for each in found] == [200, 200, 429]
    assert int(found[-1].headers["retry-after"]) > 0


def test_an_expired_key_is_refused_with_the_reason(tmp_path: Path) -> None:
    token, key = new_key("agent", expires_s=-1.0)
    write_keys(tmp_path / "keys.json", [key])
    (found,) = answers(("/mcp", token), keys=tmp_path / "keys.json")
    assert (found.status_code, found.text) == (401, "the key has expired")


def test_each_key_has_its_own_limit(tmp_path: Path) -> None:
    one, first = new_key("one", per_minute=1)
    other, second = new_key("other", per_minute=2)
    write_keys(tmp_path / "keys.json", [first, second])
    asked = [("/mcp", one), ("/mcp", one), ("/mcp", other), ("/mcp", other), ("/mcp", other)]
    found = answers(*asked, keys=tmp_path / "keys.json")
    assert [each.status_code for each in found] == [200, 429, 200, 200, 429]
