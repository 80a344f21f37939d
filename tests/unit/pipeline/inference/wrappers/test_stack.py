"""All wrappers together, around backends that behave well and badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.measurements import Estimate, Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers import (
    Breaker,
    Cache,
    Circuit,
    CostLimit,
    Deadline,
    MemoryStore,
    RateLimited,
    Retries,
    SqliteStore,
    wrap,
)
from veridical.pipeline.inference.wrappers.base import Wrapper
from veridical.testing import FAKE, FakeBackend, check_backend, fake_estimate


def truth(query: Query) -> Estimate:
    return replace(fake_estimate((len(query.claim) % 10) / 10), cost_usd=0.001, tokens=100)


ALL = {
    "cache": ":memory:",
    "deadline_s": 30.0,
    "attempts": 3,
    "retry_wait_s": 0.0001,
    "concurrency": 4,
    "requests_per_minute": 100_000,
    "tokens_per_minute": 10**9,
    "max_cost_usd": 1000.0,
    "price": lambda _tokens: 0.01,
    "breaker_failures": 1000,
}


def test_without_options_a_backend_stays_as_it_is() -> None:
    fake = FakeBackend(truth)
    assert wrap(fake) is fake


def test_the_wrappers_stand_in_the_order_that_is_explained() -> None:
    backend = wrap(FakeBackend(truth), **ALL)  # type: ignore[arg-type]
    kinds = []
    while isinstance(backend, Wrapper):
        kinds.append(type(backend))
        backend = backend.wrapped
    assert kinds == [Cache, Deadline, Retries, RateLimited, CostLimit, Breaker]


def test_a_path_is_a_file_and_a_store_is_itself(tmp_path: Path) -> None:
    store = MemoryStore()
    for given_, kind in ((":memory:", MemoryStore), (tmp_path / "a", SqliteStore), (store, store)):
        made = wrap(FakeBackend(truth), cache=given_)  # type: ignore[arg-type]
        assert isinstance(made, Cache)
        assert made._store is kind or type(made._store) is kind


def test_a_budget_without_prices_asks_nothing() -> None:
    fake = FakeBackend(truth)
    (found,) = anyio.run(wrap(fake, max_cost_usd=1).estimate, [Query("claim", "context")])
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.DISABLED


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"attempts": 0}, {"deadline_s": -1}])
def test_options_that_make_no_sense_are_a_configuration_error(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        wrap(FakeBackend(truth), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_a_backend_with_all_wrappers_keeps_the_promises_of_the_port(batch: int) -> None:
    anyio.run(check_backend, wrap(FakeBackend(truth), batch=batch, **ALL))  # type: ignore[arg-type]
    down = FakeBackend(lambda _: Unmeasured(UnmeasuredReason.TIMEOUT))
    anyio.run(check_backend, wrap(down, batch=batch, **ALL))  # type: ignore[arg-type]


def test_a_queue_does_not_run_on_into_a_service_that_is_down() -> None:
    down = FakeBackend(lambda _: Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 503"))
    backend = wrap(down, concurrency=2, breaker_failures=3, deadline_s=5)
    found = anyio.run(backend.estimate, [Query("claim", str(i)) for i in range(50)])
    assert all(isinstance(measurement, Unmeasured) for measurement in found)
    assert len(down.queries) <= 4


def test_a_cached_answer_needs_no_turn_no_money_and_no_service() -> None:
    fake = FakeBackend(truth)
    options = {"requests_per_minute": 1, "max_wait_s": 0, "max_cost_usd": 0.01, "deadline_s": 5}
    backend = wrap(fake, cache=":memory:", price=lambda _: 0.01, **options)  # type: ignore[arg-type]
    query = Query("claim", "context")
    for _ in range(3):
        (found,) = anyio.run(backend.estimate, [query])
        assert isinstance(found, Estimate)
    assert fake.queries == [query]


# --- faults ----------------------------------------------------------------------------------

FAULTS = ("none", "some", "timeout", "rate", "error", "short", "long", "nothing", "junk", "slow")


@dataclass
class Faulty:
    """A backend that breaks its promises in every way, by a seed."""

    seed: int
    faults: Sequence[str]
    calls: int = 0
    answered: set[Query] = field(default_factory=set)
    info = FAKE

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        random = Random(self.seed + self.calls)  # noqa: S311 -- repeatable
        self.calls += 1
        fault = random.choice(self.faults)
        await anyio.sleep(60 if fault == "slow" else random.choice([0, 0, 0.001]))
        if fault == "error":
            raise random.choice([ConnectionError, ValueError, KeyError, TimeoutError])
        if fault in ("timeout", "rate"):
            return [_failure(fault, random) for _ in queries]
        found: list[Measurement] = [
            _failure("timeout", random) if fault == "some" and random.random() < 0.5 else truth(q)
            for q in queries
        ]
        if fault in ("none", "some"):
            pairs = zip(queries, found, strict=True)
            self.answered |= {q for q, m in pairs if isinstance(m, Estimate)}
        return _bent(found, fault)


def _failure(fault: str, random: Random) -> Unmeasured:
    if fault == "rate":
        wait = random.choice([None, 0.001, 3600.0])
        return Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", retry_after_s=wait)
    return Unmeasured(UnmeasuredReason.TIMEOUT)


def _bent(found: list[Measurement], fault: str) -> Sequence[Measurement]:
    bent = {
        "short": found[:-1],
        "long": [*found, *found],
        "nothing": None,
        "junk": [0.5] * len(found),
    }
    return bent.get(fault, found)  # type: ignore[return-value]


@pytest.mark.spec("SPEC-08.42")
@pytest.mark.spec("SPEC-08.43")
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=5),
    batch=st.sampled_from([1, 4, 100]),
    failures=st.sampled_from([None, 1, 5]),
    claims=st.lists(st.text("abc", max_size=12), min_size=1, max_size=12),
)
def test_under_faults_nothing_escapes_nothing_is_invented_and_every_failure_has_its_reason(
    seed: int, faults: list[str], batch: int, failures: int | None, claims: list[str]
) -> None:
    faulty = Faulty(seed, faults)
    options = {**ALL, "deadline_s": 0.1, "batch": batch, "breaker_failures": failures}
    backend = wrap(faulty, **options)  # type: ignore[arg-type]
    queries = [Query(claim, f"context {i % 3}") for i, claim in enumerate(claims)]

    async def run() -> list[Sequence[Measurement]]:
        with anyio.fail_after(10):
            return [await backend.estimate(queries) for _ in range(2)]

    for found in anyio.run(run):
        assert len(found) == len(queries)
        for query, measurement in zip(queries, found, strict=True):
            if isinstance(measurement, Estimate):
                true = truth(query)
                # What it took is not known if an attempt before it was late.
                assert measurement.cost_usd in {true.cost_usd, None}
                taken = {"cost_usd": true.cost_usd, "tokens": true.tokens}
                assert replace(measurement, cached=False, **taken) == true  # type: ignore[arg-type]
                assert query in faulty.answered
            else:
                assert isinstance(measurement, Unmeasured)
                assert measurement.reason in UnmeasuredReason


@settings(max_examples=20)
@given(st.floats(0, 0.02), st.integers(0, 1000), st.sampled_from([1, 4]))
def test_cancelled_anywhere_the_wrappers_go_on_working(
    after_s: float, seed: int, batch: int
) -> None:
    faulty = Faulty(seed, ["none", "some", "timeout", "error"])
    backend = wrap(faulty, **{**ALL, "breaker_failures": 1, "breaker_reset_s": 0.0}, batch=batch)  # type: ignore[arg-type]
    queries = [Query(f"claim {i}", f"context {i % 3}") for i in range(12)]

    async def cancelled() -> None:
        with anyio.move_on_after(after_s):
            await backend.estimate(queries)

    async def run() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(cancelled)
            faulty.faults = ["none"]
            for _ in range(20):
                if all(isinstance(m, Estimate) for m in await backend.estimate(queries)):
                    return
            pytest.fail("the wrappers do not recover")

    anyio.run(run)


def test_a_service_that_comes_back_is_used_again() -> None:
    faulty = Faulty(1, ["error"])
    options = {**ALL, "breaker_failures": 2, "breaker_reset_s": 0.02, "attempts": 1}
    backend = wrap(faulty, **options)  # type: ignore[arg-type]
    queries = [Query(f"claim {i}", "context") for i in range(5)]

    async def run() -> Sequence[Measurement]:
        await backend.estimate(queries)
        faulty.faults = ["none"]
        await anyio.sleep(0.03)
        await backend.estimate(queries[:1])
        return await backend.estimate(queries)

    assert [type(m) for m in anyio.run(run)] == [Estimate] * 5
    innermost = backend
    while not isinstance(innermost, Breaker):
        assert isinstance(innermost, Wrapper)
        innermost = innermost.wrapped
    assert innermost.state is Circuit.CLOSED
