"""What a backend finds out about the service behind it, for `veridical doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from veridical.core.measurements import Query

QUESTION = Query("The sky is blue.", "On a clear day the sky is blue.")
"""The tiny question: any service that works answers it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a service answers; `detail` is one line for a person, without any text of theirs.

    `logprobs` says whether it gives log-probabilities; None if that is unknown or means nothing.
    """

    ok: bool
    detail: str
    logprobs: bool | None = None


@runtime_checkable
class Probing(Protocol):
    """A backend that can say whether it is usable here and now."""

    async def probe(self) -> Probe:
        """Ask the service one tiny question; what goes wrong is in the value, nothing is raised."""
        ...
