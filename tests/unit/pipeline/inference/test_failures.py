from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.failures import (
    malformed,
    retry_after_s,
    unbilled,
    unmeasured_error,
    unmeasured_status,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
TOO_LONG = {
    "openai": "This model's maximum context length is 8192 tokens. However, your messages ...",
    "vllm": "This model's maximum context length is 2048 tokens, however you requested 6000",
    "llama.cpp": "request (6031 tokens) exceeds the available context size (2048 tokens)",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "code": '{"error": {"code": "context_length_exceeded"}}',
    "ollama": "input length exceeds the context length",
    "jev": '{"error": "max_tokens_exceeded"}',
    "a decision model": '{"error": {"type": "token_limit_exceeded"}}',
}

pytestmark = pytest.mark.spec("SPEC-08.42")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, UnmeasuredReason.BACKEND_ERROR),
        (401, UnmeasuredReason.BACKEND_ERROR),
        (403, UnmeasuredReason.BACKEND_ERROR),
        (404, UnmeasuredReason.BACKEND_ERROR),
        (408, UnmeasuredReason.TIMEOUT),
        (413, UnmeasuredReason.CONTEXT_TOO_LONG),
        (429, UnmeasuredReason.RATE_LIMITED),
        (500, UnmeasuredReason.BACKEND_ERROR),
        (529, UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_a_status_has_its_reason_and_is_named(status: int, reason: UnmeasuredReason) -> None:
    assert unmeasured_status(status) == Unmeasured(reason, f"HTTP {status}")


@pytest.mark.parametrize("service", TOO_LONG)
def test_a_context_that_is_too_long_is_known_by_what_services_say(service: str) -> None:
    found = unmeasured_status(400, body=TOO_LONG[service])
    assert found == Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "HTTP 400")


def test_a_server_error_is_not_a_context_that_is_too_long() -> None:
    found = unmeasured_status(500, body=TOO_LONG["openai"])
    assert found.reason is UnmeasuredReason.BACKEND_ERROR


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_a_wait_is_seconds_milliseconds_or_a_date(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers, now=NOW) == seconds
    assert unmeasured_status(429, headers, now=NOW).retry_after_s == seconds
    assert unmeasured_status(503, headers, now=NOW).retry_after_s == seconds


def test_a_date_is_measured_against_the_clock() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    seconds = retry_after_s({"retry-after": later})
    assert seconds is not None
    assert 3500 < seconds <= 3600


@given(st.text())
def test_any_header_is_a_wait_or_none(value: str) -> None:
    seconds = retry_after_s({"retry-after": value, "retry-after-ms": value})
    assert seconds is None or seconds >= 0


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def refused(status: int, headers: dict[str, str] | None = None, body: object = None) -> Exception:
    response = httpx2.Response(status, headers=headers, json=body, request=REQUEST)
    return openai.APIStatusError("secret words", response=response, body=body)


class TransportError(Exception):
    """Named as httpx names it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError("secret words"), UnmeasuredReason.TIMEOUT),
        (httpx2.ReadTimeout("secret words"), UnmeasuredReason.TIMEOUT),
        (openai.APITimeoutError(REQUEST), UnmeasuredReason.TIMEOUT),
        (httpx2.ConnectError("secret words"), UnmeasuredReason.BACKEND_ERROR),
        (ConnectionResetError("secret words"), UnmeasuredReason.BACKEND_ERROR),
        (TransportError("secret words"), UnmeasuredReason.BACKEND_ERROR),
        (openai.APIConnectionError(request=REQUEST), UnmeasuredReason.BACKEND_ERROR),
        (json.JSONDecodeError("secret words", "", 0), UnmeasuredReason.MALFORMED_REPLY),
        (httpx2.DecodingError("secret words"), UnmeasuredReason.MALFORMED_REPLY),
        (
            caused(
                openai.APIConnectionError(request=REQUEST),
                httpx2.RemoteProtocolError("closed without sending complete message body"),
            ),
            UnmeasuredReason.MALFORMED_REPLY,
        ),
        (refused(429), UnmeasuredReason.RATE_LIMITED),
        (refused(500), UnmeasuredReason.BACKEND_ERROR),
        (refused(400, body={"error": {"message": TOO_LONG["vllm"]}}), "context_too_long"),
        (caused(RuntimeError("secret words"), refused(429)), UnmeasuredReason.RATE_LIMITED),
        (ZeroDivisionError("secret words"), UnmeasuredReason.BACKEND_ERROR),
    ],
)
def test_an_error_has_its_reason_and_no_text(error: Exception, reason: str) -> None:
    found = unmeasured_error(error)
    assert found.reason == reason
    assert found.detail
    assert "secret" not in found.detail


def test_httpx_keeps_status_headers_and_body_on_the_response() -> None:
    response = httpx2.Response(
        400, headers={"retry-after": "3"}, text=TOO_LONG["llama.cpp"], request=REQUEST
    )
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        response.raise_for_status()
    assert unmeasured_error(caught.value).reason is UnmeasuredReason.CONTEXT_TOO_LONG


def test_a_body_that_was_not_read_holds_no_signs() -> None:
    response = httpx2.Response(400, stream=httpx2.ByteStream(b""), request=REQUEST)
    error = httpx2.HTTPStatusError("", request=REQUEST, response=response)
    assert unmeasured_error(error) == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 400")


def test_an_error_of_an_sdk_carries_what_the_service_asked_to_wait() -> None:
    assert unmeasured_error(refused(429, {"retry-after": "12"})).retry_after_s == 12.0


def test_errors_that_cause_each_other_end() -> None:
    one, other = RuntimeError(), RuntimeError()
    caused(caused(one, other), one)
    other.__cause__ = one
    assert unmeasured_error(one).reason is UnmeasuredReason.BACKEND_ERROR


def test_a_reply_that_is_not_understood_is_malformed() -> None:
    assert malformed("no choices") == Unmeasured(UnmeasuredReason.MALFORMED_REPLY, "no choices")


def test_only_what_was_refused_or_never_sent_was_certainly_not_charged() -> None:
    never = caused(openai.APIConnectionError(request=REQUEST), httpx2.ConnectError(""))
    broken = caused(openai.APIConnectionError(request=REQUEST), httpx2.ReadError(""))
    assert [unbilled(error) for error in (refused(500, {}), never)] == [True, True]
    assert [unbilled(error) for error in (broken, TimeoutError(), ValueError())] == [False] * 3
