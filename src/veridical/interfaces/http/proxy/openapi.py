"""OpenAPI descriptions of the routes of the proxy."""

from __future__ import annotations

from typing import Any

from veridical.interfaces.http.proxy.options import FIELD, Options


def _inlined(schema: Any, kinds: dict[str, Any]) -> Any:  # noqa: ANN401 -- JSON
    """Return a schema with its references replaced: OpenAPI keeps their targets elsewhere."""
    if isinstance(schema, list):
        return [_inlined(one, kinds) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(kinds[schema["$ref"].rpartition("/")[2]], kinds)
    return {key: _inlined(value, kinds) for key, value in schema.items() if key != "$defs"}


_options = Options.model_json_schema()
_REQUEST = {
    "type": "object",
    "description": "A request as the upstream takes it, and our own field.",
    "properties": {FIELD: _inlined(_options, _options.get("$defs", {}))},
    "additionalProperties": True,
}
_REPLY = {
    "type": "object",
    "description": "What the upstream says, and its verdict in the field `veridical`.",
    "additionalProperties": True,
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }
    },
}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def posted(example: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a route to which requests like this one are sent."""
    content = {"application/json": {"schema": _REQUEST, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


_EVIDENCE = "[S1] The bridge was opened in 1998. It carries eight lanes."
_QUESTION = "How many lanes has the bridge?"
CHAT: dict[str, Any] = posted(
    {
        "model": "gpt-4.1-mini",
        "messages": [
            {"role": "system", "content": _EVIDENCE},
            {"role": "user", "content": _QUESTION},
        ],
        FIELD: {"on_failure": "flag"},
    }
)
RESPONSE: dict[str, Any] = posted(
    {
        "model": "gpt-4.1-mini",
        "instructions": _EVIDENCE,
        "input": _QUESTION,
        FIELD: {"on_failure": "flag"},
    }
)
MODELS: dict[str, Any] = {}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What the upstream answers; `text/event-stream` if a stream was asked for.",
        "content": {**_json(_REPLY), "text/event-stream": {"schema": {"type": "string"}}},
        "headers": {
            "x-veridical-outcome": {
                "description": "grounded, flagged, undetermined or nothing_to_check.",
                "schema": {"type": "string"},
            },
            "x-veridical-flagged": {
                "description": "How many claims are flagged, if that is known.",
                "schema": {"type": "integer"},
            },
            "x-veridical-action": {
                "description": "passed, flagged, retried or blocked.",
                "schema": {"type": "string"},
            },
            "x-veridical-reason": {
                "description": "Why there is no verdict, such as load or timeout.",
                "schema": {"type": "string"},
            },
        },
    },
    400: {"description": "The field `veridical` is wrong.", "content": _json(_ERROR)},
    502: {
        "description": "The upstream cannot be reached, or its answer cannot be read and may not"
        " go out unverified.",
        "content": _json(_ERROR),
    },
    503: {"description": "No upstream is configured.", "content": _json(_ERROR)},
    504: {"description": "The upstream does not answer in time.", "content": _json(_ERROR)},
    "default": {"description": "An error of the upstream, as it is."},
}
