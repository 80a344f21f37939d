"""Chat messages in OpenTelemetry spans with attributes of the GenAI conventions, in order.

Sources are `gen_ai.system_instructions`, `gen_ai.input.messages` and `gen_ai.output.messages` of
spans and of their events, as structures or as JSON strings; results of `execute_tool` spans; and
the events of earlier versions (`gen_ai.user.message`, `gen_ai.choice`, ...). Every request repeats
the conversation so far: a message counts once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

JSON: TypeAlias = dict[str, object]

_SYSTEM, _INPUT, _OUTPUT = (
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
)
_RESULT, _CALL = "gen_ai.tool.call.result", "gen_ai.tool.call.id"
_EVENTS = {  # of versions up to 1.36
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
# By end time: a parent span repeats the messages of its children, and ends after them.
_TIMES = (
    "endTimeUnixNano",
    "end_time_unix_nano",
    "end_time",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "start_time",
)
_DEEPEST = 50


def is_span(document: JSON) -> bool:
    """Return whether a JSON object looks like a span."""
    names = {"spanId", "span_id", "traceId", "trace_id", "context"}
    return "attributes" in document and bool(names & document.keys())


def span_messages(spans: Iterable[JSON]) -> Iterator[JSON]:
    """Yield the messages of spans in the order in which they ended, each once."""
    seen: list[str] = []
    for span in sorted(spans, key=_end):
        messages = list(_of_span(span))
        keys = [json.dumps(message, sort_keys=True) for message in messages]
        if len(seen) <= len(keys) and keys[: len(seen)] == seen:  # repeated messages
            fresh = list(range(len(seen), len(keys)))
        else:
            known = frozenset(seen)
            fresh = [n for n, key in enumerate(keys) if key not in known]
        for number in fresh:
            seen.append(keys[number])
            yield messages[number]


def _end(span: JSON) -> tuple[int, str]:
    """Return the end time of a span: nanoseconds as a number or text, or an ISO time."""
    value = next((span[name] for name in _TIMES if span.get(name) is not None), "")
    text = str(value)
    return (int(text), "") if text.isdecimal() and len(text) < len("9" * 30) else (0, text)


def _of_span(span: JSON) -> Iterator[JSON]:
    attributes = _attributes(span.get("attributes"))
    yield from _conversation(attributes)
    for event in json_objects(span.get("events")):
        yield from _of_event(event)
    if _RESULT in attributes:
        call = attributes.get(_CALL)
        yield {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": call, "response": attributes[_RESULT]}],
        }


def _conversation(attributes: JSON) -> Iterator[JSON]:
    system = _structure(attributes.get(_SYSTEM))
    if system is not None:
        yield {"role": "system", "parts": system}
    for name in (_INPUT, _OUTPUT):
        for message in json_objects(_structure(attributes.get(name))):
            yield {key: message[key] for key in ("role", "parts", "content") if key in message}


def _of_event(event: JSON) -> Iterator[JSON]:
    attributes = _attributes(event.get("attributes"))
    yield from _conversation(attributes)
    role = _EVENTS.get(str(event.get("name")))
    if role is None:
        return
    body = _structure(event.get("body", attributes.get("gen_ai.event.content")))
    found = body if isinstance(body, dict) else attributes
    message = found.get("message")
    inner = message if isinstance(message, dict) else found
    kept = {key: inner[key] for key in ("content", "tool_calls") if key in inner}
    call = inner.get("id")
    yield {"role": role, **kept, **({"tool_call_id": call} if role == "tool" else {})}


def _structure(value: object) -> object:
    """Return the value of an attribute, decoded if it is JSON text."""
    if not isinstance(value, str):
        return value
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return [{"type": "text", "content": value}]
    return found if isinstance(found, dict | list) else [{"type": "text", "content": value}]


def _attributes(value: object) -> JSON:
    """Return attributes as a mapping, given a mapping or OTLP's list of keys and values."""
    if isinstance(value, dict):
        return value
    return {str(one.get("key")): _any_value(one.get("value")) for one in json_objects(value)}


def _any_value(value: object, depth: int = 0) -> object:
    """Return the value in OTLP's AnyValue."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    if "arrayValue" in value:
        values = value["arrayValue"]
        return [_any_value(one, depth + 1) for one in _values(values)]
    if "kvlistValue" in value:
        pairs = json_objects(_values(value["kvlistValue"]))
        return {str(one.get("key")): _any_value(one.get("value"), depth + 1) for one in pairs}
    return next(iter(value.values()), None)


def _values(value: object) -> Sequence[object]:
    found = value.get("values") if isinstance(value, dict) else None
    return found if isinstance(found, list) else ()


def json_objects(value: object) -> Iterator[JSON]:
    """Yield the objects of a JSON array; none of anything else."""
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())
