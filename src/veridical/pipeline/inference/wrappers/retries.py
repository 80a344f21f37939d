"""Retries of queries with transient failures.

The wait is one line of arithmetic over values; retry libraries repeat a whole call on exceptions,
whereas here a part of a batch is asked again because of its results.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import (
    BilledFailure,
    Estimate,
    Generated,
    Taken,
    Unmeasured,
    UnmeasuredReason,
    taken,
)
from veridical.errors import ConfigurationError, VeridicalError
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    safe_estimate,
)
from veridical.pipeline.inference.wrappers.breaker import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRANSIENT = frozenset(
    {
        UnmeasuredReason.TIMEOUT,
        UnmeasuredReason.RATE_LIMITED,
        UnmeasuredReason.BACKEND_ERROR,
        UnmeasuredReason.MALFORMED_REPLY,  # a reply that was cut off is one
    }
)
"""Reasons that may be gone the next time."""

_REFUSED = re.compile(r"HTTP 4\d\d\b")  # a wrong key or model is as wrong the next time
_CAP_S = 20.0
_SPREAD = 0.25
_GRACE_S = 0.05


@dataclass(frozen=True, slots=True)
class Backoff:
    """Number of attempts, and the waits between them.

    `attempts` counts the first one; `first_wait_s` doubles with each; `total_wait_s` bounds the sum
    of all waits of one call.
    """

    attempts: int = 3
    first_wait_s: float = 0.5
    total_wait_s: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or not self.first_wait_s >= 0 or not self.total_wait_s >= 0:
            msg = "retries need 1 attempt or more, and waits of 0 s or more"
            raise ConfigurationError(msg, hint="attempts=1 asks once")

    def wait_s(self, attempt: int, asked_s: float | None, chance: float) -> float:
        """Return the seconds to wait after failing attempt number `attempt`, counted from 1.

        `asked_s` is the wait that the service asked for: never less than that. `chance` in [0, 1)
        spreads callers that failed together.
        """
        doubled = min(_CAP_S, self.first_wait_s * 2.0 ** min(attempt - 1, 30))
        if asked_s is None:
            return doubled * (1 + chance) / 2
        return asked_s + chance * min(doubled, _SPREAD * asked_s)


_NOTHING = Taken()


class Retries(Wrapper[Q, R, I]):
    """Wrapper that asks again, after a wait with jitter, for transient failures.

    Measurements and permanent failures are kept. A service that asks for more patience than is left
    is not asked again: its `retry_after_s` is handed on. An open circuit is not waited for either.
    `asked_again` counts queries.
    """

    def __init__(
        self,
        backend: Estimates[Q, R, I],
        backoff: Backoff | None = None,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(backend)
        self._backoff = backoff or Backoff()
        self._chance = chance
        self.asked_again = 0

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Return the first measurement of each query, or else its last failure.

        A measurement carries the usage of the attempts before it.
        """
        found = await safe_estimate(self.wrapped, queries)
        before = dict.fromkeys(range(len(queries)), _NOTHING)
        patience = self._backoff.total_wait_s
        for attempt in range(1, self._backoff.attempts):
            left = min(patience, _time_left())
            again = [i for i, m in enumerate(found) if _worth_asking(m, left)]
            if not again:
                break
            asked = _asked([found[i] for i in again])
            wait = self._backoff.wait_s(attempt, asked, self._chance())
            if asked is None and wait > left:
                break
            wait = min(wait, left)  # the requested wait fits; its jitter may not
            patience -= wait
            await anyio.sleep(wait)
            if not await self._ask_again(queries, again, found, before):
                break
        return [_with(before[i], one) for i, one in enumerate(found)]

    async def _ask_again(
        self,
        queries: Sequence[Q],
        again: list[int],
        found: list[R | Unmeasured],
        before: dict[int, Taken],
    ) -> bool:
        """Ask for some queries, put the results into `found`; return whether to go on.

        The usage of the previous failures is added to `before`.
        """
        self.asked_again += len(again)
        with anyio.move_on_after(max(0.0, _time_left())) as scope:
            try:
                measured = await safe_estimate(self.wrapped, [queries[i] for i in again])
            except VeridicalError:
                return False  # it can no longer be used; its measurements still hold
            for i, measurement in zip(again, measured, strict=True):
                before[i] += taken(found[i])
                found[i] = measurement
        return not scope.cancelled_caught


def _worth_asking(measurement: Estimate | Generated | Unmeasured, left: float) -> bool:
    """Return whether a query may do better if it is asked again within `left` seconds."""
    if not isinstance(measurement, Unmeasured) or measurement.reason not in TRANSIENT:
        return False
    if measurement.detail == OPEN:  # whoever asks is to be told at once that the service is down
        return False
    if measurement.reason is UnmeasuredReason.BACKEND_ERROR and _REFUSED.match(measurement.detail):
        return False
    return (measurement.retry_after_s or 0.0) <= left


def _with(before: Taken, found: R | Unmeasured) -> R | Unmeasured:
    """Return a result with the usage of the attempts before it added."""
    if before == _NOTHING:
        return found
    if isinstance(found, Unmeasured):
        return BilledFailure.of(found, before + taken(found))
    if found.cost_usd == 0.0 and before.cost_usd is None:  # a free result was so before
        before = replace(before, cost_usd=0.0)
    if isinstance(found, Estimate):
        both = before + Taken(found.tokens, found.cost_usd)
        return replace(found, tokens=both.tokens, cost_usd=both.cost_usd)
    # The written share of the earlier tokens is not known.
    cost_usd = (before + Taken(None, found.cost_usd)).cost_usd
    return replace(found, prompt_tokens=None, output_tokens=None, cost_usd=cost_usd)


def _asked(failures: Sequence[Estimate | Generated | Unmeasured]) -> float | None:
    """Return the longest wait that the service asked for."""
    waits = [m.retry_after_s for m in failures if isinstance(m, Unmeasured)]
    return max((wait for wait in waits if wait is not None and wait > 0), default=None)


def _time_left() -> float:
    """Return the seconds until just before the nearest deadline around this call.

    The deadline itself would throw away the measurements made already. Infinite if there is none.
    """
    deadline = anyio.current_effective_deadline()
    return math.inf if deadline == math.inf else deadline - _GRACE_S - anyio.current_time()
