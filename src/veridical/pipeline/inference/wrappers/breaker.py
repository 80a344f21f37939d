"""Circuit breaker: a service that is down is left alone for a while."""

from __future__ import annotations

import threading
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Estimate, Generated, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import (
    GRACE_S,
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    safe_estimate,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

OPEN = "circuit open"
"""`detail` of queries that were not asked because the circuit is open."""

_DOWN = frozenset({UnmeasuredReason.TIMEOUT, UnmeasuredReason.BACKEND_ERROR})


class Circuit(StrEnum):
    """State of the circuit: all calls pass, none, or one on trial."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker(Wrapper[Q, R, I]):
    """Wrapper that stops after `failures` failing calls in a row, with a trial after `reset_s`.

    A call fails if nothing in it is measured, for timeouts and errors alone: a service that limits
    rates or answers badly is up. While the circuit is open, queries are `Unmeasured` at once, with
    the time until the next trial as `retry_after_s`.
    """

    def __init__(
        self, backend: Estimates[Q, R, I], *, failures: int = 5, reset_s: float = 30.0
    ) -> None:
        super().__init__(backend)
        if failures < 1 or not reset_s >= 0:
            msg = "a circuit breaker needs 1 failure or more, and a reset of 0 s or more"
            raise ConfigurationError(msg, hint="Leave it out to go on asking a service that fails")
        self._limit = failures
        self._reset_s = reset_s
        self._lock = threading.Lock()
        self._failures = 0
        self._opened = 0.0
        self._trial = False
        self._last_success = float("-inf")

    @property
    def state(self) -> Circuit:
        """State of the circuit now."""
        if self._failures < self._limit:
            return Circuit.CLOSED
        waited = monotonic() - self._opened >= self._reset_s
        return Circuit.HALF_OPEN if waited else Circuit.OPEN

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Ask the backend, unless the circuit is open."""
        if not queries:
            return []
        refused, trial = self._admit()
        if refused is not None:
            return [refused] * len(queries)
        started, deadline = monotonic(), anyio.current_effective_deadline()
        measured: list[R | Unmeasured] | None = None
        try:
            measured = await safe_estimate(self.wrapped, queries)
        finally:
            if measured is not None:
                self._note(failing=all(map(_down, measured)))
            elif anyio.current_time() >= deadline - GRACE_S and self._last_success < started:
                # Cut off by a deadline, which work knows with its grace. That something else came
                # back meanwhile shows a service that is up, and a deadline that is short.
                self._note(failing=True)
            if trial:
                self._trial = False
        return measured

    def _admit(self) -> tuple[Unmeasured | None, bool]:
        """Return the reason to refuse a call, None if it may pass, and whether it is the trial."""
        with self._lock:
            state = self.state
            if state is Circuit.CLOSED:
                return None, False
            if state is Circuit.HALF_OPEN and not self._trial:
                self._trial = True
                return None, True
            # How long a trial takes is not known.
            left = self._opened + self._reset_s - monotonic() if state is Circuit.OPEN else None
        return Unmeasured(UnmeasuredReason.BACKEND_ERROR, OPEN, left and max(0.0, left)), False

    def _note(self, *, failing: bool) -> None:
        with self._lock:
            if not failing:
                self._failures = 0
                self._last_success = monotonic()
                return
            self._failures += 1
            if self._failures >= self._limit:
                self._opened = monotonic()


def _down(measurement: Estimate | Generated | Unmeasured) -> bool:
    return isinstance(measurement, Unmeasured) and measurement.reason in _DOWN
