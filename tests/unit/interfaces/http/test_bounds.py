"""Bounds of a request: limits of size, its deadline, and its end with its client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from veridical.core.cancellation import checkpoint, remaining
from veridical.core.measurements import BackendInfo, Measurement, Query
from veridical.interfaces.http.service import Service
from veridical.testing import FAKE, FakeBackend, fake_estimate
from veridical.verification import preparation

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]

pytestmark = pytest.mark.anyio

BRIDGE = {"S1": "The bridge was opened in 1998. It carries eight lanes."}
CHECK = {"answer": "The bridge opened in 1998 [S1]. It has six lanes [S1].", "sources": BRIDGE}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"max_answer_chars": 20}, "20 are allowed (max_answer_chars)"),
        ({"max_source_chars": 20}, "20 are allowed (max_source_chars)"),
        ({"max_answer_claims": 1}, "1 are allowed (max_answer_claims)"),
    ],
)
async def test_what_is_larger_than_a_limit_is_refused_with_its_name(
    opened: Open, limits: dict[str, int], named: str
) -> None:
    async with opened(server=limits) as (client, _):
        reply = await client.post("/v1/check", json=CHECK)
    assert reply.status_code == 422
    assert reply.json()["detail"].endswith(named)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/check/stream", CHECK),
        ("/v1/verify_claim", {"claim": "It has six lanes.", "sources": BRIDGE}),
        ("/v1/quotes", {"quotes": ["six lanes"], "transcript": BRIDGE["S1"]}),
    ],
)
async def test_every_check_has_the_limits(opened: Open, path: str, body: dict[str, Any]) -> None:
    async with opened(server={"max_source_chars": 20}) as (client, _):
        reply = await client.post(path, json=body)
    assert reply.status_code == 422
    assert "max_source_chars" in reply.json()["detail"]


async def test_an_answer_that_is_not_taken_apart_in_time_is_late(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "extract_claims", endless)
    monkeypatch.setattr(preparation, "BRIEF", 0)
    async with opened(server={"deadline_s": 0.2}) as (client, _):
        reply = await client.post("/v1/check", json=CHECK)
    assert (reply.status_code, reply.json()["title"]) == (504, "The time of the request is up")


async def test_running_work_ends_in_the_time_of_a_shutdown(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "extract_claims", endless)
    monkeypatch.setattr(preparation, "BRIEF", 0)
    async with opened(server={"shutdown_s": 1.2}) as (client, service):
        asked = asyncio.create_task(client.post("/v1/check", json=CHECK))
        while not service.admission.running:  # noqa: ASYNC110 -- nothing else tells
            await asyncio.sleep(0.01)
        service.drain(0.2)
        assert (await asked).status_code == 504


def endless(*given: object, **more: object) -> None:
    del given, more
    while True:
        checkpoint()


class Unhurried:
    """Backend that answers when it is allowed to."""

    info: BackendInfo = FAKE

    def __init__(self) -> None:
        self.asked, self.cancelled = asyncio.Event(), asyncio.Event()

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        del queries
        self.asked.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.cancelled.set()
        return []


async def test_a_check_ends_with_its_client(opened: Open) -> None:
    backend = Unhurried()
    async with opened(backend) as (client, service):
        app: Any = client._transport.app  # type: ignore[attr-defined]
        sent: list[str] = []
        messages = iter([{"type": "http.request", "body": json.dumps(CHECK).encode()}])

        async def receive() -> dict[str, Any]:
            message = next(messages, None)
            if message is None:
                await backend.asked.wait()
                return {"type": "http.disconnect"}
            return message

        async def send(message: Any) -> None:  # noqa: ANN401 -- ASGI
            sent.append(message["type"])

        await asyncio.wait_for(app(scope("/v1/check"), receive, send), 30)
        assert not sent
        await asyncio.wait_for(backend.cancelled.wait(), 30)
        assert service.admission.running == 0
        assert 'status="499"' in service.metrics.text().decode()


def scope(path: str) -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }


async def test_reports_are_rendered_in_a_thread_and_have_time_left_after_the_deadline(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []

    def render(report: object) -> str:
        del report
        seen.append((threading.get_ident(), remaining() > 50))
        return "{}"

    monkeypatch.setattr("veridical.interfaces.http.routes.to_compact_json", render)
    async with opened(FakeBackend(lambda _: fake_estimate(0.9))) as (client, _):
        assert (await client.post("/v1/check", json=CHECK)).json() == {}
    ((thread, has_time),) = seen
    assert thread != threading.get_ident()
    assert has_time
