from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.measurements import Estimator, Unmeasured, UnmeasuredReason
from veridical.pipeline.inference.logprobs import (
    LEAST_MASS,
    TokenProbabilities,
    answer_of,
    read_logprobs,
)
from veridical.pipeline.inference.prompts import AnswerWord
from veridical.testing import FAKE

SPELLINGS = ["YES", " yes", "Yes", "Y", "NO", " No", "n", "UNSURE", "UN", "uns", '"YES', "NO."]
OTHERS = ["The", " ", "\n", "Based", "Paris", "<", "Not", "", "1", "Yesterday"]


def reading(*top: tuple[str, float]) -> TokenProbabilities:
    found = read_logprobs((token, math.log(p)) for token, p in top)
    assert isinstance(found, TokenProbabilities)
    return found


@st.composite
def distributions(draw: st.DrawFn) -> list[tuple[str, float]]:
    """Draw a full distribution over first tokens, the most probable first."""
    tokens = SPELLINGS + OTHERS
    weights = draw(
        st.lists(st.floats(1e-9, 1.0), min_size=len(tokens), max_size=len(tokens)).map(
            lambda drawn: [weight**3 for weight in drawn]
        )
    )
    total = math.fsum(weights)
    pairs = [(token, weight / total) for token, weight in zip(tokens, weights, strict=True)]
    return sorted(pairs, key=lambda pair: -pair[1])


def logs(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(token, math.log(p)) for token, p in pairs]


@pytest.mark.spec("SPEC-08.13")
def test_the_answers_are_renormalised() -> None:
    found = reading(("YES", 0.6), ("NO", 0.15), ("UNSURE", 0.05), ("The", 0.2))
    assert found.probabilities == pytest.approx(
        {AnswerWord.YES: 0.75, AnswerWord.NO: 0.1875, AnswerWord.UNSURE: 0.0625}
    )
    assert found.mass == pytest.approx(0.8)
    assert (found.low, found.high) == pytest.approx((0.75, 0.75))


@pytest.mark.spec("SPEC-08.13")
def test_all_spellings_of_an_answer_count() -> None:
    found = reading(("YES", 0.3), (" yes", 0.2), ("Y", 0.1), ("No", 0.4))
    assert found.probabilities[AnswerWord.YES] == pytest.approx(0.6)


def test_what_is_not_listed_widens_the_interval() -> None:
    found = reading(("YES", 0.5), ("NO", 0.3), ("The", 0.1))
    assert found.low == pytest.approx(0.5 / 0.9)
    assert found.high == pytest.approx(0.6 / 0.9)


@pytest.mark.parametrize(
    ("token", "answer"),
    [
        *[
            (token, AnswerWord.YES)
            for token in ("YES", "Yes", "yes", " YES", "ĠYes", "▁Y", '"yes.')
        ],
        *[(token, AnswerWord.NO) for token in ("NO", "no,", "\nNo", "**N", "Ċno")],
        *[(token, AnswerWord.UNSURE) for token in ("UNSURE", "Un", "u", " UNS")],
        *[(token, None) for token in ("", " ", "Not", "Yesterday", "N/A", "The", "YES NO", "ñ")],
    ],
)
def test_a_token_spells_or_begins_an_answer(token: str, answer: AnswerWord | None) -> None:
    assert answer_of(token) is answer


@given(st.text())
def test_any_token_can_be_read(token: str) -> None:
    assert answer_of(token) in {*AnswerWord, None}


@given(distributions(), st.integers(1, 22))
def test_the_true_probability_lies_within_the_bounds(full: list[tuple[str, float]], k: int) -> None:
    found = read_logprobs(logs(full[:k]))
    if isinstance(found, Unmeasured):
        return
    mass = math.fsum(p for token, p in full if answer_of(token))
    yes = math.fsum(p for token, p in full if answer_of(token) is AnswerWord.YES)
    assert found.low - 1e-9 <= yes / mass <= found.high + 1e-9


@given(distributions(), st.integers(1, 22), st.randoms())
def test_the_order_of_tokens_does_not_matter(
    full: list[tuple[str, float]], k: int, random: object
) -> None:
    top = logs(full[:k])
    shuffled = list(top)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert read_logprobs(shuffled) == read_logprobs(top)


@given(distributions(), st.integers(1, 22))
def test_a_reading_is_a_distribution_with_an_interval(
    full: list[tuple[str, float]], k: int
) -> None:
    found = read_logprobs(logs(full[:k]))
    if isinstance(found, Unmeasured):
        return
    assert math.fsum(found.probabilities.values()) == pytest.approx(1.0)
    assert 0.0 <= found.low <= found.probabilities[AnswerWord.YES] <= found.high <= 1.0
    found.estimate(FAKE)


@given(distributions())
def test_a_full_distribution_leaves_nothing_open(full: list[tuple[str, float]]) -> None:
    found = read_logprobs(logs(full))
    if isinstance(found, TokenProbabilities):
        assert found.high - found.low < 1e-9


@given(st.lists(st.tuples(st.sampled_from(SPELLINGS + OTHERS), st.floats())))
def test_any_numbers_are_a_reading_or_a_malformed_reply(top: list[tuple[str, float]]) -> None:
    found = read_logprobs(top)
    if isinstance(found, Unmeasured):
        assert found.reason is UnmeasuredReason.MALFORMED_REPLY
    else:
        found.estimate(FAKE)


@pytest.mark.parametrize("share", [0.0, 1e-9, LEAST_MASS * 0.99])
def test_a_model_that_begins_with_something_else_did_not_answer(share: float) -> None:
    found = read_logprobs([("The", math.log(0.75)), ("YES", math.log(share) if share else -9999.0)])
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


def test_no_tokens_are_no_answer() -> None:
    assert isinstance(read_logprobs([]), Unmeasured)


@pytest.mark.parametrize(
    "top", [[("YES", 5.0)], [("YES", -0.1), ("NO", -0.1)], [("YES", math.nan)], [("NO", math.inf)]]
)
def test_what_is_no_distribution_is_a_malformed_reply(top: list[tuple[str, float]]) -> None:
    found = read_logprobs(top)
    assert isinstance(found, Unmeasured)
    assert "distribution" in found.detail


def test_sixteen_bits_may_add_up_to_a_little_more_than_one() -> None:
    assert reading(("YES", 0.7), ("NO", 0.305)).high == pytest.approx(0.7 / 1.005)


def test_an_estimate_says_where_it_comes_from() -> None:
    info = replace(FAKE, estimator=Estimator.LOGPROBS)
    found = reading(("YES", 0.5), ("NO", 0.25), ("UNSURE", 0.25)).estimate(info, tokens=7)
    assert (found.supported, found.contradicted, found.not_in_context) == pytest.approx(
        (0.5, 0.25, 0.25)
    )
    assert (found.estimator, found.model, found.tokens) == (Estimator.LOGPROBS, "fake", 7)
    assert found.cost_usd is None
