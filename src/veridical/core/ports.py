"""What the pipeline asks of the outside world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.types import BackendInfo, Measurement, Query, Span


@runtime_checkable
class Backend(Protocol):
    """Estimates how probable claims are, given their contexts.

    `estimate` returns one measurement per query, in order, and never raises for one bad item:
    what could not be measured is an `Unmeasured` with its reason.
    """

    @property
    def info(self) -> BackendInfo:
        """Name, model, estimator, fingerprint and calibrated thresholds."""
        ...

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        ...


class SentenceSplitter(Protocol):
    """Cuts a text into sentences."""

    def __call__(self, text: str) -> Sequence[Span]:
        """Return the sentences' spans: in order, disjoint, without surrounding white space."""
        ...
