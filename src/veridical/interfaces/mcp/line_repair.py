"""Repair or refusal of standard input lines that the SDK leaves unanswered."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

LONE = re.compile("[\ud800-\udfff]")
REFUSED = JSONRPCError(
    jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="Parse error")
)


async def repair_lines(
    reading: Any,  # noqa: ANN401 -- a stream of the SDK, whose type is not public
    server: MemoryObjectSendStream[SessionMessage | Exception],
    writing: Any,  # noqa: ANN401 -- see above
) -> None:
    """Pass messages on; refuse a line that is no JSON, as the SDK does over HTTP."""
    async with reading, server:
        async for item in reading:
            line = unread(item)
            if line is None:
                await server.send(item)
                continue
            message = repair_line(line)
            if message is not None:
                await server.send(message)
            elif line.strip():
                await writing.send(SessionMessage(REFUSED))


def unread(item: object) -> str | None:
    """Return the line that the SDK could not read as JSON; None if it is something else."""
    if isinstance(item, ValidationError):
        (found, *_) = item.errors(include_url=False, include_context=False)
        if found["type"] == "json_invalid" and isinstance(found["input"], str):
            return found["input"]
    return None


def repair_line(line: str) -> SessionMessage | Exception | None:
    """Return the message of a line, U+FFFD in place of each half of a surrogate pair.

    An exception if it is no message, None if it is no JSON.
    """
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    try:
        found = jsonrpc_message_adapter.validate_json(LONE.sub("\ufffd", text), by_name=False)
    except ValidationError as error:
        return None if unread(error) is not None else error
    return SessionMessage(found)
