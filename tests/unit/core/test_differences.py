from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.differences import differences, marked, pieces
from veridical.core.types import Span
from veridical.core.verdicts import EvidenceSpan, Role

CASES = [
    ("Refunds take 30 days.", "A refund takes 90 days.", ["30"], ["90"]),
    ("The server listens on port 8080.", "The server listens on port 9090.", ["8080"], ["9090"]),
    ("He fractured his right wrist.", "He fractured his left wrist.", ["right"], ["left"]),
    ("The pump does not leak.", "The pump does leak.", ["not"], []),
    ("It takes three days.", "It takes 3 days.", [], []),
    ("It opened in 1998.", "It opened in 1998.", [], []),
    ("It opens at 7 a.m. on weekdays.", "It opens at 07:00 from Monday to Friday.", [], []),
    ("It opens at 7 a.m. for 30 days.", "It opens at 07:00 for 90 days.", ["30"], ["90"]),
]


@pytest.mark.parametrize(("claim", "evidence", "mine", "theirs"), CASES)
def test_the_words_by_which_two_texts_differ_are_found_in_both(
    claim: str, evidence: str, mine: list[str], theirs: list[str]
) -> None:
    found = differences(claim, evidence)
    assert [span.of(claim) for span in found.claim] == mine
    assert [span.of(evidence) for span in found.evidence] == theirs


def test_a_paraphrase_marks_nothing() -> None:
    assert not differences("Physicians are paid well.", "Doctors have high salaries.")


@given(st.text(max_size=80))
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert not differences(text, text)


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_is_marked_lies_in_its_text_in_order(claim: str, evidence: str) -> None:
    found = differences(claim, evidence)
    for spans, text in ((found.claim, claim), (found.evidence, evidence)):
        assert list(spans) == sorted(spans)
        assert all(0 <= span.start < span.end <= len(text) for span in spans)


def test_what_supports_a_claim_is_not_marked() -> None:
    place = EvidenceSpan("S1", Span(0, 22), "A refund takes 90 days.", Role.SUPPORTS)
    assert not marked("Refunds take 30 days.", place)
    assert marked("Refunds take 30 days.", replace(place, role=Role.CONTRADICTS))


def test_pieces_are_the_text_cut_at_what_is_marked() -> None:
    assert list(pieces("It is red.", [Span(6, 9)])) == [
        ("It is ", False),
        ("red", True),
        (".", False),
    ]
