"""Any OpenAI-compatible chat endpoint (extra `openai`): log-probabilities, or else samples.

OpenAI, vLLM, llama.cpp, Ollama and LM Studio agree on the shape of a request but not on every
argument. The backend begins with the most widely accepted ones and gives way when a server refuses;
accepted arguments are remembered (`ServerCapabilities`). A server or a model that gives no
log-probabilities is asked repeatedly for its answer (`sampling`).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import anyio

from veridical.core.measurements import (
    BackendInfo,
    Estimator,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.errors import ConfigurationError
from veridical.pipeline.inference import presets
from veridical.pipeline.inference.capabilities import ServerCapabilities, refusal_of
from veridical.pipeline.inference.clients import (
    ConnectionLimiter,
    address_print,
    ensure_positive,
    openai_client,
    openai_connections,
)
from veridical.pipeline.inference.completions import Completion, parse_completion
from veridical.pipeline.inference.failures import malformed, unbilled, unmeasured_error
from veridical.pipeline.inference.judges import DefaultJudge, PresetJudge
from veridical.pipeline.inference.openai_batches import OpenAIBatches, replaying
from veridical.pipeline.inference.prices import Bill, Usage, UsageBound, cost_usd
from veridical.pipeline.inference.probing import QUESTION, Probe
from veridical.pipeline.inference.prompts import fingerprint
from veridical.pipeline.inference.sampling import Plan, sample

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from openai import AsyncOpenAI

    from veridical.pipeline.inference.judges import Judge, Question
    from veridical.pipeline.inference.logprobs import TokenProbabilities
    from veridical.pipeline.inference.presets import Preset
    from veridical.pipeline.inference.prompts import AnswerWord
    from veridical.pipeline.inference.sampling import Tally

NO_LOGPROBS = Unmeasured(UnmeasuredReason.BACKEND_ERROR, "no log-probabilities")

_NOT_READ = malformed("the model read fewer tokens than the question has words")

_ENOUGH_WITHOUT = 2
"""Replies in a row without log-probabilities, after which none are asked for any more."""


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the server that computes
    base_url: str | None = None,
    api_key: str | None = None,
    top_logprobs: int = 20,
    sampling: bool = True,
    samples_min: int = 3,
    samples_max: int = 10,
    threshold: float | None = None,
    concurrency: int = 8,
    timeout_s: float = 30.0,
    extra_body: Mapping[str, object] | None = None,
    preset: str | None = None,
    price: Callable[[Usage], float | None] | None = None,
) -> OpenAIChat:
    """Return a backend for a chat endpoint (entry point `openai`); nothing is asked yet.

    Unless `sampling` is off, a claim takes `samples_min` to `samples_max` samples where there are
    no log-probabilities, until it is decided at `threshold` (default: .7, or that of the `preset`).
    `preset` names a model that was trained to judge with a prompt of its own. `ConfigurationError`
    without a model or a key, or for impossible options, `MissingExtraError` without the SDK.
    """
    if not model:
        msg = "the backend openai has no default model"
        raise ConfigurationError(msg, hint="Name one: openai:MODEL")
    chosen = None if preset is None else presets.preset(preset)
    if threshold is None:
        threshold = Plan().threshold if chosen is None else chosen.threshold
    return OpenAIChat(
        model,
        preset=chosen,
        base_url=base_url,
        api_key=api_key,
        top_logprobs=top_logprobs,
        plan=Plan(samples_min, samples_max, threshold) if sampling else None,
        concurrency=concurrency,
        timeout_s=timeout_s,
        extra_body=extra_body,
        price=price,
    )


BACKEND = BackendSpec(create, settings="openai", priced=True, sampled=True)


class OpenAIChat:
    """P from the log-probabilities of the first answer token of a chat model, or from samples.

    `base_url` is that of the endpoint (`http://127.0.0.1:8080/v1`). Without it the SDK takes
    address and key from its own environment variables; with it a key is sent only if `api_key` is
    given, so that a key for one service never reaches another. `top_logprobs` is how many tokens to
    ask for, `concurrency` how many requests run at once, `timeout_s` the limit of one in seconds,
    and `extra_body` goes into each request as it is (`{"reasoning_effort": "none"}`). `price` is
    the price of a request in USD (default: the shipped price of the model, None if there is none).

    Where there are no log-probabilities, a claim is asked about as often as `plan` says, at a
    temperature of 1 (or the server's own, where it takes none); a `seed` in `extra_body` counts up.
    Without a plan such a claim is unmeasured.

    With a `preset` the model is asked in its own words, and knows no contradiction.
    """

    def __init__(  # noqa: PLR0913 -- see create
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        top_logprobs: int = 20,
        plan: Plan | None = None,
        concurrency: int = 8,
        timeout_s: float = 30.0,
        extra_body: Mapping[str, object] | None = None,
        preset: Preset | None = None,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        ensure_positive(top_logprobs=top_logprobs, concurrency=concurrency, timeout_s=timeout_s)
        self._client = openai_client("openai", base_url, api_key, timeout_s)
        self._connections: Callable[[], Any] = openai_connections
        self._concurrency = concurrency
        self._room = ConnectionLimiter(concurrency)
        self._timeout_s = timeout_s
        self._extra_body = dict(extra_body or {})
        self._judge: Judge = DefaultJudge() if preset is None else PresetJudge(preset)
        self._dialect = ServerCapabilities.first(top_logprobs, self._judge.answer_tokens)
        self._has_logprobs = False
        self._without_logprobs = 0
        self._answered = False  # by log-probabilities, or by a sample in the room that it had
        self._plan = plan
        self._price = price or partial(cost_usd, model)
        self.address = str(self._client.base_url)
        address = address_print(self._client)
        own = () if preset is None else (repr(preset),)
        extra = repr(sorted(self._extra_body.items()))
        self.info = BackendInfo(
            name="openai",
            model=model,
            estimator=Estimator.LOGPROBS,
            fingerprint=fingerprint(model, address, str(top_logprobs), repr(plan), extra, *own),
            support_threshold=(plan or preset or Plan()).threshold,
            reads=Reads.WHOLE,
            tells_contradiction=preset is None,
            measures_dependence=preset is None,
        )

    @property
    def estimators(self) -> frozenset[Estimator]:
        """Estimators that its estimates may come from."""
        sampled = {Estimator.SAMPLING} if self._plan else set()
        return frozenset({Estimator.LOGPROBS} | sampled)

    @property
    def most(self) -> UsageBound:
        """Maximum usage of a claim: a request for log-probabilities, and all samples.

        Any reply may lack them. A model that thinks, which its first sample shows, has that one
        taken again with room to.
        """
        if self._plan is None:
            return UsageBound(further_output_tokens=self._judge.answer_tokens - 1)
        return UsageBound(self._plan.maximum + 2, self._dialect.room, certain=self._answered)

    def replayed(self, reply: Callable[[bytes], tuple[int, bytes]]) -> OpenAIBatches:
        """Take status and body of replies from `reply`; return the endpoints for batches."""
        self._connections = partial(replaying, reply)
        return OpenAIBatches(self._client)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        if not queries:
            return []
        questions = [self._judge.question(query) for query in queries]
        results: list[Measurement | None] = [None] * len(queries)
        # Queries with one context follow each other: a server finds it in its prefix cache.
        order = iter(sorted(range(len(queries)), key=lambda i: questions[i].context))

        async def work(line: _ClientPool) -> None:
            for i in order:
                results[i] = await self._measure(line, questions[i])

        async with self._open() as line, anyio.create_task_group() as tasks:
            for _ in range(min(self._concurrency, len(queries))):
                tasks.start_soon(work, line)
        return [result for result in results if result is not None]

    async def probe(self) -> Probe:
        """Ask the endpoint one tiny question; failures are in the returned value."""
        question, bill = self._judge.question(QUESTION), Bill(self._price)
        async with self._open() as line:
            found = await self._ask(line, question, bill, self._dialect)
            if found is NO_LOGPROBS or (isinstance(found, Completion) and not found.top):
                return await self._probe_samples(line, question, bill)
        if isinstance(found, Unmeasured):
            return Probe(ok=False, detail=f"{found.reason}: {found.detail}")
        reading = self._judge.read(found)
        but = f", but {reading.detail}" if isinstance(reading, Unmeasured) else ""
        return Probe(ok=True, detail=f"answers with log-probabilities{but}", logprobs=True)

    async def _probe_samples(self, line: _ClientPool, question: Question, bill: Bill) -> Probe:
        detail = "answers without log-probabilities"
        if self._plan is None:
            return Probe(ok=False, detail=f"{detail}, and sampling is off", logprobs=False)
        answer = await self._answer(line, question, bill, 0)
        if isinstance(answer, Unmeasured):
            detail = f"no log-probabilities, and no sample: {answer.reason}: {answer.detail}"
            return Probe(ok=False, detail=detail, logprobs=False)
        samples = f"{self._plan.minimum} to {self._plan.maximum} samples a claim"
        return Probe(ok=True, detail=f"{detail}; {samples}", logprobs=False)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[_ClientPool]:
        """Open a client of its own for one call: connections belong to one event loop."""
        async with self._client.copy(http_client=self._connections()) as client:
            yield _ClientPool(client, self._room.here())

    async def _measure(self, line: _ClientPool, question: Question) -> Measurement:
        started = perf_counter()
        bill = Bill(self._price)
        found: TokenProbabilities | Tally | Unmeasured = await self._read(line, question, bill)
        if found is NO_LOGPROBS and self._plan is not None:
            found = await self._sample(line, question, bill, self._plan)
        if isinstance(found, Unmeasured):
            return bill.failed(found)
        latency_ms = (perf_counter() - started) * 1000
        return found.estimate(
            self.info, latency_ms=latency_ms, tokens=bill.tokens, cost_usd=bill.cost_usd
        )

    async def _read(
        self, line: _ClientPool, question: Question, bill: Bill
    ) -> TokenProbabilities | Unmeasured:
        """Return the answer probabilities; `NO_LOGPROBS` if the server gives none."""
        completion = await self._ask(line, question, bill, self._dialect)
        if isinstance(completion, Unmeasured):
            return completion
        if completion.top is None:
            # One reply may lack them by a fault, and behind a gateway one server of several has
            # none. Where there is nothing else to ask for, such replies must not end the asking.
            self._without_logprobs += 1
            if (
                self._plan is not None
                and not self._has_logprobs
                and (self._without_logprobs >= _ENOUGH_WITHOUT)
            ):
                self._dialect = replace(self._dialect, top_logprobs=None)
            return NO_LOGPROBS
        self._without_logprobs = 0
        self._has_logprobs = self._answered = True
        return self._judge.read(completion)

    async def _sample(
        self, line: _ClientPool, question: Question, bill: Bill, plan: Plan
    ) -> Tally | Unmeasured:
        """Return the counts of the answers."""
        return await sample(
            partial(self._answer, line, question, bill),
            minimum=plan.minimum,
            maximum=plan.maximum,
            threshold=plan.threshold,
        )

    async def _answer(
        self, line: _ClientPool, question: Question, bill: Bill, number: int
    ) -> AnswerWord | Unmeasured:
        """Return the answer that sample `number` gives."""
        dialect: ServerCapabilities | None = replace(self._dialect, top_logprobs=None)
        while dialect is not None:
            completion = await self._ask(line, question, bill, dialect, number)
            if isinstance(completion, Unmeasured):
                return completion
            if answer := self._judge.answer_in(completion.text):
                self._answered = True
                return answer
            # Nothing said, or nothing but thoughts, for want of room.
            thinks = completion.cut_off and completion.text.strip()[:7] in {"", "<think>"}
            dialect = dialect.roomier() if thinks else None
            if dialect is not None:
                self._dialect = replace(self._dialect, room=dialect.room)
        return malformed("the reply does not begin with an answer")

    async def _ask(
        self,
        line: _ClientPool,
        question: Question,
        bill: Bill,
        dialect: ServerCapabilities,
        number: int | None = None,
    ) -> Completion | Unmeasured:
        """Ask once, giving way to refusals; `number` is that of a sample, None if it is none."""
        further: ServerCapabilities | None = dialect
        while further is not None and further.sampled == (number is not None):
            dialect = further
            try:
                async with line.limiter:
                    with anyio.fail_after(self._timeout_s):
                        body = await self._post(line.client, question, dialect, number)
            except Exception as error:  # noqa: BLE001 -- a failing request is a value
                failure = unmeasured_error(error)
                further = dialect.after(refusal_of(error, failure))
                if further is None:
                    bill.add(Usage(0, 0) if unbilled(error) else None)
                    return failure
            else:
                self._learn(dialect)
                completion = parse_completion(body)
                if isinstance(completion, Unmeasured):
                    bill.add(None)
                    return completion
                bill.add(completion.usage)
                return completion if _was_read(question, completion) else _NOT_READ
        self._dialect = further or self._dialect
        return NO_LOGPROBS

    def _learn(self, dialect: ServerCapabilities) -> None:
        """Remember accepted arguments; a sample says nothing of log-probabilities."""
        if dialect.sampled:
            dialect = replace(dialect, top_logprobs=self._dialect.top_logprobs)
        self._dialect = dialect

    async def _post(
        self,
        client: AsyncOpenAI,
        question: Question,
        dialect: ServerCapabilities,
        number: int | None,
    ) -> bytes:
        response = await client.chat.completions.with_raw_response.create(
            model=self.info.model,
            messages=cast("Any", question.messages),  # the SDK's types name each role
            extra_body=_extra_body(self._extra_body, question, number) or None,
            **dialect.arguments(),
        )
        body: bytes = response.content
        return body


@dataclass(frozen=True, slots=True)
class _ClientPool:
    """Connections of one call, and the concurrency limit that it shares with others."""

    client: AsyncOpenAI
    limiter: anyio.CapacityLimiter


def _was_read(question: Question, completion: Completion) -> bool:
    """Return whether the model can have read all of a question, as far as the usage tells."""
    usage = completion.usage
    return usage is None or usage.prompt_tokens >= question.least_tokens


def _extra_body(
    given: Mapping[str, object], question: Question, number: int | None
) -> dict[str, object]:
    """Return the extra arguments of a request; with a fixed seed all samples would be one."""
    extra = dict(given)
    if question.template_arguments:
        own = extra.get("chat_template_kwargs")
        kept = own if isinstance(own, dict) else {}
        extra["chat_template_kwargs"] = {**kept, **question.template_arguments}
    if number is not None:
        extra.pop("temperature", None)
        if isinstance(seed := extra.get("seed"), int):
            extra["seed"] = seed + number
    return extra
