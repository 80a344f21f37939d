from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import httpx
import pytest

from veridical.errors import MissingExtraError
from veridical.interfaces.http import api_docs
from veridical.interfaces.http.service import Service

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]

FILES = ("/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css")
OPEN = {"api_key": "a key of this test", "docs": True}


def answers(opened: Open, server: dict[str, object], *paths: str) -> list[httpx.Response]:
    """Return the answers to requests without a key."""

    async def ask() -> list[httpx.Response]:
        async with opened(server=server) as (client, _):
            return [await client.get(path) for path in paths]

    return anyio.run(ask)


def test_the_documentation_is_off_by_default(opened: Open) -> None:
    assert {each.status_code for each in answers(opened, {}, *FILES)} == {404}


def test_the_documentation_asks_for_no_key(opened: Open) -> None:
    assert {each.status_code for each in answers(opened, OPEN, *FILES)} == {200}


def test_the_documentation_loads_scripts_of_this_service_only(opened: Open) -> None:
    page, *_ = answers(opened, OPEN, *FILES)
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "://" not in page.text


def test_the_documentation_opens_no_other_path(opened: Open) -> None:
    found = answers(opened, OPEN, "/docsx", "/docs/%2e%2e/v1/reports/x", "/v1/reports/x")
    assert [each.status_code for each in found][::2] == [401, 401]
    assert found[1].status_code in {401, 404}


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Path:
        raise ModuleNotFoundError

    monkeypatch.setattr(api_docs, "files", missing)
    with pytest.raises(MissingExtraError, match="fastapi-swagger"):
        api_docs.build_docs_router()
