"""One proxied request as a tree of spans, with the embedded model, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("opentelemetry.sdk")

import httpx2

from _spans import Exported
from _upstream import Upstream, serving
from veridical.interfaces.http.app import create_app
from veridical.settings import Settings

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "service.md"
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WRONG = "The bridge opened in 1998. It has six lanes."
ASKED: dict[str, Any] = {
    "model": "gpt-4.1-mini",
    "messages": [
        {"role": "system", "content": "[S1] The bridge opened in 1998. It carries eight lanes."},
        {"role": "user", "content": "Tell me about the bridge."},
    ],
}


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice]}).encode()


def stream(text: str) -> list[bytes]:
    chunk = {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}}]}
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n", b"data: [DONE]\n\n"]


class Running:
    """Service in front of a scripted upstream, and what it sends to OpenTelemetry."""

    def __init__(self, stack: ExitStack, upstream: Upstream) -> None:
        self.exported = Exported()
        self.upstream = upstream
        address = stack.enter_context(serving(upstream.app()))
        settings = Settings.load(proxy={"upstream_url": f"{address}/v1"}, threads=1)
        app = create_app(settings, sinks=[self.exported.sink])
        self.url = stack.enter_context(serving(app))

    def ask(self, path: str = "/v1/chat/completions", **more: Any) -> httpx2.Response:  # noqa: ANN401 -- JSON
        self.exported.clear()
        body, headers = {**ASKED, **more}, {"traceparent": CALLER}
        return httpx2.post(f"{self.url}{path}", json=body, headers=headers, timeout=60)

    def root(self) -> Any:  # noqa: ANN401 -- of an optional package
        """Return the span of the last request, which ends after the client has its answer."""
        until = monotonic() + 10
        while monotonic() < until:
            for span in self.exported.spans:
                if span.kind.name == "SERVER":
                    return span
            sleep(0.002)
        pytest.fail("the request has no span")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_a_proxied_request_is_the_tree_of_the_documentation(stack: ExitStack) -> None:
    running = Running(stack, Upstream([completion(WRONG)]))
    assert running.ask().json()["veridical"]["outcome"] == "flagged"
    root = running.root()
    tree = running.exported.tree(root)
    print(tree)  # noqa: T201 -- shown with `pytest -s`, and on failure
    assert f"```text\n{tree}\n```" in DOCS.read_text(encoding="utf-8")
    (seen,) = running.upstream.seen
    sent = running.exported.span("chat gpt-4.1-mini")
    assert seen["traceparent"] == f"{CALLER[:35]}-{sent.context.span_id:016x}-01"
    assert f"{root.parent.span_id:016x}" == CALLER.split("-")[2]


@pytest.mark.parametrize("on_failure", ["flag", "block"])
def test_a_stream_has_the_same_tree_whether_it_is_held_back_or_not(
    stack: ExitStack, on_failure: str
) -> None:
    running = Running(stack, Upstream([completion(WRONG), stream(WRONG)]))
    trees = []
    for streamed in (False, True):
        running.ask(stream=streamed, veridical={"on_failure": on_failure})
        trees.append(sorted(running.exported.tree(running.root()).splitlines()))
    assert trees[0] == trees[1]


def test_another_attempt_is_a_generation_with_an_evaluation_of_its_own(stack: ExitStack) -> None:
    answers = [completion(WRONG), completion(WRONG.replace("six", "eight"))]
    running = Running(stack, Upstream(answers))
    assert running.ask(veridical={"on_failure": "retry"}).status_code == 200
    exported = running.exported
    generations = [span for span in exported.spans if span.name.startswith("chat ")]
    assert [record.span_id for record in exported.records] == [
        span.context.span_id for span in generations
    ]
    labels = [record.attributes["gen_ai.evaluation.score.label"] for record in exported.records]  # type: ignore[index]
    assert labels == ["flagged", "grounded"]


@pytest.mark.parametrize("status", [429, 500])
def test_an_error_of_the_upstream_is_the_status_of_its_span(stack: ExitStack, status: int) -> None:
    running = Running(stack, Upstream([b'{"error": {}}'], status=status))
    assert running.ask().status_code == status
    sent = running.exported.span("chat gpt-4.1-mini")
    assert (sent.status.status_code.name, sent.attributes["error.type"]) == ("ERROR", str(status))
    root = running.root()
    assert (root.status.status_code.name == "ERROR") is (status == 500)


def test_an_upstream_that_breaks_off_is_an_error_of_its_span(stack: ExitStack) -> None:
    running = Running(stack, Upstream([[b'data: {"choices": []}\n\n', RuntimeError("broken")]]))
    assert "broke off" in running.ask(stream=True).text
    sent = running.exported.span("chat gpt-4.1-mini")
    assert sent.attributes["error.type"] == "upstream_broke_off"


def test_a_check_is_a_tree_and_probes_are_none(stack: ExitStack) -> None:
    running = Running(stack, Upstream([completion(WRONG)]))
    running.exported.clear()  # the start of the service asked its backend
    for path in ("/healthz", "/readyz", "/metrics"):
        httpx2.get(f"{running.url}{path}")
    assert not running.exported.spans
    body = {"answer": WRONG, "sources": {"S1": "It carries eight lanes."}}
    httpx2.post(f"{running.url}/v1/check", json=body, timeout=60)
    root = running.root()
    assert running.exported.trace(root) == list(running.exported.spans)
    lines = [line.strip() for line in running.exported.tree(root).splitlines()]
    assert lines[0] == "POST /v1/check [server]"
    assert "veridical.check [internal] → gen_ai.evaluation.result" in lines


def test_no_text_is_in_any_span_or_record(stack: ExitStack) -> None:
    running = Running(stack, Upstream([completion(WRONG), b"no json of lanes"]))
    for more in ({}, {}, {"model": "lanes of a bridge"}, {"veridical": {"on_failur": "lanes"}}):
        running.ask(**more)
        assert running.root()
        sent = [span.to_json() for span in running.exported.spans]
        sent += [str(record.attributes) for record in running.exported.records]
        assert not [one for one in sent if "lanes" in one or "bridge" in one]


def test_without_a_tracer_the_caller_s_own_trace_goes_on(stack: ExitStack) -> None:
    upstream = Upstream([completion(WRONG)])
    address = stack.enter_context(serving(upstream.app()))
    settings = Settings.load(proxy={"upstream_url": f"{address}/v1"}, threads=1)
    url = stack.enter_context(serving(create_app(settings)))
    headers = {"traceparent": CALLER, "tracestate": "a=b", "baggage": "user=mary"}
    httpx2.post(f"{url}/v1/chat/completions", json=ASKED, headers=headers, timeout=60)
    (seen,) = upstream.seen
    assert (seen["traceparent"], seen["tracestate"]) == (CALLER, "a=b")
    assert "baggage" not in seen
