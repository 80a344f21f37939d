"""Health check of a backend with one tiny question: usability and log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Estimate, Estimator
from veridical.pipeline.inference.probing import QUESTION, Probe, Probing

if TYPE_CHECKING:
    from veridical.core.measurements import Measurement
    from veridical.core.ports import Backend

TIMEOUT_S = 60.0


async def check_up(backend: Backend, timeout_s: float = TIMEOUT_S) -> Probe:
    """Return a backend's own `probe`, or else the result of one tiny query.

    Wrappers with an attribute `wrapped` are left out: a cache would answer for the backend. A
    `VeridicalError` of the backend is raised unchanged, as it says what to do.
    """
    while not isinstance(backend, Probing) and hasattr(backend, "wrapped"):
        backend = backend.wrapped
    with anyio.move_on_after(timeout_s):
        if isinstance(backend, Probing):
            return await backend.probe()
        (measurement,) = await backend.estimate([QUESTION])
        return _read(measurement)
    return Probe(ok=False, detail=f"no answer within {timeout_s:g} s")


def _read(measurement: Measurement) -> Probe:
    if isinstance(measurement, Estimate):
        logprobs = True if measurement.estimator is Estimator.LOGPROBS else None
        return Probe(ok=True, detail="answers", logprobs=logprobs)
    detail = f"{measurement.reason}: {measurement.detail}".removesuffix(": ")
    return Probe(ok=False, detail=detail)
