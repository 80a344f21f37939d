"""Bound on cost that stops before it would be exceeded."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import (
    MAY_BE_BILLED,
    BilledFailure,
    Estimate,
    Generated,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import ConfigurationError, VeridicalError
from veridical.pipeline.inference.prices import UsageBound
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    estimated_usage,
    safe_estimate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from veridical.pipeline.inference.prices import Usage

UNKNOWN = Unmeasured(UnmeasuredReason.DISABLED, "cost unknown, and a budget is set")
REACHED = Unmeasured(UnmeasuredReason.DISABLED, "cost budget reached")

_WAIT_S = 0.02


@dataclass(frozen=True, slots=True)
class _Hold:
    """Price of a query, and the amount reserved for it."""

    price: float
    amount: float


class CostLimit(Wrapper[Q, R, I]):
    """Wrapper that asks only as long as the cost stays within `max_cost_usd` over its lifetime.

    `price` gives the US dollars that a request of such a usage costs with this backend, None if it
    is not known: then nothing is asked. `most` is the maximum usage of a query. The price of all
    that is reserved before a query goes out, and settled by the cost in the estimate, or in a
    `BilledFailure`. Where neither states it, and where a reply was late or malformed and may have
    been billed, the price counts; a query that failed otherwise is free.

    Queries that are not covered until others are settled wait for them. As long as `most` is not
    certain, one query goes at a time.

    Tokens are estimated from the lengths of the texts, and for a text to be written from its
    maximum; once a query has cost more than its price, more is reserved for all, by the greatest
    ratio seen.
    """

    def __init__(
        self,
        backend: Estimates[Q, R, I],
        *,
        max_cost_usd: float,
        price: Callable[[Usage], float | None],
        most: Callable[[], UsageBound] = UsageBound,
    ) -> None:
        super().__init__(backend)
        if not max_cost_usd >= 0:
            msg = f"a cost budget must be 0 USD or more, not {max_cost_usd}"
            raise ConfigurationError(msg, hint="Leave it out to spend without a bound")
        self._limit = max_cost_usd
        self._price = price
        self._most = most
        self._lock = threading.Lock()
        self._ratio = 1.0
        self._under_way = 0
        self.spent_usd = 0.0
        self.reserved_usd = 0.0

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Ask for the queries that the budget still covers, in order."""
        found: list[R | Unmeasured] = [REACHED] * len(queries)
        left = {i: estimated_usage(query) for i, query in enumerate(queries)}
        while left:
            prices = {i: self._priced(usage) for i, usage in left.items()}
            held, later = self._hold(prices)
            if held:
                asked = [queries[i] for i in held]
                measured = await self._ask(asked, [left[i] for i in held], list(held.values()))
                for i, measurement in zip(held, measured, strict=True):
                    found[i] = measurement
            elif later:
                await anyio.sleep(_WAIT_S)
            else:
                break
            left = {i: usage for i, usage in left.items() if i not in held}
        for i in left:
            if prices[i] is None:
                found[i] = UNKNOWN
        return found

    async def _ask(
        self, queries: Sequence[Q], usages: Sequence[Usage], held: Sequence[_Hold]
    ) -> list[R | Unmeasured]:
        # Cancelled on the way: it may have been billed.
        measured: list[R | Unmeasured] = [Unmeasured(UnmeasuredReason.TIMEOUT)] * len(held)
        try:
            measured = await safe_estimate(self.wrapped, queries)
        except VeridicalError:
            measured = [Unmeasured(UnmeasuredReason.BACKEND_ERROR)] * len(held)
            raise
        finally:
            for usage, hold, measurement in zip(usages, held, measured, strict=True):
                self._settle(hold, measurement, self._priced(usage))
        return measured

    def _priced(self, usage: Usage) -> float | None:
        """Return the maximum cost of a query, by present knowledge of the backend."""
        most = self._most()
        output_tokens = usage.output_tokens + most.further_output_tokens
        price = self._price(replace(usage, output_tokens=output_tokens))
        if price is None or not 0 <= price < math.inf:
            return None
        return price * most.requests

    def _hold(self, prices: Mapping[int, float | None]) -> tuple[dict[int, _Hold], bool]:
        """Reserve the prices of queries; return True if more may be covered after others settle.

        They are as many as the budget covers, but one at a time as long as `most` is not certain.
        """
        held: dict[int, _Hold] = {}
        later = False
        certain = self._most().certain
        with self._lock:
            for i, price in prices.items():
                if price is None:
                    continue
                hold = _Hold(price, price * self._ratio)
                alone = certain or not self._under_way
                if alone and self.spent_usd + self.reserved_usd + hold.amount <= self._limit:
                    held[i] = hold
                    self.reserved_usd += hold.amount
                    self._under_way += 1
                later = later or self.spent_usd + hold.amount <= self._limit
            return held, later and self._under_way > 0

    def _settle(self, hold: _Hold, measurement: R | Unmeasured, price: float | None) -> None:
        """Book the cost of a query; `price` is its present price."""
        cost = _cost(measurement, hold.amount)
        with self._lock:
            self._under_way -= 1
            left = self.reserved_usd - hold.amount
            self.reserved_usd = max(0.0, left) if self._under_way else 0.0
            self.spent_usd += cost
            price = max(hold.price, price or 0.0)
            if price > 0:
                self._ratio = max(self._ratio, cost / price)


def _cost(measurement: Estimate | Generated | Unmeasured, held: float) -> float:
    """Return the cost of a query; the amount reserved for it where it is not stated."""
    cost: float | None
    if isinstance(measurement, BilledFailure):
        cost = measurement.cost_usd
    elif isinstance(measurement, Unmeasured):
        cost = None if measurement.reason in MAY_BE_BILLED else 0.0
    elif isinstance(measurement, Estimate) and measurement.cached:
        cost = 0.0
    else:
        cost = measurement.cost_usd
    return held if cost is None or not 0 <= cost < math.inf else cost
