"""MCP server: lists the tools and calls them. A failure is a tool's error, without text."""

from __future__ import annotations

import logging
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import mcp_types as types
from mcp.server.lowlevel import Server
from pydantic import ValidationError

from veridical.errors import VeridicalError
from veridical.interfaces.http.callers import calling
from veridical.interfaces.mcp.progress import Progress, notifications

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp.server.context import ServerRequestContext

    from veridical.interfaces.mcp.tools import Tool

    LogCall: TypeAlias = Callable[[str, str, float], object]
    Context: TypeAlias = ServerRequestContext[dict[str, Any]]

logger = logging.getLogger(__name__)

NAME = "veridical"
INSTRUCTIONS = (
    "veridical checks what you write against the sources you were given, claim by claim. Call check"
    " on an answer before you give it, and correct what is surely wrong; what is unsure, look at"
    " yourself. What could not be measured is undetermined: that is neither right nor wrong, and"
    " never a pass."
)
MOST_PROBLEMS = 8


def build_server(tools: Sequence[Tool], *log_calls: LogCall) -> Server[dict[str, Any]]:
    """Return the server of these tools; `log_calls` get name, outcome and seconds of each call."""
    by_name = {tool.name: tool for tool in tools}

    def log(name: str, outcome: str, seconds: float) -> None:
        for log_call in log_calls:
            log_call(name, outcome, seconds)

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in tools])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            return _failed(f"there is no such tool; there are {', '.join(by_name)}")
        started = perf_counter()
        with calling(_key(context)):
            if not _allowed(context, tool):
                log(tool.name, "refused", 0.0)
                lacks = f"it lacks the scope {tool.scope}"
                return _failed(f"this key does not allow {tool.name}: {lacks}")
            async with notifications(context.session) as progress:
                result = await _called(tool, params.arguments or {}, progress)
            log(tool.name, "failed" if result.is_error else "done", perf_counter() - started)
            return result

    return Server(
        NAME,
        version=version("veridical"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.output.model_json_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=not tool.writes,
            open_world_hint=False,
        ),
    )


def _allowed(context: Any, tool: Tool) -> bool:  # noqa: ANN401 -- see `Context`
    """Return whether the key of a request allows a tool; there are keys over HTTP only."""
    if context.request is None:
        return True
    key = _key(context)
    return key is not None and bool(key.allows(tool.scope))


def _key(context: Any) -> Any:  # noqa: ANN401 -- see `Context`
    """Return the key of a request; None over a pipe, which works in the settings' project."""
    return context.request and context.request.scope.get("state", {}).get("key")


async def _called(tool: Tool, given: Mapping[str, Any], progress: Progress) -> types.CallToolResult:
    try:
        found = await tool.call(tool.arguments.model_validate(dict(given)), progress)
    except ValidationError as error:
        return _failed(_problems(error))
    except VeridicalError as error:
        return _failed(f"{error.unquoted}. {error.hint}" if error.hint else error.unquoted)
    except Exception as error:  # noqa: BLE001 -- no failure of a tool ends the server
        logger.error("the tool %s failed: %s", tool.name, type(error).__name__)  # noqa: TRY400 -- a trace may quote texts
        return _failed(f"internal error ({type(error).__name__})")
    text = types.TextContent(type="text", text=found.model_dump_json())
    return types.CallToolResult(
        content=[text], structured_content=found.model_dump(mode="json"), is_error=False
    )


def _problems(error: ValidationError) -> str:
    """Return the errors in arguments: place and kind, never the value."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{_place(one['loc'])}: {one['msg']}" for one in found[:MOST_PROBLEMS]]
    more = len(found) - len(lines)
    return "; ".join(["wrong arguments", *lines, *([f"and {more} more"] if more else [])])


def _place(where: tuple[int | str, ...]) -> str:
    """Return an argument's name; a key below it may be text, so only its number is given."""
    head, *below = where or ("arguments",)
    return ".".join([str(head)[:64], *(str(part) for part in below if isinstance(part, int))])


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )
