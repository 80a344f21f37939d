"""Cost of requests to paid services, from a price table that users can override.

Prices are in USD per million tokens. The shipped ones (`prices.json`) carry the vendor's page and
the day on which the figure was last known to stand there; prices change, so a user's own price
wins. A model without a price has no cost, which is None and never 0. A local model costs 0.0; a
backend that knows it does sets that itself, without asking here.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

from veridical.core.measurements import BilledFailure, Taken
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.core.measurements import Unmeasured

PRICES = Path(__file__).with_name("prices.json")

_MILLION = 1_000_000
# Suffixes after a name for the same model. `-mini` is none: it is another model.
_VERSION = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one request was charged for; the four counts are disjoint.

    `input_tokens` are the tokens read in full: neither taken from the service's prompt cache
    (`cached_input_tokens`) nor put there (`cache_write_tokens`). That is how Anthropic counts;
    `from_total` takes OpenAI's way of counting.
    """

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0

    @classmethod
    def from_total(
        cls,
        total_input_tokens: int,
        output_tokens: int,
        *,
        cached_input_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> Self:
        """Return the usage if the total holds the cached and written tokens, as OpenAI's does."""
        rest = total_input_tokens - cached_input_tokens - cache_write_tokens
        return cls(rest, output_tokens, cached_input_tokens, cache_write_tokens)

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt, however they were charged."""
        return self.input_tokens + self.cached_input_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens of each kind; `ConfigurationError` for an impossible price.

    Without a price of their own, cached tokens cost the same as others (no discount is known), and
    written ones are of unknown cost (services charge extra for them). Prompts longer than
    `max_input_tokens` are charged by another tariff, which is not known here.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    max_input_tokens: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            required = field.name in {"input", "output"}
            if not (_is_amount(value) or (value is None and not required)):
                msg = f"the price {field.name!r} must be a number from 0"
                raise ConfigurationError(msg, hint="Prices are in USD per million tokens")

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of one request; None where the counts or a price for them are unknown."""
        too_long = self.max_input_tokens is not None and usage.prompt_tokens > self.max_input_tokens
        cached = self.input if self.cached_input is None else self.cached_input
        charged = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cached_input_tokens, cached),
            (usage.cache_write_tokens, self.cache_write),
        )
        amounts = [tokens * price for tokens, price in charged if price is not None]
        unpriced = any(tokens and price is None for tokens, price in charged)
        # A service may report anything: a negative count says nothing about the cost.
        if too_long or unpriced or any(tokens < 0 for tokens, _ in charged):
            return None
        return math.fsum(amounts) / _MILLION


@dataclass(frozen=True, slots=True)
class UsageBound:
    """Maximum usage of a claim, or a text, as far as its backend knows.

    So many `requests`, each with so many tokens of output besides the requested ones: the one word
    that answers a claim, or the tokens that a text may have. Where it is not `certain`, one answer
    will show whether it is more.
    """

    requests: int = 1
    further_output_tokens: int = 0
    certain: bool = True


def usage_bound(backend: object) -> UsageBound:
    """Return the maximum usage of a claim, or a text: `most` of the backend, or one request."""
    most: UsageBound = getattr(backend, "most", UsageBound())
    return most


@dataclass(slots=True)
class Bill:
    """Sum of a claim's shares of requests; None once a part is unknown."""

    price: Callable[[Usage], float | None]
    tokens: int | None = 0
    cost_usd: float | None = 0.0

    def add(self, usage: Usage | None, share: int = 0, shares: int = 1) -> None:
        """Add share number `share` of a request: the shares of its tokens sum to all of them."""
        cost = None if usage is None else self.price(usage)
        if usage is None or self.tokens is None:
            self.tokens = None
        else:
            whole, rest = divmod(usage.prompt_tokens + usage.output_tokens, shares)
            self.tokens += whole + (share < rest)
        if cost is None or self.cost_usd is None:
            self.cost_usd = None
        else:
            self.cost_usd += cost / shares

    def failed(self, failure: Unmeasured) -> BilledFailure:
        """Return a failure with its usage."""
        return BilledFailure.of(failure, Taken(self.tokens, self.cost_usd))


def dearest(price: Callable[[Usage], float | None]) -> Callable[[Usage], float | None]:
    """Return a function for the cost of a request, with a cache write where that costs more.

    It is used in advance, when it is unknown whether the service will charge for that.
    """

    def cost(usage: Usage) -> float | None:
        read = price(usage)
        written = price(Usage(0, usage.output_tokens, cache_write_tokens=usage.input_tokens))
        return read if read is None or written is None else max(read, written)

    return cost


def cost_usd(model: str, usage: Usage, table: Mapping[str, Price] | None = None) -> float | None:
    """Return the cost of one request to `model` in USD, None if that is unknown.

    `table` is the result of `price_table`; None means the shipped prices. Ask for each request on
    its own: long prompts may have another tariff, and a sum of short ones would look like one.
    """
    price = price_of(model, shipped_prices() if table is None else table)
    return None if price is None else price.cost_usd(usage)


def price_of(model: str, table: Mapping[str, Price]) -> Price | None:
    """Return the price of a model: its own, or that of the longest name it is a version of.

    `gpt-4.1-mini-2025-04-14` is a version of `gpt-4.1-mini`, which is none of `gpt-4.1`.
    """
    if model in table:
        return table[model]
    names = (name for name in table if model.startswith(name))
    versioned = [name for name in names if _VERSION.fullmatch(model, len(name))]
    return table[max(versioned, key=len)] if versioned else None


def price_table(
    overrides: Mapping[str, Mapping[str, float | None]] | None = None,
) -> Mapping[str, Price]:
    """Return the shipped prices with a user's own over them, model by model.

    An override gives `input` and `output`, and where they apply `cached_input`, `cache_write` and
    `max_input_tokens`; it replaces the shipped price as a whole. `ConfigurationError` names the
    model and the key that is wrong.
    """
    own = {model: _parse(model, entry) for model, entry in (overrides or {}).items()}
    return MappingProxyType({**shipped_prices(), **own})


def read_prices(path: str) -> Mapping[str, Mapping[str, float | None]]:
    """Return the prices of models in a file; `ConfigurationError` if it cannot be read."""
    import yaml

    try:
        own = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        msg = f"the price file {path} cannot be read ({type(error).__name__})"
        raise ConfigurationError(msg, hint="It maps models to input and output prices") from None
    if not isinstance(own, dict) or not all(isinstance(entry, dict) for entry in own.values()):
        msg = f"the price file {path} is not a mapping of models to prices"
        raise ConfigurationError(msg, hint="Write MODEL: {input: 1.0, output: 4.0}")
    return own


@cache
def shipped_prices() -> Mapping[str, Price]:
    """Return the prices of `prices.json`, read once."""
    models = json.loads(PRICES.read_text(encoding="utf-8"))["models"]
    about = {"source", "date"}
    return MappingProxyType(
        {
            model: _parse(model, {key: entry[key] for key in entry.keys() - about})
            for model, entry in models.items()
        }
    )


def _parse(model: str, entry: Mapping[str, float | None]) -> Price:
    known = [field.name for field in fields(Price)]
    wrong = [f"unknown key {key!r}" for key in sorted(entry.keys() - set(known))]
    wrong += [f"{key!r} is missing" for key in ("input", "output") if key not in entry]
    if wrong:
        msg = f"prices: {model}: {', '.join(wrong)}"
        raise ConfigurationError(msg, hint=f"The keys are {', '.join(known)}")
    try:
        return Price(**cast("dict[str, Any]", entry))  # which looks at the values itself
    except ConfigurationError as error:
        msg = f"prices: {model}: {error.message}"
        raise ConfigurationError(msg, hint=error.hint) from None


def _is_amount(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < math.inf  # false for NaN
