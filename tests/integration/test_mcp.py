"""`veridical mcp` as it is installed, and the SDK's own client, over both transports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

pytest.importorskip("mcp")

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from veridical.store import Store, UsageTable

pytestmark = pytest.mark.slow

Json: TypeAlias = Any
COMMAND = [sys.executable, "-m", "veridical", "mcp"]
SOURCES = {"S1": "The bridge opened in 1998. It carries eight lanes."}
ANSWER = "The bridge opened in 1998 [S1]. It has six lanes [S1]."
KEY = "a-key-of-some-length"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def environment(folder: Path, **more: str) -> dict[str, str]:
    store = {"VERIDICAL_STORE__URL": f"sqlite:///{folder}/memory.db"}
    return {**os.environ, **store, **more}


@contextmanager
def listening(folder: Path, *options: str, **variables: str) -> Iterator[str]:
    """Serve HTTP in a process of its own; its address."""
    process = subprocess.Popen(
        [*COMMAND, "--http", "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(folder, **variables),
    )
    assert process.stdout is not None
    try:
        document = json.loads(process.stdout.readline())
        assert document["schema"] == "veridical.mcp/1"
        yield document["address"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


async def use(client: Client) -> None:
    """Check, remember, recall, and make a mistake."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names[0] == "check"
    checked = await client.call_tool("check", {"answer": ANSWER, "sources": SOURCES})
    found: Json = checked.structured_content
    assert [claim["status"] for claim in found["claims"]] == ["contradicted", "supported"]
    kept = await client.call_tool(
        "remember", {"text": "The bridge carries eight lanes.", "sources": SOURCES}
    )
    done: Json = kept.structured_content
    assert done["outcome"] == "stored"
    facts: Json = (await client.call_tool("recall", {"text": "lanes"})).structured_content
    assert [fact["id"] for fact in facts["facts"]] == [done["fact_id"]]
    assert (await client.call_tool("check", {})).is_error


def test_an_agent_that_starts_it_has_the_tools(tmp_path: Path) -> None:
    async def run() -> None:
        started = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=environment(tmp_path)
        )
        async with Client(started) as client:
            await use(client)

    anyio.run(run)


def test_an_agent_that_connects_has_the_tools(tmp_path: Path) -> None:
    async def run(address: str) -> None:
        async with Client(address) as client:
            await use(client)

    with listening(tmp_path) as address:
        anyio.run(run, address)


def post(address: str, **headers: str) -> httpx2.Response:
    accept = {"accept": "application/json, text/event-stream"}
    return httpx2.post(address, json=INITIALIZE, headers={**accept, **headers})


def test_pages_and_names_of_others_are_not_let_in(tmp_path: Path) -> None:
    with listening(tmp_path) as address:
        assert post(address).status_code == 200
        assert post(address, origin="http://localhost:3000").status_code == 200
        assert post(address, origin="https://evil.example").status_code == 403
        assert post(address, host="evil.example").status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 -- behind a key
def test_with_a_key_only_who_has_it_is_let_in(tmp_path: Path, host: str) -> None:
    variables = {
        "VERIDICAL_SERVER__API_KEY": KEY,
        "VERIDICAL_SERVER__ORIGINS": "https://app.example",
    }

    async def run(address: str) -> list[str]:
        headers = {"authorization": f"Bearer {KEY}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    with listening(tmp_path, "--host", host, **variables) as found:
        address = found.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 -- what it is reached by
        assert post(address).status_code == 401
        assert post(address, authorization="Bearer another-key").status_code == 401
        right = {"x-veridical-key": KEY}
        assert post(address, **right).status_code == 200
        assert post(address, origin="https://app.example", **right).status_code == 200
        assert post(address, origin="https://evil.example", **right).status_code == 403
        assert "recall" in anyio.run(run, address)


def new_key(keys: Path) -> str:
    """Return a new key of the file, with the scopes that keys have by default."""
    made = subprocess.run(
        [sys.executable, "-m", "veridical", "keys", "new", "agent", "--file", keys, "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    return str(json.loads(made.stdout)["key"])


def test_calls_of_a_key_count_in_the_usage_of_the_database(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    key = new_key(keys)

    async def run(address: str) -> None:
        async with (
            httpx2.AsyncClient(headers={"x-veridical-key": key}) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            given = {"answer": ANSWER, "sources": SOURCES}
            assert not (await client.call_tool("check", given)).is_error
            assert (await client.call_tool("recall", {})).is_error

    variables = {"VERIDICAL_SERVER__USAGE_IN": "store"}
    with listening(tmp_path, "--keys", str(keys), **variables) as address:
        anyio.run(run, address)
    with closing(Store(f"sqlite:///{tmp_path}/memory.db")) as store:
        (used,) = UsageTable(store).since("2000-01-01")
    assert (used["key"], used["requests"], used["claims"]) == ("agent", 2, 2)
    assert used["tokens"] > 0


def test_a_key_without_the_scope_has_no_memory(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    key = new_key(keys)

    async def run(address: str) -> tuple[Json, Json]:
        async with (
            httpx2.AsyncClient(headers={"x-veridical-key": key}) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            given = {"quotes": ["eight lanes"], "transcript": SOURCES["S1"]}
            return (
                await client.call_tool("ground_quotes", given),
                await client.call_tool("recall", {}),
            )

    log = tmp_path / "audit.jsonl"
    variables = {"VERIDICAL_SERVER__AUDIT_LOG": str(log)}
    with listening(tmp_path, "--keys", str(keys), **variables) as address:
        allowed, refused = anyio.run(run, address)
    assert not allowed.is_error
    assert refused.is_error
    assert "lacks the scope memory" in refused.content[0].text
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["key"], line["operation"], line["outcome"]) for line in lines] == [
        ("agent", "MCP ground_quotes", "done"),
        ("agent", "MCP recall", "refused"),
    ]


def test_it_listens_to_others_only_behind_a_key(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--http", "--host", "0.0.0.0", "--port", "0"],  # noqa: S104 -- it is refused
        capture_output=True,
        check=False,
        text=True,
        env=environment(tmp_path),
    )
    assert done.returncode == 2
    assert "there is no key" in done.stderr
