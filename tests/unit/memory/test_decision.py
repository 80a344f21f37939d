"""The gate's decision: SEMANTICS 7, as a table and as properties."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Binding, Claim, Span
from veridical.core.verdicts import Verdict
from veridical.memory.decision import (
    REDUCTION,
    FactState,
    GatePolicy,
    Refusal,
    accept_unverified,
    decide_admission,
    support_ratio,
    unmeasured,
    without_evidence,
)
from veridical.pipeline.judgement import PooledEstimate, judge_claim
from veridical.testing import fake_estimate

RULES = GatePolicy()
NO_EVIDENCE = Binding((), (), (), 0)


def verdict(
    p0: Measurement | float,
    p1: Measurement | float,
    contradicted: float = 0.0,
    target: float = 0.95,
) -> Verdict:
    """Return the verdict that the pipeline reaches on these figures."""
    first = fake_estimate(p1, contradicted) if isinstance(p1, float) else p1
    second = fake_estimate(p0) if isinstance(p0, float) else p0
    policy = Policy(support_threshold=0.7, contradiction_threshold=0.5, target_confidence=target)
    claim = Claim("c1", "x", Span(0, 1), 0)
    return judge_claim(claim, NO_EVIDENCE, PooledEstimate(first), PooledEstimate(second), policy)


@pytest.mark.spec("SPEC-08.16", "SPEC-08.17")
@pytest.mark.parametrize(
    ("p0", "p1", "contradicted", "reason", "confidence", "refusal"),
    [
        # The fixtures of SEMANTICS 2 (target .95).
        (0.50, 0.01, 0.9, "contradicted", 0.0, Refusal.CONTRADICTED),
        (0.50, 0.01, 0.0, "below_min_confidence", 0.0, Refusal.NOT_GROUNDED),
        (0.97, 0.02, 0.0, "gap_above_threshold", 0.0, Refusal.NOT_GROUNDED),
        (0.99, 0.99, 0.0, "grounded", 0.95, None),
        (0.90, 0.90, 0.0, "below_min_confidence", 0.0, Refusal.NOT_GROUNDED),
        (0.50, 0.99, 0.0, "grounded", 0.95, None),
        # No bits are required, but the evidence moves belief down.
        (0.99, 0.97, 0.0, "below_min_confidence", 0.0, Refusal.NOT_GROUNDED),
        # Paid for in part: the share is the confidence.
        (0.10, 0.90, 0.0, "grounded", 0.8814, None),
        (0.01, 0.20, 0.0, "gap_above_threshold", 0.1026, Refusal.NOT_GROUNDED),
    ],
)
def test_figures_decide(  # noqa: PLR0913 -- one per column
    *,
    p0: float,
    p1: float,
    contradicted: float,
    reason: str,
    confidence: float,
    refusal: Refusal | None,
) -> None:
    found = decide_admission(verdict(p0, p1, contradicted), RULES)
    assert (found.reason, found.refusal, found.queue) == (reason, refusal, False)
    assert found.confidence == pytest.approx(confidence, abs=5e-4)
    assert found.state is (None if refusal else FactState.VERIFIED)


@pytest.mark.spec("SPEC-08.38", "SPEC-08.42")
@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (UnmeasuredReason.TIMEOUT, FactState.UNVERIFIED),
        (UnmeasuredReason.BACKEND_ERROR, FactState.UNVERIFIED),
        (UnmeasuredReason.MALFORMED_REPLY, FactState.UNVERIFIED),
        (UnmeasuredReason.CONTEXT_TOO_LONG, FactState.UNVERIFIED),
        (UnmeasuredReason.DISABLED, FactState.UNVERIFIED),
        (UnmeasuredReason.RATE_LIMITED, FactState.QUEUED),
    ],
)
def test_what_is_not_measured_is_queued_with_a_reduced_confidence(
    reason: UnmeasuredReason, state: FactState
) -> None:
    missing = Unmeasured(reason)
    for found in (
        unmeasured(reason, 0.8),
        decide_admission(verdict(0.5, missing, target=0.8), RULES),
        decide_admission(verdict(missing, 0.99, target=0.8), RULES),
    ):
        assert (found.reason, found.state, found.refusal, found.queue) == (
            reason.value,
            state,
            None,
            True,
        )
        assert found.confidence == 0.8 * REDUCTION


def test_what_is_opposed_is_rejected_even_if_its_prior_is_unknown() -> None:
    found = decide_admission(verdict(Unmeasured(UnmeasuredReason.TIMEOUT), 0.05, 0.9), RULES)
    assert found.refusal is Refusal.CONTRADICTED


def test_without_reject_unsupported_a_fact_is_kept_with_what_its_evidence_pays_for() -> None:
    lenient = GatePolicy(reject_unsupported=False)
    found = decide_admission(verdict(0.5, 0.6), lenient)
    assert (found.state, found.refusal, found.queue) == (FactState.UNSUPPORTED, None, False)
    assert 0.0 < found.confidence < lenient.min_confidence
    assert decide_admission(verdict(0.5, 0.01, 0.9), lenient).refusal is Refusal.CONTRADICTED
    assert without_evidence(lenient).state is FactState.UNSUPPORTED


def test_a_fact_without_evidence_is_not_grounded() -> None:
    found = without_evidence(RULES)
    assert (found.refusal, found.state, found.confidence) == (Refusal.NOT_GROUNDED, None, 0.0)


def test_with_the_gate_off_a_fact_is_unverified_with_its_own_confidence() -> None:
    found = accept_unverified(0.8)
    assert (found.state, found.confidence, found.queue) == (FactState.UNVERIFIED, 0.8, False)


@pytest.mark.parametrize("wrong", [{"min_confidence": 1.1}, {"gap_threshold_bits": -1.0}])
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        GatePolicy(**wrong)


probabilities = st.floats(0.0, 1.0)


@pytest.mark.spec("SPEC-08.17")
@given(p0=probabilities, p1=probabilities, target=probabilities, least=probabilities)
def test_what_is_verified_is_as_sure_as_stated_at_most_and_as_the_rules_want_at_least(
    p0: float, p1: float, target: float, least: float
) -> None:
    rules = GatePolicy(min_confidence=least)
    found = decide_admission(verdict(p0, p1, target=target), rules)
    assert 0.0 <= found.confidence <= target
    assert (found.state is FactState.VERIFIED) == (found.refusal is None)
    if found.state is FactState.VERIFIED:
        assert found.confidence >= least


@given(p0=probabilities, target=probabilities, first=probabilities, second=probabilities)
def test_more_support_never_makes_a_fact_less_sure(
    p0: float, target: float, first: float, second: float
) -> None:
    low, high = sorted((first, second))
    lenient = GatePolicy(reject_unsupported=False)
    less, more = (decide_admission(verdict(p0, p1, target=target), lenient) for p1 in (low, high))
    assert less.confidence <= more.confidence


@given(required=st.floats(0.0, 20.0), observed=st.floats(-20.0, 20.0))
def test_the_share_that_is_paid_is_a_share(required: float, observed: float) -> None:
    share = support_ratio(required, observed)
    assert 0.0 <= share <= 1.0
    if observed >= required:
        assert share == 1.0
    if observed < 0:
        assert share == 0.0


@given(
    stated=probabilities,
    reason=st.sampled_from(UnmeasuredReason),
    rules=st.builds(GatePolicy, min_confidence=probabilities, reject_unsupported=st.booleans()),
)
def test_nothing_that_was_not_measured_counts_as_verified(
    stated: float, reason: UnmeasuredReason, rules: GatePolicy
) -> None:
    missing = Unmeasured(reason)
    for p0, p1 in product((missing, 0.9), repeat=2):
        if (p0, p1) != (0.9, 0.9):
            found = decide_admission(verdict(p0, p1, target=stated), rules)
            assert found.state is not FactState.VERIFIED
            assert found.queue
