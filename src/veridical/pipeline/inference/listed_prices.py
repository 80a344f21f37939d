"""Cost of requests to services by the price list of the package genai-prices, if it is installed.

A model is priced at the address that it is asked at: the same name at another server, such as one
of your own, has no price in the list. The list is that of the installed release; nothing is
fetched.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.pipeline.inference.prices import Usage


def address_of(model: object) -> str | None:
    """Return the `address` at which a backend or text model asks, also of one in wrappers."""
    while hasattr(model, "wrapped"):
        model = model.wrapped
    address: str | None = getattr(model, "address", None)
    return address


def listed_cost_usd(model: str, usage: Usage, address: str | None) -> float | None:
    """Return the cost of one request in USD; None without the package, or a price in it."""
    if address is None or min(astuple(usage)) < 0:
        return None
    try:
        import genai_prices
    except ImportError:
        return None
    tokens = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(tokens, model, provider_api_url=address)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
