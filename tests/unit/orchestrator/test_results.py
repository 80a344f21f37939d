"""Selection of the best attempt, critical claims, and sums with unknown parts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from types import ModuleType

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import Policy, Report
from veridical.core.assessment import Outcome
from veridical.core.verdicts import Status
from veridical.orchestrator import Attempt, Spent
from veridical.orchestrator.results import best_of

pytestmark = pytest.mark.spec("SPEC-16.24")


@cache
def checked(bridge: ModuleType, text: str, bits: float = 2.0) -> Report:
    policy = Policy(gap_threshold_bits=bits)
    report: Report = anyio.run(bridge.verifier(policy=policy).check, text, bridge.SOURCES)
    return report


def attempt(bridge: ModuleType, number: int, text: str) -> Attempt:
    return Attempt(number, text, report=checked(bridge, text))


def test_contradictions_and_phantoms_are_critical_whatever_their_gap(bridge: ModuleType) -> None:
    text = "The ferry never sank in 2003 [S2]. The bridge opened in 1998 [S9]. Dolphins sing here."
    report = checked(bridge, text, 9.0)
    assert [verdict.status for verdict in report.flagged] == [
        Status.CONTRADICTED,
        Status.PHANTOM_CITATION,
        Status.UNSUPPORTED,
    ]
    assert len(report.critical) == 2
    assert len(checked(bridge, text, 2.0).critical) == 3


def test_a_gap_that_was_not_measured_is_critical(bridge: ModuleType) -> None:
    report = checked(bridge, "Dolphins sing under the bridge.", 9.0)
    (verdict,) = report.flagged
    assert report.critical == ()
    unmeasured = replace(verdict, budget=replace(verdict.budget, budget_gap_bits=None))
    assert replace(report, claims=(unmeasured,)).critical == (unmeasured,)


def test_the_best_attempt_has_fewest_critical_claims_then_most_support(bridge: ModuleType) -> None:
    worse, wrong, good = (
        attempt(bridge, n, text) for n, text in enumerate((bridge.WORSE, bridge.WRONG, bridge.GOOD))
    )
    for order in permutations([worse, wrong, good]):
        assert best_of(order) is good
        assert best_of([one for one in order if one is not good]) is wrong


def test_of_equals_the_earlier_attempt_is_the_best(bridge: ModuleType) -> None:
    first, second = attempt(bridge, 1, bridge.WRONG), attempt(bridge, 2, bridge.WRONG)
    assert best_of([second, first]) is first


def test_what_was_not_verified_is_never_better(bridge: ModuleType) -> None:
    worst = attempt(bridge, 5, bridge.WORSE)
    assert best_of([Attempt(1, bridge.GOOD), worst]) is worst


def test_undetermined_claims_are_no_pass(bridge: ModuleType) -> None:
    report = checked(bridge, bridge.WRONG)
    counts = {**report.summary.by_status, Status.UNDETERMINED: 2, Status.SUPPORTED: 1}
    vague = Attempt(
        1, "x", report=replace(report, summary=replace(report.summary, by_status=counts))
    )
    assert best_of([vague, attempt(bridge, 2, bridge.WRONG)]).number == 2


@given(
    st.lists(
        st.tuples(st.sampled_from(["GOOD", "WRONG", "WORSE", "INVENTED"]), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_no_attempt_beats_the_best(bridge: ModuleType, drawn: list[tuple[str, bool]]) -> None:
    attempts = [
        attempt(bridge, n, getattr(bridge, name)) if verified else Attempt(n, "unverified")
        for n, (name, verified) in enumerate(drawn, start=1)
    ]
    best = best_of(attempts)
    verified = [one for one in attempts if one.verified]
    assert best.verified or not verified
    for other in verified:
        assert len(best.critical) <= len(other.critical)
        if len(best.critical) == len(other.critical):
            assert _share(best) > _share(other) or (
                _share(best) == _share(other) and best.number <= other.number
            )


def _share(one: Attempt) -> float:
    assert one.report is not None
    assert one.report.summary.outcome in {Outcome.GROUNDED, Outcome.FLAGGED}
    return one.report.summary.by_status[Status.SUPPORTED] / one.report.summary.claims_checked


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    known, unknown = Spent(0.5, 10, 1.0), Spent(None, None, 2.0)
    assert known + known == Spent(1.0, 20, 2.0)
    assert known + unknown == Spent(None, None, 3.0)
