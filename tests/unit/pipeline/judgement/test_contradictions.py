from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Measurement, Unmeasured, UnmeasuredReason
from veridical.core.types import Claim, Span
from veridical.pipeline.judgement.contradictions import (
    Pair,
    candidate_pairs,
    content_words,
    find_contradictions,
)
from veridical.testing import fake_estimate

OPPOSED = fake_estimate(0.05, 0.9)
NEUTRAL = fake_estimate(0.05, 0.1)
YES_OR_NO = fake_estimate(0.05, None)
LOST = Unmeasured(UnmeasuredReason.TIMEOUT)


def claims(*texts: str) -> list[Claim]:
    return [Claim(f"c{i}", text, Span(0, len(text)), i) for i, text in enumerate(texts, start=1)]


def ids(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.first.id, pair.second.id) for pair in pairs]


def test_claims_that_share_content_words_are_paired_the_nearest_first() -> None:
    found = candidate_pairs(
        claims(
            "The bridge opened in 1998.",
            "Whales are mammals.",
            "The bridge opened to heavy traffic.",
            "The bridge opened in 1989.",
        )
    )
    assert ids(found) == [("c1", "c3"), ("c1", "c4"), ("c3", "c4")]


def test_claims_that_share_one_word_of_many_are_not_paired() -> None:
    assert (
        candidate_pairs(claims("The red bridge opened early.", "Some tall bridge fell down.")) == []
    )


def test_content_words_are_stems_and_numbers() -> None:
    assert content_words("The bridges opened in 98, twice.") == {"bridge", "opened", "98", "twice"}


@given(st.lists(st.text(max_size=40), max_size=6))
def test_no_claim_is_paired_with_itself_and_no_pair_comes_twice(texts: list[str]) -> None:
    found = ids(candidate_pairs(claims(*texts)))
    assert len(set(found)) == len(found)
    assert all(int(a[1:]) < int(b[1:]) for a, b in found)


@pytest.mark.parametrize(
    ("measured", "found", "unmeasured"),
    [
        ((OPPOSED, OPPOSED), 1, 0),
        ((OPPOSED, NEUTRAL), 0, 0),
        ((NEUTRAL, NEUTRAL), 0, 0),
        ((OPPOSED, LOST), 0, 1),
        ((YES_OR_NO, YES_OR_NO), 0, 1),
    ],
)
def test_both_directions_have_to_oppose_and_what_is_unknown_is_counted(
    measured: tuple[Measurement, Measurement], found: int, unmeasured: int
) -> None:
    pair = Pair(*claims("It is on.", "It is off."))
    report = find_contradictions([pair], [measured], total=4, threshold=0.5)
    assert len(report.pairs) == found
    assert (report.pairs_read, report.pairs_total, report.pairs_unmeasured) == (1, 4, unmeasured)


def test_a_contradiction_names_both_claims_and_the_smaller_probability() -> None:
    pair = Pair(*claims("It is on.", "It is off."))
    both = (fake_estimate(0.0, 0.7), fake_estimate(0.0, 0.9))
    (found,) = find_contradictions([pair], [both], 1, 0.5).pairs
    assert (found.first_id, found.second_id, found.probability) == ("c1", "c2", 0.7)
