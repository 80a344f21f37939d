"""Verdicts: which are flagged, and which need action."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.types import Claim, Exclusion, Span
from veridical.core.verdicts import Budget, Status, Verdict

CLAIM = Claim(id="c1", text="It rains.", span=Span(0, 9), sentence=0)
MISSING = Unmeasured(UnmeasuredReason.TIMEOUT)
OPPOSED = {Status.CONTRADICTED, Status.PHANTOM_CITATION}
SILENT = {Status.UNVERIFIABLE, Status.UNDETERMINED}


def verdict(status: Status, claim: Claim = CLAIM, budget_gap_bits: float | None = None) -> Verdict:
    budget = Budget(0.95, budget_gap_bits=budget_gap_bits)
    return Verdict(claim, status, "rule", (), MISSING, MISSING, budget, None)


def test_the_order_of_statuses_is_the_order_of_decision() -> None:
    assert [*Status] == [
        "phantom_citation",
        "undetermined",
        "unverifiable",
        "contradicted",
        "supported",
        "partially_supported",
        "unsupported",
    ]


@pytest.mark.parametrize("status", Status)
def test_every_status_but_supported_and_undetermined_is_flagged(status: Status) -> None:
    assert verdict(status).flagged is (status not in {Status.SUPPORTED, Status.UNDETERMINED})


@pytest.mark.spec("SPEC-08.09")
@pytest.mark.parametrize("excluded", Exclusion)
def test_a_span_that_asserts_nothing_is_flagged_for_a_phantom_only(excluded: Exclusion) -> None:
    claim = replace(CLAIM, excluded=excluded)
    assert not claim.assertive
    flagged = [status for status in Status if verdict(status, claim).flagged]
    assert flagged == [Status.PHANTOM_CITATION]


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("gap", [1.0, 2.0, 3.0])
def test_a_measured_claim_is_critical_by_its_status_or_by_a_gap_above_the_threshold(
    status: Status, gap: float
) -> None:
    expected = status in OPPOSED or (status not in SILENT and gap > 2.0)
    assert verdict(status, budget_gap_bits=gap).is_critical(2.0) is expected


@pytest.mark.parametrize("status", Status)
def test_an_unmeasured_claim_is_critical_if_it_is_flagged_for_its_content(status: Status) -> None:
    expected = status not in {*SILENT, Status.SUPPORTED}
    assert verdict(status).is_critical(2.0) is expected


@pytest.mark.parametrize("status", Status)
def test_a_span_that_asserts_nothing_is_critical_for_a_phantom_only(status: Status) -> None:
    silent = verdict(status, replace(CLAIM, excluded=Exclusion.QUESTION), budget_gap_bits=9.0)
    assert silent.is_critical(2.0) is (status is Status.PHANTOM_CITATION)
