"""Verdicts: which are flagged, and which need action."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.types import Claim, Exclusion, Span
from veridical.core.verdicts import PLAIN, SHOWN, Budget, EvidenceSpan, Role, Status, Verdict
from veridical.testing import fake_estimate

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


# --- the evidence that a reader sees ---------------------------------------------------------


def span(number: int, text: str, role: Role = Role.NEAREST) -> EvidenceSpan:
    return EvidenceSpan("S1", Span(10 * number, 10 * number + len(text)), text, role)


DECIDED = span(1, "It rains.", Role.SUPPORTS)
ASKED = span(2, "Rain?”", Role.SUPPORTS)
NEAREST = (span(1, "It rains."), span(3, "Why?"), *(span(n, "It snows.") for n in range(4, 10)))


def shown(status: Status, p1: float, *evidence: EvidenceSpan) -> list[str]:
    found = replace(verdict(status), p1=fake_estimate(p1), evidence=evidence, nearest=NEAREST)
    return [piece.text for piece in found.shown]


def test_plain_support_is_shown_alone() -> None:
    assert shown(Status.SUPPORTED, PLAIN, DECIDED, ASKED) == ["It rains."]


@pytest.mark.parametrize(
    ("status", "p1"),
    [(Status.SUPPORTED, 0.79), (Status.UNSUPPORTED, 0.1), (Status.CONTRADICTED, 0)],
)
def test_the_nearest_statements_are_shown_beside_what_is_not_plain(
    status: Status, p1: float
) -> None:
    texts = shown(status, p1, DECIDED, ASKED)
    assert texts == ["It rains.", *["It snows."] * (SHOWN - 1)]


def test_a_question_is_shown_if_nothing_else_decided_and_nothing_where_nothing_was_read() -> None:
    assert shown(Status.SUPPORTED, PLAIN, ASKED) == ["Rain?”"]
    assert shown(Status.UNDETERMINED, 0.0) == []
