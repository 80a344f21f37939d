from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import (
    BilledFailure,
    Measurement,
    Query,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.prices import Usage, UsageBound
from veridical.pipeline.inference.wrappers.base import estimated_usage
from veridical.pipeline.inference.wrappers.budget import REACHED, UNKNOWN, CostLimit
from veridical.testing import FakeBackend, check_backend, fake_estimate

GOOD = fake_estimate(0.9)


def queries(number: int) -> list[Query]:
    return [Query(f"claim {i}", "context") for i in range(number)]


def costing(cost: float | None) -> FakeBackend:
    return FakeBackend(lambda _: replace(GOOD, cost_usd=cost))


def a_cent(_usage: Usage) -> float:
    return 0.01


def test_what_would_exceed_the_budget_is_not_asked() -> None:
    fake = costing(0.01)
    budget = CostLimit(fake, max_cost_usd=0.035, price=a_cent)
    found = anyio.run(budget.estimate, queries(5))
    assert list(found) == [replace(GOOD, cost_usd=0.01)] * 3 + [REACHED] * 2
    assert len(fake.queries) == 3
    assert budget.spent_usd == pytest.approx(0.03)
    assert budget.reserved_usd == pytest.approx(0)


def test_what_cost_less_than_its_price_leaves_more_for_later() -> None:
    budget = CostLimit(costing(0.001), max_cost_usd=0.02, price=a_cent)

    async def one_by_one() -> int:
        return sum([REACHED not in await budget.estimate([query]) for query in queries(30)])

    assert anyio.run(one_by_one) in (10, 11)  # the last one is a matter of rounding
    assert budget.spent_usd <= 0.02


def test_what_cost_more_than_its_price_raises_the_price_of_all() -> None:
    fake = costing(0.03)
    budget = CostLimit(fake, max_cost_usd=0.1, price=a_cent)

    async def one_by_one() -> None:
        for query in queries(10):
            await budget.estimate([query])

    anyio.run(one_by_one)
    assert len(fake.queries) == 3
    assert budget.spent_usd == pytest.approx(0.09)


@pytest.mark.parametrize("price", [None, math.nan, math.inf, -1.0])
def test_where_the_price_is_not_known_nothing_is_asked(price: float | None) -> None:
    fake = costing(0.0)
    budget = CostLimit(fake, max_cost_usd=100, price=lambda _: price)
    assert anyio.run(budget.estimate, queries(2)) == [UNKNOWN] * 2
    assert fake.queries == []


def test_all_that_a_query_may_take_is_put_aside() -> None:
    seen: list[int] = []

    def price(usage: Usage) -> float:
        seen.append(usage.output_tokens)
        return 0.01

    fake = costing(0.03)
    budget = CostLimit(fake, max_cost_usd=0.1, price=price, most=lambda: UsageBound(3, 95))
    assert list(anyio.run(budget.estimate, queries(5))).count(REACHED) == 2
    assert len(fake.queries) == 3
    assert set(seen) == {96}


def test_what_took_less_than_it_might_leaves_room_for_the_rest_of_the_batch() -> None:
    fake = costing(0.01)
    budget = CostLimit(fake, max_cost_usd=0.1, price=a_cent, most=lambda: UsageBound(4))
    assert list(anyio.run(budget.estimate, queries(6))).count(REACHED) == 0
    assert budget.spent_usd == pytest.approx(0.06)
    # Four cents that are put aside would do no more.
    assert list(anyio.run(budget.estimate, queries(2))).count(REACHED) == 1


def test_as_long_as_the_most_is_not_certain_one_query_goes_at_a_time() -> None:
    class Showing(FakeBackend):
        most = UsageBound(certain=False)
        sizes: list[int] = []  # noqa: RUF012 -- of one test

        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            self.sizes.append(len(queries))
            await anyio.sleep(0.01)
            if len(self.sizes) == 2:
                self.most = UsageBound(3)
            return await super().estimate(queries)

    fake = Showing(lambda _: replace(GOOD, cost_usd=0.03))
    budget = CostLimit(fake, max_cost_usd=1, price=a_cent, most=lambda: fake.most)

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(budget.estimate, queries(4))
            tasks.start_soon(budget.estimate, queries(1))

    anyio.run(at_once)
    assert fake.sizes[:2] == [1, 1]
    assert len(fake.sizes) < 5
    assert budget.spent_usd == pytest.approx(0.15)


@pytest.mark.parametrize(("cost", "counted"), [(0.004, 0.004), (0.0, 0.0), (None, 0.01)])
@pytest.mark.parametrize("reason", UnmeasuredReason)
def test_a_failure_costs_what_it_says_that_it_took(
    reason: UnmeasuredReason, cost: float | None, counted: float
) -> None:
    billed = BilledFailure(reason, tokens=5, cost_usd=cost)
    budget = CostLimit(FakeBackend(lambda _: billed), max_cost_usd=1, price=a_cent)
    anyio.run(budget.estimate, queries(1))
    assert budget.spent_usd == pytest.approx(counted)


def test_where_the_cost_is_not_told_the_price_counts() -> None:
    budget = CostLimit(costing(None), max_cost_usd=0.025, price=a_cent)
    assert list(anyio.run(budget.estimate, queries(3))).count(REACHED) == 1
    assert budget.spent_usd == pytest.approx(0.02)


@pytest.mark.parametrize("reason", UnmeasuredReason)
def test_only_a_failure_that_may_be_billed_costs_something(reason: UnmeasuredReason) -> None:
    budget = CostLimit(
        FakeBackend(lambda _: Unmeasured(reason)), max_cost_usd=1, price=lambda _: 0.01
    )
    anyio.run(budget.estimate, queries(2))
    billed = reason in (UnmeasuredReason.TIMEOUT, UnmeasuredReason.MALFORMED_REPLY)
    assert budget.spent_usd == pytest.approx(0.02 if billed else 0)
    assert budget.reserved_usd == pytest.approx(0)


def test_what_comes_from_a_cache_costs_nothing() -> None:
    cached = FakeBackend(lambda _: replace(GOOD, cost_usd=0.01, cached=True))
    budget = CostLimit(cached, max_cost_usd=1, price=a_cent)
    anyio.run(budget.estimate, queries(2))
    assert budget.spent_usd == 0


def test_a_price_depends_on_the_length_of_the_texts() -> None:
    seen: list[int] = []

    def price(usage: Usage) -> float:
        seen.append(usage.input_tokens)
        return usage.input_tokens * 1e-6

    budget = CostLimit(costing(None), max_cost_usd=1, price=price)
    anyio.run(budget.estimate, [Query("claim", "short"), Query("claim", "long " * 1000)])
    assert seen[1] - seen[0] == pytest.approx(1250, abs=5)


def test_what_is_under_way_counts_too() -> None:
    class Slow(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.sleep(0.02)
            return await super().estimate(queries)

    slow = Slow(lambda _: replace(GOOD, cost_usd=0.01))
    budget = CostLimit(slow, max_cost_usd=0.045, price=a_cent)

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for query in queries(10):
                tasks.start_soon(budget.estimate, [query])

    anyio.run(at_once)
    assert len(slow.queries) == 4


def test_what_others_have_put_aside_is_waited_for_if_it_may_come_back() -> None:
    class Slow(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.sleep(0.01)
            return await super().estimate(queries)

    slow = Slow(lambda _: replace(GOOD, cost_usd=0.001))
    budget = CostLimit(slow, max_cost_usd=0.025, price=a_cent)

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for query in queries(10):
                tasks.start_soon(budget.estimate, [query])

    anyio.run(at_once)
    assert len(slow.queries) == 10
    assert budget.reserved_usd == 0


def test_what_was_cancelled_may_have_been_billed() -> None:
    class Hanging(FakeBackend):
        async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
            await anyio.sleep(60)
            return await super().estimate(queries)

    budget = CostLimit(Hanging(lambda _: GOOD), max_cost_usd=1, price=a_cent)

    async def scene() -> None:
        with anyio.move_on_after(0.01):
            await budget.estimate(queries(3))

    anyio.run(scene)
    assert budget.spent_usd == pytest.approx(0.03)
    assert budget.reserved_usd == pytest.approx(0)


def test_a_backend_that_cannot_be_used_costs_nothing() -> None:
    def broken(_: Query) -> Measurement:
        msg = "no"
        raise BackendError(msg)

    budget = CostLimit(FakeBackend(broken), max_cost_usd=1, price=a_cent)
    with pytest.raises(BackendError):
        anyio.run(budget.estimate, queries(3))
    assert (budget.spent_usd, budget.reserved_usd) == (0, 0)


cents = st.floats(0, 0.05)


@given(st.lists(st.tuples(cents, st.none() | st.floats(0, 1)), max_size=30), st.floats(0, 0.5))
def test_what_costs_no_more_than_its_price_never_exceeds_the_budget(
    costs: list[tuple[float, float | None]], limit: float
) -> None:
    prices = [price for price, _ in costs]
    actual = {f"claim {i}": p if s is None else p * s for i, (p, s) in enumerate(costs)}
    fake = FakeBackend(lambda query: replace(GOOD, cost_usd=actual[query.claim]))
    asked = [Query(f"claim {i}", "four" * i) for i in range(len(costs))]
    nth = {estimated_usage(query).input_tokens: i for i, query in enumerate(asked)}
    budget = CostLimit(
        fake, max_cost_usd=limit, price=lambda usage: prices[nth[usage.input_tokens]]
    )
    anyio.run(budget.estimate, asked)
    assert sum(actual[query.claim] for query in fake.queries) <= limit + 1e-9
    assert budget.spent_usd <= limit + 1e-9


@pytest.mark.parametrize("wrong", [-1.0, math.nan])
def test_a_budget_below_nothing_is_a_configuration_error(wrong: float) -> None:
    with pytest.raises(ConfigurationError, match="0 USD or more"):
        CostLimit(costing(0), max_cost_usd=wrong, price=a_cent)


def test_a_backend_with_a_budget_keeps_the_promises_of_the_port() -> None:
    anyio.run(check_backend, CostLimit(costing(0.0), max_cost_usd=1e9, price=a_cent))
    anyio.run(check_backend, CostLimit(costing(0.0), max_cost_usd=0, price=a_cent))
