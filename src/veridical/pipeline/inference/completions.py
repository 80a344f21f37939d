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


Alternatives = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class WrittenToken:
    """Token of a completion, and the most probable tokens in its place."""

    text: str = field(repr=False)
    top: Alternatives = field(repr=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """Completion: its text, and the log-probabilities of its tokens.

    `top` are pairs of token and natural log-probability for the first token. It is None if there
    are no log-probabilities, or only that of the chosen token; `usage` is None if it was not
    reported. `text` is the answer as text, for estimates from samples; `cut_off` is true if the
    limit on its tokens ended it. `written` are all tokens.
    """

    top: Alternatives | None = field(repr=False)
    usage: Usage | None
    text: str = field(default="", repr=False)
    cut_off: bool = False
    written: tuple[WrittenToken, ...] = field(default=(), repr=False)

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
        written = _written(choice)
    except _ShapeError as error:
        return malformed(str(error))
    said = text if isinstance(text, str) else ""
    cut_off = choice.get("finish_reason") == "length"
    # Of the chosen token alone, YES at 0.4 would be the only answer, hence certain.
    top = (written[0].top or None) if written else None
    return Completion(top, _usage(raw), said, cut_off, written)


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


def _written(choice: dict[str, Any]) -> tuple[WrittenToken, ...]:
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not content:
        return ()
    _at(content, 0, dict)
    return tuple(_token(_at(content, i, dict)) for i in range(len(content)))


def _token(raw: dict[str, Any]) -> WrittenToken:
    text, top = raw.get("token"), raw.get("top_logprobs")
    pairs = tuple(map(_pair, _at(raw, "top_logprobs", list))) if top else ()
    return WrittenToken(text if isinstance(text, str) else "", pairs)


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
