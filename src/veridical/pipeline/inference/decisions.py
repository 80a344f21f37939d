"""Queries to a decision model: one request for the claims of one context, in parallel.

The wire format is the business of the backend, which supplies a function that sends one `Batch` and
returns a `DecisionReply`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Estimate, Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import VeridicalError
from veridical.pipeline.inference.clients import ensure_positive
from veridical.pipeline.inference.failures import malformed, unmeasured_error
from veridical.pipeline.inference.option_scores import (
    Distribution,
    instructions_for,
    name_for,
    options_for,
    read_probabilities,
    state_for,
)
from veridical.pipeline.inference.probing import QUESTION, Probe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from veridical.core.measurements import BackendInfo
    from veridical.core.ports import Backend
    from veridical.pipeline.inference.decision_replies import DecisionReply


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of requests: `timeout_s` seconds for each, `concurrency` of them at once.

    `claims_per_request` is the maximum for one request. `ConfigurationError` unless all are
    positive.
    """

    timeout_s: float
    concurrency: int
    claims_per_request: int

    def __post_init__(self) -> None:
        ensure_positive(timeout_s=self.timeout_s, concurrency=self.concurrency)
        ensure_positive(claims_per_request=self.claims_per_request)


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """The question about one claim; `places` are the queries that ask it."""

    name: str
    instructions: str
    options: Mapping[str, str]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Content of one request: a context to judge by, and questions, the shortest first."""

    state: str = field(repr=False)
    choices: tuple[ClaimQuestion, ...]

    def halves(self) -> tuple[Batch, Batch]:
        """Return the shorter half of the questions and the longer one."""
        middle = len(self.choices) // 2
        return (
            Batch(self.state, self.choices[:middle]),
            Batch(self.state, self.choices[middle:]),
        )


def batches(queries: Sequence[Query], claims_per_request: int) -> list[Batch]:
    """Return the requests for some queries, independent of the order of the queries.

    Queries with the same context share a request, up to the limit; equal ones share a question.
    """
    contexts: dict[str, dict[str, list[int]]] = {}
    for place, query in enumerate(queries):
        contexts.setdefault(query.context, {}).setdefault(name_for(query), []).append(place)
    return [
        Batch(state_for(context), tuple(choices[start : start + claims_per_request]))
        for context, places in contexts.items()
        for choices in [_choices(queries, places)]
        for start in range(0, len(choices), claims_per_request)
    ]


def _choices(queries: Sequence[Query], places: Mapping[str, Sequence[int]]) -> list[ClaimQuestion]:
    choices = [
        ClaimQuestion(name, instructions_for(query), options_for(query), tuple(same))
        for name, same in places.items()
        for query in [queries[same[0]]]
    ]
    return sorted(choices, key=lambda choice: (len(choice.instructions), choice.name))


async def decide(
    queries: Sequence[Query],
    ask: Callable[[Batch], Awaitable[DecisionReply | Unmeasured]],
    info: BackendInfo,
    limits: RequestLimits,
    room: anyio.CapacityLimiter,
) -> list[Measurement]:
    """Return one measurement per query, in order; a failure of a request is a value.

    A request that is too long for the service is halved, unless its shortest claim alone is. `room`
    holds as many requests as may run at once. Tokens and cost of a request are split evenly over
    the queries it measured, latency is not: each has waited for all of it.
    """
    results: list[Measurement | None] = [None] * len(queries)

    async def measure(batch: Batch) -> bool:
        """Fill in the results of a batch; False if even its shortest claim is too long."""
        async with room:
            outcome, latency_ms = await _timed(ask, batch, limits.timeout_s)
        too_long = isinstance(outcome, Unmeasured) and (
            outcome.reason is UnmeasuredReason.CONTEXT_TOO_LONG
        )
        if too_long and len(batch.choices) > 1:
            shorter, longer = batch.halves()
            if await measure(shorter):
                await measure(longer)
                return True
            batch = longer
        for place, measurement in _measurements(batch, outcome, info, latency_ms):
            results[place] = measurement
        return not too_long

    async with anyio.create_task_group() as tasks:
        for batch in batches(queries, limits.claims_per_request):
            tasks.start_soon(measure, batch)
    return [result for result in results if result is not None]


async def _timed(
    ask: Callable[[Batch], Awaitable[DecisionReply | Unmeasured]], batch: Batch, timeout_s: float
) -> tuple[DecisionReply | Unmeasured, float]:
    started = perf_counter()
    outcome: DecisionReply | Unmeasured
    try:
        with anyio.fail_after(timeout_s):
            outcome = await ask(batch)
    except Exception as error:  # noqa: BLE001 -- a failing request is a value
        outcome = unmeasured_error(error)
    return outcome, (perf_counter() - started) * 1000


def _measurements(
    batch: Batch, outcome: DecisionReply | Unmeasured, info: BackendInfo, latency_ms: float
) -> Iterator[tuple[int, Measurement]]:
    """Yield the measurement of each query of a batch with its place."""
    if isinstance(outcome, Unmeasured):
        yield from ((place, outcome) for choice in batch.choices for place in choice.places)
        return
    readings = [(choice, _reading(outcome, choice)) for choice in batch.choices]
    measured = sum(len(c.places) for c, reading in readings if isinstance(reading, Distribution))
    tokens = iter(shares(outcome.tokens, measured))
    for choice, reading in readings:
        for place in choice.places:
            if isinstance(reading, Unmeasured):
                yield place, reading
                continue
            yield (
                place,
                Estimate(
                    supported=reading.supported,
                    contradicted=reading.contradicted,
                    not_in_context=reading.not_stated,
                    low=reading.low,
                    high=reading.high,
                    estimator=info.estimator,
                    model=outcome.model or info.model,
                    fingerprint=info.fingerprint,
                    latency_ms=latency_ms,
                    tokens=next(tokens),
                    cost_usd=None if outcome.cost_usd is None else outcome.cost_usd / measured,
                ),
            )


def _reading(reply: DecisionReply, choice: ClaimQuestion) -> Distribution | Unmeasured:
    answer = reply.answers.get(choice.name)
    if answer is None:
        return malformed("the reply misses the claim")
    return answer if isinstance(answer, Unmeasured) else read_probabilities(answer)


def shares(total: int | None, parts: int) -> list[int | None]:
    """Return `parts` whole numbers that differ by 1 at most and sum to `total`; None if unknown."""
    if total is None:
        return [None] * parts
    return [total // parts + (i < total % parts) for i in range(parts)]


async def probe_with(backend: Backend) -> Probe:
    """Ask a backend one tiny question; failures are in the returned value."""
    try:
        measurement = (await backend.estimate([QUESTION]))[0]
    except VeridicalError as error:
        return Probe(ok=False, detail=str(error))
    if isinstance(measurement, Unmeasured):
        return Probe(ok=False, detail=f"{measurement.reason}: {measurement.detail}")
    return Probe(ok=True, detail=f"{measurement.model} decides")
