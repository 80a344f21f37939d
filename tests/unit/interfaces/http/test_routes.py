"""The routes, asked in this process; the backend is a fake one where it is not the point."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import httpx
import jsonschema
import pytest

from _upstream import Upstream, serving
from veridical.core.measurements import BackendInfo, Measurement, Query
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import Scope, new_key, write_keys
from veridical.interfaces.http.service import Service
from veridical.pipeline.reports.formats import FORMATS
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, fake_estimate

pytestmark = pytest.mark.slow

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]
Use = Callable[[httpx.AsyncClient, Service], Awaitable[None]]

SCHEMAS = Path(__file__).parents[4] / "docs" / "schemas"
BRIDGE = "The bridge was opened to traffic in 1998. It carries eight lanes."
SOURCES = {"S1": BRIDGE}
CHECK = {"answer": "It opened in 1998 [S1]. It has six lanes [S1].", "sources": SOURCES}


def use(opened: Open, work: Use, *given: Any, **overrides: Any) -> None:  # noqa: ANN401
    async def run() -> None:
        async with opened(*given, **overrides) as (client, service):
            await work(client, service)

    anyio.run(run)


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert found["status"] == status
    assert found["request_id"] == response.headers["x-request-id"]
    return found


class Gated:
    """Backend that answers on a signal."""

    info: BackendInfo = FAKE

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = asyncio.Event()

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        self.asked.set()
        await self.go.wait()
        return [fake_estimate(0.95)] * len(queries)


# --- what is answered ------------------------------------------------------------------------


@pytest.mark.spec("SPEC-08.19")
def test_a_check_is_the_report_of_the_library(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        reply = await client.post("/v1/check", json=CHECK)
        document = reply.json()
        schema = json.loads((SCHEMAS / "report-1.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(document)
        own = (await service.verifier.check(**CHECK)).to_dict()  # type: ignore[arg-type]
        document["summary"]["latency_ms"] = own["summary"]["latency_ms"]
        assert document == own
        assert reply.headers["x-veridical-outcome"] == "flagged"
        assert reply.headers["x-veridical-flagged"] == "1"
        assert reply.headers["x-veridical-failing"] == "1"

    use(opened, work)


def test_a_request_chooses_which_flagged_claims_fail(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        asked = CHECK | {"answer": "It is painted blue [S1]."}
        for fail_on, failing in (("any", "1"), ("contradicted", "0")):
            reply = await client.post("/v1/check", json=asked | {"policy": {"fail_on": fail_on}})
            assert reply.headers["x-veridical-flagged"] == "1"
            assert reply.headers["x-veridical-failing"] == failing
            assert reply.json()["policy"]["fail_on"] == fail_on
        wrong = await client.post("/v1/check", json=asked | {"policy": {"fail_on": "unsure"}})
        assert wrong.status_code == 422

    use(opened, work)


@pytest.mark.parametrize(
    "sources",
    [SOURCES, [{"id": "S1", "text": BRIDGE}], [BRIDGE], [BRIDGE, {"id": "x", "text": "y"}]],
)
def test_sources_come_in_three_shapes(opened: Open, sources: object) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post("/v1/check", json={"answer": "It is 1998.", "sources": sources})
        assert reply.json()["summary"]["claims_checked"] == 1

    use(opened, work)


def test_a_policy_changes_what_it_names_only(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {**CHECK, "policy": {"max_claims": 1}}
        policy = (await client.post("/v1/check", json=body)).json()["policy"]
        assert (policy["max_claims"], policy["windows"]) == (1, 3)

    use(opened, work, policy={"windows": 3})


def test_claims_are_streamed_once_each_then_the_report(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        async with client.stream("POST", "/v1/check/stream", json=CHECK) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            found = [event async for event in events(reply)]
        names = [name for name, _ in found]
        assert names[-1] == "report"
        assert set(names[:-1]) == {"progress", "claim"}
        report = found[-1][1]
        claims = {data["id"]: data for name, data in found if name == "claim"}
        assert claims == {claim["id"]: claim for claim in report["claims"]}
        assert names.count("claim") == len(claims)
        again = await client.get(f"/v1/reports/{reply.headers['x-veridical-report']}")
        assert again.json() == report
        assert service.admission.running == 0

    use(opened, work)


async def events(reply: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in reply.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_claims_come_before_the_check_is_done(opened: Open) -> None:
    class Second(Gated):
        """Backend that answers the first batch at once."""

        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            if self.asked.is_set():
                await self.go.wait()
            self.asked.set()
            return [fake_estimate(0.95)] * len(queries)

    async def run() -> None:
        backend = Second()
        async with opened(backend, hallucination={"batch_size": 2}) as (_, service):
            heard: list[str] = []

            class Watcher:
                def decided(self, verdict: Any, /) -> None:  # noqa: ANN401
                    heard.append(verdict.claim.id)

                def stage(self, name: str, seconds: float, /) -> None:
                    assert seconds >= 0, name

            answer = "It opened in 1998 [S1]. It has eight lanes [S1]."
            task = asyncio.create_task(service.check(answer, SOURCES, watcher=Watcher()))
            while not heard:  # noqa: ASYNC110 -- heard by a plain call
                await asyncio.sleep(0.001)
            assert heard == ["c1"]
            assert not task.done()
            backend.go.set()
            await task
            assert heard == ["c1", "c2"]

    anyio.run(run)


def test_a_failure_within_a_stream_is_its_last_event(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        async def broken(*_: object, **__: object) -> None:
            msg = "the text of a claim"
            raise ZeroDivisionError(msg)

        service.verifier.check = broken  # type: ignore[method-assign, assignment]
        async with client.stream("POST", "/v1/check/stream", json=CHECK) as reply:
            ((name, data),) = [event async for event in events(reply)]
        assert (name, data["status"]) == ("error", 500)
        assert "claim" not in json.dumps(data)
        assert service.admission.running == 0

    use(opened, work)


def test_a_claim_is_verified_as_it_stands(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"claim": "It has six lanes.", "sources": SOURCES, "confidence": 0.8}
        found = (await client.post("/v1/verify_claim", json=body)).json()
        assert (found["schema"], found["status"]) == ("veridical.verification/1", "contradicted")
        assert found["target"] == 0.8
        body["cites"] = ["S9"]
        found = (await client.post("/v1/verify_claim", json=body)).json()
        assert found["status"] == "phantom_citation"

    use(opened, work)


def test_quotes_are_looked_up(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {"quotes": {"a": ["Eight  lanes", "ten lanes"]}, "transcript": BRIDGE}
        found = (await client.post("/v1/quotes", json=body)).json()
        first, second = found["items"]["a"]
        assert BRIDGE[first["start"] : first["end"]] == "eight lanes"
        assert (second["reason"], found["rejected_by_domain"]) == ("not_found", {"a": 1})

    use(opened, work)


def test_half_a_surrogate_pair_is_a_quote_that_is_not_there(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = json.dumps({"quotes": ["\ud800 lanes"], "transcript": BRIDGE})
        headers = {"content-type": "application/json"}
        reply = await client.post("/v1/quotes", content=body, headers=headers)
        assert reply.status_code == 200
        (found,) = reply.json()["items"]["quotes"]
        assert (found["quote"], found["reason"]) == ("\ud800 lanes", "not_found")

    use(opened, work)


def test_a_trace_is_audited(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        steps = ["It opened in 1998.", {"claim": "It has six lanes.", "cites": ["S1"]}]
        body = {"steps": steps, "sources": SOURCES, "answer": "It opened in 1998."}
        found = (await client.post("/v1/audit", json=body)).json()
        schema = json.loads((SCHEMAS / "audit-1.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(found)
        assert (found["first_error"], found["post_hoc"]["verdict"]) == ("step2", "derivable")
        body["post_hoc"] = False
        assert (await client.post("/v1/audit", json=body)).json()["post_hoc"] is None

    use(opened, work)


def test_a_report_can_be_had_again_in_other_formats(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        made = await client.post("/v1/check", json=CHECK)
        at = f"/v1/reports/{made.headers['x-veridical-report']}"
        assert (await client.get(at)).json() == made.json()
        html = await client.get(at, params={"format": "html"})
        assert html.text.lower().startswith("<!doctype html>")
        assert html.headers["content-security-policy"].startswith("default-src 'none'")
        assert html.headers["content-disposition"].startswith("attachment")
        assert (await client.get(at, params={"format": "sarif"})).json()["version"] == "2.1.0"
        assert (await client.get(at, params={"format": "junit"})).text.startswith("<?xml")
        problem(await client.get(at, params={"format": "docx"}), 422)
        for _ in range(2):  # two are kept: this pushes the first one out
            await client.post("/v1/check", json=CHECK)
        problem(await client.get(at), 404)

    use(opened, work, server={"reports": 2})


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_that_is_not_kept_is_converted_to_the_same_formats(
    opened: Open, name: str
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        made = await client.post("/v1/check", json=CHECK)
        at = f"/v1/reports/{made.headers['x-veridical-report']}"
        kept = await client.get(at, params={"format": name})
        body = {"report": made.json()} | {key: CHECK[key] for key in ("answer", "sources")}
        converted = await client.post("/v1/reports", json=body, params={"format": name})
        assert converted.status_code == kept.status_code == 200
        assert converted.content == kept.content
        for header in ("content-type", "content-disposition"):
            assert converted.headers.get(header) == kept.headers.get(header)
        alone = await client.post(
            "/v1/reports", json={"report": made.json()}, params=kept.url.params
        )
        assert alone.status_code == 200
        problem(await client.post("/v1/reports", json={"report": {"schema": "x"}}), 422)

    use(opened, work)


def test_a_report_in_the_store_outlives_the_service(opened: Open) -> None:
    at = []

    async def make(client: httpx.AsyncClient, _service: Service) -> None:
        made = await client.post("/v1/check", json=CHECK)
        at.append(f"/v1/reports/{made.headers['x-veridical-report']}")
        at.extend([(await client.get(at[0], params={"format": how})).text for how in FORMATS])
        assert json.loads(at[1 + list(FORMATS).index("json")]) == made.json()

    async def get(client: httpx.AsyncClient, _service: Service) -> None:
        found = [(await client.get(at[0], params={"format": how})).text for how in FORMATS]
        assert found == at[1:]
        marked = {"report": at[0].rpartition("/")[2], "claim_id": "c2", "right": False}
        assert (await client.post("/v1/feedback", json=marked)).status_code == 200

    async def miss(client: httpx.AsyncClient, _service: Service) -> None:
        problem(await client.get(at[0]), 404)

    use(opened, make, server={"reports_in": "store"})
    use(opened, get, server={"reports_in": "store"})
    use(opened, miss, server={"reports_in": "memory"})
    use(opened, miss, server={"reports_in": "store", "reports_s": 1e-6})


def test_a_check_is_answered_if_its_report_cannot_be_kept(opened: Open, folder: Path) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        made = await client.post("/v1/check", json=CHECK)
        assert made.status_code == 200
        metrics = (await client.get("/metrics")).text
        assert 'veridical_failures_total{where="reports"} 1.0' in metrics
        problem(await client.get(f"/v1/reports/{made.headers['x-veridical-report']}"), 503)

    (folder / "store.db").write_text("no database, but a text that is long enough to be looked at")
    use(opened, work, server={"reports_in": "store"})


def test_feedback_is_kept_by_id_or_by_report(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        made = await client.post("/v1/check", json=CHECK)
        by_id = {"report": made.headers["x-veridical-report"], "claim_id": "c2", "right": False}
        (mark,) = (await client.post("/v1/feedback", json=by_id)).json()["marks"]
        assert (mark["claim_id"], mark["status"], mark["right"]) == ("c2", "contradicted", False)
        by_report = {"report": made.json(), "claim_id": "c1", "right": True}
        assert (await client.post("/v1/feedback", json=by_report)).status_code == 200
        problem(await client.post("/v1/feedback", json={**by_report, "claim_id": "c9"}), 422)
        problem(await client.post("/v1/feedback", json={**by_report, "report": "0" * 32}), 404)
        problem(await client.post("/v1/feedback", json={**by_report, "report": {}}), 422)
        for model in (None, 7, "\ud800"):
            backend = made.json()["backend"] | {"model": model}
            other = by_report | {"report": made.json() | {"backend": backend}}
            kind = {"content-type": "application/json"}
            sent = await client.post("/v1/feedback", content=json.dumps(other), headers=kind)
            problem(sent, 422)

    use(opened, work)


def test_facts_are_remembered_and_recalled(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        fact = {"text": "The bridge has eight lanes.", "sources": SOURCES, "entities": ["bridge"]}
        done = (await client.post("/v1/memory/facts", json=fact)).json()
        assert (done["outcome"], done["fact"]["text"]) == ("stored", fact["text"])
        found = await client.get("/v1/memory/facts", params={"text": "eight", "entity": "bridge"})
        assert [one["id"] for one in found.json()["facts"]] == [done["fact"]["id"]]
        problem(await client.post("/v1/memory/facts", json={**fact, "depends_on": ["nope"]}), 422)
        old = fact | {"about": fact.pop("entities")}
        found = problem(await client.post("/v1/memory/facts", json=old), 422)
        assert found["hint"].startswith("`about` is called `entities`")
        metrics = (await client.get("/metrics")).text
        assert 'veridical_facts_total{outcome="stored"} 1.0' in metrics

    use(opened, work)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({**CHECK, "answr": "x"}, ["body", "*"]),
        ({"sources": SOURCES}, ["body", "answer"]),
        ({**CHECK, "policy": {"windows": -1}}, ["body", "policy", "windows", "*"]),
        ({**CHECK, "sources": {"a secret of mine": 3}}, ["body", "sources", "*", "*"]),
    ],
)
def test_a_wrong_shape_is_said_without_what_was_sent(
    opened: Open, body: dict[str, Any], place: list[str]
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post("/v1/check", json=body)
        assert place in [each["place"][: len(place)] for each in problem(reply, 422)["errors"]]
        assert "secret" not in reply.text

    use(opened, work)


NAME = "Jane Roe.pdf"
STEP = {"claim": "It carries eight lanes."}


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (
            "check",
            {"answer": "x", "sources": {"S1": "y", NAME: " "}},
            "source 2: the text of a source is empty",
        ),
        (
            "check",
            {"answer": "x", "sources": [{"id": NAME, "text": "\n"}]},
            "source 1: the text of a source is empty",
        ),
        (
            "check",
            {"answer": "x", "sources": ["y", *[{"id": NAME, "text": "y"}] * 2]},
            "sources 2 and 3 have the same id",
        ),
        (
            "audit",
            {"steps": [STEP, STEP | {"context": {NAME: " "}}]},
            "step 2: source 1: the text of a source is empty",
        ),
        (
            "audit",
            {"steps": [STEP, STEP | {"id": NAME}], "sources": {NAME: "y"}},
            "ids of steps and sources come twice (1 in all): see the steps numbered 2",
        ),
        (
            "memory/facts",
            {"text": "It carries eight lanes.", "sources": SOURCES, "depends_on": [NAME]},
            "there is no such fact in this memory",
        ),
    ],
)
def test_a_problem_has_numbers_in_place_of_the_ids_that_were_sent(
    opened: Open, path: str, body: dict[str, Any], detail: str
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post(f"/v1/{path}", json=body)
        assert problem(reply, 422)["detail"] == detail
        assert "Jane" not in reply.text

    use(opened, work)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"null", 422),
        (b'"\xff"', 400),
        (b"[" * 100_000, 400),
        (b'{"answer": "\\ud800", "sources": ["x"]}', 422),
        (b'{"answer": " ", "sources": ["x"]}', 422),
        (b'{"answer": "x", "sources": []}', 422),
        (b'{"answer": "x", "sources": ["a", {"id": "1", "text": "b"}]}', 422),
        (b'{"answer": "x", "sources": ["y"], "policy": {"sample_rate": NaN}}', 422),
    ],
)
def test_what_is_no_request_is_a_problem(opened: Open, content: bytes, status: int) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        json_type = {"content-type": "application/json"}
        for path in ("/v1/check", "/v1/check/stream"):
            problem(await client.post(path, content=content, headers=json_type), status)
        problem(await client.post("/v1/check", content=b'{"a": 1}'), 422)

    use(opened, work)


def test_addresses_and_methods_that_do_not_exist_are_problems(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        problem(await client.get("/v1/nothing"), 404)
        reply = await client.delete("/v1/check")
        problem(reply, 405)
        assert reply.headers["allow"] == "POST"

    use(opened, work)


def test_a_body_that_is_too_large_is_not_read(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = {**CHECK, "answer": "word " * 1000}
        problem(await client.post("/v1/check", json=body), 413)

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b" " * 100

        json_type = {"content-type": "application/json"}
        problem(await client.post("/v1/check", content=chunks(), headers=json_type), 413)
        assert (await client.post("/v1/check", json=CHECK)).status_code == 200

    use(opened, work, server={"max_request_bytes": 2000})


@pytest.mark.spec("SPEC-08.43")
def test_a_bug_of_ours_is_a_problem_and_says_nothing_of_the_request(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        async def broken(*_: object, **__: object) -> None:
            msg = "the text of a claim"
            raise ZeroDivisionError(msg)

        service.verifier.check = broken  # type: ignore[method-assign, assignment]
        reply = await client.post("/v1/check", json=CHECK)
        problem(reply, 500)
        assert "claim" not in reply.text
        assert service.admission.running == 0
        assert (
            'veridical_failures_total{where="request"} 1.0' in (await client.get("/metrics")).text
        )

    use(opened, work)


@pytest.mark.spec("SPEC-08.39")
def test_what_there_is_no_room_for_is_turned_away_and_the_rest_is_answered(opened: Open) -> None:
    async def run() -> None:
        backend = Gated()
        async with opened(backend, server={"running": 1, "waiting": 2}) as (client, service):
            accepted = [asyncio.create_task(client.post("/v1/check", json=CHECK)) for _ in range(3)]
            await backend.asked.wait()
            while service.admission.waiting < 2:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0.001)
            for path in ("/v1/check", "/v1/check/stream"):
                reply = await client.post(path, json=CHECK)
                problem(reply, 429)
                assert int(reply.headers["retry-after"]) >= 1
            fact = {"text": "It has eight lanes.", "sources": SOURCES}
            assert (await client.post("/v1/memory/facts", json=fact)).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
            metrics = (await client.get("/metrics")).text
            assert "veridical_queue_depth 2.0" in metrics
            assert 'veridical_shed_total{operation="check",reason="overload"} 1.0' in metrics
            backend.go.set()
            assert [reply.status_code for reply in await asyncio.gather(*accepted)] == [200] * 3

    anyio.run(run)


def test_what_is_not_measured_in_time_is_undetermined(opened: Open) -> None:
    async def run() -> None:
        async with opened(Gated(), server={"deadline_s": 0.1}) as (client, _):
            reply = await client.post("/v1/check", json=CHECK)
            assert reply.json()["summary"]["outcome"] == "undetermined"
            assert reply.json()["claims"][0]["p1"] == {"unmeasured": "timeout"}

    anyio.run(run)


# --- who may do what -------------------------------------------------------------------------


def test_keys_open_what_their_scopes_say(opened: Open, tmp_path: Path) -> None:
    tokens, kept = zip(*(new_key(scope, [scope]) for scope in Scope), strict=True)
    write_keys(tmp_path / "keys.json", kept)
    check, memory, admin = ({"authorization": f"Bearer {token}"} for token in tokens)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for path in ("/", "/healthz", "/readyz", "/openapi.json"):
            assert (await client.get(path)).status_code == 200
        for headers in ({}, {"authorization": "Bearer no"}, {"authorization": "Basic eDp5"}):
            reply = await client.post("/v1/check", content=b"not even JSON", headers=headers)
            problem(reply, 401)
            assert reply.headers["www-authenticate"].startswith("Bearer")
        problem(await client.get("/metrics"), 401)
        made = await client.post("/v1/check", json=CHECK, headers=check)
        assert made.status_code == 200
        problem(await client.post("/v1/check", json=CHECK, headers=memory), 403)
        problem(await client.get("/v1/memory/facts", headers=check), 403)
        assert (await client.get("/v1/memory/facts", headers=memory)).status_code == 200
        problem(await client.get("/metrics", headers=check), 403)
        assert (await client.get("/metrics", headers=admin)).status_code == 200
        also = {"x-veridical-key": tokens[2], "authorization": "Bearer for-somebody-else"}
        assert (await client.get("/metrics", headers=also)).status_code == 200
        # A report is for the project of the key that asked for it.
        at = f"/v1/reports/{made.headers['x-veridical-report']}"
        for headers in (check, admin):
            assert (await client.get(at, headers=headers)).status_code == 200

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_an_expired_key_is_refused_with_the_reason(opened: Open, tmp_path: Path) -> None:
    token, expired = new_key("app", expires_s=-1.0)
    write_keys(tmp_path / "keys.json", [expired])

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.post("/v1/check", json=CHECK, headers={"x-veridical-key": token})
        assert problem(reply, 401)["detail"] == "the key has expired"

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_a_key_sees_its_own_usage_and_an_admin_that_of_its_project(
    opened: Open, tmp_path: Path
) -> None:
    named = (("app", Scope.CHECK, "a"), ("other", Scope.CHECK, "a"), ("boss", Scope.ADMIN, "a"))
    tokens, keys = zip(
        *(new_key(name, [scope], project=project) for name, scope, project in named), strict=True
    )
    write_keys(tmp_path / "keys.json", keys)

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        app, other, boss = ({"x-veridical-key": token} for token in tokens)
        for headers in (app, app, other):
            await client.post("/v1/check", json=CHECK, headers=headers)
        (own,) = (await client.get("/v1/usage", headers=app)).json()["keys"]
        assert (own["key"], own["requests"], own["claims"]) == ("app", 2, 4)
        found = (await client.get("/v1/usage", headers=boss)).json()["keys"]
        assert {one["key"]: one["requests"] for one in found} == {"app": 3, "other": 1}

    use(opened, work, server={"keys": str(tmp_path / "keys.json")})


def test_usage_in_the_store_outlives_the_service(opened: Open, tmp_path: Path) -> None:
    token, key = new_key("app")
    write_keys(tmp_path / "keys.json", [key])
    settings = {"keys": str(tmp_path / "keys.json"), "usage_in": "store"}
    claims: list[int] = []

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        headers = {"x-veridical-key": token}
        await client.post("/v1/check", json=CHECK, headers=headers)
        (own,) = (await client.get("/v1/usage", headers=headers)).json()["keys"]
        claims.append(own["claims"])

    for _ in range(2):
        use(opened, work, server=settings)
    assert claims == [2, 4]


def test_the_audit_log_says_who_did_what_and_has_no_text(opened: Open, tmp_path: Path) -> None:
    token, key = new_key("app", project="clinic")
    write_keys(tmp_path / "keys.json", [key])
    log = tmp_path / "audit.log"

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        headers = {"x-veridical-key": token, "x-request-id": "r1"}
        await client.get("/healthz")
        await client.post("/v1/check", json=CHECK, headers=headers)
        log.rename(tmp_path / "audit.log.1")  # as logrotate does
        await client.get("/v1/memory/facts", headers=headers)
        await client.post("/v1/check", json=CHECK)

    use(opened, work, server={"keys": str(tmp_path / "keys.json"), "audit_log": str(log)})
    lines = [*(tmp_path / "audit.log.1").read_text().splitlines(), *log.read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    assert [(one["key"], one["project"], one["operation"], one["outcome"]) for one in found] == [
        ("app", "clinic", "POST /v1/check", "done"),
        ("app", "clinic", "GET /v1/memory/facts", "refused"),
        (None, None, "POST unmatched", "refused"),
    ]
    assert found[0]["request_id"] == "r1"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "lanes" not in "".join(lines)


def test_without_a_file_the_audit_log_is_in_the_log(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        await client.post("/v1/check", json=CHECK)

    with caplog.at_level("INFO", "veridical.audit"):
        use(opened, work)
    (line,) = [one for one in caplog.records if one.name == "veridical.audit"]
    assert getattr(line, "fields", {})["key"] == "anyone"


def test_the_memory_gate_is_on_unless_it_is_switched_off(opened: Open) -> None:
    async def outcome(client: httpx.AsyncClient) -> str:
        fact = {"text": "The bridge is painted blue.", "sources": SOURCES}
        reply = await client.post("/v1/memory/facts", json=fact)
        return str(reply.json()["outcome"])

    async def gated(client: httpx.AsyncClient, _service: Service) -> None:
        assert await outcome(client) == "rejected"

    async def open_to_all(client: httpx.AsyncClient, _service: Service) -> None:
        assert await outcome(client) == "stored"

    use(opened, gated)
    use(opened, open_to_all, hallucination={"memory_gate": {"enabled": False}})
    use(opened, open_to_all, hallucination={"enabled": False})


def test_each_key_has_its_own_rate(opened: Open, tmp_path: Path) -> None:
    (slow, first), (fast, second) = new_key("slow", per_minute=2), new_key("fast")
    write_keys(tmp_path / "keys.json", [first, second])

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        async def ask(token: str) -> int:
            headers = {"x-veridical-key": token}
            return (await client.post("/v1/check", json=CHECK, headers=headers)).status_code

        assert [await ask(slow) for _ in range(3)] == [200, 200, 429]
        assert [await ask(fast) for _ in range(4)] == [200, 200, 200, 429]  # that of the settings

    use(opened, work, server={"keys": str(tmp_path / "keys.json"), "per_minute": 3})


def test_without_keys_only_this_machine_is_answered(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        problem(await client.get("/healthz", headers={"host": "evil.example"}), 421)
        problem(await client.get("/healthz", headers={"host": "127.0.0.1.evil.example"}), 421)
        for host in ("localhost:8642", "127.0.0.1", "[::1]:80"):
            assert (await client.get("/healthz", headers={"host": host})).status_code == 200

    use(opened, work)


def test_other_origins_are_refused_unless_they_are_named(opened: Open) -> None:
    origin = "https://app.example"
    asks = {"origin": origin, "access-control-request-method": "POST"}

    async def closed(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.options("/v1/check", headers=asks)
        assert "access-control-allow-origin" not in reply.headers
        problem(reply, 405)

    async def named(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.options("/v1/check", headers=asks)
        assert reply.headers["access-control-allow-origin"] == origin
        other = await client.options("/v1/check", headers={**asks, "origin": "https://x.example"})
        assert "access-control-allow-origin" not in other.headers

    async def simple(client: httpx.AsyncClient, _service: Service) -> None:
        # What a browser sends without asking first; and there are no keys.
        plain = {"origin": origin, "content-type": "text/plain"}
        problem(await client.post("/v1/check", json=CHECK, headers=plain), 403)
        problem(await client.post("/v1/check", json=CHECK, headers={"origin": "null"}), 403)
        own = {"origin": "http://127.0.0.1:8642"}
        assert (await client.post("/v1/check", json=CHECK, headers=own)).status_code == 200

    use(opened, closed)
    use(opened, simple)
    use(opened, named, server={"origins": [origin]})


def test_a_named_origin_may_send_the_headers_of_model_clients_and_read_when_to_come_again(
    opened: Open,
) -> None:
    origin = {"origin": "https://app.example"}
    sent = "authorization, content-type, idempotency-key, traceparent, x-stainless-lang"
    asks = origin | {
        "access-control-request-method": "POST",
        "access-control-request-headers": sent,
    }

    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        reply = await client.options("/v1/chat/completions", headers=asks)
        assert (reply.status_code, reply.headers["access-control-allow-headers"]) == (200, sent)
        assert "access-control-allow-credentials" not in reply.headers
        shown = (await client.get("/healthz", headers=origin)).headers
        exposed = shown["access-control-expose-headers"].split(", ")
        assert {"retry-after", "retry-after-ms", "x-should-retry", "x-request-id"} <= {*exposed}
        assert "x-ratelimit-remaining-tokens" in exposed

    use(opened, work, server={"origins": [origin["origin"]]})


def test_every_answer_has_the_headers_that_protect_and_an_id(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for path in ("/", "/healthz", "/v1/nothing"):
            headers = (await client.get(path, headers={"x-request-id": "mine-1"})).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["content-security-policy"].startswith("default-src 'none'")
            assert headers["x-request-id"] == "mine-1"
            assert "server" not in headers
        strange = await client.get("/healthz", headers={"x-request-id": "six words of a text\t!"})
        assert strange.headers["x-request-id"] != "six words of a text\t!"

    use(opened, work)


def test_many_at_once_are_all_answered_right(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        async def ask(number: int) -> None:
            body = {"answer": f"It is {number}.", "sources": [f"It is {number}."]}
            claims = (await client.post("/v1/check", json=body)).json()["claims"]
            assert [(one["text"], one["status"]) for one in claims] == [
                (f"It is {number}.", "supported")
            ]

        await asyncio.gather(*(ask(number) for number in range(1000, 1060)))
        assert (service.admission.running, service.admission.waiting) == (0, 0)

    backend = FakeBackend(lambda q: fake_estimate(0.95 if q.claim in q.context else 0.05))
    use(opened, work, backend)


@pytest.mark.spec("SPEC-08.39")
@pytest.mark.spec("SPEC-08.43")
def test_under_load_an_answer_of_the_proxy_waits_and_goes_unverified_only_after_its_deadline(
    opened: Open,
    chat_server: Callable[..., Any],
    chat_completion: Callable[..., dict[str, Any]],
) -> None:
    upstream = chat_server(lambda _: (200, chat_completion("It has eight lanes.")))
    asked = {"model": "m", "messages": [{"role": "user", "content": f"{BRIDGE} How many?"}]}

    async def run() -> None:
        backend = Gated()
        settings = {
            "proxy": {"upstream_url": upstream.base_url, "deadline_s": 0.2},
            "server": {"running": 1, "waiting": 1},
        }
        async with opened(backend, **settings) as (client, service):
            accepted = [asyncio.create_task(client.post("/v1/check", json=CHECK)) for _ in range(2)]
            while service.admission.waiting < 1:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0.001)
            reply = await client.post("/v1/chat/completions", json=asked)
            assert reply.status_code == 200
            document = reply.json()
            assert document["choices"][0]["message"]["content"] == "It has eight lanes."
            assert document["veridical"]["outcome"] == "undetermined"
            assert document["veridical"]["choices"][0]["reason"] == "timeout"
            metrics = (await client.get("/metrics")).text
            counted = 'veridical_proxy_answers_total{action="passed",reason="timeout"} 1.0'
            assert counted in metrics
            waiting = asyncio.create_task(client.post("/v1/chat/completions", json=asked))
            while service.admission.waiting < 2:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0.001)
            backend.go.set()
            await asyncio.gather(*accepted)
            assert (await waiting).json()["veridical"]["outcome"] == "grounded"

    anyio.run(run)


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_so_many_requests_are_passed_on_at_once_and_the_next_one_is_turned_away(
    opened: Open, chat_server: Callable[..., Any], path: str
) -> None:
    """Turned away before the upstream is asked, with Retry-After; places are given back."""
    answer = threading.Event()
    body = {"choices": [{"message": {"content": "It has eight lanes."}}], "output": []}

    def wait(_: object) -> tuple[int, dict[str, Any]]:
        answer.wait(10)
        return 200, body

    upstream = chat_server(wait)
    asked = {"model": "m", "messages": [], "input": BRIDGE}

    async def run() -> None:
        settings = {"proxy": {"upstream_url": upstream.base_url, "max_requests": 2}}
        async with opened(**settings) as (client, service):

            async def ask() -> httpx.Response:
                return await client.post(f"/v1/{path}", json=asked)

            accepted = [asyncio.create_task(ask()) for _ in range(2)]
            while service.admission.passing < 2:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0.001)
            refused = await ask()
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1
            metrics = (await client.get("/metrics")).text
            assert "veridical_requests_passing 2.0" in metrics
            assert 'veridical_shed_total{operation="proxy",reason="overload"} 1.0' in metrics
            assert (await client.post("/v1/check", json=CHECK)).status_code == 200
            answer.set()
            assert [(await one).status_code for one in accepted] == [200, 200]
            assert service.admission.passing == 0
            assert (await ask()).status_code == 200
        assert len(upstream.requests) == 3

    anyio.run(run)


def test_a_client_that_leaves_its_stream_gives_its_place_back() -> None:
    event = b'data: {"choices":[{"index":0,"delta":{"content":"It has eight lanes. "}}]}\n\n'
    upstream = Upstream([[event] * 200_000])

    async def run() -> None:
        with serving(upstream.app()) as address:
            app = create_app(
                Settings.load(proxy={"upstream_url": f"{address}/v1"}),
                backend=FakeBackend(lambda _: fake_estimate(0.9)),
            )
            with serving(app) as proxy:
                admission = app.state.service.admission
                async with (
                    httpx.AsyncClient() as client,
                    client.stream("POST", f"{proxy}/v1/chat/completions", json={}) as reply,
                ):
                    await anext(reply.aiter_lines())
                    assert admission.passing == 1
                with anyio.fail_after(10):
                    while admission.passing:  # noqa: ASYNC110 -- nothing tells of it
                        await asyncio.sleep(0.01)

    anyio.run(run)


def test_without_an_upstream_the_proxy_says_what_to_set(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _: Service) -> None:
        for path in ("chat/completions", "responses"):
            reply = await client.post(f"/v1/{path}", json={})
            assert reply.status_code == 503
            assert "proxy.upstream_url" in reply.json()["error"]["message"]

    use(opened, work)
