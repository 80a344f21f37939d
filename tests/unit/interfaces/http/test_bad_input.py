"""Input that is wrong on purpose: every answer is a problem document that says what is allowed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest

from veridical.interfaces.http.service import Service

pytestmark = pytest.mark.slow

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]
Use = Callable[[httpx.AsyncClient, Service], Awaitable[None]]

SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
CHECK = {"answer": "It opened in 1998 [S1].", "sources": SOURCES}
ROW = {"id": "a", **CHECK}
MARK = {"report": "r1", "claim_id": "c1", "right": True}
JSON = {"content-type": "application/json"}
SECRET = "a text of mine"  # noqa: S105 -- a text that must not come back


def use(opened: Open, work: Use, **overrides: Any) -> None:  # noqa: ANN401
    async def run() -> None:
        async with opened(**overrides) as (client, service):
            await work(client, service)

    anyio.run(run)


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert SECRET not in response.text
    return dict(response.json())


# --- what is allowed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "place", "allowed"),
    [
        ("check", {"sources": SOURCES}, ["body", "answer"], "required"),
        ("check", CHECK | {"answer": 3}, ["body", "answer"], "a text"),
        ("check", CHECK | {"answer": ""}, ["body", "answer"], "1 characters or more"),
        ("check", CHECK | {SECRET: SECRET}, ["body", "*"], "only the fields"),
        ("check", CHECK | {"sources": {}}, ["body", "sources"], "1 items or more"),
        (
            "check",
            CHECK | {"policy": {"fail_on": SECRET}},
            ["body", "policy", "fail_on"],
            "'contradicted'",
        ),
        (
            "check",
            CHECK | {"policy": {"support_threshold": 2.0}},
            ["body", "policy", "support_threshold"],
            "1.0 or less",
        ),
        (
            "verify_claim",
            {"claim": "x", "sources": SOURCES, "confidence": -0.5},
            ["body", "confidence"],
            "0 or more",
        ),
        (
            "quotes",
            {"quotes": ["x"], "transcript": "x", "mode": SECRET},
            ["body", "mode"],
            "'substring' or 'fuzzy'",
        ),
        (
            "quotes",
            {"quotes": ["x"], "transcript": "x", "strict": SECRET},
            ["body", "strict"],
            "true or false",
        ),
        (
            "quotes",
            {"quotes": {"a": ["x"] * 500, "b": ["x"] * 501}, "transcript": "x"},
            ["body", "quotes"],
            "1000 items or fewer",
        ),
        ("check/batch", {"rows": []}, ["body", "rows"], "1 items or more"),
        ("check/batch", {"rows": SECRET}, ["body", "rows"], "a list"),
        ("check/batch", {"rows": [ROW, {**ROW, "id": 3}]}, ["body", "rows", 1, "id"], "a text"),
        ("jobs", {"rows": [ROW], "webhook": "x" * 2001}, ["body", "webhook"], "2000 characters"),
        ("feedback", MARK | {"right": SECRET}, ["body", "right"], "true or false"),
        ("feedback", MARK | {"comment": "x" * 2001}, ["body", "comment"], "2000 characters"),
        ("feedback", {"claim_id": "c1"}, ["body", "report"], "required"),
        ("memory/facts", {"text": "x", "tier": SECRET}, ["body", "tier"], "'long_term'"),
        ("memory/facts", {"text": "x", "confidence": 2}, ["body", "confidence"], "1.0 or less"),
        ("audit", {"steps": [{"claim": 3}], "sources": SOURCES}, ["body", "steps", 0], "a text"),
        ("reports", {"report": SECRET}, ["body", "report"], "an object"),
        ("documents", {"name": "a.html", "data": "abc"}, ["body", "data"], "base64"),
        ("documents", {"data": "PHA+"}, ["body", "name"], "required"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    opened: Open, path: str, body: dict[str, Any], place: list[str | int], allowed: str
) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        found = problem(await client.post(f"/v1/{path}", json=body), 422)
        at = [each["allowed"] for each in found["errors"] if each["place"][: len(place)] == place]
        assert any(allowed in each for each in at), found["errors"]

    use(opened, work)


def test_a_wrong_parameter_is_named_with_what_is_allowed(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for query, name, allowed in (
            (f"limit={SECRET}", "limit", "a whole number"),
            ("limit=0", "limit", "1 or more"),
            ("limit=5000", "limit", "1000 or less"),
            ("first=-1", "first", "0 or more"),
        ):
            found = problem(await client.get(f"/v1/jobs/x/results?{query}"), 422)
            assert found["errors"][0]["place"] == ["query", name]
            assert found["errors"][0]["allowed"] == allowed

    use(opened, work)


# --- JSON that is none, or too much ----------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "statuses"),
    [
        (b"", {422}),
        (b"{", {422}),
        (b'{"answer": "x", "sources": ["y"]} more', {422}),
        (b"\xef\xbb\xbf{}", {400, 422}),
        (b"\xff\xfe{\x00}\x00", {400, 422}),
        (b'{"answer": "\xff", "sources": ["x"]}', {400, 422}),
        (b'{"answer": "\\ud800", "sources": ["x"]}', {422}),
        (b'{"answer": "x", "sources": {"\\udfff": "y"}}', {422}),
        (b'{"answer": "x", "sources": ["\\ud800"]}', {422}),
        (b'{"answer": "x", "sources": ["y"], "question": "\\ud800"}', {422}),
        (b"[" * 200_000, {400, 422}),
        (b'{"a":' * 100_000, {400, 422}),
        (b'{"answer": NaN, "sources": ["x"]}', {422}),
        (b'{"answer": "x", "sources": ["y"], "policy": {"support_threshold": NaN}}', {422}),
        (b'{"answer": "x", "sources": ["y"], "policy": {"support_threshold": 1e999}}', {422}),
        (
            b'{"answer": "x", "sources": ["y"], "policy": {"windows": ' + b"9" * 5000 + b"}}",
            {400, 422},
        ),
        (b'{"answer": "x", "sources": ["y"], "policy": {"max_claims": true}}', {422}),
        (
            b'{"answer": "x", "sources": [{"id": "a", "text": "b"}, {"id": "a", "text": "c"}]}',
            {422},
        ),
    ],
)
def test_a_body_that_is_no_request_is_a_problem(
    opened: Open, content: bytes, statuses: set[int]
) -> None:
    async def work(client: httpx.AsyncClient, service: Service) -> None:
        for path in ("/v1/check", "/v1/check/stream"):
            reply = await client.post(path, content=content, headers=JSON)
            assert reply.status_code in statuses, reply.text
            problem(reply, reply.status_code)
        assert service.admission.running == 0

    use(opened, work)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "", "application/json; x"]
)
def test_a_body_of_another_kind_is_not_read_as_json(opened: Open, kind: str) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        body = json.dumps(CHECK).encode()
        reply = await client.post("/v1/check", content=body, headers={"content-type": kind})
        assert reply.status_code in {200, 422}
        assert (reply.status_code == 200) is kind.startswith("application/json")

    use(opened, work)


def test_a_sentence_that_is_all_marks_or_nothing_is_no_claim_and_no_failure(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for answer in (
            "\x00",
            "\u202e\u200b",
            "[S1]" * 500,
            "." * 5000,
            "\U0001f600" * 500,
            "a\u0301" * 500,
        ):
            reply = await client.post("/v1/check", json=CHECK | {"answer": answer})
            assert reply.status_code in {200, 422}, answer

    use(opened, work)


# --- addresses, hosts and origins ------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/../etc/passwd",
        "/page/../../../pyproject.toml",
        "/page/..%2f..%2fserver.py",
        "/page/%2e%2e/%2e%2e/server.py",
        "/page/..\\..\\server.py",
        "/page//etc/passwd",
        "/page/%00",
        "/v1/reports/../../metrics/x",
        "/v1/reports/%2e%2e%2fmetrics",
        "/v1/jobs/%00",
        "/v1/jobs/" + "a" * 5000,
        "/v1/jobs/' OR 1=1 --",
        "/v1//check",
        "/V1/check",
        "//example.org/v1/check",
    ],
)
def test_an_address_leads_nowhere_else(opened: Open, path: str) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        url = httpx.URL("http://127.0.0.1").copy_with(raw_path=path.encode())
        reply = await client.get(url)
        assert reply.status_code in {404, 405}, reply.text
        problem(reply, reply.status_code)

    use(opened, work)


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "127.0.0.1.example.org",
        "localhost.example.org",
        "127.0.0.1@example.org",
        "example.org:80",
        "0x7f.1.example",
        "[::ffff:8.8.8.8]",
        "",
    ],
)
def test_a_name_that_is_not_this_machine_s_is_refused_without_keys(opened: Open, host: str) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        problem(await client.post("/v1/check", json=CHECK, headers={"host": host}), 421)
        problem(await client.get("/v1/jobs/x", headers={"host": host}), 421)

    use(opened, work)


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.org",
        "null",
        "http://127.0.0.1.example.org",
        "http://localhost@example.org",
        "file://",
        "http://[::1",
    ],
)
def test_a_page_of_another_origin_changes_nothing(opened: Open, origin: str) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        theirs = {"origin": origin}
        for method, path in (("POST", "/v1/jobs"), ("DELETE", "/v1/jobs/x"), ("POST", "/v1/check")):
            problem(await client.request(method, path, json={"rows": [ROW]}, headers=theirs), 403)

    use(opened, work)


def test_an_id_of_another_request_is_not_taken_over_unless_it_is_plain(opened: Open) -> None:
    async def work(client: httpx.AsyncClient, _service: Service) -> None:
        for given in (b"a b", b"x" * 65, b"<script>", b"a;b", b"\xe9"):
            headers = [(b"x-request-id", given)]
            reply = await client.get("/healthz", headers=headers)
            assert reply.headers["x-request-id"].encode("latin-1") != given
        reply = await client.get("/healthz", headers={"x-request-id": "plain-1.2_3"})
        assert reply.headers["x-request-id"] == "plain-1.2_3"

    use(opened, work)
