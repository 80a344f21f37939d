"""A claim that its evidence mentions is supported only if the text around it asserts it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.policy import Policy
from veridical.core.types import Claim, Passage, Source, SourceSpan, Span
from veridical.core.verdicts import Budget, EvidenceSpan, Note, Role, Status, Verdict
from veridical.pipeline.judgement import (
    PROPOSITION,
    Mentions,
    PooledEstimate,
    asserted,
    mentions,
    supported_elsewhere,
)
from veridical.pipeline.judgement.mentions import LONGEST
from veridical.testing import FAKE, fake_estimate

POLICY = Policy().resolved(FAKE)
HAT = "The hat in the hall is red."
LATE = Unmeasured(UnmeasuredReason.TIMEOUT)


def verdict(
    *evidence: str, claim: str = HAT, status: Status = Status.SUPPORTED, p1: float = 0.95
) -> Verdict:
    spans = tuple(
        EvidenceSpan(f"S{n}", Span(0, len(each)), each, Role.SUPPORTS)
        for n, each in enumerate(evidence)
    )
    asserted_claim = Claim("c1", claim, Span(0, len(claim)), 0)
    return Verdict(
        asserted_claim, status, "r", (), fake_estimate(p1), LATE, Budget(0.95), None, (), spans
    )


def found_in(before: Verdict) -> Mentions:
    return mentions(
        before, {each.source: Source(each.source, each.text) for each in before.evidence}
    )


def unasserted(before: Verdict) -> int:
    found = found_in(before)
    assert found.frames == ()
    return len(found.unasserted)


def contexts(*evidence: str, claim: str = HAT) -> list[str]:
    return [frame.text for frame in found_in(verdict(*evidence, claim=claim)).frames]


def read(*supported: float | Measurement) -> list[PooledEstimate]:
    return [
        PooledEstimate(fake_estimate(each) if isinstance(each, float) else each)
        for each in supported
    ]


def test_a_proposition_takes_the_place_of_the_claim_in_its_frame() -> None:
    assert PROPOSITION == "The meeting was moved to Friday."
    assert contexts("The minutes say in so many words: the hat in the hall is red.") == [
        "The minutes say in so many words: the meeting was moved to Friday."
    ]
    before = verdict("The list says that the hat in the hall is red.")
    where = SourceSpan("S0", before.evidence[0].span)
    text = "The list says that the meeting was moved to Friday."
    assert found_in(before).frames == (Passage(text, (where,), (where,)),)
    assert contexts("“The hat in the hall is red,” runs the entry.") == [
        "“The meeting was moved to Friday,” runs the entry."
    ]


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
def test_a_sentence_that_states_the_claim_or_has_other_words_is_no_mention(evidence: str) -> None:
    assert not found_in(verdict(evidence))


def test_a_sentence_whose_words_do_not_assert_the_claim_is_not_read() -> None:
    assert unasserted(verdict("Some say that the hat in the hall is red.")) == 1
    assert unasserted(verdict("Is it true that the hat in the hall is red?")) == 1
    supposed = "If the hat in the hall is red, so be it."
    before = verdict("Red is the hat.", "Some say the hat in the hall is red.", supposed)
    assert unasserted(before) == 2
    assert found_in(before).pieces == tuple(
        SourceSpan(each.source, each.span) for each in before.evidence[1:]
    )


def test_a_number_with_another_sign_is_no_mention() -> None:
    claim = "The balance was 12 million euros."
    for other in (
        "The balance was -12 million euros.",
        "We said the balance was −12 million euros.",
    ):
        assert not found_in(verdict(other, claim=claim))
    assert found_in(verdict("Some say the balance was 12 million euros.", claim=claim))


def test_the_heading_and_the_next_sentence_of_the_source_are_looked_at() -> None:
    sentence = "The hat in the hall is red."
    for before, after in (("Myths:\n- ", ""), ("", " This sentence is wrong.")):
        span = Span(len(before), len(before) + len(sentence))
        piece = EvidenceSpan("S1", span, sentence, Role.SUPPORTS)
        source = Source("S1", f"{before}{sentence}{after}")
        found = mentions(replace(verdict(), evidence=(piece,)), {"S1": source})
        assert found == Mentions((), (SourceSpan("S1", span),))


def test_of_ten_words_one_may_differ_but_not_the_first_or_the_last() -> None:
    said = "The entry says that {} old hat in the hall was painted {}."
    claim = "This old hat in the hall was painted bright red."
    assert contexts(said.format("this", "bright red"), claim=claim)
    assert contexts(said.format("this", "dark red"), claim=claim)
    assert not contexts(said.format("this", "bright blue"), claim=claim)
    assert not contexts(said.format("that", "bright red"), claim=claim)


def test_a_word_of_ten_may_differ_and_look_alike_letters_are_read() -> None:
    claim = "On Monday the old hat in the hall was painted red."
    assert contexts(
        "The entry says that on Monday the new hat in the hall was painted red.", claim=claim
    )
    assert not contexts(
        "The entry says that on Monday a new hat in the hall was painted red.", claim=claim
    )
    assert contexts("The l\u200bist says that the h\u0430t in the h\u200ball is red.") == contexts(
        "The list says that the hat in the hall is red."
    )


def test_a_claim_that_another_sentence_states_is_not_asked_about() -> None:
    assert not found_in(
        verdict("Some say that the hat in the hall is red.", "The hat in the hall is red.")
    )


def test_a_sentence_longer_than_any_that_is_read_is_not_compared() -> None:
    text = "Some say the hat in the hall is red, "
    assert found_in(verdict(text.ljust(LONGEST, "x")))
    assert not found_in(verdict(text.ljust(LONGEST + 1, "x")))


def test_a_claim_that_no_sentence_asserts_is_undetermined() -> None:
    before = replace(
        verdict("The list says that the hat in the hall is red."),
        notes=(Note.EVIDENCE_INDEPENDENT, Note.PARTLY_SCORED),
    )
    (frame,) = found_in(before).frames
    piece = frame.pieces[0]
    for mention, readings in ((Mentions((frame,)), read(0.2)), (Mentions((), (piece,)), [])):
        found = asserted(before, mention, readings, POLICY)
        assert (found.status, found.rule) == (Status.UNDETERMINED, "only_mentioned")
        assert (found.notes, found.p1) == ((Note.PARTLY_SCORED,), before.p1)
        assert [piece.role for piece in found.evidence] == [Role.NEAREST]


@pytest.mark.parametrize("readings", [(), (0.9,), (LATE,), (0.1, 0.9)])
def test_a_claim_stays_if_one_frame_carries_the_proposition_or_nothing_was_measured(
    readings: tuple[float | Measurement, ...],
) -> None:
    before = verdict("The list says that the hat in the hall is red.")
    (frame,) = found_in(before).frames
    found = Mentions((frame,) * len(readings), frame.pieces if readings else ())
    assert found.pieces == frame.pieces * (len(readings) + 1 if readings else 0)
    assert asserted(before, found, read(*readings), POLICY) is before


def test_a_claim_is_supported_elsewhere_if_other_sentences_do_that_mention_it_nowhere() -> None:
    before = verdict("Some say that the hat in the hall is red.")
    other, again = "Red is the hat in the hall.", "If the hat in the hall is red, so be it."
    for text, p1, is_kept in ((other, 0.9, True), (other, 0.2, False), (again, 0.9, False)):
        place = SourceSpan("S9", Span(0, len(text)))
        reading = PooledEstimate(fake_estimate(p1), Passage(text, (place,), (place,)))
        found = supported_elsewhere(before, reading, POLICY, {"S9": Source("S9", text)})
        assert (found is not None) is is_kept
        if found is not None:
            assert (found.status, found.rule) == (before.status, before.rule)
            assert (found.p1, [span.text for span in found.evidence]) == (fake_estimate(p1), [text])


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
    texts = ["It says: " + " ".join(each) for each in evidence]
    before = verdict(*texts, claim=" ".join(claim), status=status, p1=p1)
    asked = found_in(before)
    found = asserted(before, asked, read(*scores[: len(asked.frames)]), POLICY)
    assert status is Status.SUPPORTED or (not asked and found is before)
    assert found.status in {status, Status.UNDETERMINED}
    assert (found.status is Status.SUPPORTED) <= (status is Status.SUPPORTED)
