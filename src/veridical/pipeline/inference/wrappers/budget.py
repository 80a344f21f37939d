"""A bound on cost that stops before it would be exceeded."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Generated, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError, VeridicalError
from veridical.pipeline.inference.wrappers.asking import (
    Asked,
    I,
    Q,
    R,
    Wrapper,
    ask,
    estimated_usage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.pipeline.inference.prices import Usage

UNKNOWN = Unmeasured(UnmeasuredReason.DISABLED, "cost unknown, and a budget is set")
REACHED = Unmeasured(UnmeasuredReason.DISABLED, "cost budget reached")

_MAY_BE_BILLED = frozenset({UnmeasuredReason.TIMEOUT, UnmeasuredReason.MALFORMED_REPLY})


@dataclass(frozen=True, slots=True)
class _Hold:
    """What a query is priced at, and what is put aside for it."""

    price: float
    amount: float


class Budget(Wrapper[Q, R, I]):
    """Asks only as long as the cost stays within `max_cost_usd`, over the life of this object.

    `price` gives the US dollars that a request of such a usage costs with this backend, None if it
    is not known: then nothing is asked. The price is put aside before a query goes out, and settled
    by what the estimate says it cost. Where it says nothing, and where a reply was late or
    malformed and may have been billed, the price counts; a query that failed otherwise is free.

    Tokens are estimated from the lengths of the texts, those of a text to be written are as many as
    it may have; once a query has cost more than was put
    aside for it, more is put aside for all, by the greatest ratio seen.
    """

    def __init__(
        self,
        backend: Asked[Q, R, I],
        *,
        max_cost_usd: float,
        price: Callable[[Usage], float | None],
    ) -> None:
        super().__init__(backend)
        if not max_cost_usd >= 0:
            msg = f"a cost budget must be 0 USD or more, not {max_cost_usd}"
            raise ConfigurationError(msg, hint="Leave it out to spend without a bound")
        self._limit = max_cost_usd
        self._price = price
        self._lock = threading.Lock()
        self._ratio = 1.0
        self.spent_usd = 0.0
        self.reserved_usd = 0.0

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Ask for the queries that the budget still covers, in order."""
        found: list[R | Unmeasured] = [REACHED] * len(queries)
        held: dict[int, _Hold] = {}
        for i, query in enumerate(queries):
            price = self._price(estimated_usage(query))
            if price is None or not 0 <= price < math.inf:
                found[i] = UNKNOWN
            elif hold := self._hold(price):
                held[i] = hold
        # Cancelled on the way: it may have been billed.
        measured: list[R | Unmeasured] = [Unmeasured(UnmeasuredReason.TIMEOUT)] * len(held)
        try:
            measured = await ask(self.wrapped, [queries[i] for i in held])
        except VeridicalError:
            measured = [Unmeasured(UnmeasuredReason.BACKEND_ERROR)] * len(held)
            raise
        finally:
            for hold, measurement in zip(held.values(), measured, strict=True):
                self._settle(hold, measurement)
        for i, measurement in zip(held, measured, strict=True):
            found[i] = measurement
        return found

    def _hold(self, price: float) -> _Hold | None:
        """Put the price of a query aside; None if the budget does not cover it."""
        with self._lock:
            hold = _Hold(price, price * self._ratio)
            if self.spent_usd + self.reserved_usd + hold.amount > self._limit:
                return None
            self.reserved_usd += hold.amount
            return hold

    def _settle(self, hold: _Hold, measurement: R | Unmeasured) -> None:
        cost = _cost(measurement, hold.amount)
        with self._lock:
            self.reserved_usd = max(0.0, self.reserved_usd - hold.amount)
            self.spent_usd += cost
            if hold.price > 0:
                self._ratio = max(self._ratio, cost / hold.price)


def _cost(measurement: Estimate | Generated | Unmeasured, held: float) -> float:
    """Return what a query has cost; as much as was held for it where nobody says."""
    if isinstance(measurement, Unmeasured):
        return held if measurement.reason in _MAY_BE_BILLED else 0.0
    if isinstance(measurement, Estimate) and measurement.cached:
        return 0.0
    cost = measurement.cost_usd
    return held if cost is None or not 0 <= cost < math.inf else cost
