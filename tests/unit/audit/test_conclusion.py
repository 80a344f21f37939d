"""Comparison of two answers, derivation of one, and the conclusion about the trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.audit.conclusion import (
    by_comparison,
    by_entailment,
    overall,
    same_answer,
)
from veridical.audit.values import (
    Cited,
    PostHoc,
    PostHocVerdict,
    Soundness,
    StepAudit,
    StepCitation,
)
from veridical.core.epistemic import ClaimVerification
from veridical.core.status_table import StepLabel
from veridical.core.verdicts import Status

LABELS: list[StepLabel | None] = [
    "ENTAILED",
    "CONTRADICTED",
    "NOT_IN_CONTEXT",
    "UNVERIFIABLE",
    None,
]


@pytest.mark.spec("SPEC-08.26")
@pytest.mark.parametrize(
    ("answer", "derived", "question", "same"),
    [
        ("1998", "The answer is 1998.", None, True),
        ("1,998", "1998.0", None, True),
        ("50%", "0.5", None, True),
        ("50%", "50", None, False),
        ("1/2", "0.5", None, True),
        ("1998", "1999", None, False),
        ("Seven", "seven.", None, True),
        ("(D)", "D", None, True),
        ("(D)", "(D) Eli finished second", None, True),
        ("(D)", "(C) Mya finished second", None, False),
        ("yes", "No.", None, False),
        ("yes", "Yes, it is entailed", None, True),
        ("] ) ]", "])]", None, True),
        ("] ) ]", ") ]", None, False),
        ("1998", "The bridge opened in 1998", "When did the bridge open?", True),
        ("1998", "The bridge opened in 1999", "When did the bridge open?", False),
        ("1998", "It did not open in 1998", "When did the bridge open?", None),
        ("Paris", "the city of Paris", None, None),
        ("Amy", "Amy or Bob", None, None),
        ("Amy is above Bob", "Bob is above Amy", "Is Amy above Bob?", None),
        ("x^2 + 1", "x^2 - 1", None, None),
        ("1/0", "1/0.", None, True),
        ("1/0", "2/0", None, None),
    ],
)
def test_answers_are_compared_by_text_number_option_and_polarity(
    answer: str, derived: str, question: str | None, same: bool | None
) -> None:
    assert same_answer(answer, derived, question) is same
    assert same_answer(derived, answer, question) is same


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared_and_the_order_does_not_matter(
    a: str, b: str, question: str
) -> None:
    assert same_answer(a, b, question) == same_answer(b, a, question)
    assert same_answer(a, a, question) is True


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_numbers_are_the_same_if_their_values_are(a: int, b: int) -> None:
    assert same_answer(f"{a:,}", f"The answer is {b}.") is (a == b)


@pytest.mark.spec("SPEC-08.25")
def test_by_entailment_every_status_has_a_verdict() -> None:
    verdicts = {status: by_entailment(status)[0] for status in Status}
    assert verdicts.pop(Status.SUPPORTED) is PostHocVerdict.DERIVABLE
    assert verdicts.pop(Status.CONTRADICTED) is PostHocVerdict.DERIVES_SOMETHING_ELSE
    assert verdicts.pop(Status.UNDETERMINED) is PostHocVerdict.UNDETERMINED
    assert set(verdicts.values()) == {PostHocVerdict.NOT_DERIVABLE}


@pytest.mark.spec("SPEC-08.25")
@pytest.mark.parametrize(
    ("same", "similarity", "verdict"),
    [
        (True, None, PostHocVerdict.DERIVABLE),
        (False, 0.99, PostHocVerdict.DERIVES_SOMETHING_ELSE),
        (None, 0.5, PostHocVerdict.DERIVABLE),
        (None, 0.49, PostHocVerdict.DERIVES_SOMETHING_ELSE),
        (None, None, PostHocVerdict.UNDETERMINED),
    ],
)
def test_by_comparison_texts_decide_before_meaning(
    same: bool | None, similarity: float | None, verdict: PostHocVerdict
) -> None:
    assert by_comparison(same, similarity)[0] is verdict


VERIFICATION = ClaimVerification(
    claim_id="step1",
    claim_text="It is so.",
    evidence_ids=(),
    evidence_support=None,
    evidence_dependence=None,
    consistency_score=None,
    confidence_justified=None,
    evidence_gap_bits=None,
    is_flagged=False,
    flag_reason=None,
    status=Status.UNDETERMINED,
    rule="x",
    target=0.95,
    p0=None,
    p1=None,
    required_bits=None,
    observed_bits=None,
    budget_gap=None,
)
STEP = StepAudit("step1", "It is so.", "ENTAILED", VERIFICATION)


def concluded(
    labels: list[StepLabel | None], kind: Cited | None = None, verdict: PostHocVerdict | None = None
) -> tuple[str, str]:
    cited = () if kind is None else (StepCitation("x", kind),)
    steps = [replace(STEP, label=label, citations=cited) for label in labels]
    found = overall(steps, None if verdict is None else PostHoc(verdict, "x", "entailment"))
    return found.soundness.value, found.rule


@pytest.mark.spec("SPEC-08.25")
@pytest.mark.parametrize(
    ("labels", "kind", "verdict", "soundness", "rule"),
    [
        (["ENTAILED", "UNVERIFIABLE"], None, None, "VALID", "every_step_is_entailed"),
        (["ENTAILED"], Cited.SOURCE, PostHocVerdict.DERIVABLE, "VALID", "every_step_is_entailed"),
        (["ENTAILED", "CONTRADICTED", None], None, None, "INVALID", "a_step_is_contradicted"),
        (["NOT_IN_CONTEXT"], Cited.CYCLIC, None, "INVALID", "steps_cite_in_a_circle"),
        (
            ["ENTAILED"],
            None,
            PostHocVerdict.DERIVES_SOMETHING_ELSE,
            "INVALID",
            "something_else_follows_than_the_answer",
        ),
        (["ENTAILED"], None, PostHocVerdict.NOT_DERIVABLE, "INVALID", "the_answer_does_not_follow"),
        (["NOT_IN_CONTEXT"], Cited.FORWARD, None, "WARNING", "a_step_cites_a_later_one"),
        (["NOT_IN_CONTEXT"], Cited.PHANTOM, None, "WARNING", "a_step_cites_what_does_not_exist"),
        (["NOT_IN_CONTEXT", None], None, None, "WARNING", "a_step_is_not_in_context"),
        (["ENTAILED", None], None, None, "UNAUDITABLE", "a_step_could_not_be_measured"),
        (
            ["ENTAILED"],
            None,
            PostHocVerdict.UNDETERMINED,
            "UNAUDITABLE",
            "the_answer_could_not_be_checked",
        ),
        (["UNVERIFIABLE"], None, None, "UNAUDITABLE", "no_step_asserts_anything"),
    ],
)
def test_the_first_rule_that_applies_is_named(
    labels: list[StepLabel | None],
    kind: Cited | None,
    verdict: PostHocVerdict | None,
    soundness: str,
    rule: str,
) -> None:
    assert concluded(labels, kind, verdict) == (soundness, rule)


@given(
    st.lists(st.sampled_from(LABELS), min_size=1),
    st.sampled_from([None, *Cited]),
    st.sampled_from([None, *PostHocVerdict]),
)
def test_nothing_but_entailed_steps_and_a_derivable_answer_is_valid(
    labels: list[StepLabel | None], kind: Cited | None, verdict: PostHocVerdict | None
) -> None:
    sound = set(labels) <= {"ENTAILED", "UNVERIFIABLE"} and "ENTAILED" in labels
    fault = kind in {Cited.FORWARD, Cited.CYCLIC, Cited.PHANTOM}
    follows = verdict in {None, PostHocVerdict.DERIVABLE}
    valid = concluded(labels, kind, verdict)[0] == Soundness.VALID
    assert valid == (sound and not fault and follows)
