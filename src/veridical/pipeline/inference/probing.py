"""Probes of the services behind backends, for `veridical doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from veridical.core.measurements import Query

QUESTION = Query("The sky is blue.", "On a clear day the sky is blue.")
"""The tiny question: any service that works answers it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Result of a probe of a service; `detail` is one line for a person, without any of its text.

    `logprobs` is true if it gives log-probabilities; None if that is unknown or means nothing.
    """

    ok: bool
    detail: str
    logprobs: bool | None = None


@runtime_checkable
class Probing(Protocol):
    """Backend that can probe its own usability here and now."""

    async def probe(self) -> Probe:
        """Ask the service one tiny question; failures are in the value, nothing is raised."""
        ...
