"""Text from any OpenAI-compatible chat endpoint (extra `openai`), as JSON of a schema if asked for.

Servers hold a model to a schema (`json_schema`), to some JSON (`json_object`), or to nothing. A
refused argument is left out of the next request, and accepted ones are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio

from veridical.core.measurements import Generated, TextModelInfo, TextRequest, Unmeasured
from veridical.core.specs import TextModelSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.capabilities import refusal_of
from veridical.pipeline.inference.clients import (
    address_print,
    ensure_positive,
    openai_client,
    openai_connections,
)
from veridical.pipeline.inference.completions import Completion, parse_completion
from veridical.pipeline.inference.failures import malformed, unmeasured_error
from veridical.pipeline.inference.prices import Usage, cost_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ReplyFormat(StrEnum):
    """Constraints on a reply that a server can enforce, the strictest first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class TextDialect:
    """The arguments that a server accepts."""

    format: ReplyFormat = ReplyFormat.JSON_SCHEMA
    limit: str = "max_tokens"
    temperature: bool = True
    seed: bool = True

    def arguments(self, request: TextRequest) -> dict[str, Any]:
        """Return the arguments of a request besides its model and messages."""
        arguments: dict[str, Any] = {self.limit: request.max_tokens}
        if self.temperature:
            arguments["temperature"] = request.temperature
        if self.seed and request.seed is not None:
            arguments["seed"] = request.seed
        if request.schema is not None and self.format is not ReplyFormat.TEXT:
            arguments["response_format"] = response_format(request.schema, self.format)
        return arguments

    def after(self, refusal: str) -> TextDialect | None:
        """Return the next arguments to try after a refusal; None if it is about something else."""
        if "max_completion_tokens" in refusal and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if self.format is not ReplyFormat.TEXT and any(word in refusal for word in _ABOUT_FORMAT):
            # A server that knows no schema may know JSON, and then nothing.
            formats = list(ReplyFormat)
            return replace(self, format=formats[formats.index(self.format) + 1])
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        if "seed" in refusal and self.seed:
            return replace(self, seed=False)
        return None


_ABOUT_FORMAT = ("response_format", "json_schema", "json_object", "schema", "grammar")


def response_format(schema: Mapping[str, object], kind: ReplyFormat) -> dict[str, object]:
    """Return the `response_format` argument of a chat completion."""
    if kind is not ReplyFormat.JSON_SCHEMA:
        return {"type": kind.value}
    named = {"name": "reply", "strict": True, "schema": dict(schema)}
    return {"type": kind.value, "json_schema": named}


def chat(request: TextRequest) -> list[dict[str, str]]:
    """Return the messages of a request in the form that chat completions take."""
    return [
        {"role": "system", "content": request.system},
        {"role": "user", "content": request.user},
    ]


def create(  # noqa: PLR0913 -- options of a text model are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 300.0,
    extra_body: Mapping[str, object] | None = None,
    price: Callable[[Usage], float | None] | None = None,
) -> OpenAIText:
    """Return a text model behind a chat endpoint (entry point `openai`); nothing is asked yet.

    `ConfigurationError` without a model or a key, `MissingExtraError` without the SDK.
    """
    if not model:
        msg = "the text model openai has no default model"
        raise ConfigurationError(msg, hint="Name one: openai:MODEL")
    return OpenAIText(
        model,
        base_url=base_url,
        api_key=api_key,
        timeout_s=timeout_s,
        extra_body=extra_body,
        price=price,
    )


TEXT_MODEL = TextModelSpec(
    create,
    settings="openai",
    options=frozenset({"base_url", "api_key", "extra_body"}),
    priced=True,
)


class OpenAIText:
    """Texts of a chat model; the options mean the same as for the backend `openai`."""

    def __init__(  # noqa: PLR0913 -- see create
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 300.0,
        extra_body: Mapping[str, object] | None = None,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        ensure_positive(timeout_s=timeout_s)
        self._client = openai_client("openai", base_url, api_key, timeout_s)
        self._timeout_s = timeout_s
        self._extra_body = dict(extra_body or {})
        self._dialect = TextDialect()
        self._price = price or partial(cost_usd, model)
        self.info = TextModelInfo("openai", model)
        self.address = str(self._client.base_url)
        self.fingerprint = repr((address_print(self._client), sorted(self._extra_body.items())))

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the model's text, dropping arguments that the server refuses."""
        started = perf_counter()
        dialect = self._dialect
        while True:
            try:
                with anyio.fail_after(self._timeout_s):
                    body = await self._post(request, dialect)
            except Exception as error:  # noqa: BLE001 -- a failing request is a value
                failure = unmeasured_error(error)
                further = dialect.after(refusal_of(error, failure))
                if further is None:
                    return failure
                dialect = further
            else:
                break
        self._dialect = dialect
        completion = parse_completion(body)
        if isinstance(completion, Unmeasured):
            return completion
        latency_ms = (perf_counter() - started) * 1000
        return generated(completion, self.info.model, latency_ms=latency_ms, price=self._price)

    async def _post(self, request: TextRequest, dialect: TextDialect) -> bytes:
        # A client of its own for one call: connections belong to one event loop.
        async with self._client.copy(http_client=openai_connections()) as client:
            messages: Any = chat(request)  # the SDK's types name each role
            response = await client.chat.completions.with_raw_response.create(
                model=self.info.model,
                messages=messages,
                extra_body=self._extra_body or None,
                **dialect.arguments(request),
            )
            body: bytes = response.content
            return body


def generated(
    completion: Completion,
    model: str,
    *,
    latency_ms: float,
    price: Callable[[Usage], float | None],
) -> Generated | Unmeasured:
    """Return the text of a completion; a reply without any is malformed."""
    usage = completion.usage
    if not completion.text.strip():
        detail = "no text within the limit" if completion.cut_off else "the reply has no text"
        return malformed(detail)
    return Generated(
        completion.text,
        model,
        completion.cut_off,
        prompt_tokens=None if usage is None else usage.prompt_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
        cost_usd=None if usage is None else price(usage),
        latency_ms=latency_ms,
    )
