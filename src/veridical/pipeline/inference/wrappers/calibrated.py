"""Backend with the calibration of a user's own feedback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.ports import estimators_of
from veridical.core.recalibration import from_document
from veridical.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.measurements import BackendInfo, Estimator, Measurement, Query
    from veridical.core.ports import Backend
    from veridical.core.recalibration import Recalibration


def read(path: str) -> Mapping[str, Recalibration]:
    """Return the content of a calibration file; `ConfigurationError` if it is none."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"the calibration file {path} cannot be read ({type(error).__name__})"
        hint = "veridical calibrate --out FILE writes one"
        raise ConfigurationError(msg, hint=hint) from None
    return from_document(document, path)


class Calibrated:
    """Backend with another support threshold and temperature; the outermost wrapper.

    It wraps the cache, too: that keeps the backend's own estimates, however they are read.
    """

    def __init__(self, backend: Backend, recalibration: Recalibration) -> None:
        self.wrapped = backend
        self.recalibration = recalibration

    @property
    def info(self) -> BackendInfo:
        """Metadata of the backend, with the threshold in force."""
        return self.recalibration.applied(self.wrapped.info)

    @property
    def estimators(self) -> frozenset[Estimator]:
        """Estimators that estimates may come from."""
        return estimators_of(self.wrapped)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        return [
            self.recalibration.measured(one) if isinstance(one, Estimate) else one
            for one in await self.wrapped.estimate(queries)
        ]
