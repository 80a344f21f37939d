"""A claim within a longer sentence is supported only if the frame around it carries a claim."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Span
from veridical.core.verdicts import Budget, EvidenceSpan, Note, Role, Status, Verdict
from veridical.pipeline.judgement import PooledEstimate, asserted, frames
from veridical.pipeline.judgement.mentions import LONGEST, PROPOSITIONS
from veridical.testing import FAKE, fake_estimate

POLICY = Policy().resolved(FAKE)
HAT = "The hat in the hall is red."
LATE = Unmeasured(UnmeasuredReason.TIMEOUT)


def verdict(
    *evidence: str, claim: str = HAT, status: Status = Status.SUPPORTED, p1: float = 0.95
) -> Verdict:
    spans = tuple(EvidenceSpan("S1", Span(0, len(each)), each, Role.SUPPORTS) for each in evidence)
    asserted_claim = Claim("c1", claim, Span(0, len(claim)), 0)
    return Verdict(
        asserted_claim, status, "r", (), fake_estimate(p1), LATE, Budget(0.95), None, (), spans
    )


def contexts(*evidence: str, claim: str = HAT) -> list[str]:
    return [passage.text for _, passage in frames(verdict(*evidence, claim=claim))]


def read(*supported: float | Measurement) -> list[PooledEstimate]:
    return [
        PooledEstimate(fake_estimate(each) if isinstance(each, float) else each)
        for each in supported
    ]


def test_propositions_take_the_place_of_the_claim_in_its_frame() -> None:
    assert frames(verdict("Some say that the hat in the hall is red."))[0][0] == PROPOSITIONS[0]
    assert contexts("Some say that the hat in the hall is red.") == [
        "Some say that the moon is made of cheese.",
        "Some say that the meeting was moved to Friday.",
    ]
    assert contexts("“The hat in the hall is red,” says a rival.")[0] == (
        "“The moon is made of cheese,” says a rival."
    )


@pytest.mark.parametrize(
    "evidence",
    [
        "The hat in the hall is red.",
        "- “The hat in the hall is red.”",
        "Red is the hat in the hall.",
        "The hat in the hall is red or green.",
        "The coat in the hall is red, as the hat is.",
    ],
)
def test_a_sentence_that_states_the_claim_or_has_other_words_has_no_frame(evidence: str) -> None:
    assert contexts(evidence) == []


def test_a_word_of_ten_may_differ_and_look_alike_letters_are_read() -> None:
    claim = "On Monday the old hat in the hall was painted red."
    assert contexts(
        "Rumour has it that on Monday the new hat in the hall was painted red.", claim=claim
    )
    assert not contexts(
        "Rumour has it that on Monday a new hat in the hall was painted red.", claim=claim
    )
    assert contexts("Some s\u200bay that the h\u0430t in the h\u200ball is red.") == contexts(
        "Some say that the hat in the hall is red."
    )


def test_a_claim_that_another_sentence_states_is_not_asked_about() -> None:
    assert (
        contexts("Some say that the hat in the hall is red.", "The hat in the hall is red.") == []
    )


def test_a_sentence_longer_than_any_that_is_read_is_not_compared() -> None:
    assert contexts(f"Some say that the hat in the hall is red, {'and so on, ' * LONGEST}.") == []


def test_a_frame_that_carries_one_proposition_of_two_leaves_the_claim_undetermined() -> None:
    before = replace(
        verdict("Some say that the hat in the hall is red."),
        notes=(Note.EVIDENCE_INDEPENDENT, Note.PARTLY_SCORED),
    )
    found = asserted(before, read(0.2, 0.9), POLICY)
    assert (found.status, found.rule) == (Status.UNDETERMINED, "only_mentioned")
    assert (found.notes, found.p1) == ((Note.PARTLY_SCORED,), before.p1)
    assert [piece.role for piece in found.evidence] == [Role.NEAREST]


@pytest.mark.parametrize("readings", [(), (0.9, 0.9), (0.9, LATE), (0.1, 0.9, 0.9, 0.9)])
def test_a_claim_stays_if_one_frame_carries_all_or_nothing_was_measured(
    readings: tuple[float | Measurement, ...],
) -> None:
    before = verdict("Some say that the hat in the hall is red.")
    assert asserted(before, read(*readings), POLICY) is before


WORDS = st.lists(st.sampled_from(["the", "hat", "is", "red", "that", ",", "not"]), max_size=12)


@given(
    st.sampled_from(Status),
    WORDS,
    st.lists(WORDS, max_size=3),
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
def test_no_claim_becomes_supported_and_no_other_verdict_changes(
    status: Status, claim: list[str], evidence: list[list[str]], p1: float, scores: list[float]
) -> None:
    texts = [" ".join(each) for each in evidence]
    before = verdict(*texts, claim=" ".join(claim), status=status, p1=p1)
    asked = frames(before)
    found = asserted(before, read(*scores[: len(asked)]), POLICY)
    assert status is Status.SUPPORTED or (not asked and found is before)
    assert found.status in {status, Status.UNDETERMINED}
    assert (found.status is Status.SUPPORTED) <= (status is Status.SUPPORTED)
