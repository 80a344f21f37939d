"""Verdicts under failures of the service: a table of injected faults and their results.

A proxy on loopback stands before a real server and spoils 70 % of the requests, in one of fifteen
ways each; the plan of a run follows from its number. A run is a batch of four claims, each in a
request of its own, by a new backend: once bare, and once in the product's wrappers (deadline, four
attempts, limits on requests at once, circuit breaker). The servers are llama.cpp with
SmolLM2-135M-Instruct, asked by the backend `openai` through the official SDK without resorting to
samples, and the reference server of jevcompat, asked by `systemone`. The proxy keeps good replies,
so that the model computes each but once; healthy replies were measured without the proxy.

- bare: the results of the claims whose request met the fault.
- wrapped: the claims whose first request met it, with the number measured after all.
- wrong: an exception, an estimate without a good reply or another than the healthy server's, a
  reason that does not fit the fault, or a good reply that was thrown away.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import pairwise
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
from jevcompat.mock import MockConfig, Running

from _common import Page, Requirement, options, publish, table
from _faulty_proxy import HARMLESS, Fault, FaultyProxy, Pace, Served, Upstream, seeded
from _llama_server import LlamaServer, small_model
from veridical.core.measurements import Estimate, Query, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference import openai_chat, systemone
from veridical.pipeline.inference.wrappers import wrap
from veridical.pipeline.inference.wrappers.breaker import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from veridical.core.measurements import Measurement
    from veridical.core.ports import Backend

RUNS, CLAIMS = 100, 4
RUNS_AT_ONCE, REQUESTS_AT_ONCE = 8, 2
SHARE = 0.7
TOLERANCE = 1e-6
TIMEOUT_S = 2.0
PATIENT_S = 300.0
PACE = Pace(slow_s=0.2, late_s=2 * TIMEOUT_S, retry_after_s=1)
BARE, WRAPPED = "bare", "wrapped"

_TEXTS = {
    "The bridge was opened in 1998. It carries eight lanes of traffic.": (
        "The bridge was opened in 1998.",
        "The bridge was opened in 1950.",
        "The bridge carries eight lanes.",
        "The bridge carries two lanes.",
    ),
    "John Smeaton built the lighthouse in 1759. It was made of granite.": (
        "Smeaton built the lighthouse.",
        "The lighthouse was made of wood.",
        "The lighthouse was built in 1759.",
        "Smeaton was a painter.",
    ),
}
QUERIES = [Query(claim, context) for context, claims in _TEXTS.items() for claim in claims]

REASONS = {
    Fault.LATE: UnmeasuredReason.TIMEOUT,
    Fault.DRIP: UnmeasuredReason.TIMEOUT,
    Fault.RATE_SECONDS: UnmeasuredReason.RATE_LIMITED,
    Fault.RATE_DATE: UnmeasuredReason.RATE_LIMITED,
    Fault.ERROR: UnmeasuredReason.BACKEND_ERROR,
    Fault.UNAVAILABLE: UnmeasuredReason.BACKEND_ERROR,
    Fault.NOT_JSON: UnmeasuredReason.MALFORMED_REPLY,
    Fault.EMPTY: UnmeasuredReason.MALFORMED_REPLY,
    Fault.NAN: UnmeasuredReason.MALFORMED_REPLY,
    Fault.TOO_LARGE: UnmeasuredReason.MALFORMED_REPLY,
    Fault.NO_NUMBERS: UnmeasuredReason.MALFORMED_REPLY,
    Fault.NO_ALTERNATIVES: UnmeasuredReason.MALFORMED_REPLY,
    Fault.TRUNCATED: UnmeasuredReason.MALFORMED_REPLY,
    Fault.DROPPED_BEFORE: UnmeasuredReason.BACKEND_ERROR,
    Fault.DROPPED_WITHIN: UnmeasuredReason.BACKEND_ERROR,
}
"""The reason that fits a fault."""

WITHOUT_LOGPROBS = dict.fromkeys(
    (Fault.NO_NUMBERS, Fault.NO_ALTERNATIVES), UnmeasuredReason.BACKEND_ERROR
)
"""A chat endpoint need not give log-probabilities: its reply is whole, but no use."""


@dataclass(frozen=True)
class Target:
    """A server, the backend that asks it, what it says when healthy, and what fits a fault."""

    name: str
    upstream: Upstream
    create: Callable[[str], Backend]
    healthy: Mapping[Query, float]
    reasons: Mapping[Fault, UnmeasuredReason]


class End(StrEnum):
    """Outcome of a claim."""

    MEASURED = "measured"
    UNMEASURED = "unmeasured"
    ESCAPED = "exceptions escaped"
    INVENTED = "measurements invented"
    MISNAMED = "reasons that do not fit the fault"
    LOST = "good replies thrown away"
    UNASKED = "claims given up without being asked about"
    HASTY = "asked again earlier than the service allowed"


GOOD = frozenset({End.MEASURED, End.UNMEASURED})


@dataclass(frozen=True)
class Item:
    """A claim of a run: the requests it took, its measurement (None: an exception), its end."""

    served: Sequence[Served]
    found: Measurement | None
    end: End

    @property
    def first(self) -> Fault | None:
        """Fault of its first request; None if it was never sent, for an open circuit."""
        return self.served[0].fault if self.served else None


def main() -> None:
    """Put all runs to both servers, print the page."""
    chosen = options(__doc__, rounds=RUNS)
    lines: list[str] = []
    items: list[Item] = []
    for serving in (chat, decisions):
        with serving() as target:
            started = perf_counter()
            ways = {way: anyio.run(all_runs, target, way, chosen.rounds) for way in (BARE, WRAPPED)}
            lines += [f"## {target.name}", "", *summary(ways)]
            lines += [f"Both ways: {perf_counter() - started:.0f} s.", ""]
            items += [item for found in ways.values() for item in found]
    publish(Page("Faults", lines, requirements(items)), __doc__, chosen)


# --- the servers -----------------------------------------------------------------------------


@contextmanager
def chat() -> Iterator[Target]:
    """Serve a small chat model with llama.cpp."""
    with LlamaServer(small_model()) as server:
        create = partial(chat_backend, timeout_s=TIMEOUT_S)
        upstream = Upstream(server.address)
        patient = partial(chat_backend, timeout_s=PATIENT_S, concurrency=1)
        healthy = measured(patient(server.address))
        with FaultyProxy(upstream, seeded(0, 0.0), PACE) as proxy:
            measured(patient(proxy.address))  # from now on the proxy has the replies
        reasons = REASONS | WITHOUT_LOGPROBS
        yield Target("openai, llama.cpp", upstream, create, healthy, reasons)


def chat_backend(address: str, *, timeout_s: float, concurrency: int = REQUESTS_AT_ONCE) -> Backend:
    """Return the backend that asks a chat endpoint for log-probabilities, and nothing else."""
    return openai_chat.create(
        "m",
        base_url=f"{address}/v1",
        sampling=False,
        concurrency=concurrency,
        timeout_s=timeout_s,
        # What it has read before, and reads beside it, moves a 4-bit model's answer by some 0.01.
        extra_body={"cache_prompt": False},
    )


@contextmanager
def decisions() -> Iterator[Target]:
    """Serve what jevcompat makes up: never the same for two claims, always the same for one."""
    create = partial(decision_backend, timeout_s=TIMEOUT_S)
    with Running(MockConfig()) as server:
        healthy = measured(create(server.url))
        yield Target("systemone, jevcompat", Upstream(server.url), create, healthy, REASONS)


def decision_backend(address: str, *, timeout_s: float) -> Backend:
    """Return the backend that asks a System One server about each claim alone."""
    return systemone.create(
        base_url=address, claims_per_request=1, concurrency=REQUESTS_AT_ONCE, timeout_s=timeout_s
    )


def measured(backend: Backend) -> dict[Query, float]:
    """Return what a healthy server says; it has to measure every claim."""
    found = anyio.run(backend.estimate, QUERIES)
    return {q: m.supported for q, m in zip(QUERIES, found, strict=True) if isinstance(m, Estimate)}


# --- the runs --------------------------------------------------------------------------------


async def all_runs(target: Target, way: str, runs: int) -> list[Item]:
    """Do all runs, some at a time, and return their claims."""
    items: list[Item] = []
    room = anyio.CapacityLimiter(RUNS_AT_ONCE)

    async def one(seed: int) -> None:
        async with room:
            items.extend(await run(target, way, seed))

    async with anyio.create_task_group() as tasks:
        for seed in range(runs):
            tasks.start_soon(one, seed)
    return items


async def run(target: Target, way: str, seed: int) -> list[Item]:
    """Put a batch of claims to a new backend behind a new proxy."""
    queries = Random(seed).sample(list(target.healthy), CLAIMS)  # noqa: S311 -- repeatable
    with FaultyProxy(target.upstream, seeded(seed, SHARE), PACE) as proxy:
        backend = target.create(proxy.address)
        if way == WRAPPED:
            backend = wrapped(backend)
        found: Sequence[Measurement | None]
        try:
            found = await backend.estimate(queries)
        except Exception:  # noqa: BLE001 -- that none escapes is what is measured
            found = [None] * len(queries)
    items = []
    for query, measurement in zip(queries, found, strict=True):
        served = [one for one in proxy.served if asks(one, query)]
        items.append(Item(served, measurement, end(target, query, served, measurement)))
    return items


def wrapped(backend: Backend) -> Backend:
    """Return a backend in the wrappers; short waits, for it is a local server that fails."""
    return wrap(
        backend,
        deadline_s=60.0,
        attempts=4,
        retry_wait_s=0.05,
        concurrency=CLAIMS,
        breaker_failures=3,
        breaker_reset_s=0.5,
    )


def asks(served: Served, query: Query) -> bool:
    """Say whether a request is about the claim: it stands in it between fences, or quotes."""
    marked = rf"\n{query.claim}\n</data-", rf"\"{query.claim}\""
    return any(mark in served.body for mark in marked)


def end(
    target: Target, query: Query, served: Sequence[Served], measurement: Measurement | None
) -> End:
    """Judge what became of a claim by what was done to its requests."""
    answered = any(one.fault in HARMLESS for one in served)
    if measurement is None:
        return End.ESCAPED
    if any(later.at < one.again_at for one, later in pairwise(served)):
        return End.HASTY
    if isinstance(measurement, Unmeasured):
        return End.LOST if answered else _failed(target, served, measurement)
    healthy = abs(measurement.supported - target.healthy[query]) <= TOLERANCE
    return End.MEASURED if answered and healthy else End.INVENTED


def _failed(target: Target, served: Sequence[Served], failure: Unmeasured) -> End:
    """Judge a claim that got no good reply, by what its last request met."""
    if failure.detail == OPEN:
        return End.UNMEASURED
    if not served:
        return End.UNASKED
    fits = failure.reason is target.reasons[served[-1].fault]
    return End.UNMEASURED if fits else End.MISNAMED


# --- the page --------------------------------------------------------------------------------


def summary(ways: Mapping[str, Sequence[Item]]) -> list[str]:
    """Return the table of what each fault came to."""
    met = {way: {fault: [] for fault in (*Fault, None)} for way in ways}
    for way, items in ways.items():
        for item in items:
            met[way][item.first].append(item)
    head = ("request", "bare", "came to", "wrong", "wrapped", "measured", "unmeasured", "wrong")
    rows = [
        _row(fault or "never sent", met[BARE][fault], met[WRAPPED][fault])
        for fault in (*Fault, None)
        if met[BARE][fault] or met[WRAPPED][fault]
    ]
    every = [list(ways[way]) for way in (BARE, WRAPPED)]
    return table(head, [*rows, _row("all", *every)])


def _row(name: str, bare: Sequence[Item], wrapped: Sequence[Item]) -> tuple[object, ...]:
    came_to = Counter(
        item.found.reason.value if isinstance(item.found, Unmeasured) else item.end.value
        for item in bare
    )
    ends = Counter(item.end for item in wrapped)
    shown = ", ".join(sorted(came_to)) if name != "all" else f"{came_to['measured']} measured"
    wrong = [sum(item.end not in GOOD for item in items) for items in (bare, wrapped)]
    counts = (len(wrapped), ends[End.MEASURED], ends[End.UNMEASURED])
    return (name, len(bare), shown or "", wrong[0], *counts, wrong[1])


def requirements(items: Sequence[Item]) -> list[Requirement]:
    """Hold the ends of all claims against what is demanded."""
    ends = Counter(item.end for item in items)
    bad = [
        Requirement(f"{end}: none", f"{ends[end]} of {len(items)} claims", not ends[end])
        for end in End
        if end not in GOOD
    ]
    met = {one.fault for item in items for one in item.served}
    all_met = f"{len(met)} of {len(Fault)}"
    return [*bad, Requirement("every fault was met", all_met, len(met) == len(Fault))]


if __name__ == "__main__":
    main()
