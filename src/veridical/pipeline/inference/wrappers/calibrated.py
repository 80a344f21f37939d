"""Backend with the calibrations of users' own feedback, one for each project."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate
from veridical.core.ports import estimators_of
from veridical.core.projects import DEFAULT_PROJECT, project_in_force
from veridical.core.recalibration import from_document
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.base import safe_estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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

    `found` gives those of a project, None where there are none; answers are kept. `own` is
    the project where none is in force. It wraps the cache, too: that keeps the backend's own
    estimates, however they are read.
    """

    def __init__(
        self,
        backend: Backend,
        found: Callable[[str], Recalibration | None],
        own: str = DEFAULT_PROJECT,
    ) -> None:
        self.wrapped = backend
        self._found = lru_cache(found)
        self._own = own

    @property
    def recalibration(self) -> Recalibration | None:
        """Recalibration of the project in force."""
        return self._found(project_in_force() or self._own)

    @property
    def info(self) -> BackendInfo:
        """Metadata of the backend, with the threshold in force."""
        recalibration = self.recalibration
        return recalibration.applied(self.wrapped.info) if recalibration else self.wrapped.info

    @property
    def estimators(self) -> frozenset[Estimator]:
        """Estimators that estimates may come from."""
        return estimators_of(self.wrapped)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        recalibration, measured = self.recalibration, await safe_estimate(self.wrapped, queries)
        if recalibration is None:
            return measured
        return [
            recalibration.measured(one) if isinstance(one, Estimate) else one for one in measured
        ]
