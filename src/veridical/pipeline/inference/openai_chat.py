"""Any OpenAI-compatible chat endpoint that gives log-probabilities (extra `openai`).

OpenAI, vLLM, llama.cpp, Ollama and LM Studio agree on the shape of a request but not on every
argument. The backend begins with what most of them accept and gives way when a server refuses; what
worked is remembered (`Dialect`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import anyio

from veridical.core.types import (
    BackendInfo,
    Estimator,
    Measurement,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference.completions import Completion, parse_completion
from veridical.pipeline.inference.failures import unmeasured_error
from veridical.pipeline.inference.logprobs import read_logprobs
from veridical.pipeline.inference.prices import Usage, cost_usd
from veridical.pipeline.inference.probing import Probe
from veridical.pipeline.inference.prompts import Prompt, fingerprint, prompt_for

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    from openai import AsyncOpenAI

NO_LOGPROBS = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "no log-probabilities")

_CAPPED_TOP_LOGPROBS = 5
_REFUSALS = frozenset({400, 403, 422, 501})
_NO_KEY = "none"
_SAID = 300  # characters of a refusal in plain text; a prompt that it repeats comes later
_PROBE = Query("The sky is blue.", "On a clear day the sky is blue.")


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    base_url: str | None = None,
    api_key: str | None = None,
    top_logprobs: int = 20,
    concurrency: int = 8,
    timeout_s: float = 30.0,
    extra_body: Mapping[str, object] | None = None,
    price: Callable[[Usage], float | None] | None = None,
) -> OpenAIChat:
    """Return a backend for a chat endpoint (entry point `openai`); nothing is asked yet.

    `ConfigurationError` without a model or a key, `MissingExtraError` without the SDK.
    """
    if not model:
        msg = "the backend openai has no default model"
        raise ConfigurationError(msg, hint="Name one: openai:MODEL")
    return OpenAIChat(
        model,
        base_url=base_url,
        api_key=api_key,
        top_logprobs=top_logprobs,
        concurrency=concurrency,
        timeout_s=timeout_s,
        extra_body=extra_body,
        price=price,
    )


@dataclass(frozen=True, slots=True)
class Dialect:
    """The arguments that a server accepts; `top_logprobs` None: it gives no log-probabilities."""

    top_logprobs: int | None
    limit: str = "max_tokens"
    temperature: bool = True

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a request: one token, the most probable one."""
        arguments: dict[str, Any] = {self.limit: 1}
        if self.temperature:
            arguments["temperature"] = 0
        if self.top_logprobs is not None:
            arguments |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        return arguments

    def after(self, refusal: str) -> Dialect | None:
        """Return what to try after a refusal; None if it is about something else."""
        if "max_completion_tokens" in refusal and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "logprobs" in refusal and self.top_logprobs is not None:
            more = self.top_logprobs > _CAPPED_TOP_LOGPROBS
            return replace(self, top_logprobs=_CAPPED_TOP_LOGPROBS if more else None)
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        return None


class OpenAIChat:
    """P from the log-probabilities of the first answer token of a chat model.

    `base_url` is that of the endpoint (`http://127.0.0.1:8080/v1`). Without it the SDK takes
    address and key from its own environment variables; with it a key is sent only if `api_key` is
    given, so that a key for one service never reaches another. `top_logprobs` is how many tokens to
    ask for, `concurrency` how many requests run at once, `timeout_s` what one may take, and
    `extra_body` goes into each request as it is (`{"reasoning_effort": "none"}`). `price` is
    what a request costs in USD (default: the shipped price of the model, None if there is none).
    """

    def __init__(  # noqa: PLR0913 -- see create
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        top_logprobs: int = 20,
        concurrency: int = 8,
        timeout_s: float = 30.0,
        extra_body: Mapping[str, object] | None = None,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        _ensure_positive(top_logprobs=top_logprobs, concurrency=concurrency, timeout_s=timeout_s)
        self._client = _client(base_url, api_key, timeout_s)
        self._concurrency = concurrency
        self._timeout_s = timeout_s
        self._extra_body = dict(extra_body or {})
        self._dialect = Dialect(top_logprobs)
        self._price = price or partial(cost_usd, model)
        address = str(self._client.base_url)
        extra = repr(sorted(self._extra_body.items()))
        self.info = BackendInfo(
            name="openai",
            model=model,
            estimator=Estimator.LOGPROBS,
            fingerprint=fingerprint(model, address, str(top_logprobs), extra),
        )

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        if not queries:
            return []
        prompts = [prompt_for(query) for query in queries]
        results: list[Measurement | None] = [None] * len(queries)
        # Those with one context follow each other, so that a server finds it in its prefix cache.
        order = iter(sorted(range(len(queries)), key=lambda i: prompts[i].context))

        async def work(client: AsyncOpenAI) -> None:
            for i in order:
                results[i] = await self._measure(client, prompts[i])

        async with self._open() as client, anyio.create_task_group() as tasks:
            for _ in range(min(self._concurrency, len(queries))):
                tasks.start_soon(work, client)
        return [result for result in results if result is not None]

    async def probe(self) -> Probe:
        """Ask the endpoint one tiny question; what goes wrong is in the value."""
        async with self._open() as client:
            completion = await self._ask(client, prompt_for(_PROBE))
        if completion is NO_LOGPROBS or (isinstance(completion, Completion) and not completion.top):
            return Probe(ok=True, detail="answers without log-probabilities", logprobs=False)
        if isinstance(completion, Unmeasured):
            return Probe(ok=False, detail=f"{completion.reason}: {completion.detail}")
        reading = read_logprobs(completion.top or ())
        if isinstance(reading, Unmeasured):
            detail = f"answers with log-probabilities, but {reading.detail}"
            return Probe(ok=True, detail=detail, logprobs=True)
        return Probe(ok=True, detail="answers with log-probabilities", logprobs=True)

    def _open(self) -> AsyncOpenAI:
        """Return a client of its own for one call: connections belong to one event loop."""
        return self._client.copy(http_client=_http_client())

    async def _measure(self, client: AsyncOpenAI, prompt: Prompt) -> Measurement:
        started = perf_counter()
        completion = await self._ask(client, prompt)
        if isinstance(completion, Unmeasured):
            return completion
        if completion.top is None:
            return NO_LOGPROBS
        reading = read_logprobs(completion.top)
        if isinstance(reading, Unmeasured):
            return reading
        latency_ms = (perf_counter() - started) * 1000
        usage = completion.usage
        return reading.estimate(
            self.info,
            latency_ms=latency_ms,
            tokens=completion.tokens,
            cost_usd=None if usage is None else self._price(usage),
        )

    async def _ask(self, client: AsyncOpenAI, prompt: Prompt) -> Completion | Unmeasured:
        dialect: Dialect | None = self._dialect
        while dialect is not None and dialect.top_logprobs is not None:
            try:
                with anyio.fail_after(self._timeout_s):
                    body = await self._post(client, prompt, dialect)
            except Exception as error:  # noqa: BLE001 -- a failing request is a value
                failure = unmeasured_error(error)
                dialect = dialect.after(_refusal(error, failure))
                if dialect is None:
                    return failure
            else:
                self._dialect = dialect
                return parse_completion(body)
        self._dialect = dialect or self._dialect
        return NO_LOGPROBS

    async def _post(self, client: AsyncOpenAI, prompt: Prompt, dialect: Dialect) -> bytes:
        response = await client.chat.completions.with_raw_response.create(
            model=self.info.model,
            messages=cast("Any", prompt.messages),  # the SDK's types name each role
            extra_body=self._extra_body or None,
            **dialect.arguments(),
        )
        body: bytes = response.content
        return body


def _refusal(error: Exception, failure: Unmeasured) -> str:
    """Return what a server says of the arguments it refuses; empty if it refuses something else.

    Only what describes the error is read: some servers repeat the request, prompt and all.
    """
    status = getattr(error, "status_code", None)
    if status not in _REFUSALS or failure.reason is UnmeasuredReason.CONTEXT_TOO_LONG:
        return ""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping):
        return str(body)[:_SAID]
    said = (body.get(key) for key in ("param", "message", "detail"))
    return " ".join(text for text in said if isinstance(text, str))


def _client(base_url: str | None, api_key: str | None, timeout_s: float) -> AsyncOpenAI:
    try:
        import openai
    except ImportError as error:
        msg = "the backend openai needs the SDK of the same name"
        hint = "Install it with pip install 'veridical[openai]'"
        raise MissingExtraError(msg, hint=hint) from error
    if base_url is not None:
        _ensure_url(base_url)
    try:
        return openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or (_NO_KEY if base_url else None),
            timeout=timeout_s,
            max_retries=0,
            http_client=_http_client(),
        )
    except openai.OpenAIError as error:
        msg = "the backend openai has neither a key nor the address of a server that needs none"
        raise ConfigurationError(msg, hint="Set OPENAI_API_KEY, or give base_url") from error


def _http_client() -> Any:  # noqa: ANN401 -- of the library that the SDK brings with it
    import openai

    return openai.DefaultAsyncHttpxClient(verify=_tls())


@cache
def _tls() -> ssl.SSLContext:
    # Made once: reading the system's certificates takes longer than a request.
    import httpx2

    return httpx2.create_ssl_context()


def _ensure_positive(**options: float) -> None:
    for name, value in options.items():
        if not value > 0:
            msg = f"{name} must be more than 0, not {value}"
            raise ConfigurationError(msg, hint="Leave it out for the default")


def _ensure_url(url: str) -> None:
    import httpx2

    try:
        parsed = httpx2.URL(url)
        usable = parsed.scheme in {"http", "https"} and bool(parsed.host)
    except httpx2.InvalidURL:
        usable = False
    if not usable:
        msg = "base_url is not the address of a server"  # not repeated: it may hold a password
        raise ConfigurationError(msg, hint="It looks like http://127.0.0.1:8080/v1")
