from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.completions import (
    Completion,
    WrittenToken,
    parse_completion,
    read_completion,
)
from veridical.pipeline.inference.prices import Usage

TOP = [{"token": "YES", "logprob": -0.1}, {"token": "NO", "logprob": -3}]
FIRST = {"token": "YES", "logprob": -0.1, "top_logprobs": TOP}


def completion(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    choice = {"message": {"role": "assistant", "content": "YES"}, "logprobs": {"content": [FIRST]}}
    usage = {"prompt_tokens": 25, "completion_tokens": 1, "total_tokens": 26}
    return {"choices": [choice | changes], "usage": usage}


def test_a_completion_has_log_probabilities_text_and_tokens() -> None:
    found = read_completion(completion())
    top = (("YES", -0.1), ("NO", -3.0))
    assert found == Completion(top, Usage(25, 1), "YES", written=(WrittenToken("YES", top),))
    assert found.tokens == 26


def test_tokens_from_the_services_cache_are_counted_apart() -> None:
    usage = {
        "prompt_tokens": 25,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    found = read_completion(completion() | {"usage": usage})
    assert isinstance(found, Completion)
    assert found.usage == Usage(5, 1, cached_input_tokens=20)
    assert found.tokens == 26


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        ({"cached_tokens": 10, "cache_write_tokens": 12}, Usage(3, 1, 10, 12)),
        ({"cache_write_tokens": 25}, Usage(0, 1, 0, 25)),
        ({"cached_tokens": 20, "cache_write_tokens": 12}, Usage(0, 1, 20, 5)),
        ({"cache_write_tokens": None}, Usage(25, 1)),
    ],
)
def test_tokens_that_the_service_put_into_its_cache_are_counted_apart(
    details: dict[str, int | None], usage: Usage
) -> None:
    reported = {"prompt_tokens": 25, "completion_tokens": 1, "prompt_tokens_details": details}
    found = read_completion(completion() | {"usage": reported})
    assert isinstance(found, Completion)
    assert found.usage == usage
    assert found.tokens == 26


LONE = {"token": "YES", "logprob": -0.1}  # says nothing of the other answers


@pytest.mark.parametrize(
    "logprobs",
    [
        *(None, {}, {"content": None}, {"content": []}, "no"),
        *({"content": [LONE]}, {"content": [LONE | {"top_logprobs": []}]}),
    ],
)
def test_a_completion_without_log_probabilities_says_so(logprobs: object) -> None:
    found = read_completion(completion(logprobs=logprobs))
    assert isinstance(found, Completion)
    assert found.top is None
    assert found.text == "YES"


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 25}, {"prompt_tokens": "25", "completion_tokens": 1}]
)
def test_unknown_usage_is_none(usage: object) -> None:
    found = read_completion(completion() | {"usage": usage})
    assert isinstance(found, Completion)
    assert found.tokens is None


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ({}, "no 'choices'"),
        ([], "no 'choices'"),
        (None, "no 'choices'"),
        ({"choices": []}, "no 0"),
        ({"choices": "secret"}, "'choices' of the reply is a str"),
        ({"choices": [{}]}, "no 'message'"),
        (completion(logprobs={"content": [{"top_logprobs": [{"token": "Y"}]}]}), "no 'logprob'"),
        (
            completion(logprobs={"content": [{"top_logprobs": [{"token": "Y", "logprob": None}]}]}),
            "'logprob' of the reply is a NoneType",
        ),
        (completion(logprobs={"content": ["secret"]}), "0 of the reply is a str"),
        (completion(logprobs={"content": "secret"}), "0 of the reply is a str"),
        (completion(logprobs={"content": [{"top_logprobs": 5}]}), "'top_logprobs'"),
    ],
)
def test_another_shape_is_a_malformed_reply_that_quotes_nothing(raw: object, detail: str) -> None:
    found = read_completion(raw)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY
    assert detail in found.detail
    assert "secret" not in found.detail


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": 429, "message": "slow down"}, UnmeasuredReason.RATE_LIMITED),
        ({"code": 400, "message": "maximum context length"}, UnmeasuredReason.CONTEXT_TOO_LONG),
        ({"code": "x", "message": "secret"}, UnmeasuredReason.BACKEND_ERROR),
        ({}, UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_an_error_with_the_status_of_a_success_is_an_error(
    error: dict[str, Any], reason: UnmeasuredReason
) -> None:
    found = read_completion({"error": error})
    assert isinstance(found, Unmeasured)
    assert found.reason is reason


@pytest.mark.parametrize("body", ["", "<html>", '{"choices": [', b"\xff\xfe", "[" * 100_000])
def test_what_is_no_json_is_a_malformed_reply(body: str | bytes) -> None:
    found = parse_completion(body)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
PLACES = (
    *((), ("choices",), ("choices", 0), ("choices", 0, "message"), ("choices", 0, "logprobs")),
    *(("choices", 0, "logprobs", "content"), ("choices", 0, "logprobs", "content", 0)),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs"),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs", 1),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs", 1, "token"),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs", 1, "logprob"),
    *(("choices", 0, "message", "content"), ("usage",), ("usage", "prompt_tokens"), ("error",)),
)


@given(st.sampled_from(PLACES), JSON | st.just(10**400))
def test_any_value_in_any_place_is_a_completion_or_unmeasured(
    place: tuple[str | int, ...], value: object
) -> None:
    reply: Any = {"reply": json.loads(json.dumps(completion()))}
    inner = reply
    *path, last = ("reply", *place)
    for key in path:
        inner = inner[key]
    inner[last] = value
    assert isinstance(parse_completion(json.dumps(reply["reply"])), Completion | Unmeasured)
