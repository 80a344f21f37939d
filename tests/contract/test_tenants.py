"""Two tenants of one service: keys of two projects, over HTTP, on either database."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from _upstream import Upstream, serving
from veridical.core.measurements import Measurement, Query
from veridical.core.ports import Backend
from veridical.feedback.labels import Feedback
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import Scope, new_key, write_keys
from veridical.settings import Settings
from veridical.store import Store
from veridical.testing import FakeBackend, fake_estimate

NewUrl = Callable[[], str]
Json = dict[str, Any]

SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
CHECK: Json = {"answer": "It carries eight lanes [S1].", "sources": SOURCES}
FACT: Json = {"text": "It carries eight lanes.", "sources": SOURCES, "entities": ["the bridge"]}


class Tenant:
    """A key's view of the service."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"authorization": f"Bearer {token}"}

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        return await self._client.request(method, path, headers=self._headers, **more)

    async def get(self, path: str) -> Json:
        found: Json = (await self.ask("GET", path)).json()
        return found


def read(query: Query) -> Measurement:
    return fake_estimate(0.95 if "eight" in query.context else 0.02)


FAKE = FakeBackend(read)


def serve(
    url: str,
    folder: Path,
    work: Callable[[Tenant, Tenant], Awaitable[None]],
    backend: Backend | None = FAKE,
    proxy: Json | None = None,
    **server: object,
) -> None:
    """Run a service with a key for each of two projects."""
    scopes = [Scope.CHECK, Scope.MEMORY]
    tokens, keys = zip(
        *(new_key("app", scopes, project=name) for name in ("clinic", "bank")), strict=True
    )
    write_keys(folder / "keys.json", keys)
    settings = Settings.load(
        store={"url": url},
        cache={"path": ":store:"},
        proxy=proxy or {},
        server={"keys": str(folder / "keys.json"), "reports_in": "store", **server},
    )

    async def run() -> None:
        app = create_app(settings, backend=backend)
        transport = httpx.ASGITransport(app)
        base = "http://127.0.0.1"
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=base, timeout=60) as client,
        ):
            await work(*(Tenant(client, token) for token in tokens))

    anyio.run(run)


@pytest.mark.slow
def test_two_tenants_see_nothing_of_each_other(new_url: NewUrl, tmp_path: Path) -> None:
    async def work(clinic: Tenant, bank: Tenant) -> None:
        made = await clinic.ask("POST", "/v1/check", json=CHECK)
        at = f"/v1/reports/{made.headers['x-veridical-report']}"
        assert (await clinic.ask("GET", at)).status_code == 200
        assert (await bank.ask("GET", at)).status_code == 404
        mark = {"report": made.headers["x-veridical-report"], "claim_id": "c1", "right": True}
        assert (await clinic.ask("POST", "/v1/feedback", json=mark)).status_code == 200
        assert (await bank.ask("POST", "/v1/feedback", json=mark)).status_code == 404

        kept = (await clinic.ask("POST", "/v1/memory/facts", json=FACT)).json()
        assert kept["outcome"] == "stored"
        assert len((await clinic.get("/v1/memory/facts?text=lanes"))["facts"]) == 1
        assert (await bank.get("/v1/memory/facts?text=lanes"))["facts"] == []
        assert (await bank.get("/v1/memory/facts"))["facts"] == []
        on = FACT | {"depends_on": [kept["fact"]["id"]]}
        assert (await bank.ask("POST", "/v1/memory/facts", json=on)).status_code == 422

        at = f"/v1/memory/facts/{kept['fact']['id']}"
        assert (await bank.ask("DELETE", at)).status_code == 404
        assert (await clinic.ask("DELETE", at)).json()["deleted"] == kept["fact"]["id"]
        assert (await clinic.get("/v1/memory/facts"))["facts"] == []

        used = [await tenant.get("/v1/usage") for tenant in (clinic, bank)]
        assert [one["project"] for one in used] == ["clinic", "bank"]
        assert [one["keys"][0]["claims"] for one in used] == [1, 0]

    serve(new_url(), tmp_path, work, usage_in="store")


@pytest.mark.slow
def test_the_same_feedback_of_two_tenants_is_two_marks(new_url: NewUrl, tmp_path: Path) -> None:
    async def work(clinic: Tenant, bank: Tenant) -> None:
        for tenant, right in ((clinic, True), (bank, False), (clinic, True)):
            report = (await tenant.ask("POST", "/v1/check", json=CHECK)).json()
            mark = {"report": report, "claim_id": "c1", "right": right}
            await tenant.ask("POST", "/v1/feedback", json=mark)

    url = new_url()
    serve(url, tmp_path, work)
    store = Store(url)
    marks = {name: Feedback(store.of(name)).list() for name in ("clinic", "bank", "default")}
    assert {name: [mark.right for mark in found] for name, found in marks.items()} == {
        "clinic": [True],
        "bank": [False],
        "default": [],
    }
    store.close()


def test_an_estimate_of_one_tenant_is_not_in_the_cache_of_the_other(
    new_url: NewUrl, tmp_path: Path
) -> None:
    cached: list[list[bool]] = []

    async def work(clinic: Tenant, bank: Tenant) -> None:
        for tenant in (clinic, bank, clinic, bank):
            report = (await tenant.ask("POST", "/v1/check", json=CHECK)).json()
            cached.append([claim["p1"]["cached"] for claim in report["claims"]])

    serve(new_url(), tmp_path, work, backend=None)  # the embedded one, in the database's cache
    assert cached == [[False], [False], [True], [True]]


def test_answers_of_the_proxy_are_checked_for_the_project_of_their_caller(
    new_url: NewUrl, tmp_path: Path
) -> None:
    said = {"index": 0, "message": {"role": "assistant", "content": "It carries eight lanes."}}
    asked = {
        "model": "m",
        "messages": [
            {"role": "system", "content": SOURCES["S1"]},
            {"role": "user", "content": "How many lanes does it carry?"},
        ],
    }
    cached: list[bool] = []

    async def work(clinic: Tenant, bank: Tenant) -> None:
        for tenant in (clinic, bank, clinic):
            reply = (await tenant.ask("POST", "/v1/chat/completions", json=asked)).json()
            cached.append(reply["veridical"]["choices"][0]["report"]["claims"][0]["p1"]["cached"])
        used = [(await tenant.get("/v1/usage"))["keys"][0] for tenant in (clinic, bank)]
        assert [one["claims"] for one in used] == [2, 1]

    with serving(Upstream([json.dumps({"choices": [said]}).encode()]).app()) as address:
        proxy = {"upstream_url": f"{address}/v1"}
        serve(new_url(), tmp_path, work, backend=None, proxy=proxy)
    assert cached == [False, False, True]
