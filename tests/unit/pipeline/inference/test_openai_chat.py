"""Against a server on loopback that answers in the shape of OpenAI's documentation."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, Self

import anyio
import pytest

from veridical.core.measurements import Estimate, Estimator, Query, Unmeasured, UnmeasuredReason
from veridical.core.ports import Backend, estimators_of
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference.capabilities import ServerCapabilities
from veridical.pipeline.inference.clients import tls
from veridical.pipeline.inference.openai_chat import NO_LOGPROBS, OpenAIChat, create
from veridical.pipeline.inference.prices import Usage, UsageBound
from veridical.pipeline.inference.probing import Probing
from veridical.pipeline.inference.sampling import wilson
from veridical.pipeline.inference.wrappers import wrap
from veridical.testing import check_backend

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Crowd = Any

QUERY = Query("The bridge was opened in 1998.", "The bridge was opened in 1998.")
SHARES = {"YES": 0.8, " no": 0.1, "UN": 0.05, "The": 0.05}


@dataclass
class Reply:
    """Reply of the server; `cut` bytes of the body are left out, `drop` closes the line."""

    body: Json | str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int = 0
    drop: bool = False


def completion(shares: dict[str, float] = SHARES) -> Json:
    """Return the example of the documentation, with other tokens."""
    top = [
        {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}
        for token, share in shares.items()
    ]
    return {
        "id": "chatcmpl-123",
        "object": "chat.completion",
        "created": 1702685778,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "YES", "refusal": None},
                "logprobs": {"content": [{**top[0], "top_logprobs": top}], "refusal": None},
                "finish_reason": "length",
            }
        ],
        "usage": {"prompt_tokens": 19, "completion_tokens": 1, "total_tokens": 20},
        "system_fingerprint": None,
    }


def said(text: str, reason: str = "stop") -> Json:
    """Return a reply without log-probabilities."""
    reply = completion()
    reply["choices"][0] |= {"logprobs": None, "finish_reason": reason}
    reply["choices"][0]["message"]["content"] = text
    return reply


def without_logprobs(
    word: Callable[[], str] = lambda: "YES", *, delay: float = 0.0
) -> Callable[[Json], Reply]:
    return lambda _: Reply(said(word()), delay=delay)


def refusal(message: str, param: str | None = None, status: int = 400) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return Reply({"error": error}, status)


class Server:
    """Chat endpoint that answers each request with `answer` of its body."""

    def __init__(self, answer: Callable[[Json], Reply]) -> None:
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                assert self.path == "/v1/chat/completions"
                with outer.counted():
                    try:
                        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                        outer.requests.append(request)
                        outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                        self._send(answer(request))
                    except (OSError, json.JSONDecodeError):  # the client has gone
                        self.close_connection = True

            def _send(self, reply: Reply) -> None:
                time.sleep(reply.delay)
                if reply.drop:
                    self.close_connection = True
                    return
                text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
                self.send_response(reply.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text.encode())))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode()[: len(text.encode()) - reply.cut])
                self.close_connection = self.close_connection or reply.cut > 0

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        yield
        with self._lock:
            self.at_once -= 1

    def __enter__(self) -> Self:
        threading.Thread(target=partial(self._http.serve_forever, 0.01), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(
    answer: Callable[[Json], Reply] = lambda _: Reply(completion()),
    **options: Any,  # noqa: ANN401
) -> Iterator[tuple[Server, OpenAIChat]]:
    with Server(answer) as server:
        yield server, create("m1", base_url=server.base_url, **options)


def one(backend: OpenAIChat, query: Query = QUERY) -> Estimate | Unmeasured:
    (measurement,) = anyio.run(backend.estimate, [query])
    return measurement


@pytest.mark.spec("SPEC-08.13")
def test_an_estimate_is_read_from_the_first_tokens_log_probabilities() -> None:
    with serving() as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert found.supported == pytest.approx(0.8 / 0.95)
    assert found.contradicted == pytest.approx(0.1 / 0.95)
    assert found.low <= found.supported <= found.high
    assert (found.estimator, found.model) == (Estimator.LOGPROBS, "m1")
    assert (found.tokens, found.cost_usd) == (20, None)
    assert found.fingerprint == backend.info.fingerprint
    assert found.latency_ms is not None
    assert found.latency_ms > 0


@pytest.mark.spec("SPEC-08.12")
@pytest.mark.spec("SPEC-16.33")
def test_one_token_at_temperature_zero_is_asked_for_and_the_context_comes_first() -> None:
    with serving(extra_body={"seed": 7}) as (server, backend):
        one(backend, Query("A claim.", "Evidence.", question="Why?"))
    (request,) = server.requests
    messages = request.pop("messages")
    assert request == {
        "model": "m1",
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
        "seed": 7,
    }
    assert [message["role"] for message in messages] == ["system", "user"]
    user = messages[1]["content"]
    assert user.index("Evidence.") < user.index("Why?") < user.index("A claim.")


@pytest.mark.spec("SPEC-08.28")
@pytest.mark.spec("SPEC-08.29")
def test_the_backend_keeps_the_promises_of_the_port() -> None:
    def answer(request: Json) -> Reply:
        text = request["messages"][1]["content"]
        if len(text) > 100_000:
            return refusal("This model's maximum context length is 8192 tokens.", "messages")
        yes = 0.9 if "1998" in text.split("Claim:")[1] else 0.2
        return Reply(completion({"YES": yes, "NO": 0.95 - yes}))

    with serving(answer) as (_, backend):
        assert isinstance(backend, Backend)
        assert isinstance(backend, Probing)
        anyio.run(check_backend, backend)


def test_measurements_come_in_the_order_of_the_queries() -> None:
    def answer(request: Json) -> Reply:
        number = int(request["messages"][1]["content"].split("number ")[1][:2])
        return Reply(
            completion({"YES": number / 100, "NO": 1 - number / 100}), delay=number % 3 / 50
        )

    queries = [Query(f"Claim number {i}.", f"Context {i % 4}.") for i in range(10, 40)]
    with serving(answer) as (_, backend):
        found = anyio.run(backend.estimate, queries)
    shares = [m.supported for m in found if isinstance(m, Estimate)]
    assert shares == pytest.approx([i / 100 for i in range(10, 40)])


def test_claims_on_one_context_are_asked_one_after_the_other() -> None:
    queries = [Query(f"Claim {i}.", f"Context {i % 3}.") for i in range(9)]
    with serving(concurrency=1) as (server, backend):
        anyio.run(backend.estimate, queries)
    contexts = [
        request["messages"][1]["content"].split("\nContext ")[1][0] for request in server.requests
    ]
    assert sorted(contexts) == sorted("000111222")
    assert sum(a != b for a, b in pairwise(contexts)) == 2


@pytest.mark.spec("SPEC-16.26")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_more_requests_run_at_once_than_allowed(concurrency: int) -> None:
    with serving(lambda _: Reply(completion(), delay=0.05), concurrency=concurrency) as (
        server,
        backend,
    ):
        anyio.run(backend.estimate, [QUERY] * 8)
    assert server.most_at_once == concurrency
    assert len(server.requests) == 8


FAULTS = {
    "asked to wait": (
        Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "7"}),
        Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", 7.0),
    ),
    "server error": (
        Reply({"error": {"message": "The bridge"}}, 500),
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 500"),
    ),
    "overloaded": (
        Reply("busy", 503, {"retry-after-ms": "1500"}),
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 503", 1.5),
    ),
    "wrong key": (
        Reply({"error": {"code": "invalid_api_key"}}, 401),
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 401"),
    ),
    "no such model": (
        Reply({"error": {"code": "model_not_found"}}, 404),
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 404"),
    ),
    "context too long": (
        refusal(
            "This model's maximum context length is 8192 tokens; reduce max_tokens.", "messages"
        ),
        Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "HTTP 400"),
    ),
    "body too large": (Reply("", 413), Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "HTTP 413")),
    "broken JSON": (
        Reply(json.dumps(completion())[:-40]),
        Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the reply is not JSON"),
    ),
    "body cut off": (
        Reply(completion(), cut=40),
        Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the reply broke off"),
    ),
    "a page": (
        Reply("<html>The bridge</html>", headers={"x": "y"}),
        Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "the reply is not JSON"),
    ),
    "line dropped": (
        Reply(drop=True),
        Unmeasured(UnmeasuredReason.BACKEND_ERROR, "no connection (APIConnectionError)"),
    ),
    "no answer": (
        Reply(completion({"The": 0.9, "YES": 0.1})),
        Unmeasured(
            UnmeasuredReason.MALFORMED_REPLY, "10% of the first token's probability is on an answer"
        ),
    ),
}


def plain(found: object) -> Unmeasured:
    """Return a failure without its usage."""
    assert isinstance(found, Unmeasured)
    return Unmeasured(found.reason, found.detail, found.retry_after_s)


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_value_and_the_rest_is_measured(fault: str) -> None:
    reply, expected = FAULTS[fault]

    def answer(request: Json) -> Reply:
        return reply if "broken" in request["messages"][1]["content"] else Reply(completion())

    queries = [QUERY, Query("The broken bridge.", "The bridge."), QUERY]
    with serving(answer) as (server, backend):
        first, failed, last = anyio.run(backend.estimate, queries)
    assert plain(failed) == expected
    assert isinstance(first, Estimate)
    assert isinstance(last, Estimate)
    assert len(server.requests) == 3, "the backend does not retry"


@pytest.mark.spec("SPEC-08.42")
def test_a_slow_reply_is_a_timeout() -> None:
    with serving(lambda _: Reply(completion(), delay=1.0), timeout_s=0.3) as (_, backend):
        found = one(backend)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.TIMEOUT


@pytest.mark.spec("SPEC-08.42")
def test_a_server_that_is_not_there_is_a_value() -> None:
    with Server(lambda _: Reply()) as server:
        url = server.base_url
    found = one(create("m1", base_url=url))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.BACKEND_ERROR
    assert "no connection" in found.detail


def test_without_log_probabilities_nothing_is_invented() -> None:
    with serving(lambda _: Reply(said("YES")), sampling=False) as (server, backend):
        assert plain(one(backend)) == NO_LOGPROBS
        assert plain(one(backend)) == NO_LOGPROBS
    assert len(server.requests) == 2, "a reply that lacks them may be a fault"
    assert estimators_of(backend) == {Estimator.LOGPROBS}


def test_a_cap_on_alternatives_is_found_and_remembered() -> None:
    def answer(request: Json) -> Reply:
        if request["top_logprobs"] > 5:
            return refusal("Invalid value for 'top_logprobs': must be at most 5.", "top_logprobs")
        return Reply(completion())

    with serving(answer) as (server, backend):
        assert isinstance(one(backend), Estimate)
        assert isinstance(one(backend), Estimate)
    assert [request["top_logprobs"] for request in server.requests] == [20, 5, 5]


def test_a_refusal_in_plain_text_is_understood() -> None:
    def answer(request: Json) -> Reply:
        if request["top_logprobs"] > 5:
            return Reply("logprobs: 5 at most", 422, {"content-type": "text/plain"})
        return Reply(completion())

    with serving(answer) as (_, backend):
        assert isinstance(one(backend), Estimate)


def test_arguments_of_newer_models_are_found_and_remembered() -> None:
    def answer(request: Json) -> Reply:
        if "max_tokens" in request:
            message = "'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            return refusal(f"Unsupported parameter: {message}", "max_tokens")
        if "temperature" in request:
            return refusal("Unsupported value: does not support 0.", "temperature")
        return Reply(completion())

    with serving(answer) as (server, backend):
        assert isinstance(one(backend), Estimate)
        assert isinstance(one(backend), Estimate)
    assert len(server.requests) == 4
    assert server.requests[-1]["max_completion_tokens"] == 1


def test_a_server_that_refuses_log_probabilities_is_not_asked_again() -> None:
    message = "You are not allowed to request logprobs from this model"
    with serving(lambda _: refusal(message, status=403), sampling=False) as (server, backend):
        assert plain(one(backend)) == NO_LOGPROBS
        asked = len(server.requests)
        assert plain(one(backend)) == NO_LOGPROBS
    assert len(server.requests) == asked == 2


PROBLEM = {
    "type": "extra_forbidden",
    "loc": ["body", "logprobs"],
    "msg": "Extra inputs are not permitted",
    "input": True,
}


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [PROBLEM]},
        {"object": "error", "message": {"detail": [PROBLEM]}, "param": None},
        {"error": {"message": {"detail": [PROBLEM]}}},
    ],
)
def test_a_list_of_problems_with_a_request_is_understood(body: Json) -> None:
    def answer(request: Json) -> Reply:
        return Reply(body, 422) if "logprobs" in request else Reply(said("NO"))

    with serving(answer) as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert found.estimator is Estimator.SAMPLING


def test_a_refusal_without_end_says_nothing() -> None:
    deep: Json = {"detail": "logprobs"}
    for _ in range(300):
        deep = {"detail": [deep]}
    with serving(lambda _: Reply(deep, 422)) as (_, backend):
        assert plain(one(backend)) == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 422")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "bad request", "input": "logprobs temperature"}},
        {"detail": [{"msg": "bad", "input": "logprobs max_completion_tokens temperature"}]},
        {"message": {"detail": [{"msg": "bad", "loc": ["body", 0], "input": {"msg": "logprobs"}}]}},
        "bad request: " + "x" * 300 + " logprobs",
    ],
)
def test_a_refusal_that_repeats_the_prompt_is_not_taken_for_one_of_arguments(
    body: Json | str,
) -> None:
    with serving(lambda _: Reply(body, 400)) as (server, backend):
        assert plain(one(backend)) == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 400")
    assert len(server.requests) == 1


def test_a_dialect_gives_way_step_by_step() -> None:
    dialect: ServerCapabilities | None = ServerCapabilities(20)
    seen = []
    while dialect is not None:
        seen.append(dialect)
        dialect = dialect.after("max_completion_tokens logprobs temperature")
    assert len(seen) == 5
    assert seen[-1].arguments() == {"max_completion_tokens": 16}


# --- without log-probabilities: samples ------------------------------------------------------


@pytest.mark.spec("SPEC-08.14")
@pytest.mark.parametrize("how", ["refused", "left out"])
def test_without_log_probabilities_answers_are_counted(how: str) -> None:
    words = iter(["YES", "yes.", "NO", "**Unsure**"] + ["YES"] * 20)

    def answer(request: Json) -> Reply:
        if "logprobs" in request:
            return refusal("no logprobs", "logprobs") if how == "refused" else Reply(said("YES"))
        return Reply(said(next(words)))

    with serving(answer) as (server, backend):
        found = one(backend)
        asked = len(server.requests)
        one(backend, Query("Another claim.", "Evidence."))
        later = len(server.requests)
        one(backend, Query("A third claim.", "Evidence."))
    assert isinstance(found, Estimate)
    assert (found.samples, found.estimator) == (10, Estimator.SAMPLING)
    assert (found.supported, found.contradicted, found.not_in_context) == (0.8, 0.1, 0.1)
    assert (found.low, found.high) == wilson(8, 10)
    assert (backend.info.estimator, found.fingerprint) == (
        Estimator.LOGPROBS,
        backend.info.fingerprint,
    )
    assert estimators_of(backend) == {Estimator.LOGPROBS, Estimator.SAMPLING}
    again = ["logprobs" in request for request in server.requests[asked:later]]
    assert again.count(True) == (0 if how == "refused" else 1)
    assert not any("logprobs" in request for request in server.requests[later:])


@pytest.mark.spec("SPEC-08.14")
def test_a_sample_is_asked_for_like_a_measurement_but_with_chance_and_room() -> None:
    body = {"seed": 7, "temperature": 0, "top_p": 0.9}
    with serving(without_logprobs(), extra_body=body) as (server, backend):
        one(backend, Query("A claim.", "Evidence."))
    first, *samples = server.requests
    assert {request["messages"][1]["content"] for request in samples} == {
        first["messages"][1]["content"]
    }
    assert {(r["max_tokens"], r["temperature"], r["top_p"]) for r in samples} == {(16, 1, 0.9)}
    assert sorted(request["seed"] for request in samples) == list(range(7, 7 + len(samples)))


@pytest.mark.parametrize(("word", "samples"), [("NO", 3), ("UNSURE", 3), ("YES", 9)])
def test_sampling_ends_once_a_claim_is_decided(word: str, samples: int) -> None:
    with serving(without_logprobs(lambda: word)) as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert found.samples == samples


def test_the_plan_of_sampling_is_configurable() -> None:
    with serving(without_logprobs(), samples_min=2, samples_max=2, threshold=0.3) as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert found.samples == 2
    assert backend.info.support_threshold == 0.3


def test_tokens_and_cost_are_those_of_all_requests() -> None:
    # 19 tokens in, 1 out: those of the reply that had no log-probabilities, and of three samples.
    price = {"price": lambda usage: usage.input_tokens / 100}
    with serving(without_logprobs(lambda: "NO"), **price) as (server, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert len(server.requests) == 4
    assert found.tokens == 80
    assert found.cost_usd == pytest.approx(0.76)


def test_what_was_refused_costs_nothing_and_usage_that_is_not_given_is_unknown() -> None:
    def answer(request: Json) -> Reply:
        if "logprobs" in request:
            return refusal("no logprobs", "logprobs")
        return Reply(said("NO"))

    def price(usage: Usage) -> float:
        return float(usage.output_tokens)

    with serving(answer, price=price) as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert (found.tokens, found.cost_usd) == (60, 3.0)
    silent = said("NO")
    del silent["usage"]
    with serving(lambda _: Reply(silent), price=price) as (_, backend):
        found = one(backend)
    assert isinstance(found, Estimate)
    assert (found.tokens, found.cost_usd) == (None, None)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_samples_are_asked_for_at_once_than_allowed(concurrency: int) -> None:
    answer = without_logprobs(delay=0.02)
    with serving(answer, concurrency=concurrency) as (server, backend):
        found = anyio.run(backend.estimate, [Query(f"Claim {i}.", "Evidence.") for i in range(4)])
    assert server.most_at_once == concurrency
    assert [m.samples for m in found if isinstance(m, Estimate)] == [9] * 4


def test_a_model_that_thinks_first_is_given_room_to() -> None:
    def answer(request: Json) -> Reply:
        if "logprobs" in request:
            return refusal("'logprobs' is not supported with this model.", "logprobs")
        if request["max_tokens"] < 100:
            return Reply(said("", "length"))
        return Reply(said("<think>Is it? YES or NO?</think>\n\nNO"))

    with serving(answer) as (server, backend):
        found = one(backend)
        one(backend)
    assert isinstance(found, Estimate)
    assert (found.contradicted, found.samples) == (1.0, 3)
    sampled = [request["max_tokens"] for request in server.requests if "logprobs" not in request]
    assert sampled == [16] + [8_000] * 6


def test_the_most_that_a_claim_may_take_is_certain_once_one_was_answered() -> None:
    def answer(request: Json) -> Reply:
        if "logprobs" in request:
            return Reply(said("", "length"))
        if request["max_tokens"] < 100:
            return Reply(said("", "length"))
        return Reply(said(next(words)))

    words = iter(["YES", "YES", "NO"] * 9)
    with serving(answer, samples_max=9, threshold=0.6) as (server, backend):
        assert backend.most == UsageBound(11, 16, certain=False)
        one(backend)
    assert backend.most == UsageBound(11, 8_000)
    assert len(server.requests) == 11


@pytest.mark.parametrize(
    ("sampling", "most"),
    [(True, UsageBound(12, 16)), (False, UsageBound())],
    ids=["sampling", "none"],
)
def test_any_reply_may_lack_log_probabilities_and_samples_follow(
    sampling: bool, most: UsageBound
) -> None:
    with serving(sampling=sampling) as (_, backend):
        one(backend)
    assert backend.most == most


def test_a_refusal_for_want_of_room_is_understood() -> None:
    def answer(request: Json) -> Reply:
        if request["max_tokens"] < 100:
            return refusal("Could not finish: max_tokens or model output limit was reached.")
        return Reply(said("NO"))

    with serving(answer) as (server, backend):
        assert isinstance(one(backend), Estimate)
    assert [request["max_tokens"] for request in server.requests] == [1] + [8_000] * 3


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.parametrize("text", ["", "I cannot say.", "No information is given.", "maybe"])
def test_replies_that_are_no_answer_are_a_malformed_reply(text: str) -> None:
    with serving(without_logprobs(lambda: text)) as (_, backend):
        found = one(backend)
    detail = "the reply does not begin with an answer"
    assert plain(found) == Unmeasured(UnmeasuredReason.MALFORMED_REPLY, detail)


@pytest.mark.spec("SPEC-08.42")
def test_a_server_that_fails_while_samples_are_taken_is_asked_no_more() -> None:
    def answer(request: Json) -> Reply:
        if "logprobs" in request:
            return Reply(said("YES"))
        return Reply({"error": {"message": "slow down"}}, 429, {"retry-after": "3"})

    with serving(answer) as (server, backend):
        found = one(backend)
    assert plain(found) == Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", 3.0)
    assert len(server.requests) == 2


def test_a_server_that_leaves_log_probabilities_out_once_is_asked_for_them_again() -> None:
    replies = iter([Reply(completion()), Reply(said("NO")), *[Reply(said("NO"))] * 3])
    with serving(lambda _: next(replies, Reply(completion()))) as (_, backend):
        found = [one(backend) for _ in range(3)]
    assert [m.estimator for m in found if isinstance(m, Estimate)] == [
        Estimator.LOGPROBS,
        Estimator.SAMPLING,
        Estimator.LOGPROBS,
    ]


@pytest.mark.parametrize(
    ("first", "estimators"),
    [
        ("L", "L L L L"),
        ("-", "S L L L"),  # one reply alone may lack them by a fault
        ("- -", "S S S S"),
        ("- broken -", "S none S S"),
        ("- L - -", "S L S S L"),
    ],
)
def test_two_replies_in_a_row_without_log_probabilities_end_the_asking_for_them(
    first: str, estimators: str
) -> None:
    script = iter(first.split())
    names = {"S": Estimator.SAMPLING, "L": Estimator.LOGPROBS, "none": None}
    expected = [names[name] for name in estimators.split()]

    def answer(request: Json) -> Reply:
        if "logprobs" not in request:
            return Reply(said("NO"))
        how = next(script, "L")
        return {"L": Reply(completion()), "-": Reply(said("NO"))}.get(how, Reply("{"))

    with serving(answer) as (_, backend):
        found = [one(backend) for _ in expected]
    assert [m.estimator if isinstance(m, Estimate) else None for m in found] == expected


@pytest.mark.parametrize("wrapped", [{"requests_per_minute": 1000}, {"deadline_s": 60.0}])
def test_calls_side_by_side_share_the_room_for_requests(wrapped: Json, crowd: Crowd) -> None:
    answer = partial(crowd.joined, partial(Reply, completion()))
    with serving(lambda _: answer(), concurrency=2) as (_, backend):
        queries = [Query(f"Claim {i}.", "Evidence.") for i in range(8)]
        found = anyio.run(wrap(backend, **wrapped).estimate, queries)
    assert all(isinstance(m, Estimate) for m in found)
    assert crowd.most == 2


@pytest.mark.spec("SPEC-08.28")
def test_a_backend_that_samples_keeps_the_promises_of_the_port() -> None:
    def answer(request: Json) -> Reply:
        text = request["messages"][1]["content"]
        if len(text) > 100_000:
            return refusal("This model's maximum context length is 8192 tokens.", "messages")
        return Reply(said("YES" if "1998" in text.split("Claim:")[1] else "NO"))

    with serving(answer) as (_, backend):
        anyio.run(check_backend, backend)


def test_cancelling_ends_the_requests() -> None:
    async def hurried(backend: OpenAIChat) -> bool:
        with anyio.move_on_after(0.2) as scope:
            await backend.estimate([QUERY] * 20)
        return scope.cancelled_caught

    with serving(lambda _: Reply(completion(), delay=1.0)) as (server, backend):
        assert anyio.run(hurried, backend)
    assert len(server.requests) <= 8


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_key_of_the_environment_is_not_sent_to_another_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving() as (server, backend):
        one(backend)
        one(create("m1", base_url=server.base_url, api_key="sk-given"))
    assert [h["authorization"] for h in server.headers] == ["Bearer none", "Bearer sk-given"]


def test_without_an_address_the_sdk_takes_address_and_key_from_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Server(lambda _: Reply(completion())) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        backend = create("m1")
        assert isinstance(one(backend), Estimate)
        assert backend.info.fingerprint == create("m1", base_url=server.base_url).info.fingerprint
    assert server.headers[0]["authorization"] == "Bearer sk-secret"


@pytest.mark.usefixtures("no_key")
def test_no_key_and_no_address_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        create("gpt-4o-mini")


@pytest.mark.parametrize("model", [None, ""])
def test_no_model_is_a_configuration_error_that_says_how_to_name_one(model: str | None) -> None:
    with pytest.raises(ConfigurationError, match="openai:MODEL"):
        create(model, base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    "option",
    [{"concurrency": 0}, {"timeout_s": 0.0}, {"timeout_s": math.nan}, {"top_logprobs": -1}],
)
def test_an_impossible_option_is_a_configuration_error(option: Json) -> None:
    (name,) = option
    with pytest.raises(ConfigurationError, match=name):
        create("m1", base_url="http://127.0.0.1:1/v1", **option)


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8080", "ftp://x:secret@y", "", "http:", "http://h:secret/v1"],
)
def test_what_is_no_address_is_a_configuration_error_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        create("m1", base_url=url)
    assert "secret" not in str(caught.value)


def test_a_missing_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"veridical\[openai\]"):
        create("m1", base_url="http://127.0.0.1:1/v1")


def test_the_fingerprint_depends_on_what_decides_the_estimate() -> None:
    url = "http://127.0.0.1:1/v1"
    prints = {
        create("m1", base_url=url).info.fingerprint,
        create("m2", base_url=url).info.fingerprint,
        create("m1", base_url="http://127.0.0.1:2/v1").info.fingerprint,
        create("m1", base_url=url, top_logprobs=5).info.fingerprint,
        create("m1", base_url=url, extra_body={"seed": 7}).info.fingerprint,
        create("m1", base_url=url, samples_max=20).info.fingerprint,
        create("m1", base_url=url, sampling=False).info.fingerprint,
    }
    assert len(prints) == 7
    same = create("m1", base_url=url, api_key="k", concurrency=1, timeout_s=1.0)
    assert same.info.fingerprint in prints


@pytest.mark.parametrize(
    ("reply", "ok", "logprobs", "says"),
    [
        (Reply(completion()), True, True, "answers with log-probabilities"),
        (Reply(said("YES")), True, False, "without log-probabilities; 3 to 10 samples a claim"),
        (Reply(said("Sure!")), False, False, "no sample: malformed_reply"),
        (refusal("logprobs are not supported", "logprobs"), False, False, "no sample"),
        (Reply(completion({"<think>": 1.0})), True, True, "0% of the first token"),
        (Reply("", 401), False, None, "backend_error: HTTP 401"),
        (Reply(drop=True), False, None, "no connection"),
    ],
)
def test_a_probe_says_whether_the_endpoint_is_usable(
    reply: Reply, ok: bool, logprobs: bool | None, says: str
) -> None:
    with serving(lambda _: reply) as (_, backend):
        probe = anyio.run(backend.probe)
    assert (probe.ok, probe.logprobs) == (ok, logprobs)
    assert says in probe.detail


def test_a_probe_of_an_endpoint_that_can_measure_nothing_says_so() -> None:
    with serving(lambda _: Reply(said("YES")), sampling=False) as (_, backend):
        probe = anyio.run(backend.probe)
    assert (probe.ok, probe.logprobs) == (False, False)
    assert "sampling is off" in probe.detail


def test_certificates_are_read_once() -> None:
    assert tls("httpx2") is tls("httpx2")
    assert tls("httpx") is tls("httpx")
