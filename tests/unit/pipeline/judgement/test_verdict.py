from __future__ import annotations

from dataclasses import replace

import pytest

from veridical.core.measurements import Estimate, Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import Binding, Citation, Claim, Confidence, Passage, SourceSpan, Span
from veridical.core.verdicts import Note, Role, Status, Verdict
from veridical.pipeline.judgement import PooledEstimate, attach_evidence, judge_claim
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


def test_support_that_needs_no_evidence_is_noted(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.99), fake_estimate(0.99))
    assert found.status is Status.SUPPORTED
    assert found.notes == (Note.EVIDENCE_INDEPENDENT,)


def test_an_unsupported_claim_is_not_called_independent(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.1), fake_estimate(0.1))
    assert Note.EVIDENCE_INDEPENDENT not in found.notes


def test_a_stated_confidence_the_evidence_does_not_pay_for_is_noted(policy: Policy) -> None:
    sure = replace(CLAIM, confidence=Confidence(0.99, stated=True))
    found = verdict(policy, fake_estimate(0.9), fake_estimate(0.5), sure)
    assert found.notes == (Note.CONFIDENCE_NOT_JUSTIFIED,)


def test_a_claim_that_states_no_confidence_gets_no_note_about_it(policy: Policy) -> None:
    found = verdict(policy, fake_estimate(0.9), fake_estimate(0.5))
    assert found.budget.justified is False
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


def test_a_claim_that_was_not_asked_has_no_notes(policy: Policy) -> None:
    disabled = Unmeasured(UnmeasuredReason.DISABLED)
    assert verdict(policy, disabled, disabled).notes == ()
