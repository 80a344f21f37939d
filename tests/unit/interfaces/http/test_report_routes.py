"""List of reports, whole checks, marks with comments, and documents, over HTTP."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from veridical.interfaces.http.auth import new_key, write_keys
from veridical.interfaces.http.service import Service
from veridical.store.reports import ReportTable

pytestmark = pytest.mark.slow

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]
Use = Callable[[httpx.AsyncClient, Service], Awaitable[None]]

BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."
CHECK: dict[str, Any] = {
    "answer": "It opened in 1998 [S1]. It has six lanes [S1].",
    "sources": [{"id": "S1", "text": BRIDGE, "name": "notice.txt"}],
    "question": "What about the bridge?",
}


def use(opened: Open, work: Use, **overrides: Any) -> None:  # noqa: ANN401
    async def run() -> None:
        async with opened(**overrides) as (client, service):
            await work(client, service)

    anyio.run(run)


async def checked(client: httpx.AsyncClient, **changes: Any) -> str:  # noqa: ANN401
    reply = await client.post("/v1/check", json=CHECK | changes)
    assert reply.status_code == 200, reply.text
    return reply.headers["x-veridical-report"]


@pytest.mark.parametrize("where", ["memory", "store"])
def test_reports_are_listed_and_found_by_their_words(opened: Open, where: str) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        first = await checked(client)
        second = await checked(client, answer="The ferry is free [S1].", question="The ferry?")
        every = (await client.get("/v1/reports")).json()
        assert [one["id"] for one in every["reports"]] == [second, first]
        assert every["reports"][1]["question"] == CHECK["question"]
        for words, found in (("FERRY free", [second]), ("notice.txt", [second, first]), ("x9", [])):
            listed = (await client.get("/v1/reports", params={"q": words})).json()
            assert [one["id"] for one in listed["reports"]] == found
        short = (await client.get("/v1/reports", params={"limit": 1})).json()
        assert (short["total"], len(short["reports"])) == (2, 1)

    use(opened, work, server={"reports_in": where})


def test_keys_do_not_see_the_reports_of_other_projects(opened: Open, tmp_path: Path) -> None:
    tokens, keys = zip(*(new_key(name, project=name) for name in ("ours", "theirs")), strict=True)
    write_keys(tmp_path / "keys.json", keys)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        ours, theirs = ({"authorization": f"Bearer {token}"} for token in tokens)
        reply = await client.post("/v1/check", json=CHECK, headers=ours)
        name = reply.headers["x-veridical-report"]
        assert (await client.get("/v1/reports", headers=ours)).json()["total"] == 1
        assert (await client.get("/v1/reports", headers=theirs)).json()["total"] == 0
        for headers, status in ((ours, 200), (theirs, 404)):
            found = await client.get(f"/v1/reports/{name}/check", headers=headers)
            assert found.status_code == status

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_an_entry_that_is_damaged_is_not_listed(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        name = await checked(client)
        ReportTable(service.store, most=9, kept_s=60.0).put("r", "anyone ", b"", b"{")
        listed = (await client.get("/v1/reports")).json()
        assert [one["id"] for one in listed["reports"]] == [name]

    use(opened, work, server={"reports_in": "store"})


def test_a_whole_check_has_texts_names_and_marks(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        name = await checked(client)
        mark = {"report": name, "claim_id": "c2", "right": False}
        said = {"actual": "supported", "comment": "Buses count."}
        assert (await client.post("/v1/feedback", json=mark | said)).status_code == 200
        found = (await client.get(f"/v1/reports/{name}/check")).json()
        assert {key: found[key] for key in CHECK} == CHECK
        assert found["report"]["claims"][1]["reason"]
        assert found["marks"] == {"c2": {"right": False, **said}}
        await client.post("/v1/feedback", json=mark | {"right": None})
        assert (await client.get(f"/v1/reports/{name}/check")).json()["marks"] == {}

    use(opened, work)


def test_a_document_comes_back_as_a_source_with_its_name(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        data = base64.b64encode(b"<h1>Notice</h1><p>Six lanes.</p><script>x</script>").decode()
        body = {"name": "C:\\docs\\notice.html", "data": data}
        found = (await client.post("/v1/documents", json=body)).json()
        text = "Notice\n\nSix lanes."
        assert found["sources"] == [{"id": "notice.html", "text": text, "name": "notice.html"}]
        damaged = await client.post("/v1/documents", json=body | {"name": "secret.pdf"})
        assert damaged.status_code == 422
        assert "secret" not in damaged.text

    use(opened, work)
