"""Parsing of chat completions: the first token's log-probabilities and the tokens used.

The same shape comes from OpenAI, vLLM, llama.cpp (over HTTP and in process), Ollama and LM Studio.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.pipeline.inference.failures import malformed, unmeasured_status
from veridical.pipeline.inference.prices import Usage

if TYPE_CHECKING:
    from veridical.core.measurements import Unmeasured


@dataclass(frozen=True, slots=True)
class Completion:
    """First token of a completion: pairs of token and natural log-probability.

    `top` is None if there are no log-probabilities, or only that of the chosen token; `usage` is
    None if it was not reported. `text` is the answer as text, for estimates from samples; `cut_off`
    is true if the limit on its tokens ended it.
    """

    top: tuple[tuple[str, float], ...] | None = field(repr=False)
    usage: Usage | None
    text: str = field(default="", repr=False)
    cut_off: bool = False

    @property
    def tokens(self) -> int | None:
        """Tokens of prompt and completion, None if they are unknown."""
        return None if self.usage is None else self.usage.prompt_tokens + self.usage.output_tokens


def parse_completion(body: str | bytes) -> Completion | Unmeasured:
    """Return the completion in a reply's body; a malformed reply if no JSON or of another shape."""
    try:
        return read_completion(json.loads(body))
    except (ValueError, RecursionError):  # RecursionError: thousands of brackets
        return malformed("the reply is not JSON")


def read_completion(raw: object) -> Completion | Unmeasured:
    """Return the completion in a parsed JSON value."""
    if isinstance(raw, dict) and isinstance(raw.get("error"), dict):
        return _refused(raw["error"])
    try:
        choice = _at(_at(raw, "choices", list), 0, dict)
        text = _at(choice, "message", dict).get("content")
        top = _top(choice)
    except _ShapeError as error:
        return malformed(str(error))
    said = text if isinstance(text, str) else ""
    return Completion(top, _usage(raw), said, cut_off=choice.get("finish_reason") == "length")


class _ShapeError(Exception):
    """Name of a field that is missing or of the wrong type, never its value."""


def _at(raw: Any, key: str | int, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401 -- JSON
    try:
        value = raw[key]
    except (LookupError, TypeError):
        msg = f"the reply has no {key!r}"
        raise _ShapeError(msg) from None
    if not isinstance(value, kind):
        msg = f"{key!r} of the reply is a {type(value).__name__}"
        raise _ShapeError(msg)
    return value


def _top(choice: dict[str, Any]) -> tuple[tuple[str, float], ...] | None:
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not content:
        return None
    first = _at(content, 0, dict)
    if not first.get("top_logprobs"):
        return None  # of the chosen token alone, YES at 0.4 would be the only answer, hence certain
    return tuple(_pair(token) for token in _at(first, "top_logprobs", list))


def _pair(token: object) -> tuple[str, float]:
    logprob = _at(token, "logprob", (int, float))
    try:
        return _at(token, "token", str), float(logprob)
    except OverflowError:
        msg = "'logprob' of the reply is an int of hundreds of digits"
        raise _ShapeError(msg) from None


def _usage(raw: Any) -> Usage | None:  # noqa: ANN401
    usage = raw.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if prompt is None or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    read, written = (
        (_count(details, key) or 0 if isinstance(details, dict) else 0)
        for key in ("cached_tokens", "cache_write_tokens")
    )
    read = min(read, prompt)
    return Usage.from_total(
        prompt,
        completion,
        cached_input_tokens=read,
        cache_write_tokens=min(written, prompt - read),
    )


def _count(values: dict[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if isinstance(value, int) and value >= 0 else None


def _refused(error: dict[str, Any]) -> Unmeasured:
    # Gateways pass on the failure of the service behind them with a status of 200.
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502  # noqa: PLR2004
    return unmeasured_status(status, body=str(error.get("message", "")))
