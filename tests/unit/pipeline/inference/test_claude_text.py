"""Against a server on loopback that answers in the shapes of the Messages API's documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Generated, TextRequest, Unmeasured, UnmeasuredReason
from veridical.core.ports import TextModel
from veridical.pipeline.inference.claude import MODELS
from veridical.pipeline.inference.claude_text import ClaudeText, arguments, create, read_message
from veridical.pipeline.inference.prices import UsageBound
from veridical.testing import check_text_model

pytest.importorskip("anthropic")

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
REQUEST = TextRequest("Be brief.", "SECRET text", SCHEMA, 50, 0.5, 7)


def message(*blocks: Json, stop: str = "end_turn") -> Json:
    """Return a message as the documentation shows one."""
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": MODELS["haiku"],
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 50, "cache_read_input_tokens": 1000, "output_tokens": 17},
    }


def text(said: str) -> Json:
    return {"type": "text", "text": said}


Serve = Callable[..., Any]


@pytest.fixture
def serve(chat_server: Serve) -> Callable[..., tuple[Any, ClaudeText]]:
    def start(body: Json, status: int = 200) -> tuple[Any, ClaudeText]:
        server = chat_server(lambda _: (status, body))
        return server, create(base_url=server.base_url.removesuffix("/v1"))

    return start


def ask(model: ClaudeText) -> Generated | Unmeasured:
    return anyio.run(model.generate, REQUEST)


def test_a_text_comes_with_what_it_took(serve: Serve) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    server, model = serve(message(thought, text("hel"), text("lo")))
    found = ask(model)
    assert isinstance(model, TextModel)
    assert isinstance(found, Generated)
    assert (found.text, found.model, found.cut_off) == ("hello", MODELS["haiku"], False)
    assert (found.prompt_tokens, found.output_tokens) == (1050, 17)
    assert found.cost_usd is not None
    (sent,) = server.requests
    assert sent["path"] == "/v1/messages"
    assert (sent["system"], sent["max_tokens"]) == ("Be brief.", 50)
    assert sent["messages"] == [{"role": "user", "content": "SECRET text"}]
    assert sent["output_config"]["format"]["schema"] == SCHEMA
    assert not {"temperature", "seed"} & sent.keys()


def test_a_model_that_thinks_gets_room_to(chat_server: Serve) -> None:
    server = chat_server(lambda _: (200, message(text("hello"))))
    ask(create("claude-nova-9", base_url=server.base_url.removesuffix("/v1")))
    assert server.requests[0]["max_tokens"] > 1000


def test_a_text_that_was_cut_off_says_so(serve: Serve) -> None:
    found = ask(serve(message(text("hel"), stop="max_tokens"))[1])
    assert isinstance(found, Generated)
    assert found.cut_off


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (message(), UnmeasuredReason.MALFORMED_REPLY),
        (message(text("SECRET"), stop="refusal"), UnmeasuredReason.MALFORMED_REPLY),
        (
            message(text("SECRET"), stop="model_context_window_exceeded"),
            UnmeasuredReason.CONTEXT_TOO_LONG,
        ),
        ({}, UnmeasuredReason.MALFORMED_REPLY),
    ],
)
def test_what_is_no_text_is_a_value(serve: Serve, body: Json, reason: UnmeasuredReason) -> None:
    found = ask(serve(body)[1])
    assert isinstance(found, Unmeasured)
    assert found.reason is reason
    assert "SECRET" not in repr(found)


@pytest.mark.parametrize("body", ["", "[]", "SECRET", "[" * 100_000])
def test_what_is_no_message_is_malformed(body: str) -> None:
    found = read_message(body)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


def test_what_fails_is_a_value(serve: Serve) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = ask(serve(error, 529)[1])
    assert found == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 529")


def test_the_model_keeps_the_promises_of_the_port(serve: Serve) -> None:
    _, model = serve(message(text('{"sky": "blue"}')))
    anyio.run(lambda: check_text_model(model, holds_schema=True))


@pytest.mark.parametrize(("model", "more"), [("claude-haiku-5-5", 0), ("claude-opus-9", 8_000)])
def test_the_room_to_think_is_part_of_what_a_text_may_take(model: str, more: int) -> None:
    made = create(model, base_url="http://127.0.0.1:9", api_key="k")
    assert made.most == UsageBound(further_output_tokens=more)
    assert arguments(model, REQUEST)["max_tokens"] == REQUEST.max_tokens + more
