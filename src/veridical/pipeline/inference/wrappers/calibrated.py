"""A backend read as a user's own feedback says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.ports import estimators_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.measurements import BackendInfo, Estimator, Measurement, Query
    from veridical.core.ports import Backend
    from veridical.core.recalibration import Recalibration


class Calibrated:
    """A backend with another support threshold and temperature; goes around all other wrappers.

    Around the cache, too: that keeps what the backend said, however it is read.
    """

    def __init__(self, backend: Backend, recalibration: Recalibration) -> None:
        self.wrapped = backend
        self.recalibration = recalibration

    @property
    def info(self) -> BackendInfo:
        """What the backend says of itself, with the threshold in force."""
        return self.recalibration.applied(self.wrapped.info)

    @property
    def estimators(self) -> frozenset[Estimator]:
        """The estimators that estimates may come from."""
        return estimators_of(self.wrapped)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        return [
            self.recalibration.measured(one) if isinstance(one, Estimate) else one
            for one in await self.wrapped.estimate(queries)
        ]
