from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import (
    Estimate,
    Measurement,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.types import FURTHER, Passage
from veridical.pipeline.judgement import pool_passages
from veridical.testing import FAKE, fake_estimate

TIMEOUT = Unmeasured(UnmeasuredReason.TIMEOUT)


def passages(count: int) -> list[Passage]:
    return [Passage(f"passage {i}", ()) for i in range(count)]


def decided_by(policy: Policy, *measurements: Measurement, turns: Sequence[int] = ()) -> str | None:
    turns = turns or [0] * len(measurements)
    read = [Passage(f"passage {i}", (), turn=turn) for i, turn in enumerate(turns)]
    reading = pool_passages(read, measurements, policy)
    return reading.passage.text if reading.passage else None


def test_the_passage_that_supports_most_speaks_for_the_claim(policy: Policy) -> None:
    found = [fake_estimate(0.1), fake_estimate(0.9), fake_estimate(0.5)]
    assert decided_by(policy, *found) == "passage 1"


def test_the_passage_that_opposes_most_speaks_if_none_supports_as_much(policy: Policy) -> None:
    assert decided_by(policy, fake_estimate(0.3), fake_estimate(0.05, 0.9)) == "passage 1"


def test_strong_support_outweighs_a_weaker_contradiction(policy: Policy) -> None:
    assert decided_by(policy, fake_estimate(0.95), fake_estimate(0.05, 0.9)) == "passage 0"


def test_a_passage_that_could_not_be_read_leaves_an_undecided_claim_unmeasured(
    policy: Policy,
) -> None:
    reading = pool_passages(passages(2), [fake_estimate(0.2), TIMEOUT], policy)
    assert reading.measurement == TIMEOUT
    assert reading.unmeasured == 1


@pytest.mark.parametrize("decisive", [fake_estimate(0.9), fake_estimate(0.0, 0.9)])
def test_a_passage_that_decides_makes_up_for_one_that_could_not_be_read(
    policy: Policy, decisive: Estimate
) -> None:
    reading = pool_passages(passages(2), [TIMEOUT, decisive], policy)
    assert reading.measurement == decisive
    assert reading.unmeasured == 1


@pytest.mark.parametrize("turn", [FURTHER, FURTHER + 1])
def test_a_passage_further_off_supports_but_does_not_oppose(policy: Policy, turn: int) -> None:
    near, opposed = fake_estimate(0.3), fake_estimate(0.05, 0.9)
    assert decided_by(policy, near, opposed, turns=[0, turn]) == "passage 0"
    assert decided_by(policy, near, fake_estimate(0.9), turns=[0, turn]) == "passage 1"
    assert decided_by(policy, near, opposed, turns=[0, FURTHER - 1]) == "passage 1"


def test_where_all_passages_are_further_off_the_most_decisive_one_counts(policy: Policy) -> None:
    found = fake_estimate(0.3), fake_estimate(0.05, 0.9), fake_estimate(0.2)
    assert decided_by(policy, *found, turns=[FURTHER] * 3) == "passage 1"


def test_nothing_to_read_is_unmeasured(policy: Policy) -> None:
    nothing = Unmeasured(UnmeasuredReason.DISABLED, "nothing to read")
    assert pool_passages([], [], policy).measurement == nothing


@pytest.mark.parametrize("last", [fake_estimate(0.9), TIMEOUT])
def test_a_reading_has_the_usage_of_all_measurements_and_the_passages_not_read(
    policy: Policy, last: Measurement
) -> None:
    found = [replace(fake_estimate(0.2), tokens=5, cost_usd=0.5), last]
    read = passages(4)
    reading = pool_passages(read, found, policy)
    assert reading.taken == Taken.by(found)
    assert reading.unread == tuple(read[2:])


def test_an_unresolved_policy_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the policy is not resolved: call Policy\.resolved"):
        pool_passages(passages(2), [fake_estimate(0.9), TIMEOUT], Policy())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_more_passages_never_lower_the_support_that_was_found(supports: list[float]) -> None:
    policy = Policy().resolved(FAKE)
    found = [fake_estimate(p) for p in supports]
    reading = pool_passages(passages(len(found)), found, policy)
    assert isinstance(reading.measurement, Estimate)
    assert reading.measurement.supported == max(supports)
