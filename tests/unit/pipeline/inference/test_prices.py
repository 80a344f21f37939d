from __future__ import annotations

import json
import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import ConfigurationError
from veridical.pipeline.inference.prices import (
    PRICES,
    Price,
    Usage,
    cost_usd,
    dearest,
    price_of,
    price_table,
    shipped_prices,
)

counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts)
amounts = st.floats(0, 1000)
prices = st.builds(Price, amounts, amounts, amounts, amounts)
MILLION = 1_000_000


def plus(a: Usage, b: Usage) -> Usage:
    return Usage(
        a.input_tokens + b.input_tokens,
        a.output_tokens + b.output_tokens,
        a.cached_input_tokens + b.cached_input_tokens,
        a.cache_write_tokens + b.cache_write_tokens,
    )


def cost(price: Price, usage: Usage) -> float:
    found = price.cost_usd(usage)
    assert found is not None
    return found


@given(prices, usages, usages)
def test_more_tokens_never_cost_less(price: Price, usage: Usage, more: Usage) -> None:
    assert cost(price, plus(usage, more)) >= cost(price, usage) >= 0


@given(prices, usages, usages)
def test_two_requests_cost_what_both_cost(price: Price, a: Usage, b: Usage) -> None:
    together = cost(price, a) + cost(price, b)
    assert math.isclose(cost(price, plus(a, b)), together, rel_tol=1e-9, abs_tol=1e-12)


@given(prices)
def test_no_tokens_cost_nothing(price: Price) -> None:
    assert price.cost_usd(Usage(0, 0)) == 0.0


@given(amounts, counts, counts)
def test_a_total_that_holds_the_cached_tokens_is_taken_apart(
    amount: float, fresh: int, cached: int
) -> None:
    usage = Usage.from_total(fresh + cached, 0, cached_input_tokens=cached)
    assert usage == Usage(fresh, 0, cached)
    assert usage.prompt_tokens == fresh + cached
    # Without a discount it does not matter where a token came from.
    assert cost(Price(amount, 0), usage) == pytest.approx(amount * (fresh + cached) / MILLION)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(2 * MILLION, MILLION, 10 * MILLION, 4 * MILLION)
    assert Price(1.0, 5.0, 0.1, 1.25).cost_usd(usage) == pytest.approx(2 + 5 + 1 + 5)


def test_an_unknown_model_has_no_cost_rather_than_none_to_pay() -> None:
    assert cost_usd("some-model-nobody-sells", Usage(1, 1)) is None


def test_cache_writes_without_a_price_are_of_unknown_cost() -> None:
    assert Price(1.0, 1.0).cost_usd(Usage(1, 1, cache_write_tokens=1)) is None
    assert Price(1.0, 1.0).cost_usd(Usage(1, 1)) is not None


def test_a_prompt_of_another_tariff_is_of_unknown_cost() -> None:
    price = Price(1.0, 1.0, 0.1, max_input_tokens=100)
    assert price.cost_usd(Usage(60, 5, 40)) is not None
    assert price.cost_usd(Usage(60, 5, 41)) is None


@pytest.mark.parametrize(
    "usage", [Usage(-1, 5), Usage(5, -1), Usage.from_total(1, 0, cached_input_tokens=2)]
)
def test_counts_that_cannot_be_are_of_unknown_cost(usage: Usage) -> None:
    assert Price(1.0, 1.0).cost_usd(usage) is None


def test_what_is_free_costs_zero_and_is_known() -> None:
    table = price_table({"my-local-model": {"input": 0, "output": 0}})
    assert cost_usd("my-local-model", Usage(1000, 10), table) == 0.0


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("m", "m"),
        ("m-2025-04-14", "m"),
        ("m-20250414", "m"),
        ("m@20250414", "m"),
        ("m-0613", "m"),
        ("m-latest", "m"),
        ("m-mini", "m-mini"),
        ("m-mini-2025-04-14", "m-mini"),
        ("m-2025-04-14-latest", "m-2025-04-14"),
        ("m-mini-audio", None),
        ("m-pro", None),
        ("m.1", None),
        ("m1", None),
        ("ft:m-2025-04-14", None),
        ("m-２０２５", None),
        ("", None),
    ],
)
def test_the_longest_name_that_a_model_is_a_version_of_has_its_price(
    model: str, name: str | None
) -> None:
    table = {"m": Price(1, 1), "m-mini": Price(2, 2), "m-2025-04-14": Price(3, 3)}
    if model == "m-2025-04-14":
        name = model  # one that is in the table itself wins
    assert price_of(model, table) == (None if name is None else table[name])


@pytest.mark.parametrize("model", ["gpt-4.1", "claude-haiku-4-5"])
def test_a_dated_model_that_is_sold_has_the_price_of_its_name(model: str) -> None:
    assert cost_usd(f"{model}-20251001", Usage(1, 1)) == cost_usd(model, Usage(1, 1)) != 0


def test_an_override_replaces_the_whole_price() -> None:
    table = price_table({"gpt-4.1-mini": {"input": 3, "output": 4}})
    assert table["gpt-4.1-mini"] == Price(3, 4)
    assert table["gpt-4.1"] == shipped_prices()["gpt-4.1"]
    assert shipped_prices()["gpt-4.1-mini"].input == 0.4


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"input": 1}, "'output' is missing"),
        ({"input": 1, "output": 1, "cached": 1}, "unknown key 'cached'"),
        ({"input": -1, "output": 1}, "'input' must be"),
        ({"input": 1, "output": None}, "'output' must be"),
        ({"input": 1, "output": math.nan}, "'output' must be"),
        ({"input": 1, "output": 1, "cache_write": math.inf}, "'cache_write' must be"),
        ({"input": True, "output": 1}, "'input' must be"),
        ({"input": 1, "output": "2"}, "'output' must be"),
    ],
)
def test_what_cannot_be_a_price_is_named(entry: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"prices: m: .*{message}"):
        price_table({"m": entry})


def test_every_shipped_price_says_where_it_stands_and_when() -> None:
    raw = json.loads(PRICES.read_text())
    assert raw["unit"] == "USD per million tokens"
    for model, entry in raw["models"].items():
        assert entry["source"].startswith("https://")
        assert date.fromisoformat(entry["date"]) >= date(2026, 1, 1)
        price = shipped_prices()[model]
        assert 0 < (price.cached_input or 0) < price.input < price.output
        assert price.cache_write is None or price.input < price.cache_write < price.output


@given(prices, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_no_request_is_dearer_than_the_dearest(price: Price, read: int, new: int, out: int) -> None:
    most = dearest(price.cost_usd)(Usage(read + new, out))
    assert most is not None
    charged = price.cost_usd(Usage(read, out, cache_write_tokens=new))
    assert charged is not None
    assert charged <= most * (1 + 1e-9)


@pytest.mark.parametrize(("price", "usd"), [(Price(1.0, 4.0), 1.0), (None, None)])
def test_without_a_price_for_writing_the_one_for_reading_counts(
    price: Price | None, usd: float | None
) -> None:
    found = dearest(lambda usage: None if price is None else price.cost_usd(usage))
    assert found(Usage(MILLION, 0)) == usd
