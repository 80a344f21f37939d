"""The description of the service, and requests made up from it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from _upstream import Upstream, serving
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.service import Service
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate

Open = Callable[..., AbstractAsyncContextManager[tuple[httpx.AsyncClient, Service]]]

HOST = {"host": "127.0.0.1"}
PROXIED = {"/v1/chat/completions", "/v1/responses", "/v1/models"}
SAID = "It has eight lanes."
UPSTREAM = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}}],
    "output": [{"type": "message", "content": [{"type": "output_text", "text": SAID}]}],
}
EXAMPLES = settings(
    max_examples=20,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

ROUTES = {
    "/v1/check": {"post"},
    "/v1/check/stream": {"post"},
    "/v1/verify_claim": {"post"},
    "/v1/quotes": {"post"},
    "/v1/audit": {"post"},
    "/v1/reports": {"post"},
    "/v1/reports/{report_id}": {"get"},
    "/v1/feedback": {"post"},
    "/v1/memory/facts": {"get", "post"},
    "/v1/memory/facts/{fact_id}": {"delete"},
    "/v1/usage": {"get"},
    "/v1/chat/completions": {"post"},
    "/v1/responses": {"post"},
    "/v1/models": {"get"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}


@pytest.fixture
def upstream() -> Iterator[str]:
    """Start a service that answers, for the proxy to ask."""
    with serving(Upstream([json.dumps(UPSTREAM).encode()]).app()) as address:
        yield f"{address}/v1"


def described() -> dict[str, Any]:
    schema: dict[str, Any] = create_app(Settings(), backend=FakeBackend(_any)).openapi()
    return schema


def _any(_query: object) -> Any:  # noqa: ANN401
    return fake_estimate(0.9)


def test_every_route_says_what_it_takes_and_answers() -> None:
    paths = described()["paths"]
    assert {path: set(methods) for path, methods in paths.items()} == ROUTES
    for path, methods in paths.items():
        for operation in methods.values():
            assert operation["summary"], path
            assert operation["description"], path
            for status, answer in operation["responses"].items():
                assert answer["description"], (path, status)
                if path in PROXIED:  # errors are those of the upstream, and as it writes them
                    continue
                if int(status) >= 400 and path != "/readyz":
                    assert set(answer["content"]) == {"application/problem+json"}, (path, status)
            if "requestBody" in operation:
                ((_, content),) = operation["requestBody"]["content"].items()
                assert {"401", "403", "413", "429"} <= set(operation["responses"])
                if path in PROXIED:
                    assert content["example"]
                    continue
                assert "422" in operation["responses"]
                name = content["schema"]["$ref"].rpartition("/")[2]
                assert described()["components"]["schemas"][name]["examples"], name


def test_the_examples_of_the_description_work(opened: Open, upstream: str) -> None:
    async def run() -> None:
        schema = described()
        async with opened(proxy={"upstream_url": upstream}) as (client, _):
            for path, methods in schema["paths"].items():
                body = methods.get("post", {}).get("requestBody")
                if (
                    body is None or path == "/v1/feedback"
                ):  # its example names a report of yesterday
                    continue
                content = body["content"]["application/json"]
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                shape = schema["components"]["schemas"].get(name, {})
                for example in shape.get("examples", [content.get("example")]):
                    reply = await client.post(path, json=example)
                    assert reply.status_code == 200, (path, reply.text)

    anyio.run(run)


@pytest.mark.slow
@pytest.mark.parametrize("fits", [True, False])
def test_no_request_that_fits_or_breaks_the_description_breaks_the_service(
    fits: bool, upstream: str
) -> None:
    """No crash, no status that is not described, no answer of another shape (schemathesis)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        import schemathesis
        from schemathesis import GenerationMode, checks

    app = create_app(Settings.load(proxy={"upstream_url": upstream}), backend=FakeBackend(_any))
    anyio.run(app.state.service.start)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=HOST)
    held = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    tried: set[int] = set()
    mode = GenerationMode.POSITIVE if fits else GenerationMode.NEGATIVE
    for result in schema.get_all_operations():
        operation = result.ok()
        if not fits and not (operation.body or operation.query):
            continue  # nothing that could be wrong

        @EXAMPLES
        @given(case=operation.as_strategy(generation_mode=mode))
        def answered(case: Any) -> None:  # noqa: ANN401
            response = case.call(headers=HOST)
            tried.add(response.status_code)
            case.validate_response(response, checks=held)

        answered()
    anyio.run(app.state.service.stop)
    assert (200 if fits else 422) in tried
