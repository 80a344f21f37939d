"""Every verdict is rated: how probable it is that it is right, and whether it is sure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.certainty import SCORE, CertaintyModel, Fit, VerdictKind
from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Exclusion, Skip, Span
from veridical.core.verdicts import Budget, Certainty, EvidenceSpan, Role, Status, Verdict
from veridical.pipeline.judgement.certainty import features, grounded, rated
from veridical.testing import FAKE, fake_estimate

MISSING = Unmeasured(UnmeasuredReason.TIMEOUT)
POLICY = Policy().resolved(FAKE)
CLAIM = Claim("c1", "The bridge opened in 1998.", Span(0, 26), 0)
FIT = Fit(0.0, ((SCORE, 1.0), ("coverage", 1.0)), 0.95)
MODEL = CertaintyModel(FIT, FIT, FIT, rules=(("quantity_differs", 0.97),), exponent=0.5)


def verdict(
    status: Status, p1: Measurement, *, rule: str = "by_probability", read: str = "", n: int = 1
) -> Verdict:
    evidence = tuple(
        EvidenceSpan("S1", Span(i, i + 1), read, Role.NEAREST) for i in range(n if read else 0)
    )
    return Verdict(CLAIM, status, rule, (), p1, MISSING, Budget(0.95), None, evidence=evidence)


def certainty(found: Verdict, model: CertaintyModel | None = MODEL) -> tuple[Certainty, float]:
    done = rated(found, model, POLICY)
    assert done.probability_right is not None
    return done.certainty, round(done.probability_right, 4)


@pytest.mark.parametrize(
    ("status", "p1"),
    [
        (Status.SUPPORTED, fake_estimate(0.96)),
        (Status.UNSUPPORTED, fake_estimate(0.04)),
        (Status.PARTIALLY_SUPPORTED, fake_estimate(0.04)),
        (Status.CONTRADICTED, fake_estimate(0.04, 0.9)),
    ],
)
def test_the_score_is_what_the_verdict_says(status: Status, p1: Measurement) -> None:
    assert certainty(verdict(status, p1)) == (Certainty.SURE, 0.96)


@pytest.mark.parametrize(
    ("status", "p1"),
    [
        (Status.SUPPORTED, fake_estimate(0.8)),
        (Status.UNSUPPORTED, fake_estimate(0.2)),
        (Status.CONTRADICTED, fake_estimate(0.2, 0.8)),
    ],
)
def test_what_is_not_probable_enough_is_unsure(status: Status, p1: Measurement) -> None:
    assert certainty(verdict(status, p1)) == (Certainty.UNSURE, 0.8)


def test_words_of_the_claim_in_the_evidence_count() -> None:
    p = 0.9
    none = certainty(verdict(Status.SUPPORTED, fake_estimate(p), read="It rained all day."))
    all_ = certainty(verdict(Status.SUPPORTED, fake_estimate(p), read="In 1998 a bridge opened."))
    assert (none[0], all_[0]) == (Certainty.UNSURE, Certainty.SURE)


def test_features_are_those_of_the_claim_and_of_what_decided() -> None:
    found = verdict(Status.SUPPORTED, fake_estimate(0.5), read="The bridge opened in 1999.", n=3)
    shown = features(found, VerdictKind.SUPPORTED)
    assert shown[SCORE] == 0.0
    assert shown["coverage"] == pytest.approx(2 / 3)
    assert shown["length"] == pytest.approx(2.585, abs=0.001)
    assert shown["sentences"] == 2.0


@pytest.mark.parametrize("p1", [MISSING, fake_estimate(0.5)], ids=["unmeasured", "in doubt"])
@pytest.mark.parametrize("model", [None, MODEL], ids=["uncalibrated", "fitted"])
def test_a_phantom_citation_is_sure_by_rule(p1: Measurement, model: CertaintyModel | None) -> None:
    model = model and replace(model, rules=(("cited_id_does_not_exist", 1.0),))
    found = verdict(Status.PHANTOM_CITATION, p1, rule="cited_id_does_not_exist")
    assert certainty(found, model) == (Certainty.SURE, 1.0)


def test_a_rule_of_the_model_is_sure_whatever_the_score() -> None:
    found = verdict(Status.CONTRADICTED, fake_estimate(0.45, 0.5), rule="quantity_differs")
    assert certainty(found) == (Certainty.SURE, 0.97)


@pytest.mark.parametrize(
    "found",
    [
        verdict(Status.UNDETERMINED, MISSING),
        verdict(Status.UNVERIFIABLE, fake_estimate(0.01)),
        replace(
            verdict(Status.UNVERIFIABLE, MISSING), claim=replace(CLAIM, excluded=Exclusion.HEDGED)
        ),
        replace(
            verdict(Status.UNDETERMINED, MISSING), claim=replace(CLAIM, skipped=Skip.NOT_SAMPLED)
        ),
    ],
    ids=["undetermined", "vague", "excluded", "skipped"],
)
def test_where_nothing_is_said_nothing_is_sure(found: Verdict) -> None:
    done = rated(found, MODEL, POLICY)
    assert (done.certainty, done.probability_right) == (Certainty.UNSURE, None)


def test_without_a_fit_an_interval_that_holds_the_threshold_makes_it_unsure() -> None:
    narrow, wide = fake_estimate(0.95, low=0.9), fake_estimate(0.95, low=0.5)
    assert certainty(verdict(Status.SUPPORTED, narrow), None) == (Certainty.SURE, 0.95)
    assert certainty(verdict(Status.SUPPORTED, wide), None) == (Certainty.UNSURE, 0.95)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([Status.SUPPORTED, Status.UNSUPPORTED, Status.CONTRADICTED]),
    st.sampled_from(["", "The bridge opened.", "It rained."]),
)
def test_a_more_extreme_score_never_turns_sure_into_unsure(
    one: float, other: float, status: Status, read: str
) -> None:
    low, high = sorted((one, other), reverse=status is not Status.SUPPORTED)
    less, more = (
        rated(verdict(status, fake_estimate(p), read=read), MODEL, POLICY) for p in (low, high)
    )
    assert (less.probability_right or 0) <= (more.probability_right or 0)
    assert not less.sure or more.sure


# --- the whole answer ------------------------------------------------------------------------


def with_right(status: Status, right: float | None) -> Verdict:
    return replace(verdict(status, fake_estimate(0.5)), probability_right=right)


def test_an_answer_is_as_probable_as_its_claims_together() -> None:
    found = [with_right(Status.SUPPORTED, 0.9), with_right(Status.UNSUPPORTED, 0.6)]
    assert grounded(found, replace(MODEL, exponent=1.0)) == pytest.approx(0.9 * 0.4)
    assert grounded(found, MODEL) == pytest.approx((0.9 * 0.4) ** 0.5)


def test_what_is_vague_or_not_asserted_does_not_count() -> None:
    vague = with_right(Status.UNVERIFIABLE, None)
    question = replace(vague, claim=replace(CLAIM, excluded=Exclusion.QUESTION))
    sound = with_right(Status.SUPPORTED, 0.9)
    assert grounded([sound, vague, question], None) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "found",
    [
        [],
        [with_right(Status.UNVERIFIABLE, None)],
        [with_right(Status.SUPPORTED, 0.9), with_right(Status.UNDETERMINED, None)],
    ],
    ids=["no claims", "only vague ones", "one not measured"],
)
def test_where_a_claim_is_unknown_the_answer_is(found: list[Verdict]) -> None:
    assert grounded(found, MODEL) is None
