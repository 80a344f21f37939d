from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Estimate, Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Passage
from veridical.pipeline.judgement import pool_passages
from veridical.testing import FAKE, fake_estimate

TIMEOUT = Unmeasured(UnmeasuredReason.TIMEOUT)


def passages(count: int) -> list[Passage]:
    return [Passage(f"passage {i}", ()) for i in range(count)]


def decided_by(policy: Policy, *measurements: Measurement) -> str | None:
    reading = pool_passages(passages(len(measurements)), measurements, policy)
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


def test_nothing_to_read_is_unmeasured(policy: Policy) -> None:
    assert isinstance(pool_passages([], [], policy).measurement, Unmeasured)


def test_an_unresolved_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="not resolved"):
        pool_passages(passages(2), [fake_estimate(0.9), TIMEOUT], Policy())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_more_passages_never_lower_the_support_that_was_found(supports: list[float]) -> None:
    policy = Policy().resolved(FAKE)
    found = [fake_estimate(p) for p in supports]
    reading = pool_passages(passages(len(found)), found, policy)
    assert isinstance(reading.measurement, Estimate)
    assert reading.measurement.supported == max(supports)
