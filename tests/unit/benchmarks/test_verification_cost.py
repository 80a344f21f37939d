"""Count and price of a verification, as on the page."""

from __future__ import annotations

import pytest

from _answers import Answer, questions
from verification_cost import Request, Verification, share

ANSWERS = {"q": Answer("q", "m", "It is so.", prompt_tokens=1000, output_tokens=100)}


def checked(*requests: Request) -> dict[str, Verification]:
    return {"q": Verification(1, 1, requests)}


def test_a_share_is_the_price_of_all_requests_by_that_of_the_answer() -> None:
    # gpt-4.1: 1000 x 2 + 100 x 8; gpt-4o-mini: 2 x (400 x 0.15 + 0.6), per million
    both = checked(Request(400, 0), Request(400, 300))
    assert share(ANSWERS, both, ("gpt-4.1", "gpt-4o-mini")) == pytest.approx(121.2 / 2800)


def test_reuse_charges_known_tokens_at_the_price_of_cached_input() -> None:
    one = checked(Request(400, 300))
    found = share(ANSWERS, one, ("gpt-4.1", "gpt-4o-mini"), reuse=True)
    assert found == pytest.approx((100 * 0.15 + 300 * 0.075 + 0.6) / 2800)


def test_an_answer_for_which_nothing_is_asked_costs_nothing_to_verify() -> None:
    assert share(ANSWERS, checked(), ("gpt-4.1", "gpt-4.1")) == 0


def test_a_model_without_a_price_is_no_free_one() -> None:
    with pytest.raises(ValueError, match="no price"):
        share(ANSWERS, checked(Request(1, 0)), ("gpt-4.1", "unheard-of"))


def test_there_are_ten_questions_over_documents_that_exist() -> None:
    asked = list(questions())
    assert len({one.name for one in asked}) == 10
    assert all(one.question.endswith(("?", ".")) and any(one.sources.values()) for one in asked)
