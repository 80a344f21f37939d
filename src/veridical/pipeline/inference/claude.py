"""Claude through the Messages API (extra `anthropic`): no log-probabilities, so repeated sampling.

The claims on one context are asked about in one request, and decided ones drop out of later
samples. The answer to a claim can therefore depend on the claims beside it, though not on the order
of the queries; `claims_per_request=1` asks about each alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import (
    BackendInfo,
    BilledFailure,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.specs import BackendSpec
from veridical.pipeline.inference.claude_client import make_client, make_http_client
from veridical.pipeline.inference.claude_messages import (
    ClaudeReply,
    digest,
    most_tokens,
    prompt_fingerprint,
    read_reply,
    request,
    shuffled,
)
from veridical.pipeline.inference.clients import ConnectionLimiter, ensure_positive
from veridical.pipeline.inference.failures import unbilled, unmeasured_error
from veridical.pipeline.inference.prices import Bill, Usage, UsageBound, cost_usd
from veridical.pipeline.inference.probing import QUESTION, Probe
from veridical.pipeline.inference.sampling import Plan, sample_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from anthropic import AsyncAnthropic

    from veridical.pipeline.inference.prompts import AnswerWord

DEFAULT_MODEL = "haiku"
MODELS = {"haiku": "claude-haiku-5-5"}
"""Short names and their models."""

# One claim may be the reason for which all claims of its request got no answer.
_MAY_BE_ONE_CLAIM = frozenset({UnmeasuredReason.MALFORMED_REPLY, UnmeasuredReason.CONTEXT_TOO_LONG})


def create(  # noqa: PLR0913 -- options of a backend are named arguments
    model: str | None = None,
    *,
    threads: int | None = None,  # noqa: ARG001 -- it is the service that computes
    base_url: str | None = None,
    api_key: str | None = None,
    samples_min: int = 3,
    samples_max: int = 10,
    threshold: float = 0.7,
    concurrency: int = 4,
    timeout_s: float = 60.0,
    claims_per_request: int = 20,
    price: Callable[[Usage], float | None] | None = None,
) -> Claude:
    """Return a backend for a Claude model (entry point `anthropic`); nothing is asked yet.

    `ConfigurationError` for impossible options or without a key, `MissingExtraError` without the
    SDK.
    """
    return Claude(
        model or DEFAULT_MODEL,
        base_url=base_url,
        api_key=api_key,
        plan=Plan(samples_min, samples_max, threshold),
        concurrency=concurrency,
        timeout_s=timeout_s,
        claims_per_request=claims_per_request,
        price=price,
    )


BACKEND = BackendSpec(create, settings="anthropic", priced=True, sampled=True)


class Claude:
    """P from repeated three-way answers of a Claude model.

    Without `base_url` the SDK takes address and key from its own environment variables and
    profiles; with it a key is sent only if `api_key` is given, so that a key for one service never
    reaches another. `plan` sets the number of samples of a claim; its threshold is that at which
    the probabilities are to be read. A request carries up to `claims_per_request` claims on one
    context. `concurrency` is how many requests run at once, `timeout_s` the limit of one in
    seconds, `price` the price of a request in USD (default: the shipped price of the model).
    """

    def __init__(  # noqa: PLR0913 -- see create
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        plan: Plan | None = None,
        concurrency: int = 4,
        timeout_s: float = 60.0,
        claims_per_request: int = 20,
        price: Callable[[Usage], float | None] | None = None,
    ) -> None:
        ensure_positive(concurrency=concurrency, timeout_s=timeout_s)
        ensure_positive(claims_per_request=claims_per_request)
        model = MODELS.get(model, model)
        self._plan = plan or Plan()
        self._client = make_client(base_url, api_key, timeout_s)
        self._room = ConnectionLimiter(concurrency)
        self._timeout_s = timeout_s
        self.claims_per_request = claims_per_request
        self._price = price or partial(cost_usd, model)
        self.address = str(self._client.base_url)
        parts = (model, self.address, repr(self._plan), str(claims_per_request))
        self.info = BackendInfo(
            name="anthropic",
            model=model,
            estimator=Estimator.SAMPLING,
            fingerprint=prompt_fingerprint(*parts),
            support_threshold=self._plan.threshold,
            reads=Reads.WHOLE,
        )

    @property
    def most(self) -> UsageBound:
        """Maximum usage of a claim: all samples, once they have failed with others at first.

        Failed requests bring no answer: at most `plan.minimum` of them come first.
        """
        alone = self.claims_per_request == 1
        requests = self._plan.maximum + (0 if alone else self._plan.minimum)
        return UsageBound(requests, most_tokens(self.info.model, 1))

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        if not queries:
            return []
        found: dict[Query, Measurement] = {}
        bills = {query: Bill(self._price) for query in queries}
        limiter = self._room.here()

        async def work(client: AsyncAnthropic, batch: list[Query]) -> None:
            ask = partial(self._ask, client, limiter)
            measured = await self._measure(ask, batch, [bills[query] for query in batch])
            if len(batch) > 1 and all(map(_may_be_one_claim, measured)):
                for query in batch:
                    tasks.start_soon(work, client, [query])
            found.update(zip(batch, measured, strict=True))

        async with self._open() as client, anyio.create_task_group() as tasks:
            for batch in _batches(queries, self.claims_per_request):
                tasks.start_soon(work, client, batch)
        return list(_each_paid_once(queries, found))

    async def probe(self) -> Probe:
        """Ask the service one tiny question; failures are in the returned value."""
        async with self._open() as client:
            reply = await self._ask(
                client, anyio.CapacityLimiter(1), QUESTION, [QUESTION.claim], [0]
            )
        answers = reply.answers
        if isinstance(answers, Unmeasured):
            detail = f"{answers.reason}: {answers.detail}"
            return Probe(ok=False, detail=detail, logprobs=False)
        if not answers:
            return Probe(ok=False, detail="answers, but not what it was asked", logprobs=False)
        detail = f"answers; {self._plan.minimum} to {self._plan.maximum} samples a claim"
        return Probe(ok=True, detail=detail, logprobs=False)

    def _open(self) -> AsyncAnthropic:
        """Return a client of its own for one call: connections belong to one event loop."""
        return self._client.copy(http_client=make_http_client())

    async def _measure(
        self,
        ask: Callable[[Query, Sequence[str], Sequence[int]], Awaitable[ClaudeReply]],
        batch: Sequence[Query],
        bills: Sequence[Bill],
    ) -> list[Measurement]:
        started = perf_counter()
        claims = [query.claim for query in batch]
        seed = digest("\n".join([batch[0].context, *claims])).hex()

        async def sample(
            number: int, indices: Sequence[int]
        ) -> Mapping[int, AnswerWord] | Unmeasured:
            order = shuffled(indices, claims, f"{seed}{number}")
            reply = await ask(batch[0], [claims[i] for i in order], order)
            for share, i in enumerate(order):
                bills[i].add(reply.usage, share, len(order))
            return reply.answers

        tallies = await sample_many(sample, len(batch), self._plan)
        latency_ms = (perf_counter() - started) * 1000
        return [
            bill.failed(tally)
            if isinstance(tally, Unmeasured)
            else tally.estimate(
                self.info, latency_ms=latency_ms, tokens=bill.tokens, cost_usd=bill.cost_usd
            )
            for tally, bill in zip(tallies, bills, strict=True)
        ]

    async def _ask(
        self,
        client: AsyncAnthropic,
        limiter: anyio.CapacityLimiter,
        query: Query,
        claims: Sequence[str],
        order: Sequence[int],
    ) -> ClaudeReply:
        arguments = request(self.info.model, query, claims)
        try:
            async with limiter:
                with anyio.fail_after(self._timeout_s):
                    response = await client.messages.with_raw_response.create(**arguments)
                    body = await response.text()
        except Exception as error:  # noqa: BLE001 -- a failing request is a value
            usage = Usage(0, 0) if unbilled(error) else None
            return ClaudeReply(unmeasured_error(error), usage)
        return read_reply(body, order)


def _batches(queries: Sequence[Query], size: int) -> Iterator[list[Query]]:
    """Yield the different queries in batches on one context and question each.

    Their order, and so the requests, are the same for any order of the queries.
    """
    groups: dict[tuple[str, str | None], set[Query]] = {}
    for query in queries:
        groups.setdefault((query.context, query.question), set()).add(query)
    for group in groups.values():
        ordered = sorted(group, key=lambda query: digest(query.claim))
        yield from (ordered[start : start + size] for start in range(0, len(ordered), size))


def _may_be_one_claim(measurement: Measurement) -> bool:
    return isinstance(measurement, Unmeasured) and measurement.reason in _MAY_BE_ONE_CLAIM


def _each_paid_once(
    queries: Sequence[Query], found: Mapping[Query, Measurement]
) -> Iterator[Measurement]:
    """Yield the measurements of the queries; a query that comes again has cost nothing more."""
    seen: set[Query] = set()
    for query in queries:
        measurement = found[query]
        if isinstance(measurement, Estimate | BilledFailure) and query in seen:
            measurement = replace(measurement, tokens=0, cost_usd=0.0)
        yield measurement
        seen.add(query)
