"""Both decision backends against a server on loopback that answers in the documented shapes."""

from __future__ import annotations

import hashlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Estimate, Estimator, Measurement, Query, Unmeasured
from veridical.core.measurements import UnmeasuredReason as Reason
from veridical.core.ports import Backend, claims_per_request_of
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference import openai_decisions, systemone
from veridical.pipeline.inference.decision_replies import usage_of
from veridical.pipeline.inference.option_scores import (
    OPTIONS,
    instructions_for,
    name_for,
    state_for,
)
from veridical.pipeline.inference.prices import Price, Usage
from veridical.pipeline.inference.probing import Probing
from veridical.pipeline.inference.wrappers import wrap
from veridical.testing import check_backend

Crowd = Any
SYSTEMONE, OPENAI = "systemone", "openai-decisions"
BRIDGE = "The bridge was opened in 1998."
TOWER = "The tower is of steel."
CONTEXT = "A secret context: the bridge was opened in 1998."
SHARES = {"supported": 0.7, "contradicted": 0.1, "not_stated": 0.15, "none": 0.05}

pytestmark = [pytest.mark.slow, pytest.mark.spec("SPEC-08.29")]


@dataclass
class Asked:
    """Request in neither format: the names of the questions with their texts."""

    state: str
    questions: dict[str, str]
    raw: dict[str, Any]
    headers: dict[str, str]


@dataclass
class Answered:
    """A reply in neither format; None for an answer leaves it out, a string is its type."""

    answers: dict[str, dict[str, Any] | str | None]
    usage: object = field(default_factory=lambda: {"input_tokens": 100, "output_tokens": 3})
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: object = None


def answered(asked: Asked) -> Answered:
    """Decide by the question alone, as the formats promise."""
    return Answered({name: _decided(asked.state + text) for name, text in asked.questions.items()})


def _decided(text: str) -> dict[str, float]:
    digest = hashlib.sha256(text.encode()).digest()
    masses = {name: 1 + digest[i] for i, name in enumerate(OPTIONS)}
    return {name: mass / sum(masses.values()) for name, mass in masses.items()}


class Server:
    """Server of both formats; `answer` decides, `asked` records, `most` is the peak concurrency."""

    def __init__(self) -> None:
        self.answer: Callable[[Asked], Answered] = answered
        self.asked: list[Asked] = []
        self.at_once = self.most = 0
        self.paths: set[str] = set()
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler) -> None:  # noqa: N805 -- `self` is the server
                raw = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in handler.headers.items()}
                asked = _asked(handler.path, raw, headers)
                with lock:
                    self.paths.add(handler.path)
                    self.asked.append(asked)
                    self.at_once += 1
                    self.most = max(self.most, self.at_once)
                try:
                    answer = self.answer(asked)
                    body = _body(handler.path, answer) if answer.body is None else answer.body
                    handler.reply(answer, body)
                except (ConnectionError, TimeoutError):
                    handler.close_connection = True
                finally:
                    with lock:
                        self.at_once -= 1

            def reply(handler, answer: Answered, body: object) -> None:  # noqa: N805
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                handler.send_response(answer.status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
                for name, value in (headers | answer.headers).items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(data)

            def log_message(handler, *_: object) -> None:  # noqa: N805
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _asked(path: str, raw: dict[str, Any], headers: dict[str, str]) -> Asked:
    if path.endswith("systemone"):
        texts = {name: q["instructions"] for name, q in raw["questions"].items()}
        return Asked(raw["state"], texts, raw, headers)
    texts = {question["name"]: question["instructions"] for question in raw["questions"]}
    return Asked(raw["input"], texts, raw, headers)


def _body(path: str, answer: Answered) -> dict[str, Any]:
    if path.endswith("systemone"):
        answers = {n: _system_one(a) for n, a in answer.answers.items() if a is not None}
        return {"model": "jev-1.13.0", "answers": answers, "usage": answer.usage}
    listed = [_openai(name, a) for name, a in answer.answers.items() if a is not None]
    return {"model": "gpt-6-luna-2026", "answers": listed, "usage": answer.usage}


def _system_one(answer: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"type": answer, "noul": 0.5}
    best = max(answer, key=lambda name: _number(answer[name]))
    return {"type": "choice", "choice": best, "probabilities": answer, "confidence": 0.5}


def _openai(name: str, answer: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"name": name, "type": answer}
    best = max(answer, key=lambda option: _number(answer[option]))
    probabilities = [{"value": value, "probability": p} for value, p in answer.items()]
    return {
        "name": name,
        "type": "choice",
        "choice": best,
        "confidence": 0.5,
        "probabilities": probabilities,
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(params=[SYSTEMONE, OPENAI])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def made(kind: str, server: Server | str, **options: Any) -> Backend:  # noqa: ANN401 -- typed by the backends
    url = server if isinstance(server, str) else server.url
    if kind == SYSTEMONE:
        return systemone.create(base_url=url, **options)
    return openai_decisions.create(base_url=url + "/v1", **options)


def estimated(backend: Backend, queries: list[Query]) -> list[Measurement]:
    async def run() -> list[Measurement]:
        return list(await backend.estimate(queries))

    return anyio.run(run)


def reasons(measurements: list[Measurement]) -> list[Reason | None]:
    return [m.reason if isinstance(m, Unmeasured) else None for m in measurements]


@pytest.mark.spec("SPEC-08.28")
def test_a_decision_backend_keeps_the_promises_of_the_port(kind: str, server: Server) -> None:
    backend = made(kind, server)
    assert isinstance(backend, Backend)
    assert isinstance(backend, Probing)
    anyio.run(check_backend, backend)


def test_a_server_that_cannot_read_so_much_still_lets_the_promises_be_kept(
    kind: str, server: Server
) -> None:
    def short(asked: Asked) -> Answered:
        if len(asked.state) > 100_000:
            return Answered({}, status=413, body={"detail": "too large"})
        return answered(asked)

    server.answer = short
    anyio.run(check_backend, made(kind, server))


def test_the_claims_of_one_context_share_a_request_in_the_documented_shape(
    server: Server,
) -> None:
    claims = [Query(BRIDGE, CONTEXT), Query(TOWER, CONTEXT, "Of what is it?")]
    estimated(made(SYSTEMONE, server, model="jev-1.13"), claims)
    (asked,) = server.asked
    assert server.paths == {"/v1/systemone"}
    assert asked.raw.keys() == {"model", "state", "questions"}
    assert asked.raw["model"] == "jev-1.13"
    assert asked.raw["state"] == state_for(CONTEXT)
    assert asked.raw["questions"].keys() == {name_for(query) for query in claims}
    for query in claims:
        question = asked.raw["questions"][name_for(query)]
        assert question == {
            "type": "choice",
            "instructions": instructions_for(query),
            "criteria": OPTIONS,
        }


def test_openai_is_asked_the_same_in_its_own_shape(server: Server) -> None:
    claims = [Query(BRIDGE, CONTEXT), Query(TOWER, CONTEXT, "Of what is it?")]
    estimated(made(OPENAI, server), claims)
    (asked,) = server.asked
    assert server.paths == {"/v1/decisions"}
    assert asked.raw.keys() == {"model", "input", "questions"}
    assert asked.raw["model"] == "gpt-6-luna"
    assert asked.raw["input"] == state_for(CONTEXT)
    by_name = {question["name"]: question for question in asked.raw["questions"]}
    for query in claims:
        question = by_name[name_for(query)]
        assert question.keys() == {"type", "name", "instructions", "choices"}
        assert question["type"] == "choice"
        assert {c["value"]: c["description"] for c in question["choices"]} == OPTIONS


def test_contexts_and_limits_divide_requests(kind: str, server: Server) -> None:
    queries = [Query(f"Claim {i}.", "one") for i in range(5)] + [Query(BRIDGE, "two")]
    assert reasons(estimated(made(kind, server, claims_per_request=2), queries)) == [None] * 6
    assert sorted(len(asked.questions) for asked in server.asked) == [1, 1, 2, 2]


@pytest.mark.parametrize("wrapped", [{"requests_per_minute": 1000}, {"deadline_s": 60.0}])
def test_in_wrappers_claims_of_one_context_share_a_request_too(
    kind: str, server: Server, wrapped: dict[str, Any]
) -> None:
    queries = [Query(f"Claim {i}.", f"Context {i % 2}.") for i in range(10)]
    plain = estimated(made(kind, server, claims_per_request=3), queries)
    asked, server.asked = server.asked, []
    backend = made(kind, server, claims_per_request=3)
    assert claims_per_request_of(backend) == 3
    found = estimated(wrap(backend, **wrapped, batch=claims_per_request_of(backend)), queries)
    assert sorted(len(one.questions) for one in server.asked) == [2, 2, 3, 3]
    assert len(asked) == len(server.asked)
    assert [m.supported for m in found if isinstance(m, Estimate)] == [
        m.supported for m in plain if isinstance(m, Estimate)
    ]


def test_a_request_counts_once_against_the_limit(kind: str, server: Server) -> None:
    """Two contexts are two requests; the third that there would be is refused."""
    backend = made(kind, server)
    limits = {"requests_per_minute": 2, "max_wait_s": 0.0, "batch": claims_per_request_of(backend)}
    queries = [Query(f"Claim {i}.", f"Context {i % 3}.") for i in range(30)]
    found = estimated(wrap(backend, **limits), queries)
    assert len(server.asked) == 2
    assert reasons(found).count(None) == 20
    assert reasons(found).count(Reason.RATE_LIMITED) == 10


def test_calls_side_by_side_share_the_room_for_requests(
    kind: str, server: Server, crowd: Crowd
) -> None:
    server.answer = lambda asked: crowd.joined(lambda: answered(asked))
    backend = wrap(made(kind, server, concurrency=2), deadline_s=60.0)
    found = estimated(backend, [Query(f"Claim {i}.", "A context.") for i in range(8)])
    assert reasons(found) == [None] * 8
    assert crowd.most == 2


def test_an_estimate_says_what_the_reply_says(kind: str, server: Server) -> None:
    server.answer = lambda asked: Answered(dict.fromkeys(asked.questions, SHARES))
    backend = made(kind, server)
    (estimate,) = estimated(backend, [Query(BRIDGE, CONTEXT)])
    assert isinstance(estimate, Estimate)
    assert estimate.supported == pytest.approx(0.7 / 0.95)
    assert estimate.contradicted == pytest.approx(0.1 / 0.95)
    assert estimate.not_in_context == pytest.approx(0.15 / 0.95)
    assert (estimate.low, estimate.high) == (pytest.approx(0.7), pytest.approx(0.75))
    assert estimate.estimator is Estimator.DECISION
    assert estimate.model == ("jev-1.13.0" if kind == SYSTEMONE else "gpt-6-luna-2026")
    assert estimate.fingerprint == backend.info.fingerprint
    assert estimate.latency_ms is not None
    assert estimate.latency_ms > 0
    assert estimate.tokens == 103


def test_a_claim_that_the_reply_misses_costs_only_itself_the_measurement(
    kind: str, server: Server
) -> None:
    queries = [Query(f"Claim {i}.", CONTEXT) for i in range(5)]
    odd: list[Any] = [None, "score", {"supported": 1.0}, SHARES, SHARES]
    by_name = {name_for(query): answer for query, answer in zip(queries, odd, strict=True)}
    server.answer = lambda asked: Answered({name: by_name[name] for name in asked.questions})
    measured = estimated(made(kind, server), queries)
    assert reasons(measured) == [Reason.MALFORMED_REPLY] * 3 + [None] * 2
    tokens = [m.tokens for m in measured if isinstance(m, Estimate)]
    assert sorted(tokens, key=str) == [51, 52]  # those measured share the 103 of the request


def test_a_refusal_costs_only_its_claim_the_measurement(server: Server) -> None:
    queries = [Query(BRIDGE, CONTEXT), Query(TOWER, CONTEXT)]
    refused = name_for(queries[0])
    server.answer = lambda asked: Answered(
        {name: "refusal" if name == refused else SHARES for name in asked.questions}
    )
    first, second = estimated(made(OPENAI, server), queries)
    assert isinstance(second, Estimate)
    assert first == Unmeasured(Reason.MALFORMED_REPLY, "the model refused to answer")


def test_unnamed_answers_are_told_apart_by_their_order(server: Server) -> None:
    queries = [Query("Claim.", CONTEXT), Query("A longer claim.", CONTEXT)]

    def unnamed(asked: Asked) -> Answered:
        body = _body("decisions", answered(asked))
        for answer in body["answers"]:
            answer["name"] = None
        return Answered({}, body=body)

    named = estimated(made(OPENAI, server), queries)
    server.answer = unnamed
    for first, second in zip(named, estimated(made(OPENAI, server), queries), strict=True):
        assert isinstance(first, Estimate)
        assert isinstance(second, Estimate)
        assert first.supported == second.supported


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": 9}, {"input_tokens": 9.0, "output_tokens": 1.0}, [9]]
)
def test_unknown_usage_stays_unknown(kind: str, server: Server, usage: object) -> None:
    server.answer = lambda asked: Answered(dict.fromkeys(asked.questions, SHARES), usage=usage)
    (estimate,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert isinstance(estimate, Estimate)
    assert (estimate.tokens, estimate.cost_usd) == (None, None)


def test_a_cost_that_the_service_does_not_state_follows_from_its_usage(
    kind: str, server: Server
) -> None:
    details = {"cached_tokens": 50, "cache_write_tokens": 20}
    usage = {"input_tokens": 100, "input_tokens_details": details, "output_tokens": 10}
    server.answer = lambda asked: Answered(dict.fromkeys(asked.questions, SHARES), usage=usage)
    price = Price(2.0, 8.0, cached_input=1.0, cache_write=4.0)
    queries = [Query(BRIDGE, CONTEXT), Query(TOWER, CONTEXT)]
    for estimate in estimated(made(kind, server, price=price.cost_usd), queries):
        assert isinstance(estimate, Estimate)
        assert estimate.cost_usd == pytest.approx((30 * 2 + 50 + 20 * 4 + 10 * 8) / 2e6)
        assert estimate.tokens == 55


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        (None, Usage(100, 10)),
        ([5], Usage(100, 10)),
        ({"cached_tokens": 500, "cache_write_tokens": 5}, Usage(0, 10, 100, 0)),
        ({"cached_tokens": "5", "cache_write_tokens": -1}, Usage(100, 10)),
    ],
)
def test_details_of_usage_that_make_no_sense_are_passed_over(details: object, usage: Usage) -> None:
    raw = {"input_tokens": 100, "output_tokens": 10, "input_tokens_details": details}
    assert usage_of(raw) == usage


def test_a_cost_that_a_gateway_states_is_split_over_the_claims(kind: str, server: Server) -> None:
    usage = {"input_tokens": 10, "output_tokens": 0, "cost": 0.003}
    server.answer = lambda asked: Answered(dict.fromkeys(asked.questions, SHARES), usage=usage)
    queries = [Query(BRIDGE, CONTEXT), Query(TOWER, CONTEXT), Query(BRIDGE, CONTEXT)]
    for estimate in estimated(made(kind, server, price=lambda _: 9.0), queries):
        assert isinstance(estimate, Estimate)
        assert estimate.cost_usd == pytest.approx(0.001)
    assert [len(asked.questions) for asked in server.asked] == [2]


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, Reason.BACKEND_ERROR),
        (401, Reason.BACKEND_ERROR),
        (408, Reason.TIMEOUT),
        (413, Reason.CONTEXT_TOO_LONG),
        (422, Reason.BACKEND_ERROR),
        (500, Reason.BACKEND_ERROR),
        (529, Reason.BACKEND_ERROR),
    ],
)
def test_a_status_that_is_no_success_is_a_value(
    kind: str, server: Server, status: int, reason: Reason
) -> None:
    secret = {"detail": {"error_type": "api_usage_error", "message": CONTEXT}}
    server.answer = lambda _: Answered({}, status=status, body=secret)
    (measured,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert measured == Unmeasured(reason, f"HTTP {status}")
    assert len(server.asked) == 1  # trying again is not a backend's business


@pytest.mark.spec("SPEC-08.42")
def test_a_rate_limit_says_how_long_to_wait(kind: str, server: Server) -> None:
    server.answer = lambda _: Answered({}, status=429, headers={"Retry-After": "7"}, body={})
    (measured,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert measured == Unmeasured(Reason.RATE_LIMITED, "HTTP 429", 7.0)
    assert len(server.asked) == 1


def test_a_failure_that_a_gateway_passes_on_is_one(kind: str, server: Server) -> None:
    error = {"error": {"code": 429, "message": CONTEXT}}
    server.answer = lambda _: Answered({}, body=error)
    (measured,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert measured == Unmeasured(Reason.RATE_LIMITED, "HTTP 429")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[" * 5000,
        b'{"answers": {',
        b"[]",
        b"{}",
        b'{"answers": null}',
        b'{"answers": 3}',
        b'{"answers": {}}',
        b'{"answers": []}',
        b'{"answers": [3, null]}',
        b"\xff\xfe",
    ],
)
def test_a_reply_of_another_shape_is_malformed(kind: str, server: Server, body: bytes) -> None:
    server.answer = lambda _: Answered({}, body=body)
    (measured,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert reasons([measured]) == [Reason.MALFORMED_REPLY]


def test_a_reply_that_breaks_off_is_malformed(kind: str, server: Server) -> None:
    cut = {"Content-Length": "500", "Connection": "close"}
    server.answer = lambda _: Answered({}, headers=cut, body=b'{"answers": {')
    (measured,) = estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    assert reasons([measured]) == [Reason.MALFORMED_REPLY]


@pytest.mark.spec("SPEC-08.42")
def test_a_request_that_takes_too_long_is_a_value_and_the_rest_is_measured(
    kind: str, server: Server
) -> None:
    release = threading.Event()

    def slow(asked: Asked) -> Answered:
        if "slow" in asked.state:
            release.wait(20)
        return answered(asked)

    server.answer = slow
    queries = [Query(BRIDGE, "slow"), Query(BRIDGE, CONTEXT)]
    measured = estimated(made(kind, server, timeout_s=2.0), queries)
    release.set()
    assert reasons(measured) == [Reason.TIMEOUT, None]


def test_estimating_can_be_cancelled(kind: str, server: Server) -> None:
    release = threading.Event()

    def slow(asked: Asked) -> Answered:
        release.wait(20)
        return answered(asked)

    server.answer = slow

    async def run() -> bool:
        with anyio.move_on_after(0.5) as scope:
            await made(kind, server).estimate([Query(BRIDGE, CONTEXT)])
        return scope.cancelled_caught

    assert anyio.run(run)
    release.set()


def test_a_server_that_is_not_there_is_a_value(kind: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    (measured,) = estimated(made(kind, url), [Query(BRIDGE, CONTEXT)])
    assert reasons([measured]) == [Reason.BACKEND_ERROR]


def test_no_more_requests_run_at_once_than_allowed(kind: str, server: Server) -> None:
    def slow(asked: Asked) -> Answered:
        time.sleep(0.02)
        return answered(asked)

    server.answer = slow
    queries = [Query(BRIDGE, f"context {i}") for i in range(10)]
    assert reasons(estimated(made(kind, server, concurrency=2), queries)) == [None] * 10
    assert server.most == 2


def test_a_request_that_is_too_long_is_halved(kind: str, server: Server) -> None:
    def narrow(asked: Asked) -> Answered:
        if sum(map(len, asked.questions.values())) > 700:
            code = {"error": {"code": "context_length_exceeded", "message": "context length"}}
            return Answered({}, status=400, body=code)
        return answered(asked)

    server.answer = narrow
    claims = [Query(f"Claim {i}.", CONTEXT) for i in range(16)]
    measured = estimated(made(kind, server), [*claims, Query("long " * 200, CONTEXT)])
    assert reasons(measured) == [None] * 16 + [Reason.CONTEXT_TOO_LONG]


def test_a_context_that_is_too_long_is_not_tried_with_every_claim(
    kind: str, server: Server
) -> None:
    server.answer = lambda _: Answered({}, status=413, body={})
    claims = [Query(f"Claim {i}.", CONTEXT) for i in range(64)]
    assert set(reasons(estimated(made(kind, server), claims))) == {Reason.CONTEXT_TOO_LONG}
    assert len(server.asked) == 7  # 64, 32, ... 1


def test_jevs_word_for_too_long_is_understood(server: Server) -> None:
    detail = {"detail": {"error_type": "max_tokens_exceeded", "message": None}}
    server.answer = lambda _: Answered({}, status=400, body=detail)
    measured = estimated(made(SYSTEMONE, server), [Query(BRIDGE, CONTEXT)])
    assert reasons(measured) == [Reason.CONTEXT_TOO_LONG]


def test_a_lone_surrogate_costs_nobody_a_measurement(kind: str, server: Server) -> None:
    queries = [Query("claim \ud800", CONTEXT), Query(BRIDGE, CONTEXT)]
    assert reasons(estimated(made(kind, server), queries)) == [None, None]


def test_a_key_is_sent_only_if_it_is_given(
    kind: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-another-service")
    estimated(made(kind, server), [Query(BRIDGE, CONTEXT)])
    estimated(made(kind, server, api_key="sk-mine"), [Query(BRIDGE, CONTEXT)])
    without, with_key = (asked.headers for asked in server.asked)
    assert "sk-for-another-service" not in str(without)
    assert with_key["authorization"] == "Bearer sk-mine"


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/systemone"])
def test_the_address_of_a_system_one_server_may_end_as_vendors_write_it(
    server: Server, tail: str
) -> None:
    estimated(made(SYSTEMONE, server.url + tail), [Query(BRIDGE, CONTEXT)])
    assert server.paths == {"/v1/systemone"}


@pytest.mark.parametrize("url", ["", "localhost", "ftp://host", "http://", "http://[", "/v1"])
def test_what_is_no_address_is_a_configuration_error(kind: str, url: str) -> None:
    make = systemone.create if kind == SYSTEMONE else openai_decisions.create
    with pytest.raises(ConfigurationError, match="base_url"):
        make(base_url=url)


@pytest.mark.parametrize("option", ["timeout_s", "concurrency", "claims_per_request"])
def test_an_option_that_is_not_positive_is_a_configuration_error(
    kind: str, server: Server, option: str
) -> None:
    with pytest.raises(ConfigurationError, match=option):
        made(kind, server, **{option: 0})


def test_more_claims_than_openai_allows_are_a_configuration_error(server: Server) -> None:
    with pytest.raises(ConfigurationError, match="400"):
        made(OPENAI, server, claims_per_request=401)


def test_openai_without_key_and_address_is_a_configuration_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="key"):
        openai_decisions.create()


def test_a_missing_library_is_named_with_what_to_install(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"veridical\[systemone\]"):
        estimated(made(SYSTEMONE, server), [Query(BRIDGE, CONTEXT)])
    probe = anyio.run(systemone.create(base_url=server.url).probe)
    assert not probe.ok
    assert "veridical[systemone]" in probe.detail
    with pytest.raises(MissingExtraError, match=r"veridical\[openai\]"):
        made(OPENAI, server)


def test_a_probe_says_which_model_decides_or_why_none_does(kind: str, server: Server) -> None:
    backend = made(kind, server)
    assert isinstance(backend, Probing)
    probe = anyio.run(backend.probe)
    assert probe.ok
    assert "decides" in probe.detail
    server.answer = lambda _: Answered({}, status=501, body={"error": {"message": CONTEXT}})
    probe = anyio.run(backend.probe)
    assert (probe.ok, probe.detail) == (False, "backend_error: HTTP 501")


def test_the_fingerprint_changes_with_what_the_answer_may_depend_on(
    kind: str, server: Server
) -> None:
    prints = {
        made(kind, server).info.fingerprint,
        made(kind, server, model="another").info.fingerprint,
        made(kind, server, claims_per_request=1).info.fingerprint,
        made(kind, "http://127.0.0.1:9").info.fingerprint,
    }
    assert len(prints) == 4
    assert made(kind, server).info == made(kind, server, timeout_s=5.0).info
