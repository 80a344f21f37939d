from __future__ import annotations

import pytest

from veridical.core.limits import Limits
from veridical.core.sources import as_sources
from veridical.core.types import Claim, ClaimSet
from veridical.errors import InputError, SizeError


def test_no_limit_refuses_nothing() -> None:
    limits = Limits()
    limits.ensure_answer("a" * 100)
    limits.ensure_sources(as_sources(["a" * 100]).values())
    limits.ensure_claims(ClaimSet((Claim.of_text("a"),), 1))


def test_a_limit_itself_is_allowed() -> None:
    Limits(max_answer_chars=3).ensure_answer("abc")
    Limits(max_source_chars=4).ensure_sources(as_sources(["ab", "cd"]).values())


def test_an_error_has_the_size_the_limit_and_its_name_and_no_text() -> None:
    with pytest.raises(SizeError) as error:
        Limits(max_answer_chars=3).ensure_answer("secret")
    assert str(error.value).startswith(
        "the answer has 6 characters, and 3 are allowed (max_answer_chars)"
    )
    assert isinstance(error.value, InputError)


def test_the_texts_of_sources_count_together() -> None:
    with pytest.raises(SizeError, match=r"have 4 characters.*max_source_chars"):
        Limits(max_source_chars=3).ensure_sources(as_sources(["ab", "cd"]).values())


def test_claims_are_counted() -> None:
    claims = ClaimSet((Claim.of_text("a"), Claim.of_text("b", "c2")), 2)
    with pytest.raises(SizeError, match=r"2 claims.*max_answer_claims"):
        Limits(max_answer_claims=1).ensure_claims(claims)
