"""What the pipeline asks of the outside world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.measurements import (
        BackendInfo,
        Estimator,
        Generated,
        Measurement,
        Query,
        TextModelInfo,
        TextRequest,
        Unmeasured,
    )
    from veridical.core.types import Span


@runtime_checkable
class Backend(Protocol):
    """Estimates how probable claims are, given their contexts.

    `estimate` returns one measurement per query, in order, and never raises for one bad item:
    what could not be measured is an `Unmeasured` with its reason.

    Estimates come from the estimator that `info` names. A backend with several (a cascade, or one
    that samples where there are no log-probabilities) has a property `estimators` with all of them,
    see `estimators_of`. One whose requests carry several claims on one context has a property
    `claims_per_request`, how many at most, see `claims_per_request_of`.
    """

    @property
    def info(self) -> BackendInfo:
        """Name, model, estimator, fingerprint and calibrated thresholds."""
        ...

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        ...


def estimators_of(backend: Backend) -> frozenset[Estimator]:
    """Return the estimators that the estimates of a backend may come from."""
    several: frozenset[Estimator] | None = getattr(backend, "estimators", None)
    return frozenset({backend.info.estimator}) if several is None else several


def claims_per_request_of(backend: Backend) -> int:
    """Return how many claims on one context a request of a backend carries at most."""
    claims: int = getattr(backend, "claims_per_request", 1)
    return claims


@runtime_checkable
class TextModel(Protocol):
    """Writes text; what fails is an `Unmeasured` with its reason.

    Only a model that cannot be used at all raises a `VeridicalError`, as backends do. A text says
    what it took as far as that is known: tokens, cost and latency. A model of whose texts more
    decides than its name and the request (its address, say) has a property `fingerprint`, a text
    that changes with it, see `fingerprint_of`.
    """

    @property
    def info(self) -> TextModelInfo:
        """Name and model."""
        ...

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return what the model writes; several requests may be under way at once."""
        ...


def fingerprint_of(model: TextModel | EmbeddingModel) -> str:
    """Return what decides about what a model returns besides its name and the request."""
    fingerprint: str = getattr(model, "fingerprint", "")
    return fingerprint


@runtime_checkable
class EmbeddingModel(Protocol):
    """Turns texts into vectors: the closer their directions, the closer the meanings.

    A model of whose vectors more decides than its name (its address, say) has a property
    `fingerprint`, as text models do.
    """

    @property
    def info(self) -> TextModelInfo:
        """Name and model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Unmeasured:
        """Return a vector for each text, all of one length; or why there are none."""
        ...


class SentenceSplitter(Protocol):
    """Cuts a text into sentences."""

    def __call__(self, text: str) -> Sequence[Span]:
        """Return the sentences' spans: in order, disjoint, without surrounding white space."""
        ...


class Vectors(Protocol):
    """Cuts texts into word pieces, and says how near the meanings of pieces are to each other."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the word pieces of each text, without punctuation."""
        ...

    def nearness(self, pieces: Sequence[int], others: Sequence[int]) -> Any:  # noqa: ANN401 -- an array of numpy, which core does not know
        """Return how near each piece (row) is to each of the others (column): 0 to 1."""
        ...
