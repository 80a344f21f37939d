from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from veridical.audit.values import StepAudit, TraceAudit
from veridical.core.epistemic import (
    ClaimVerification,
    EpistemicGap,
    HallucinationReport,
    Verifications,
)
from veridical.core.printing import number, one_line
from veridical.core.similarity import Contradiction, Contradictions
from veridical.core.types import Span
from veridical.core.verdicts import EvidenceSpan, Note, Role, Status

PRIVATE = "Mr Brown sleeps badly."
PLACE = EvidenceSpan("S1", Span(3, 9), "sleeps well", Role.CONTRADICTS)
VERIFICATION = ClaimVerification(
    claim_id="c1",
    claim_text=PRIVATE,
    evidence_ids=("S1",),
    evidence_support=0.1,
    evidence_dependence=0.5,
    consistency_score=None,
    confidence_justified=False,
    evidence_gap_bits=4.5,
    is_flagged=True,
    flag_reason="contradicted",
    status=Status.CONTRADICTED,
    rule="p_contradicted_reaches_threshold",
    target=0.95,
    p0=0.2,
    p1=0.1,
    required_bits=4.0,
    observed_bits=-0.5,
    budget_gap=4.5,
    notes=(Note.PARTLY_SCORED,),
    evidence=(PLACE,),
)
UNKNOWN = replace(
    VERIFICATION,
    status=Status.UNDETERMINED,
    is_flagged=False,
    flag_reason=None,
    p1=None,
    p0=None,
    budget_gap=None,
    evidence_support=None,
    unmeasured="timeout",
)
GAP = EpistemicGap("c1", PRIVATE, "contradicted", 4.5, "Correct the claim", "critical", (PLACE,))
PAIRS = Contradictions((Contradiction("c1", "c2", PRIVATE, "He sleeps well.", 0.9),), 1, 3)
REPORT = HallucinationReport(
    response_id="0123456789ab",
    total_claims=3,
    verified_claims=1,
    flagged_claims=1,
    claims=(VERIFICATION, UNKNOWN),
    gaps=(GAP,),
    overall_confidence=0.1,
    max_gap_bits=4.5,
    has_critical_gaps=True,
    should_retry=True,
    retry_guidance="Answer again",
    undetermined_claims=1,
    left_out={"not_sampled": 1},
    contradictions=PAIRS,
)
STEP = StepAudit("step1", PRIVATE, "CONTRADICTED", VERIFICATION, (VERIFICATION,), ("S1",))
LOST = StepAudit("step2", "It rained.", None, UNKNOWN)

SEED = {
    ClaimVerification: """claim_id claim_text evidence_ids evidence_support evidence_dependence
        consistency_score confidence_justified evidence_gap_bits is_flagged flag_reason""",
    EpistemicGap: "claim_id claim_text gap_type gap_bits suggested_action",
    HallucinationReport: """response_id total_claims verified_claims flagged_claims claims gaps
        overall_confidence max_gap_bits has_critical_gaps should_retry retry_guidance""",
}


@pytest.mark.spec("SPEC-16.01")
@pytest.mark.parametrize("kind", SEED)
def test_the_fields_of_the_specification_come_first_and_in_its_order(kind: type) -> None:
    wanted = SEED[kind].split()
    assert [field.name for field in fields(kind)][: len(wanted)] == wanted


@pytest.mark.spec("SPEC-08.32")
def test_a_verification_says_its_probabilities_bits_and_status_as_json() -> None:
    document = VERIFICATION.to_dict()
    named = ("p0", "p1", "required_bits", "observed_bits", "budget_gap", "status")
    assert [document[name] for name in named] == [0.2, 0.1, 4.0, -0.5, 4.5, "contradicted"]
    assert document["schema"] == "veridical.verification/1"


def test_what_is_unknown_is_null_in_json_and_never_0() -> None:
    document = UNKNOWN.to_dict()
    assert document["p1"] is None
    assert document["budget_gap"] is None
    assert document["unmeasured"] == "timeout"


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (VERIFICATION, "veridical.verification/1"),
        (GAP, "veridical.gap/1"),
        (REPORT, "veridical.hallucinations/1"),
        (TraceAudit((STEP, LOST)), "veridical.audit/1"),
        (PAIRS, "veridical.contradictions/1"),
    ],
)
def test_every_type_is_strict_json_with_a_schema(
    value: HallucinationReport | TraceAudit, schema: str
) -> None:
    text = json.dumps(value.to_dict(), allow_nan=False)
    assert json.loads(text)["schema"] == schema
    assert text.count("schema") == 1


@pytest.mark.parametrize(
    "value", [VERIFICATION, GAP, REPORT, STEP, TraceAudit((STEP,)), PAIRS.pairs[0]]
)
def test_a_repr_holds_no_text(value: object) -> None:
    assert "Brown" not in repr(value)
    assert "Brown" in str(value) or isinstance(value, Contradiction)


def test_a_report_says_its_denominators() -> None:
    head = str(REPORT).splitlines()[0]
    assert head == "1 of 1 verified claims flagged, of 3; 1 could not be measured; 1 not sampled"
    assert REPORT.flagged == (VERIFICATION,)
    assert "oppose each other" in str(REPORT)


def test_a_report_of_a_skipped_or_empty_answer_says_so_and_never_that_it_is_sound() -> None:
    nothing = replace(REPORT, total_claims=0, claims=(), gaps=())
    assert str(replace(nothing, skipped="too_short")) == "Not verified: too short"
    assert str(nothing) == "Nothing to check: no checkable claim"


def test_the_first_error_is_the_first_bad_step_and_unmeasured_steps_are_counted() -> None:
    audit = TraceAudit((LOST, STEP, replace(STEP, id="step3")))
    assert audit.first_error is STEP
    assert audit.undetermined == 1
    assert "the first is step1" in str(audit)
    assert TraceAudit((LOST,)).first_error is None


def test_verifications_are_a_list_that_prints_well() -> None:
    found = Verifications([VERIFICATION, UNKNOWN])
    assert found == [VERIFICATION, UNKNOWN]
    assert "not measured: timeout" in str(found)
    assert str(Verifications()) == "No claim to verify"


def test_text_for_a_terminal_is_one_line_without_what_steers_it() -> None:
    assert one_line("a\nb \x1b[31mred") == "a b \\x1b[31mred"
    assert one_line("a" * 300).endswith("a …")


def test_numbers_have_no_negative_zero() -> None:
    assert str(number(-0.0)) == "0.0"
