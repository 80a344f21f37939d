"""Access over HTTP: health, metrics, keys and their limits."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import PlainTextResponse

from veridical.interfaces.http.auth import Keyring, Scope, new_key, write_keys
from veridical.interfaces.mcp.door import Door
from veridical.settings.service_blocks import ServerSettings
from veridical.telemetry import Shed
from veridical.telemetry.prometheus import PrometheusSink

ADMIN = "a key of this test alone"


def answers(
    keyring: Keyring, *requests: tuple[str, str | None], **server: int
) -> list[httpx.Response]:
    """Return the answers to requests, each a path and a key, of a server behind the door."""

    async def ask() -> list[httpx.Response]:
        metrics = PrometheusSink()
        metrics.take(Shed("check", "rate"))
        settings = ServerSettings.model_validate(server)
        door = Door(PlainTextResponse("the tools"), keyring, settings, metrics)
        transport = httpx.ASGITransport(door)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(path, headers=_key(key)) for path, key in requests]

    return anyio.run(ask)


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"x-veridical-key": key}


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(None, SecretStr(ADMIN))


def test_health_needs_no_key(keyring: Keyring) -> None:
    (found,) = answers(keyring, ("/healthz", None))
    assert (found.status_code, found.json()) == (200, {"status": "ok"})


def test_metrics_need_the_scope_admin(tmp_path: Path) -> None:
    token, key = new_key("agent", [Scope.CHECK])
    write_keys(tmp_path / "keys.json", [key])
    keyring = Keyring(str(tmp_path / "keys.json"), SecretStr(ADMIN))
    none, agent, admin = answers(
        keyring, ("/metrics", None), ("/metrics", token), ("/metrics", ADMIN)
    )
    assert (none.status_code, agent.status_code, admin.status_code) == (401, 403, 200)
    assert 'veridical_shed_total{operation="check",reason="rate"} 1.0' in admin.text


def test_a_server_without_keys_shows_its_metrics_on_this_machine() -> None:
    (found,) = answers(Keyring(None), ("/metrics", None))
    assert found.status_code == 200


def test_the_limit_of_the_settings_holds_for_a_key_without_one(keyring: Keyring) -> None:
    found = answers(keyring, *[("/mcp", ADMIN)] * 3, per_minute=2)
    assert [each.status_code for each in found] == [200, 200, 429]
    assert int(found[-1].headers["retry-after"]) > 0


def test_each_key_has_its_own_limit(tmp_path: Path) -> None:
    one, first = new_key("one", per_minute=1)
    other, second = new_key("other", per_minute=2)
    write_keys(tmp_path / "keys.json", [first, second])
    keyring = Keyring(str(tmp_path / "keys.json"))
    asked = [("/mcp", one), ("/mcp", one), ("/mcp", other), ("/mcp", other), ("/mcp", other)]
    found = answers(keyring, *asked)
    assert [each.status_code for each in found] == [200, 429, 200, 200, 429]
