"""Bound on the time of a call; results that are back by then are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import (
    Estimates,
    I,
    Q,
    R,
    Wrapper,
    batches_by_context,
    run_bounded,
    safe_estimate,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class Deadline(Wrapper[Q, R, I]):
    """Wrapper that gives each call of `estimate` at most `seconds`.

    A batch is asked in pieces of `batch` queries, `at_once` of them at a time: results that are
    back in time are kept, the rest is `Unmeasured` (timeout). The bound holds as far as the backend
    can be cancelled: a step that runs in a thread is finished first.
    """

    def __init__(
        self, backend: Estimates[Q, R, I], *, seconds: float, batch: int = 1, at_once: int = 8
    ) -> None:
        super().__init__(backend)
        if not seconds > 0 or batch < 1 or at_once < 1:
            msg = "a deadline needs seconds above 0, and batch and at_once of 1 or more"
            raise ConfigurationError(msg, hint="Leave the deadline out to wait without a bound")
        self._seconds = seconds
        self._batch = batch
        self._at_once = at_once

    async def estimate(self, queries: Sequence[Q]) -> Sequence[R | Unmeasured]:
        """Return the measurements made in time; the rest is `Unmeasured` (timeout)."""
        late = Unmeasured(UnmeasuredReason.TIMEOUT, f"no answer within {self._seconds:g} s")
        found: list[R | Unmeasured] = [late] * len(queries)

        async def work(piece: list[int]) -> None:
            measured = await safe_estimate(self.wrapped, [queries[i] for i in piece])
            for i, measurement in zip(piece, measured, strict=True):
                found[i] = measurement

        with anyio.move_on_after(self._seconds):
            await run_bounded(batches_by_context(queries, self._batch), work, at_once=self._at_once)
        return found
