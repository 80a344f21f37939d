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
    settings = Settings.load(proxy={"upstream_url": llama_server}, threads=1)
    with serving(create_app(settings)) as address:
        yield f"{address}/v1"


@pytest.fixture
def client(proxy: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=proxy, api_key="none", timeout=300.0)


@pytest.mark.spec("SPEC-08.19")
def test_the_official_client_gets_the_answer_and_a_verdict(
    client: openai.OpenAI, llama_server: str
) -> None:
    direct = openai.OpenAI(base_url=llama_server, api_key="none", timeout=300.0)
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
    client: openai.OpenAI, llama_server: str
) -> None:
    direct = openai.OpenAI(base_url=llama_server, api_key="none", max_retries=0)
    bodies = []
    for one in (client.with_options(max_retries=0), direct):
        with pytest.raises(openai.APIStatusError) as caught:
            one.chat.completions.create(messages=[{"role": "user", "content": "a " * 9000}], **SAME)
        bodies.append((caught.value.status_code, caught.value.body))
    assert bodies[0] == bodies[1]


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert list(client.models.list())
