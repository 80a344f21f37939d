"""Facts that are promoted while they wait to be verified."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.measurements import Measurement, Query
from veridical.memory import FactContradicted, FactOutcome, FactState, Memory, Tier
from veridical.store.memory_tables import TIERS
from veridical.testing import FakeBackend, fake_estimate

EVIDENCE = {"S1": "Some evidence of it."}


@pytest.fixture
def ungated(new_memory: Any) -> Any:  # noqa: ANN401 -- of conftest
    return new_memory(gated=False)


def supporting(query: Query) -> Measurement:
    return fake_estimate(0.97 if "evidence of" in query.context else 0.3)


def waiting(memory: Memory, text: str) -> str:
    fact = memory.remember(text, EVIDENCE, tier="task").fact
    assert fact is not None
    assert fact.state is FactState.QUEUED
    return fact.id


def test_the_store_orders_tiers_as_the_memory_does() -> None:
    assert tuple(Tier) == TIERS


def test_a_queued_fact_that_goes_up_with_the_gate_off_is_remembered_once_it_is_verified(
    memory: Memory, ungated: Memory, backend: FakeBackend
) -> None:
    fact_id = waiting(memory, "It is limited.")
    assert ungated.promote(fact_id, "session").pending
    backend.answer = supporting
    assert memory.verify_pending(early=True).verified == 1
    (fact,) = memory.facts()
    assert (fact.id, fact.tier) == (fact_id, Tier.SESSION)


@pytest.mark.parametrize("late", [False, True])
def test_a_queued_fact_whose_promotion_is_rejected_is_removed(
    memory: Memory, backend: FakeBackend, *, late: bool
) -> None:
    fact_id = waiting(memory, "It is limited.")
    if late:
        assert memory.promote(fact_id, "session").pending
    backend.answer = lambda _: fake_estimate(0.01, 0.95)
    if late:
        assert memory.verify_pending(early=True).rejected == 1
    else:
        done = memory.promote(fact_id, "session")
        assert (done.outcome, done.fact) == (FactOutcome.REJECTED, None)
        assert isinstance(done.error, FactContradicted)
    assert memory.facts(everything=True) == []
    assert memory.pending() == []
    assert [each.origin for each in memory.rejections()] == ["promote"]


def test_a_fact_that_was_let_in_stays_in_its_tier_when_its_promotion_is_rejected_later(
    memory: Memory, ungated: Memory, backend: FakeBackend
) -> None:
    fact = ungated.remember("It is limited.", EVIDENCE, tier="task").fact
    assert fact is not None
    assert memory.promote(fact.id, "session").pending
    backend.answer = lambda _: fake_estimate(0.01, 0.95)
    assert memory.verify_pending(early=True).rejected == 1
    found = memory.get(fact.id)
    assert (found.tier, found.state) == (Tier.TASK, FactState.UNSUPPORTED)


@pytest.mark.parametrize("measured", [True, False])
def test_a_promotion_that_waits_is_not_lost_when_the_fact_is_remembered_again(
    memory: Memory, backend: FakeBackend, *, measured: bool
) -> None:
    fact_id = waiting(memory, "It is limited.")
    assert memory.promote(fact_id, "long_term").pending
    if measured:
        backend.answer = supporting
    done = memory.remember("It is limited.", EVIDENCE, tier="task")
    if measured:
        assert done.fact is not None
        assert (done.fact.tier, done.pending) == (Tier.LONG_TERM, False)
    else:
        assert [each.tier for each in memory.pending()] == [Tier.LONG_TERM]
        backend.answer = supporting
        assert memory.verify_pending(early=True).verified == 1
    assert memory.get(fact_id).tier is Tier.LONG_TERM
    assert memory.pending() == []


def test_a_lower_promotion_takes_the_place_of_no_higher_one_that_waits(
    memory: Memory, backend: FakeBackend
) -> None:
    fact_id = waiting(memory, "It is limited.")
    memory.promote(fact_id, "long_term")
    backend.answer = supporting
    done = memory.promote(fact_id, "session")
    assert done.fact is not None
    assert done.fact.tier is Tier.LONG_TERM
