"""Batches and jobs, asked in this process; webhooks are received by a server on loopback."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from sqlalchemy import text

from veridical.core.measurements import BackendInfo, Measurement, Query
from veridical.interfaces.http.auth import new_key, write_keys
from veridical.interfaces.http.service import Service
from veridical.testing import FAKE, fake_estimate

pytestmark = pytest.mark.slow

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]
Use = Callable[[httpx.AsyncClient, Service], Awaitable[None]]

SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
TWICE = [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]
ROWS = [
    {"id": "a", "answer": "It opened in 1998 [S1].", "sources": SOURCES},
    {"id": "b", "answer": "It opened in 1998.", "sources": TWICE},
    {"id": "c", "answer": "It has six lanes [S1].", "sources": SOURCES},
]
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ="  # noqa: S105 -- the point of it


def use(opened: Open, work: Use, *given: Any, **overrides: Any) -> None:  # noqa: ANN401
    async def run() -> None:
        async with opened(*given, **overrides) as (client, service):
            with anyio.fail_after(60):
                await work(client, service)

    anyio.run(run)


def posted(body: object) -> dict[str, Any]:
    """Return the arguments of a request; half a surrogate pair goes as JSON escapes it."""
    return {"content": json.dumps(body), "headers": {"content-type": "application/json"}}


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 -- the state of another thread or task has no event
        await asyncio.sleep(0.01)


async def until_done(client: httpx.AsyncClient, job: str) -> dict[str, Any]:
    found: dict[str, Any] = {"state": ""}
    while found["state"] != "done":
        found = (await client.get(f"/v1/jobs/{job}")).json()
        assert found["state"] in {"waiting", "running", "done"}
    return found


async def results_of(client: httpx.AsyncClient, job: str) -> list[dict[str, Any]]:
    lines = (await client.get(f"/v1/jobs/{job}/results")).text.splitlines()
    return [json.loads(line) for line in lines]


class Gated:
    """Backend that answers on a signal."""

    info: BackendInfo = FAKE

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return [fake_estimate(0.95)] * len(queries)


# --- batches ---------------------------------------------------------------------------------


def test_a_batch_has_a_report_or_a_problem_for_each_row_in_order(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post("/v1/check/batch", **posted({"rows": ROWS}))
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert found["schema"] == "veridical.batch/1"
        assert [row["id"] for row in found["rows"]] == ["a", "b", "c"]
        one, wrong, other = found["rows"]
        assert one["report"]["summary"]["by_status"]["supported"] == 1
        assert (wrong["error"]["status"], "report" in wrong) == (422, False)
        assert wrong["error"]["detail"] == "sources 1 and 2 have the same id"
        assert other["report"]["summary"]["by_status"]["contradicted"] == 1
        alone = (await client.post("/v1/check", json=_check())).json()
        for report in (alone, one["report"]):
            report["summary"]["latency_ms"] = 0
        assert alone["claims"] == one["report"]["claims"]
        assert one["report"]["policy"]["windows"] == 0
        changed = await client.post(
            "/v1/check/batch", **posted({"rows": ROWS, "policy": {"windows": 1}})
        )
        assert changed.json()["rows"][0]["report"]["policy"]["windows"] == 1

    use(opened, work)


def test_a_batch_has_so_many_rows_at_most(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for path, setting in (("/v1/check/batch", "jobs.max_batch"), ("/v1/jobs", "jobs.max_rows")):
            reply = await client.post(path, json={"rows": [ROWS[0]] * 3})
            assert reply.status_code == 422
            assert setting in reply.json()["hint"]
            assert (await client.post(path, json={"rows": [ROWS[0]] * 2})).is_success
            assert (await client.post(path, json={"rows": []})).status_code == 422

    use(opened, work, jobs={"max_batch": 2, "max_rows": 2})


def test_a_bug_in_one_row_is_a_problem_of_that_row(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        check = service.verifier.check

        async def broken(answer: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            if "six" in answer:
                raise ZeroDivisionError(answer)
            return await check(answer, *given, **named)

        service.verifier.check = broken  # type: ignore[method-assign]
        reply = await client.post("/v1/check/batch", **posted({"rows": ROWS}))
        assert [row.get("error", {}).get("status") for row in reply.json()["rows"]] == [
            None,
            422,
            500,
        ]
        assert "six" not in reply.text

    use(opened, work)


# --- jobs ------------------------------------------------------------------------------------


def test_a_job_is_worked_off_and_its_results_are_those_of_a_batch(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post("/v1/jobs", **posted({"rows": ROWS, "policy": {"windows": 1}}))
        assert reply.status_code == 202, reply.text
        job = reply.json()
        assert reply.headers["location"] == f"/v1/jobs/{job['id']}"
        assert (job["schema"], job["finished"], job["webhook"]) == ("veridical.job/1", None, None)
        done = await until_done(client, job["id"])
        assert done["progress"] == {"total": 3, "done": 3, "failed": 1}
        assert done["created"] <= done["finished"] < done["expires"]
        batch = await client.post(
            "/v1/check/batch", **posted({"rows": ROWS, "policy": {"windows": 1}})
        )
        own, expected = await results_of(client, job["id"]), batch.json()["rows"]
        for row in (*own, *expected):
            row.get("report", {}).get("summary", {})["latency_ms"] = 0
            row.get("error", {})["request_id"] = ""
        assert own == expected

    use(opened, work)


def test_results_come_in_pages(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        rows = [{**ROWS[0], "id": str(number)} for number in range(7)]
        job = (await client.post("/v1/jobs", json={"rows": rows})).json()["id"]
        await until_done(client, job)
        first: str | None = "0"
        pages = []
        while first is not None:
            params = {"first": first, "limit": "3"}
            reply = await client.get(f"/v1/jobs/{job}/results", params=params)
            assert reply.headers["content-type"].startswith("application/jsonl")
            pages.append([json.loads(line)["id"] for line in reply.text.splitlines()])
            first = reply.headers.get("x-veridical-next")
        assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"]]

    use(opened, work)


def test_a_job_that_is_removed_ends_its_checks_and_leaves_no_text(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        backend: Gated = service._parts.named_backend  # type: ignore[assignment]
        job = (await client.post("/v1/jobs", json={"rows": [ROWS[0]] * 3})).json()["id"]
        await backend.asked.wait()
        found = (await client.get(f"/v1/jobs/{job}")).json()
        assert (found["state"], found["progress"]["done"]) == ("running", 0)
        nothing = await client.get(f"/v1/jobs/{job}/results")
        assert (nothing.text, nothing.headers["x-veridical-next"]) == ("", "0")
        assert (await client.delete(f"/v1/jobs/{job}")).status_code == 204
        await service.job_worker._renew()
        await backend.cancelled.wait()
        for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/results"):
            assert (await client.get(path)).status_code == 404
        assert (await client.delete(f"/v1/jobs/{job}")).status_code == 404
        with service.store.read() as connection:
            assert connection.scalar(text("SELECT count(*) FROM job_rows")) == 0
        await until(lambda: service.admission.running == 0)

    use(opened, work, Gated())


def test_requests_come_before_jobs(opened: Open) -> None:
    async def run() -> None:
        backend = Gated()
        async with opened(backend, server={"running": 1}, jobs={"running": 3}) as (client, service):
            asked = [asyncio.create_task(client.post("/v1/check", json=_check())) for _ in range(3)]
            await until(lambda: service.admission.waiting == 2)
            job = (await client.post("/v1/jobs", json={"rows": [ROWS[0]]})).json()
            for _ in range(5):
                service.job_worker.wake()
                await asyncio.sleep(0.01)
            assert (await client.get(f"/v1/jobs/{job['id']}")).json()["state"] == "waiting"
            backend.go.set()
            assert [(await one).status_code for one in asked] == [200] * 3
            service.job_worker.wake()
            await until_done(client, job["id"])

    anyio.run(run)


def _check() -> dict[str, Any]:
    return {key: value for key, value in ROWS[0].items() if key != "id"}


def test_so_many_checks_of_jobs_run_at_once(opened: Open) -> None:
    async def run(running: int) -> None:
        backend = Gated()
        async with opened(backend, jobs={"running": running}) as (client, service):
            job = (await client.post("/v1/jobs", json={"rows": [ROWS[0]] * 9})).json()["id"]
            for _ in range(30):
                await asyncio.sleep(0.01)
            assert service.job_worker.running == running
            text = (await client.get("/metrics")).text
            assert f"veridical_job_checks {running}.0" in text
            backend.go.set()
            if running:
                await until_done(client, job)
            else:
                assert (await client.get(f"/v1/jobs/{job}")).json()["state"] == "waiting"

    for running in (0, 2):
        anyio.run(run, running)


def test_what_a_service_leaves_at_its_end_another_one_does(opened: Open) -> None:
    async def run() -> None:
        backend = Gated()
        async with opened(backend) as (client, service):
            job = (await client.post("/v1/jobs", json={"rows": ROWS[:1]})).json()["id"]
            await backend.asked.wait()
            service.drain(10)
        async with opened() as (client, _service):
            await until_done(client, job)
            (row,) = await results_of(client, job)
            assert row["report"]["summary"]["by_status"]["undetermined"] == 0

    anyio.run(run)


def test_finished_jobs_are_kept_as_long_as_the_settings_say(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        job = (await client.post("/v1/jobs", json={"rows": ROWS[:1]})).json()["id"]
        while (await client.get(f"/v1/jobs/{job}")).status_code == 200:
            await service.job_worker._clean()
            await asyncio.sleep(0.01)

    use(opened, work, jobs={"kept_s": 0.001})


def test_a_project_has_so_many_open_jobs_at_most(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS[:1]}
        statuses = [(await client.post("/v1/jobs", json=body)).status_code for _ in range(3)]
        assert statuses == [202, 202, 429]

    use(opened, work, jobs={"max_open": 2, "running": 0})


def test_claims_of_a_job_are_usage_of_the_key_that_asked_for_it(
    opened: Open, tmp_path: Path
) -> None:
    tokens, keys = zip(*(new_key(name, project="clinic") for name in ("app", "other")), strict=True)
    write_keys(tmp_path / "keys.json", keys)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        app, other = ({"x-veridical-key": token} for token in tokens)
        await client.get("/v1/usage", headers=other)
        client.headers.update(app)
        job = (await client.post("/v1/jobs", **posted({"rows": ROWS}))).json()["id"]
        await until_done(client, job)
        (own,) = (await client.get("/v1/usage")).json()["keys"]
        assert (own["key"], own["claims"]) == ("app", 2)
        (others,) = (await client.get("/v1/usage", headers=other)).json()["keys"]
        assert (others["key"], others["claims"]) == ("other", 0)

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_jobs_need_the_scope_of_checks(opened: Open, tmp_path: Path) -> None:
    token, key = new_key("m", ["memory"])  # type: ignore[list-item] # a Scope is a text
    write_keys(tmp_path / "keys.json", [key])

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        known = {"authorization": f"Bearer {token}"}
        for method, path in (
            ("POST", "/v1/check/batch"),
            ("POST", "/v1/jobs"),
            ("GET", "/v1/jobs/x"),
            ("DELETE", "/v1/jobs/x"),
            ("GET", "/v1/jobs/x/results"),
        ):
            assert (await client.request(method, path)).status_code == 401
            assert (await client.request(method, path, headers=known)).status_code == 403

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_a_service_without_jobs_makes_no_store(opened: Open, folder: Path) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        assert (await client.post("/v1/check", json=_check())).status_code == 200
        await service.job_worker._begin_one()
        await service.job_worker._clean()
        assert not (folder / "store.db").exists()

    use(opened, work)


# --- webhooks --------------------------------------------------------------------------------


class Hook:
    """Receiver of webhooks on loopback, with a scripted status for each attempt."""

    def __init__(self, *statuses: int) -> None:
        self.received: list[tuple[dict[str, str], bytes]] = []
        left = list(statuses)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(left.pop(0) if left else 200)
                self.send_header("location", f"{outer.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def hook() -> Iterator[Callable[..., Hook]]:
    """Start receivers that run until the test ends."""
    made: list[Hook] = []

    def start(*statuses: int) -> Hook:
        made.append(Hook(*statuses))
        return made[-1]

    yield start
    for each in made:
        each.close()


async def webhook_of(client: httpx.AsyncClient, job: str, state: str) -> dict[str, Any]:
    found: dict[str, Any] = {"state": ""}
    while found["state"] != state:
        found = (await client.get(f"/v1/jobs/{job}")).json()["webhook"]
    return found


def test_a_webhook_tells_of_the_end_with_a_signature(
    opened: Open, hook: Callable[..., Hook]
) -> None:
    receiver = hook()

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS, "webhook": f"{receiver.url}/end?of=job"}
        job = (await client.post("/v1/jobs", **posted(body))).json()["id"]
        assert (await webhook_of(client, job, "delivered"))["attempts"] == 1
        ((headers, data),) = receiver.received
        signed = f"{job}.{headers['webhook-timestamp']}.".encode() + data
        kind, _, given = headers["webhook-signature"].partition(",")
        expected = hmac.digest(b"secret secret secret", signed, sha256)
        assert (kind, b64decode(given)) == ("v1", expected)
        assert headers["webhook-id"] == job
        assert headers["host"] == receiver.url.removeprefix("http://")
        told = json.loads(data)
        assert (told["type"], told["data"]["state"]) == ("job.finished", "done")
        assert told["data"]["progress"] == {"total": 3, "done": 3, "failed": 1}
        assert b"1998" not in data

    use(opened, work, jobs={"webhook_secret": SECRET})


def test_a_webhook_that_fails_is_tried_again_and_redirects_are_not_followed(
    opened: Open, hook: Callable[..., Hook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.jobs.webhooks.DELAYS_S", (0.0, 0.0, 0.0))
    receiver = hook(500, 302, 200)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS[:1], "webhook": receiver.url}
        job = (await client.post("/v1/jobs", json=body)).json()["id"]
        assert (await webhook_of(client, job, "delivered"))["attempts"] == 3
        assert len(receiver.received) == 3
        assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1

    use(opened, work, jobs={"webhook_secret": SECRET})


@pytest.mark.parametrize("statuses", [[410], [503] * 9])
def test_a_webhook_is_given_up_in_the_end(
    opened: Open,
    hook: Callable[..., Hook],
    monkeypatch: pytest.MonkeyPatch,
    statuses: list[int],
) -> None:
    monkeypatch.setattr("veridical.jobs.webhooks.DELAYS_S", (0.0, 0.0))
    receiver = hook(*statuses)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS[:1], "webhook": receiver.url}
        job = (await client.post("/v1/jobs", json=body)).json()["id"]
        found = await webhook_of(client, job, "failed")
        assert found["attempts"] == len(receiver.received) == min(len(statuses), 3)

    use(opened, work, jobs={"webhook_secret": SECRET})


@pytest.mark.parametrize(
    ("private", "status"), [(False, 422), (True, 202)], ids=["closed", "allowed"]
)
def test_with_keys_no_webhook_goes_to_this_machine_or_its_network_unless_that_is_allowed(
    opened: Open, private: bool, status: int
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for url in (
            "http://127.0.0.1:1/",
            "https://127.0.0.1/",
            "https://10.0.0.1/",
            "http://a.b/",
        ):
            reply = await client.post("/v1/jobs", json={"rows": ROWS[:1], "webhook": url})
            assert reply.status_code == status, (url, reply.text)

    key = "a-key-of-many-letters"
    settings = {"webhook_secret": SECRET, "webhook_private": private, "running": 0}

    async def run() -> None:
        async with opened(server={"api_key": key}, jobs=settings) as (client, service):
            client.headers["authorization"] = f"Bearer {key}"
            await work(client, service)

    anyio.run(run)


def test_a_name_that_means_this_machine_is_not_asked(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.jobs.webhooks.DELAYS_S", ())
    key = "a-key-of-many-letters"

    async def run() -> None:
        settings = {"webhook_secret": SECRET}
        async with opened(server={"api_key": key}, jobs=settings) as (client, service):
            client.headers["authorization"] = f"Bearer {key}"
            body = {"rows": ROWS[:1], "webhook": "https://localhost/"}
            job = (await client.post("/v1/jobs", json=body)).json()["id"]
            await webhook_of(client, job, "failed")
            metrics = (await client.get("/metrics")).text
            assert 'veridical_failures_total{where="webhook"} 1.0' in metrics
            assert service.settings.jobs.webhook_private is False

    anyio.run(run)


def test_without_a_secret_there_are_no_webhooks(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS[:1], "webhook": "https://example.org/"}
        reply = await client.post("/v1/jobs", json=body)
        assert reply.status_code == 422
        assert "jobs.webhook_secret" in reply.json()["hint"]

    use(opened, work)


def test_two_projects_see_nothing_of_each_other_s_jobs(opened: Open, tmp_path: Path) -> None:
    made = [new_key(name, project=name) for name in ("a", "b")]
    write_keys(tmp_path / "keys.json", [key for _, key in made])
    ours, theirs = ({"authorization": f"Bearer {token}"} for token, _ in made)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"rows": ROWS[:1]}
        job = (await client.post("/v1/jobs", json=body, headers=ours)).json()["id"]
        for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/results"):
            assert (await client.get(path, headers=theirs)).status_code == 404
        assert (await client.delete(f"/v1/jobs/{job}", headers=theirs)).status_code == 404
        assert (await client.get(f"/v1/jobs/{job}", headers=ours)).status_code == 200

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})
