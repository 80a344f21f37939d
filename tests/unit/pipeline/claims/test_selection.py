"""Claims left out by the modes and the limit."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.core.policy import Policy
from veridical.core.types import Claim, ClaimSet, Confidence, Exclusion, Skip, Span
from veridical.pipeline.claims import extract_claims, select
from veridical.pipeline.claims.selection import is_critical


def claims_of(*texts: str) -> ClaimSet:
    return ClaimSet(
        tuple(Claim(f"c{i}", text, Span(i, i + 1), i) for i, text in enumerate(texts)), len(texts)
    )


ANSWER = "An answer"
TEN = claims_of(*(f"The {word} is painted." for word in "a b c d e f g h i j".split()))  # noqa: SIM905


def verified(claims: ClaimSet) -> list[str]:
    return [claim.id for claim in claims.claims if claim.verifiable]


def test_mode_full_leaves_nothing_out() -> None:
    assert select(TEN, Policy(), ANSWER) == TEN


@pytest.mark.spec("SPEC-16.28")
def test_a_sample_has_the_share_asked_for_and_the_rest_says_why() -> None:
    chosen = select(TEN, Policy(mode="sample", sample_rate=0.3), ANSWER)
    assert len(verified(chosen)) == 3
    assert [c.skipped for c in chosen.claims].count(Skip.NOT_SAMPLED) == 7


@pytest.mark.spec("SPEC-16.28")
@given(st.lists(st.text(min_size=1), max_size=30), st.floats(0, 1), st.integers(1, 5))
@example(["A lone surrogate has no UTF-8: \ud800"], 1.0, 1)
def test_the_same_answer_gives_the_same_sample(texts: list[str], rate: float, limit: int) -> None:
    claims, answer = claims_of(*texts), " ".join(texts)
    policy = Policy(mode="sample", sample_rate=rate, max_claims=limit)
    first = select(claims, policy, answer)
    assert first == select(claims, policy, answer)
    assert len(verified(first)) == min(limit, ceil(rate * len(texts) - 1e-9))
    assert [claim.id for claim in first.claims] == [claim.id for claim in claims.claims]


@pytest.mark.spec("SPEC-16.28")
def test_a_sentence_that_recurs_is_in_about_the_share_of_samples_asked_for() -> None:
    policy = Policy(mode="sample", sample_rate=0.3)
    drawn = [verified(select(TEN, policy, f"Answer number {n}.")) for n in range(400)]
    for claim in TEN.claims:
        assert 80 <= sum(claim.id in sample for sample in drawn) <= 160


@pytest.mark.spec("SPEC-16.28")
def test_another_seed_draws_another_sample() -> None:
    def sample(seed: int) -> list[str]:
        return verified(select(TEN, Policy(mode="sample", sample_rate=0.3, seed=seed), ANSWER))

    assert sample(0) == sample(0)
    assert len({tuple(sample(seed)) for seed in range(20)}) > 10


@pytest.mark.spec("SPEC-16.28")
def test_a_sentence_that_is_said_twice_in_an_answer_is_drawn_twice() -> None:
    twice = claims_of(*["It is painted."] * 2)
    policy = Policy(mode="sample", sample_rate=0.5)
    drawn = {tuple(verified(select(twice, policy, str(n)))) for n in range(30)}
    assert drawn == {("c0",), ("c1",)}


def test_a_larger_sample_holds_the_smaller_one() -> None:
    small = verified(select(TEN, Policy(mode="sample", sample_rate=0.2), ANSWER))
    large = verified(select(TEN, Policy(mode="sample", sample_rate=0.6), ANSWER))
    assert set(small) < set(large)


@pytest.mark.spec("SPEC-16.31")
@pytest.mark.parametrize(
    "text",
    [
        "The bridge opened in 1998.",
        "It has twelve arches.",
        "The project was led by Smeaton.",
        "The function retry_all is called.",
        "The server does not retry.",
        "It is probably made of oak.",
        "Roughly half of it burned.",
        "The tower was never finished.",
    ],
)
def test_numbers_names_negations_and_words_of_certainty_are_critical(text: str) -> None:
    (claim,) = extract_claims(text).claims
    assert is_critical(claim)


@pytest.mark.parametrize("text", ["The lamp is often lit by gas.", "All lamps are lit by gas."])
def test_a_word_of_certainty_is_enough(text: str) -> None:
    (claim,) = claims_of(text).claims
    assert is_critical(claim)


def test_a_stated_confidence_is_enough() -> None:
    (claim,) = claims_of("The lamp is lit by gas.").claims
    assert not is_critical(claim)
    assert is_critical(replace(claim, confidence=Confidence(0.9, stated=True)))


@pytest.mark.spec("SPEC-16.31")
@pytest.mark.parametrize("text", ["The lamp is lit by gas.", "Its walls are built of granite."])
def test_other_claims_are_not_critical_and_are_skipped(text: str) -> None:
    (claim,) = select(extract_claims(text), Policy(mode="critical_only"), ANSWER).claims
    assert claim.skipped is Skip.NOT_CRITICAL


def test_a_limit_keeps_the_critical_claims_first() -> None:
    claims = claims_of("The lamp is lit by gas.", "It opened in 1998.", "The walls are granite.")
    chosen = select(claims, Policy(max_claims=1), ANSWER)
    assert verified(chosen) == ["c1"]
    assert chosen.claims[0].skipped is Skip.OVER_LIMIT


def test_a_limit_counts_critical_claims_only_where_others_are_left_out() -> None:
    claims = claims_of("The lamp is lit by gas.", "It opened in 1998.", "It closed in 2003.")
    chosen = select(claims, Policy(mode="critical_only", max_claims=1), ANSWER)
    assert [claim.skipped for claim in chosen.claims] == [Skip.NOT_CRITICAL, None, Skip.OVER_LIMIT]


def test_what_asserts_nothing_is_not_counted_against_a_limit() -> None:
    asked = replace(TEN.claims[0], excluded=Exclusion.QUESTION)
    chosen = select(ClaimSet((asked, *TEN.claims[1:3]), 3), Policy(max_claims=2), ANSWER)
    assert verified(chosen) == ["c1", "c2"]
    assert chosen.claims[0].skipped is None
