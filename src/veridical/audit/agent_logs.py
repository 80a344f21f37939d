"""Import of reasoning traces from trace files and agent logs.

Supported formats: veridical's own (steps, and traces exported from the store), messages of OpenAI
(chat completions, and items of responses) and of Anthropic, and OpenTelemetry spans with the
attributes of the GenAI conventions, each as JSON or as JSONL. The assistant's messages are the
steps. Messages of users, system prompts and tools are context of the next step; tool calls assert
nothing. The assistant's last message is the answer; its sentences are audited as steps, too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from veridical.audit.log_steps import Log, Said, to_trace
from veridical.audit.otel_spans import JSON, is_span, json_objects, span_messages
from veridical.audit.steps import StepTrace, parse_trace
from veridical.errors import DocumentError
from veridical.traces.document import trace_from_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from veridical.audit.log_steps import Role

SHAPES = (
    'A list of steps, {"steps": [...]}, {"messages": [...]} of OpenAI or Anthropic, or spans of '
    "OpenTelemetry; as JSON, or one a line (JSONL)"
)
ROLES = (
    "Roles are system, developer, user, assistant and tool. Rewrite a log in a form of your own "
    'with them, or as {"steps": [{"context": observation, "claim": thought}, ...]}'
)
_ROLES: Mapping[str, Role] = {
    "assistant": "assistant",
    "developer": "system",
    "function": "tool",
    "human": "user",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "user": "user",
}
# Kinds of parts with text, by the key of the text.
_TEXTS: Mapping[str, Sequence[str]] = {
    "text": ("text", "content"),
    "input_text": ("text",),
    "output_text": ("text",),
    "refusal": ("refusal",),
    "thinking": ("thinking",),
    "reasoning": ("content", "text"),
    "reasoning_text": ("text",),
    "summary_text": ("text",),
}
_RESULTS: Mapping[str, Sequence[str]] = {
    "tool_result": ("content",),  # Anthropic
    "tool_call_response": ("response", "result"),  # OpenTelemetry
    "function_call_output": ("output",),  # OpenAI, responses
    "web_search_tool_result": ("content",),
    "code_execution_tool_result": ("content",),
}
_RESULT_IDS = ("tool_use_id", "tool_call_id", "call_id", "id")
_CALLS = frozenset({"tool_use", "server_tool_use", "tool_call", "function_call"})
_DEEPEST = 20


def read_trace(text: str, place: str) -> StepTrace:
    """Return the trace in a JSON or JSONL document; `place` names it in errors.

    `DocumentError` if it is neither, or has none of the formats; `InputError` if it is a trace of
    veridical's own format with a fault in it.
    """
    document = _parse(text, place)
    if _is_trace(document):
        return parse_trace(document)
    if isinstance(document, dict) and "nodes" in document and "edges" in document:
        return parse_trace(trace_from_document(document))
    log = Log()
    for message in _messages(document, place):
        _read_message(message, log, place)
    return to_trace(log, place)


# --- which format ----------------------------------------------------------------------------


def _parse(text: str, place: str) -> object:
    failure = ""
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        failure = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError) as error:
        failure = _why(error)
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1:
        rows = []
        for number, line in enumerate(lines, start=1):
            try:
                rows.append(json.loads(line, parse_constant=_refuse))
            except (ValueError, RecursionError) as error:
                failure = f"line {number} is no JSON value: {_why(error)}"
                break
        else:
            return rows
    msg = f"{place} is not valid JSON ({failure})"
    raise DocumentError(msg, hint=SHAPES)


def _refuse(_: str) -> object:
    msg = "NaN and infinities are no JSON"
    raise ValueError(msg)


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is no JSON"


def _is_trace(document: object) -> bool:
    if isinstance(document, dict):
        return "steps" in document
    if not isinstance(document, list) or not document:
        return False
    return all(
        isinstance(row, str) or (isinstance(row, dict) and "claim" in row) for row in document
    )


def _messages(document: object, place: str) -> Iterator[object]:
    """Yield the messages of a log, in order."""
    spans = _spans(document)
    if spans is not None:
        yield from span_messages(spans)
        return
    if isinstance(document, list):
        for row in document:
            yield from _messages(row, place) if _holds_messages(row) else (row,)
        return
    if not isinstance(document, dict) or not (_holds_messages(document) or "role" in document):
        msg = f"{place} is JSON, but neither a trace nor a log"
        raise DocumentError(msg, hint=SHAPES)
    yield from _conversation(document, place) if _holds_messages(document) else (document,)


def _conversation(document: JSON, place: str) -> Iterator[object]:
    """Yield the messages of a request, a response, or a record of both."""
    system = document.get("system", document.get("instructions"))  # Anthropic, OpenAI responses
    if system is not None:
        yield {"role": "system", "content": system}
    for key in ("messages", "input", "output"):
        found = document.get(key)
        yield from found if isinstance(found, list) else _as_user(found)
    for choice in json_objects(document.get("choices")):
        if "message" in choice:
            yield choice["message"]
    response = document.get("response")
    if isinstance(response, dict):
        yield from _messages(response, place) if _holds_messages(response) else (response,)


def _as_user(found: object) -> Iterator[object]:
    if isinstance(found, str):
        yield {"role": "user", "content": found}


def _holds_messages(document: object) -> bool:
    if not isinstance(document, dict):
        return False
    lists = ("messages", "choices", "output", "input")
    return any(isinstance(document.get(key), list) for key in lists)


def _spans(document: object) -> list[JSON] | None:
    """Return the spans of an OpenTelemetry export; None for any other document."""
    if isinstance(document, dict) and isinstance(document.get("spans"), list):
        return list(json_objects(document["spans"]))
    rows = document if isinstance(document, list) else [document]
    if rows and all(isinstance(row, dict) and "resourceSpans" in row for row in rows):
        return [span for row in json_objects(rows) for span in _exported(row)]
    if rows and all(isinstance(row, dict) and is_span(row) for row in rows):
        return list(rows)
    return None


def _exported(document: JSON) -> Iterator[JSON]:
    for resource in json_objects(document.get("resourceSpans")):
        for scope in json_objects(resource.get("scopeSpans")):
            yield from json_objects(scope.get("spans"))


# --- one message -----------------------------------------------------------------------------


def _read_message(message: object, log: Log, place: str) -> None:
    number = len(log.messages) + 1
    if not isinstance(message, dict):
        msg = f"{place}: message {number} must be an object, not {type(message).__name__}"
        raise DocumentError(msg, hint=SHAPES)
    held: JSON = message
    role = _ROLES.get(str(message.get("role", "")))
    kind = message.get("type")
    if role is None and kind in (*_RESULTS, *_CALLS, "reasoning"):  # items of OpenAI's responses
        role = "tool" if kind in _RESULTS else "assistant"
        held = {"content": [message]}
    if role is None:
        msg = f"{place}: message {number} has no known role"
        raise DocumentError(msg, hint=ROLES)
    said: list[Said] = []
    for key in ("reasoning_content", "content", "parts"):
        _read_content(held.get(key), role, _call_id(held), said, log)
    calls = held.get("tool_calls")
    log.left_out["tool_calls"] += len(calls) if isinstance(calls, list) else 0
    log.left_out["tool_calls"] += held.get("function_call") is not None
    log.messages.append(said)


def _call_id(message: JSON) -> str | None:
    found = (message.get(key) for key in _RESULT_IDS if key != "id")
    return next((_clean(one) for one in found if isinstance(one, str)), None)


def _read_content(
    content: object, role: Role, call: str | None, said: list[Said], log: Log
) -> None:
    if isinstance(content, str):
        if content.strip():
            said.append(Said(role, _clean(content), call))
        return
    parts = content if isinstance(content, list) else [content] if content is not None else []
    for part in parts:
        if isinstance(part, str):
            _read_content(part, role, call, said, log)
        elif isinstance(part, dict):
            _read_part(part, role, call, said, log)
        else:
            log.left_out["other_parts"] += 1


def _read_part(part: JSON, role: Role, call: str | None, said: list[Said], log: Log) -> None:
    kind = str(part.get("type", "text"))
    if kind in _CALLS:
        log.left_out["tool_calls"] += 1
    elif kind in _RESULTS:
        ids = (part.get(key) for key in _RESULT_IDS)
        named = next((_clean(one) for one in ids if isinstance(one, str)), call)
        text = "\n".join(_leaves(_first(part, _RESULTS[kind])))
        _read_content(text, "tool", named, said, log)
    elif kind in _TEXTS:
        found = _first(part, _TEXTS[kind])
        if found is None and kind == "reasoning":  # an item of OpenAI's responses
            found = part.get("summary")
        for text in _leaves(found):
            _read_content(text, role, call, said, log)
    else:
        log.left_out[f"{kind}_parts" if kind.isidentifier() else "other_parts"] += 1


def _first(part: JSON, keys: Iterable[str]) -> object:
    return next((part[key] for key in keys if part.get(key) is not None), None)


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a result: the texts of its parts, and any other JSON as JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _DEEPEST:
        for one in value:
            yield from _leaves(one, depth + 1)
    elif isinstance(value, dict) and str(value.get("type")) in _TEXTS:
        yield from _leaves(_first(value, _TEXTS[str(value["type"])]), depth + 1)
    elif value is not None:
        yield json.dumps(value, ensure_ascii=False)


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON can write and no text can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
