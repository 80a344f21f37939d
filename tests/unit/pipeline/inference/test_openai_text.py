"""Against a server on loopback that answers in the shape of OpenAI's documentation."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Generated, TextRequest, Unmeasured, UnmeasuredReason
from veridical.core.ports import TextModel
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.openai_text import OpenAIText, ReplyFormat, TextDialect, create
from veridical.pipeline.inference.prices import Price
from veridical.testing import check_text_model

Json = dict[str, Any]
Serve = Callable[..., Any]
Complete = Callable[..., Json]

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
REQUEST = TextRequest("Be brief.", "SECRET text", SCHEMA, 50, 0.5, 7)


def ask(model: OpenAIText, request: TextRequest = REQUEST) -> Generated | Unmeasured:
    return anyio.run(model.generate, request)


def refusal(message: str) -> tuple[int, Json]:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": None}}


def test_a_text_comes_with_what_it_took(chat_server: Serve, chat_completion: Complete) -> None:
    server = chat_server(lambda _: (200, chat_completion("hello")))
    price = Price(input=1.0, output=4.0)
    found = ask(create("m1", base_url=server.base_url, price=price.cost_usd))
    assert isinstance(found, Generated)
    assert (found.text, found.model, found.cut_off) == ("hello", "m1", False)
    assert (found.prompt_tokens, found.output_tokens) == (19, 10)
    assert found.cost_usd == pytest.approx(59e-6)
    assert found.latency_ms is not None


def test_a_request_has_the_documented_shape(chat_server: Serve, chat_completion: Complete) -> None:
    server = chat_server(lambda _: (200, chat_completion("{}")))
    ask(create("m1", base_url=server.base_url, extra_body={"user": "u1"}))
    (sent,) = server.requests
    assert sent == {
        "path": "/v1/chat/completions",
        "model": "m1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "SECRET text"},
        ],
        "max_tokens": 50,
        "temperature": 0.5,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        },
        "user": "u1",
    }


def test_without_a_schema_no_format_is_asked_for(
    chat_server: Serve, chat_completion: Complete
) -> None:
    server = chat_server(lambda _: (200, chat_completion("hello")))
    ask(create("m1", base_url=server.base_url), TextRequest("Be brief.", "Hello"))
    assert not {"response_format", "seed"} & server.requests[0].keys()


@pytest.mark.parametrize("known", ["json_object", None])
def test_a_format_that_is_refused_is_left_out_and_that_is_remembered(
    chat_server: Serve, chat_completion: Complete, known: str | None
) -> None:
    def answer(request: Json) -> tuple[int, Json]:
        kind = request.get("response_format", {}).get("type")
        if kind not in {None, known}:
            return refusal("This response_format type is unavailable now")
        return 200, chat_completion("{}")

    server = chat_server(answer)
    model = create("m1", base_url=server.base_url)
    assert isinstance(ask(model), Generated)
    tried = len(server.requests)
    assert isinstance(ask(model), Generated)
    assert tried == (2 if known else 3)
    assert len(server.requests) == tried + 1
    assert server.requests[-1].get("response_format") == ({"type": known} if known else None)


def test_an_argument_that_is_refused_is_given_up(
    chat_server: Serve, chat_completion: Complete
) -> None:
    def answer(request: Json) -> tuple[int, Json]:
        if "max_tokens" in request:
            return refusal("Unsupported parameter: use 'max_completion_tokens' instead")
        if "temperature" in request:
            return refusal("Unsupported value: 'temperature' does not support 0.5")
        if "seed" in request:
            return refusal("seed is not supported")
        return 200, chat_completion("{}")

    server = chat_server(answer)
    assert isinstance(ask(create("o9", base_url=server.base_url)), Generated)
    assert server.requests[-1]["max_completion_tokens"] == 50


def test_a_dialect_ends_somewhere() -> None:
    dialect: TextDialect | None = TextDialect()
    tried = 0
    while dialect is not None:
        tried += 1
        dialect = dialect.after("max_completion_tokens response_format temperature seed")
    assert tried == 6
    assert TextDialect(format=ReplyFormat.TEXT).after("response_format") is None


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (429, "slow down", UnmeasuredReason.RATE_LIMITED),
        (500, "oops", UnmeasuredReason.BACKEND_ERROR),
        (401, "no key", UnmeasuredReason.BACKEND_ERROR),
        (400, "maximum context length is 10 tokens", UnmeasuredReason.CONTEXT_TOO_LONG),
    ],
)
def test_what_fails_is_a_value(
    chat_server: Serve, status: int, message: str, reason: UnmeasuredReason
) -> None:
    server = chat_server(lambda _: (status, {"error": {"message": message}}))
    found = ask(create("m1", base_url=server.base_url))
    assert isinstance(found, Unmeasured)
    assert found.reason is reason


def test_a_server_that_is_not_there_is_a_value() -> None:
    found = ask(create("m1", base_url="http://127.0.0.1:9/v1"))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.BACKEND_ERROR


@pytest.mark.parametrize("text", ["", "  ", None])
def test_a_reply_without_text_is_malformed(
    chat_server: Serve, chat_completion: Complete, text: str | None
) -> None:
    server = chat_server(lambda _: (200, chat_completion(text, "length")))
    found = ask(create("m1", base_url=server.base_url))
    assert found == Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "no text within the limit")


def test_a_text_that_was_cut_off_says_so(chat_server: Serve, chat_completion: Complete) -> None:
    server = chat_server(lambda _: (200, chat_completion('{"a": "b', "length")))
    found = ask(create("m1", base_url=server.base_url))
    assert isinstance(found, Generated)
    assert found.cut_off


def test_neither_values_nor_logs_hold_the_texts(
    chat_server: Serve, chat_completion: Complete, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="veridical")
    server = chat_server(lambda _: (200, chat_completion("SECRET reply")))
    found = ask(create("m1", base_url=server.base_url))
    assert "SECRET" not in repr(found) + repr(REQUEST)
    assert "SECRET" not in "".join(r.getMessage() for r in caplog.records if "veridical" in r.name)


def test_the_model_keeps_the_promises_of_the_port(
    chat_server: Serve, chat_completion: Complete
) -> None:
    server = chat_server(lambda _: (200, chat_completion('{"sky": "blue"}')))
    model = create("m1", base_url=server.base_url)
    assert isinstance(model, TextModel)
    anyio.run(lambda: check_text_model(model, holds_schema=True))


def test_a_model_has_to_be_named() -> None:
    with pytest.raises(ConfigurationError, match="no default model"):
        create()
    with pytest.raises(ConfigurationError, match="timeout_s"):
        create("m1", base_url="http://127.0.0.1:9", timeout_s=0)


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"temperature": float("nan")}])
def test_a_request_has_to_be_possible(options: Json) -> None:
    with pytest.raises(ValueError, match="a text needs"):
        TextRequest("a", "b", **options)
