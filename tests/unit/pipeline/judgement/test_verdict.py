from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import (
    Estimate,
    Measurement,
    Taken,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import Binding, Citation, Claim, Confidence, Passage, SourceSpan, Span
from veridical.core.verdicts import Note, Role, Status, Verdict
from veridical.pipeline.judgement import (
    PooledEstimate,
    attach_evidence,
    judge_claim,
    merge_scored,
)
from veridical.testing import fake_estimate

CLAIM = Claim("c1", "All bridges opened in 1998.", Span(0, 27), 0, weaker="Some bridges did.")
WINDOW = SourceSpan("S1", Span(0, 20))
BINDING = Binding(
    citations=(Citation("S1", Span(0, 1), "S1"),),
    with_evidence=(
        Passage("text", (WINDOW,)),
        Passage("both", (WINDOW, SourceSpan("S1", Span(30, 40)))),
    ),
    without_evidence=(),
    windows_total=7,
)


def verdict(
    policy: Policy, p1: Measurement, p0: Measurement, claim: Claim = CLAIM, unmeasured: int = 0
) -> Verdict:
    return judge_claim(
        claim, BINDING, PooledEstimate(p1, unmeasured=unmeasured), PooledEstimate(p0), policy
    )


def test_windows_and_stitched_sentences_that_were_scored_are_listed_apart(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.99), fake_estimate(0.01))
    assert found.windows_scored == (WINDOW,)
    assert found.stitched_scored == (WINDOW, SourceSpan("S1", Span(30, 40)))
    assert found.windows_total == 7


def test_a_verdict_has_the_rule_that_decided_and_the_usage_of_both_readings(
    policy: Policy,
) -> None:
    whole = PooledEstimate(fake_estimate(0.1, None), taken=Taken(5, 0.5))
    scrubbed = PooledEstimate(fake_estimate(0.9, None), taken=Taken(2, 0.25))
    found = judge_claim(CLAIM, BINDING, whole, scrubbed, policy)
    assert (found.status, found.rule) == (Status.CONTRADICTED, "p1_low_and_below_p0")
    assert found.taken == Taken(7, 0.75)


def test_a_second_verdict_on_a_claim_adds_its_usage_and_its_passages(policy: Policy) -> None:
    first = replace(verdict(policy, fake_estimate(0.9), fake_estimate(0.1)), taken=Taken(5, 0.5))
    other = SourceSpan("S0", Span(0, 20))
    second = replace(
        verdict(policy, fake_estimate(0.2), fake_estimate(0.1)),
        windows_scored=(WINDOW, other),
        stitched_scored=(other,),
        taken=Taken(2, 0.25),
    )
    assert merge_scored(first, second) == replace(
        first,
        windows_scored=(other, WINDOW),
        stitched_scored=(other, *first.stitched_scored),
        taken=Taken(7, 0.75),
    )


def test_support_that_needs_no_evidence_is_noted(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.99), fake_estimate(0.99))
    assert found.status is Status.SUPPORTED
    assert found.notes == (Note.EVIDENCE_INDEPENDENT,)


@pytest.mark.parametrize(("threshold", "notes"), [(0.25, ()), (0.26, (Note.EVIDENCE_INDEPENDENT,))])
def test_support_is_independent_of_evidence_that_moves_it_less_than_the_threshold(
    policy: Policy, threshold: float, notes: tuple[Note, ...]
) -> None:
    strict = replace(policy, dependence_threshold=threshold)
    found = verdict(strict, fake_estimate(1.0), fake_estimate(0.75))
    assert found.evidence_dependence == 0.25
    assert found.notes == notes


def test_an_unsupported_claim_is_not_called_independent(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.1), fake_estimate(0.1))
    assert Note.EVIDENCE_INDEPENDENT not in found.notes


def test_a_stated_confidence_the_evidence_does_not_pay_for_is_noted(policy: Policy) -> None:
    sure = replace(CLAIM, confidence=Confidence(0.99, stated=True))
    found = verdict(policy, fake_estimate(0.9), fake_estimate(0.5), sure)
    assert found.notes == (Note.CONFIDENCE_NOT_JUSTIFIED,)


def test_a_claim_that_states_no_confidence_gets_no_note_about_it(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.9), fake_estimate(0.5))
    assert found.budget.confidence_justified is False
    assert found.notes == ()


@pytest.mark.parametrize(("source", "noted"), [("S1", False), ("S2", True)])
def test_support_is_noted_if_a_source_that_is_not_cited_gives_it(
    policy: Policy, source: str, *, noted: bool
) -> None:
    rest = PooledEstimate(fake_estimate(0.9), Passage("text", (SourceSpan(source, Span(30, 40)),)))
    found = judge_claim(CLAIM, BINDING, PooledEstimate(fake_estimate(0.1)), rest, policy)
    assert found.status is Status.UNSUPPORTED
    assert (Note.SUPPORTED_BY_UNCITED_SOURCE in found.notes) is noted


def test_a_passage_that_was_not_scored_is_noted(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.99), fake_estimate(0.01), unmeasured=1)
    assert Note.PARTLY_SCORED in found.notes


@pytest.mark.parametrize(
    ("confidence", "target"),
    [
        (None, 0.95),
        (Confidence(0.6, stated=True), 0.6),
        (Confidence(0.0, stated=True), 0.0),
        (Confidence(0.6), 0.95),
    ],
)
def test_the_target_is_the_stated_confidence_or_the_policys(
    policy: Policy, confidence: Confidence | None, target: float
) -> None:
    claim = replace(CLAIM, confidence=confidence)
    found = verdict(policy, fake_estimate(0.9), fake_estimate(0.5), claim)
    assert found.budget.target == target


@pytest.mark.parametrize(
    ("p1", "role"),
    [
        (fake_estimate(0.99), Role.SUPPORTS),
        (fake_estimate(0.0, 0.99), Role.CONTRADICTS),
        (fake_estimate(0.1), Role.NEAREST),
    ],
)
def test_the_deciding_sentences_are_quoted_with_their_role(
    policy: Policy, p1: Estimate, role: Role
) -> None:
    sources = as_sources({"S1": "It opened in 1998. It closed in 2003."})
    focus = SourceSpan("S1", Span(0, 18))
    reading = PooledEstimate(p1, Passage("whole", (SourceSpan("S1", Span(0, 37)),), (focus,)))
    (span,) = attach_evidence(verdict(policy, p1, fake_estimate(0.0)), reading, sources).evidence
    assert (span.text, span.role) == ("It opened in 1998.", role)


TEXT = "One. Two. Three. Four. Five. Six."
ONE, TWO, THREE, FOUR, FIVE, SIX = (
    SourceSpan("S1", Span(TEXT.index(word), TEXT.index(word) + len(word))) for word in TEXT.split()
)
ELSEWHERE = SourceSpan("S2", TWO.span)


@pytest.mark.parametrize(
    ("p1", "focus", "shown"),
    [
        (fake_estimate(0.99), [TWO], "supports Two."),
        (
            fake_estimate(0.0, 0.99),
            [TWO],
            "contradicts Two., nearest Three., nearest Two?, nearest One.",
        ),
        (fake_estimate(0.1), [TWO], "nearest Three., nearest Two?, nearest One., nearest Two."),
        (
            fake_estimate(0.1),
            [SIX, FIVE, FOUR, THREE],
            "nearest Three., nearest Six., nearest Five., nearest Four.",
        ),
        (fake_estimate(0.1), [], ""),
    ],
)
def test_the_nearest_sentences_fill_up_evidence_that_does_not_support(
    policy: Policy, p1: Estimate, focus: list[SourceSpan], shown: str
) -> None:
    nearest = [THREE, ELSEWHERE, ONE, FOUR, FIVE]  # rules compare three of them
    sources = as_sources({"S1": TEXT, "S2": TEXT.replace(".", "?")})
    passage = Passage("text", tuple(focus)) if focus else None
    judged = verdict(policy, p1, fake_estimate(0.0))
    found = attach_evidence(judged, PooledEstimate(p1, passage), sources, nearest)
    assert ", ".join(f"{each.role.value} {each.text}" for each in found.evidence) == shown
    assert [each.text for each in found.nearest] == ["Three.", "Two?", "One.", "Four.", "Five."]
    assert {each.role for each in found.nearest} == {Role.NEAREST}


def test_a_sentence_that_is_read_and_among_the_nearest_is_shown_once(policy: Policy) -> None:
    p1 = fake_estimate(0.1)
    reading = PooledEstimate(p1, Passage(TEXT, (ONE,), (THREE,)))
    found = attach_evidence(
        verdict(policy, p1, fake_estimate(0.0)), reading, as_sources({"S1": TEXT}), [THREE, ONE]
    )
    assert [each.text for each in found.evidence] == ["Three.", "One."]


def test_a_claim_that_was_not_measured_has_no_notes(policy: Policy) -> None:
    late = Unmeasured(UnmeasuredReason.TIMEOUT)
    assert verdict(policy, late, fake_estimate(0.01), unmeasured=1).notes == ()
