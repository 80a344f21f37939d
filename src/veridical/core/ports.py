"""Ports: protocols of the backends, models and tools that the pipeline uses."""

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
    """Estimator of the probability of claims, given their contexts.

    `estimate` returns one measurement per query, in order, and never raises for one bad item: a
    query that could not be measured gives an `Unmeasured` with its reason.

    Estimates come from the estimator that `info` names. A backend with several (a cascade, or one
    that samples where there are no log-probabilities) has a property `estimators` with all of them,
    see `estimators_of`. One whose requests carry several claims on one context has a property
    `claims_per_request`, the maximum number, see `claims_per_request_of`.
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
    """Return the maximum number of claims on one context in a request of a backend."""
    claims: int = getattr(backend, "claims_per_request", 1)
    return claims


@runtime_checkable
class TextModel(Protocol):
    """Generator of text; a failure is an `Unmeasured` with its reason.

    Only a model that cannot be used at all raises a `VeridicalError`, as backends do. A text
    carries its usage as far as it is known: tokens, cost and latency. If the texts depend on more
    than the model's name and the request (its address, say), the model has a property
    `fingerprint`, a text that changes with it, see `fingerprint_of`.
    """

    @property
    def info(self) -> TextModelInfo:
        """Name and model."""
        ...

    async def generate(self, request: TextRequest) -> Generated | Unmeasured:
        """Return the model's text; several requests may be under way at once."""
        ...


def fingerprint_of(model: TextModel | EmbeddingModel) -> str:
    """Return the fingerprint of everything besides name and request that affects the output."""
    fingerprint: str = getattr(model, "fingerprint", "")
    return fingerprint


@runtime_checkable
class EmbeddingModel(Protocol):
    """Embedding of texts as vectors: the closer their directions, the closer the meanings.

    If the vectors depend on more than the model's name (its address, say), the model has a property
    `fingerprint`, as text models do.
    """

    @property
    def info(self) -> TextModelInfo:
        """Name and model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Unmeasured:
        """Return a vector for each text, all of one length; or the reason for their absence."""
        ...


class SentenceSplitter(Protocol):
    """Splitter of a text into sentences."""

    def __call__(self, text: str) -> Sequence[Span]:
        """Return the sentences' spans: in order, disjoint, without surrounding white space."""
        ...


class Vectors(Protocol):
    """Word pieces of texts, and the nearness of their meanings."""

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the word pieces of each text, without punctuation."""
        ...

    def nearness(self, pieces: Sequence[int], others: Sequence[int]) -> Any:  # noqa: ANN401 -- an array of numpy, which core does not know
        """Return the nearness of each piece (row) to each of the others (column): 0 to 1."""
        ...
