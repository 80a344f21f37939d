"""The service's proxy in front of a real llama.cpp server, asked by the official client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("openai")

import httpx2
import openai

from _upstream import serving
from veridical.interfaces.http.app import create_app
from veridical.settings import Settings

pytestmark = pytest.mark.slow

MESSAGES: list[Any] = [
    {"role": "system", "content": "[S1] The bridge was opened in 1998. It carries eight lanes."},
    {"role": "user", "content": "When was the bridge opened? Answer in one sentence."},
]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "parameters": {
                "type": "object",
                "properties": {"what": {"type": "string"}},
                "required": ["what"],
            },
        },
    }
]
OUTCOMES = {"grounded", "flagged", "undetermined", "nothing_to_check"}
SAME: dict[str, Any] = {"model": "smollm2", "temperature": 0.0, "seed": 1, "max_tokens": 40}


@pytest.fixture(scope="module")
def proxy(llama_server: str) -> Iterator[str]:
    proxied = {"upstream_url": llama_server, "on_failure": "pass"}
    settings = Settings.load(proxy=proxied, threads=1)
    with serving(create_app(settings)) as address:
        yield f"{address}/v1"


@pytest.fixture
def client(proxy: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=proxy, api_key="none", timeout=300.0) as client:
        yield client


@pytest.fixture
def direct(llama_server: str) -> Iterator[openai.OpenAI]:
    """Ask the server itself."""
    with openai.OpenAI(base_url=llama_server, api_key="none", timeout=300.0) as client:
        yield client


@pytest.mark.spec("SPEC-08.19")
def test_the_official_client_gets_the_answer_and_a_verdict(
    client: openai.OpenAI, direct: openai.OpenAI
) -> None:
    through = client.chat.completions.create(messages=MESSAGES, **SAME)
    plain = direct.chat.completions.create(messages=MESSAGES, **SAME)
    assert through.choices[0].message.content == plain.choices[0].message.content
    verdict: Any = (through.model_extra or {})["veridical"]
    assert verdict["outcome"] in OUTCOMES
    (choice,) = verdict["choices"]
    assert choice["report"]["backend"]["name"] == "embedded"
    assert choice["reason"] in {None, "nothing_to_check"}


def test_the_official_client_reads_a_stream_and_the_verdict_in_it(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(messages=MESSAGES, **SAME)
    text, verdicts = "", []
    for chunk in client.chat.completions.create(messages=MESSAGES, stream=True, **SAME):
        text += chunk.choices[0].delta.content or ""
        verdicts += [(chunk.model_extra or {}).get("veridical")]
    assert text == whole.choices[0].message.content
    assert verdicts[-1]["outcome"] == (whole.model_extra or {})["veridical"]["outcome"]
    assert not any(verdicts[:-1])


def test_the_official_async_client_works_many_times_at_once(proxy: str) -> None:
    found: list[str] = []

    async def ask(client: openai.AsyncOpenAI) -> None:
        stream = await client.chat.completions.create(messages=MESSAGES, stream=True, **SAME)
        async for chunk in stream:
            verdict: Any = (chunk.model_extra or {}).get("veridical")
            found.extend([verdict["outcome"]] if verdict else [])

    async def run() -> None:
        async with (
            openai.AsyncOpenAI(base_url=proxy, api_key="none", timeout=300.0) as client,
            anyio.create_task_group() as group,
        ):
            for _ in range(3):
                group.start_soon(ask, client)

    anyio.run(run)
    assert len(found) == 3
    assert set(found) <= OUTCOMES


def test_tools_come_through_byte_for_byte(proxy: str, llama_server: str) -> None:
    forced = {"type": "function", "function": {"name": "look_up"}}
    body = {**SAME, "messages": MESSAGES, "tools": TOOLS, "tool_choice": forced}
    said = []
    for address in (proxy, llama_server):
        back = httpx2.post(f"{address}/chat/completions", json=body, timeout=300.0)
        said.append((back.status_code, json.dumps(back.json().get("choices"))))
    assert said[0] == said[1]


def test_json_mode_comes_through_as_it_is(client: openai.OpenAI) -> None:
    found = client.chat.completions.create(
        messages=MESSAGES,
        response_format={"type": "json_object"},
        extra_body={"veridical": {"on_failure": "flag"}},
        **{**SAME, "max_tokens": 120},
    )
    assert "[?1]" not in (found.choices[0].message.content or "")
    assert (found.model_extra or {})["veridical"]["choices"][0]["action"] == "passed"


def test_an_error_of_the_server_is_the_client_s_error(
    client: openai.OpenAI, direct: openai.OpenAI
) -> None:
    bodies = []
    for one in (client.with_options(max_retries=0), direct.with_options(max_retries=0)):
        with pytest.raises(openai.APIStatusError) as caught:
            one.chat.completions.create(messages=[{"role": "user", "content": "a " * 9000}], **SAME)
        bodies.append((caught.value.status_code, caught.value.body))
    assert bodies[0] == bodies[1]


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert list(client.models.list())


ASKED: dict[str, Any] = {
    "model": "smollm2",
    "temperature": 0.0,
    "max_output_tokens": 40,
    "instructions": MESSAGES[0]["content"],
    "input": MESSAGES[1]["content"],
}


def test_a_response_comes_with_a_verdict(client: openai.OpenAI, direct: openai.OpenAI) -> None:
    through, plain = client.responses.create(**ASKED), direct.responses.create(**ASKED)
    assert through.output_text == plain.output_text != ""
    verdict: Any = (through.model_extra or {})["veridical"]
    assert verdict["outcome"] in OUTCOMES
    assert verdict["choices"][0]["report"]["backend"]["name"] == "embedded"


@pytest.mark.parametrize("on_failure", ["pass", "flag", "retry", "block"])
def test_a_streamed_response_comes_with_a_verdict(client: openai.OpenAI, on_failure: str) -> None:
    body = {"veridical": {"on_failure": on_failure}}
    text = ""
    for event in client.responses.create(stream=True, extra_body=body, **ASKED):
        text += event.delta if event.type == "response.output_text.delta" else ""
    assert event.type in {"response.completed", "response.incomplete"}
    assert event.response.output_text == text != ""
    verdict: Any = (event.response.model_extra or {})["veridical"]
    assert verdict["outcome"] in OUTCOMES
