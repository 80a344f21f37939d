from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from veridical.core.measurements import (
    Generated,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import TextModel
from veridical.pipeline.inference.wrappers import wrap_text_model
from veridical.testing import FakeTextModel, check_text_model

WRAPPERS = {
    "cache": ":memory:",
    "deadline_s": 600.0,
    "attempts": 2,
    "retry_wait_s": 0.001,
    "concurrency": 2,
    "max_cost_usd": 1.0,
    "price": lambda _: 0.0,
    "breaker_failures": 100,
}

MODELS: dict[str, Callable[[TextRequest], str | Generated | Unmeasured]] = {
    "writing": lambda _: "hello",
    "writing JSON": lambda _: '{"sky": "blue"}',
    "failing": lambda _: Unmeasured(UnmeasuredReason.TIMEOUT),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, WRAPPERS])
def test_a_text_model_keeps_the_promises_of_the_port(name: str, options: dict[str, Any]) -> None:
    model = wrap_text_model(FakeTextModel(MODELS[name]), **options)
    assert isinstance(model, TextModel)
    anyio.run(check_text_model, model)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Generated("hello", ""),
        Generated("hello", "m1", output_tokens=-1),
        Generated("hello", "m1", cost_usd=float("nan")),
    ],
)
def test_a_text_model_that_breaks_a_promise_is_found_out(answer: Generated | None) -> None:
    with pytest.raises(AssertionError, match="breaks a promise"):
        anyio.run(check_text_model, FakeTextModel(lambda _: answer))  # type: ignore[arg-type, return-value]
    nameless = FakeTextModel(lambda _: "hello", info=TextModelInfo("", ""))
    with pytest.raises(AssertionError, match="names itself"):
        anyio.run(check_text_model, nameless)


@pytest.mark.parametrize("text", ['{"sky": "red"}', '{"sky": "blue", "sea": 1}', "[]"])
def test_a_schema_that_does_not_hold_is_found_out(text: str) -> None:
    model = FakeTextModel(lambda _: text)
    anyio.run(check_text_model, model)
    with pytest.raises(AssertionError, match="the schema holds"):
        anyio.run(lambda: check_text_model(model, holds_schema=True))


def test_the_fake_remembers_what_it_was_asked() -> None:
    fake = FakeTextModel(lambda request: request.user.upper())
    request = TextRequest("be brief", "hello")
    found = anyio.run(fake.generate, request)
    assert found == Generated("HELLO", "fake")
    assert fake.requests == [request]
