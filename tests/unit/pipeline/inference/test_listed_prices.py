"""Costs by the price list of genai-prices: of services at their own address only."""

from __future__ import annotations

import sys

import pytest

from veridical.pipeline.inference.listed_prices import address_of, listed_cost_usd
from veridical.pipeline.inference.prices import Usage, shipped_prices

pytest.importorskip("genai_prices")

OPENAI = "https://api.openai.com/v1/"
USAGE = Usage(900_000, 100_000)


def test_a_listed_model_has_a_cost_at_the_address_of_its_service() -> None:
    found = listed_cost_usd("gpt-4o", USAGE, OPENAI)
    assert found is not None
    assert 0 < found < 100
    assert listed_cost_usd("claude-sonnet-4-5", USAGE, "https://api.anthropic.com")


@pytest.mark.parametrize(
    "address",
    [
        None,
        "http://127.0.0.1:8080/v1/",
        "https://models.example/v1",
        f"https://models.example/?u={OPENAI}",
    ],
)
def test_the_same_name_at_another_server_has_no_cost(address: str | None) -> None:
    assert listed_cost_usd("gpt-4o", USAGE, address) is None


def test_a_model_that_is_not_listed_has_no_cost() -> None:
    assert listed_cost_usd("nobody", USAGE, OPENAI) is None
    assert listed_cost_usd("", USAGE, OPENAI) is None


def test_the_counts_mean_what_they_mean_in_the_shipped_table() -> None:
    usage = Usage(600_000, 100_000, cached_input_tokens=300_000)
    shipped = shipped_prices()["gpt-4o-mini"].cost_usd(usage)
    assert listed_cost_usd("gpt-4o-mini", usage, OPENAI) == pytest.approx(shipped)


def test_negative_counts_have_no_cost() -> None:
    assert listed_cost_usd("gpt-4o", Usage(-1, 5), OPENAI) is None
    assert listed_cost_usd("gpt-4o", Usage(1, 5, -2), OPENAI) is None


def test_without_the_package_the_cost_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert listed_cost_usd("gpt-4o", USAGE, OPENAI) is None


def test_an_object_without_an_address_has_none() -> None:
    assert address_of(object()) is None
