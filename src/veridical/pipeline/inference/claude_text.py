"""Text from Claude (extra `anthropic`), held to a JSON Schema if asked for.

Neither temperature nor seed is sent: newer models refuse the one, and none takes the other.
"""

from __future__ import annotations

import json
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio

from veridical.core.measurements import (
    Generated,
    TextModelInfo,
    TextRequest,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import TextModelSpec
from veridical.pipeline.inference.claude import DEFAULT_MODEL, MODELS
from veridical.pipeline.inference.claude_client import make_client, make_http_client
from veridical.pipeline.inference.claude_messages import (
    room_to_think,
    thinking_for,
    usage_of,
)
from veridical.pipeline.inference.clients import ensure_positive
from veridical.pipeline.inference.completions import Completion
from veridical.pipeline.inference.failures import malformed, unmeasured_error
from veridical.pipeline.inference.openai_text import generated
from veridical.pipeline.inference.prices import Usage, UsageBound, cost_usd

if TYPE_CHECKING:
    from collections.abc import Callable


def create(  # noqa: PLR0913 -- options of a text model are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the service that computes
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 300.0,
    price: Callable[[Usage], float | None] | None = None,
) -> ClaudeText:
    """Return a text model of Anthropic's (entry point `anthropic`); nothing is asked yet.

    `ConfigurationError` without a key, `MissingExtraError` without the SDK.
    """
    name = model or DEFAULT_MODEL
    return ClaudeText(
        MODELS.get(name, name),
        base_url=base_url,
        api_key=api_key,
        timeout_s=timeout_s,
        price=price,
    )


TEXT_MODEL = TextModelSpec(
    create, settings="anthropic", options=frozenset({"base_url", "api_key"}), priced=True
)


class ClaudeText:
    """Texts of Claude; the options mean the same as for the backend `anthropic`."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 300.0,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        ensure_positive(timeout_s=timeout_s)
        self._client = make_client(base_url, api_key, timeout_s)
        self._timeout_s = timeout_s
        self._price = price or partial(cost_usd, model)
        self.info = TextModelInfo("anthropic", model)
        self.address = str(self._client.base_url)
        self.fingerprint = self.address

    @property
    def most(self) -> UsageBound:
        """Maximum usage of a text: a request, with the room to think."""
        return UsageBound(further_output_tokens=room_to_think(self.info.model))

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the model's text."""
        started = perf_counter()
        try:
            # A client of its own for one call: connections belong to one event loop.
            async with self._client.copy(http_client=make_http_client()) as client:
                with anyio.fail_after(self._timeout_s):
                    response = await client.messages.with_raw_response.create(
                        **arguments(self.info.model, request)
                    )
                    body = await response.text()
        except Exception as error:  # noqa: BLE001 -- a failing request is a value
            return unmeasured_error(error)
        completion = read_message(body)
        if isinstance(completion, Unmeasured):
            return completion
        latency_ms = (perf_counter() - started) * 1000
        return generated(completion, self.info.model, latency_ms=latency_ms, price=self._price)


def arguments(model: str, request: TextRequest) -> dict[str, Any]:
    """Return the arguments of `messages.create`; a model that thinks gets room to."""
    thinking = thinking_for(model)
    found: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens + room_to_think(model),
        "system": request.system,
        "messages": [{"role": "user", "content": request.user}],
    }
    if request.schema is not None:
        form = {"type": "json_schema", "schema": dict(request.schema)}
        found["output_config"] = {"format": form}
    return found | ({"thinking": {"type": thinking}} if thinking else {})


def read_message(body: str | bytes) -> Completion | Unmeasured:
    """Return the text of a message, its usage, and whether the limit cut it off."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: thousands of brackets
        return malformed("the reply is not JSON")
    if not isinstance(message, dict):
        return malformed("the reply is no message")
    match message.get("stop_reason"):
        case "refusal":
            return malformed("the model refuses")
        case "model_context_window_exceeded":
            return Unmeasured(UnmeasuredReason.CONTEXT_TOO_LONG, "context window exceeded")
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    text = "".join(text for text in texts if isinstance(text, str))
    cut_off = message.get("stop_reason") == "max_tokens"
    return Completion(None, usage_of(message.get("usage")), text, cut_off)
