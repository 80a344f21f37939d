"""Lines that the SDK cannot read are repaired or refused, and never left without an answer."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest

pytest.importorskip("mcp")

import anyio
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

from veridical.interfaces.mcp.line_repair import repair_line, repair_lines

Json: TypeAlias = Any
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def request(**arguments: Json) -> str:
    params = {"name": "check", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})


def through(*lines: str) -> tuple[list[Json], list[Json]]:
    """Return the lines that reach the server through the SDK, and the answers."""

    async def run() -> tuple[list[Json], list[Json]]:
        feeding, reading = anyio.create_memory_object_stream[Any](len(lines))
        sending, server = anyio.create_memory_object_stream[Any](len(lines))
        writing, written = anyio.create_memory_object_stream[Any](len(lines))
        for line in lines:
            try:
                await feeding.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))
            except ValueError as error:
                await feeding.send(error)
        feeding.close()
        await repair_lines(reading, sending, writing)
        writing.close()
        async with server, written:
            return [one async for one in server], [one async for one in written]

    return anyio.run(run)


@given(st.dictionaries(ANY_TEXT, ANY_TEXT), ANY_TEXT)
def test_a_request_with_any_text_is_one_that_can_be_answered(
    sources: dict[str, str], answer: str
) -> None:
    found = repair_line(request(answer=answer, sources=sources))
    assert isinstance(found, SessionMessage)
    assert isinstance(found.message, JSONRPCRequest)
    assert found.message.id == 7
    found.message.model_dump_json().encode()


def test_half_a_surrogate_pair_reaches_the_server_as_the_replacement_character() -> None:
    ((found,), answered) = through(request(answer="\ud83d\ude00 a \ud800 b"))
    assert found.message.params["arguments"]["answer"] == "\U0001f600 a \ufffd b"
    assert not answered


@pytest.mark.parametrize("line", ["no JSON", "{", "9" * 5000, "[" * 200_000])
def test_a_line_that_is_no_json_is_refused_without_its_text(line: str) -> None:
    read, (refused,) = through(line, request())
    assert [one.message.id for one in read] == [7]
    assert refused.message.model_dump() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "Parse error", "data": None},
    }


@pytest.mark.parametrize("line", ["[]", '{"id": "\\ud800"}'])
def test_json_that_is_no_message_is_left_to_the_server(line: str) -> None:
    (found,), answered = through(line)
    assert isinstance(found, ValueError)
    assert not answered


def test_an_empty_line_is_nothing() -> None:
    assert through("", " ") == ([], [])
