"""Calibration files of the settings, and backends with their entry in force."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.core.measurements import BackendInfo
    from veridical.core.ports import Backend
    from veridical.core.recalibration import Recalibration
    from veridical.settings import Settings

logger = logging.getLogger(__name__)

IN_PROJECT = "{project}"
"""Place of the project's name in the path `calibration`."""


def calibrated(settings: Settings, backend: Backend) -> Backend:
    """Return the backend with its entry of each project's file `calibration`."""
    if settings.calibration is None:
        return backend
    from veridical.pipeline.inference.wrappers.calibrated import Calibrated

    own = settings.store.project
    if IN_PROJECT in settings.calibration:
        return Calibrated(backend, partial(_recalibration, settings, backend.info), own)
    found = _recalibration(settings, backend.info, own)
    # A file without the project in its name was fitted to the marks of one, and holds for it.
    return backend if found is None else Calibrated(backend, {own: found}.get, own)


def _recalibration(settings: Settings, info: BackendInfo, project: str) -> Recalibration | None:
    """Return the recalibration of a backend for a project; None, with a warning, without one."""
    found = calibrations(settings, project).get(info.fingerprint)
    if found is None:
        logger.warning(
            "calibration is not in force: %s has nothing for the backend %s, model %s, "
            "fingerprint %s",
            calibration_file(settings, project),
            info.name,
            info.model,
            info.fingerprint,
        )
    return found


def calibration_file(settings: Settings, project: str) -> str | None:
    """Return the file `calibration` of a project, whose name it may have for `{project}`."""
    return settings.calibration and settings.calibration.replace(IN_PROJECT, project)


def calibrations(settings: Settings, project: str | None = None) -> Mapping[str, Recalibration]:
    """Return the content of a project's file `calibration`, by fingerprint of the backend.

    Empty if none is set, or if a project has no file `{project}` yet. `ConfigurationError` if it
    cannot be read or is no calibration file.
    """
    path = calibration_file(settings, project or settings.store.project)
    if path is None or (path != settings.calibration and not Path(path).exists()):
        return {}
    return read_calibrations(path)


def read_calibrations(path: str) -> Mapping[str, Recalibration]:
    """Return the content of a calibration file; errors as for `calibrations`."""
    from veridical.pipeline.inference.wrappers.calibrated import read

    return read(path)
