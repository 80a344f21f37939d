"""Cascade of two backends: the second is asked only where the first is in doubt.

Where both have an estimate, they are pooled (`pooling.py`): a small model that is in doubt still
knows something, and two that err differently are right more often than either. The surer one counts
for more, so that a second that is much better can decide (docs/decisions/0012-a-cascade-pools.md).

Thresholds: each backend's probabilities are to be read at thresholds of its own, but a policy has
one of each. The cascade's are those of the two, pooled like the estimates. No probability is bent
to fit. An estimate of one backend alone stands only if it comes to the same at the cascade's
thresholds as at its own. That costs next to nothing: an estimate decided by the first lies outside
of the band around its threshold, and there a threshold a little higher or lower changes nothing.
Where it would, the second is asked. (A policy that sets thresholds of its own has them for all;
choose the band around them.)

Each estimate names the backends that made it, and each measurement says whether the second was
asked (`stage`). A pooled estimate carries the usage of both (latency, tokens, cost). Put a cache or
a budget around the two parts, not around the cascade: it would keep an estimate that stands in for
an answer the second could not give.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from veridical.core.assessment import CascadeUsage
from veridical.core.information import ensure_probability
from veridical.core.measurements import (
    BackendInfo,
    BilledFailure,
    CascadeBranch,
    Estimate,
    Estimator,
    Measurement,
    Query,
    Reads,
    Taken,
    Unmeasured,
    taken,
)
from veridical.core.ports import estimators_of
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.health import check_up
from veridical.pipeline.inference.pooling import WEIGHT, pooled, pooled_probability
from veridical.pipeline.inference.probing import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.ports import Backend

LOW, HIGH = 0.15, 0.85

_CHECK = "Run veridical.testing.check_backend on it"

Number = TypeVar("Number", int, float)


def create(
    model: str | None = None,
    *,
    first: Backend,
    second: Backend,
    low: float | None = None,
    high: float | None = None,
) -> Cascade:
    """Return a cascade of two backends; it has no model of its own.

    Queries whose P(supported) by the first is from `low` to `high` go to the second, too. None is
    as far as the first's verdicts are unsure, by its fitted model and by the score alone: the other
    features are those of a claim, which is not known here. Where nothing was fitted, or no verdict
    is sure, it is .15 and .85. `ConfigurationError` if these are no probabilities around the
    first's support threshold.
    """
    if model is not None:
        msg = "a cascade takes no model"
        raise ConfigurationError(msg, hint="Name the models of its two backends")
    return Cascade(first, second, low=low, high=high)


class Cascade:
    """Backend that asks `first` everything, and `second` the doubtful and unmeasured queries.

    A query that only one of the two can measure counts as that one has it, unless its own
    thresholds and the cascade's would read it differently: then the query is unmeasured.
    """

    def __init__(
        self,
        first: Backend,
        second: Backend,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        low, high = _band(low, high, first.info)
        _ensure_band(low, high, first.info)
        self._first, self._second = first, second
        self._low, self._high = low, high
        self._savings = CascadeUsage()
        self._counting = threading.Lock()

    @property
    def info(self) -> BackendInfo:
        """Both models and fingerprints, the first's estimator, the thresholds pooled."""
        first, second = self._first.info, self._second.info
        return BackendInfo(
            name="cascade",
            model=f"{first.model}+{second.model}",
            estimator=first.estimator,
            fingerprint=_fingerprint(first, second, self._low, self._high),
            support_threshold=_between(first.support_threshold, second.support_threshold),
            contradiction_threshold=_between(
                first.contradiction_threshold, second.contradiction_threshold
            ),
            reads=first.reads if first.reads is second.reads else Reads.BOTH,
            tells_contradiction=first.tells_contradiction or second.tells_contradiction,
            measures_dependence=first.measures_dependence and second.measures_dependence,
        )

    @property
    def estimators(self) -> frozenset[Estimator]:
        """Estimators that its estimates may come from."""
        return estimators_of(self._first) | estimators_of(self._second)

    @property
    def savings(self) -> CascadeUsage:
        """Number of queries to each backend since the cascade was made."""
        return self._savings

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Return P(claim | context) for each query: same length, same order."""
        if not queries:
            return []
        first = await _ask(self._first, [_shown(query, self._first.info) for query in queries])
        doubts = {
            i: _shown(queries[i], self._second.info)
            for i, measurement in enumerate(first)
            if self._in_doubt(measurement)
        }
        second = _each_once(doubts, await self._ask_second(list(dict.fromkeys(doubts.values()))))
        measured = [
            self._choose(one, second[i]) if i in second else replace(one, stage=CascadeBranch.FIRST)
            for i, one in enumerate(first)
        ]
        with self._counting:
            self._savings += CascadeUsage.of(measured)
        return measured

    async def _ask_second(self, queries: Sequence[Query]) -> dict[Query, Measurement]:
        """Return the second's answers; passages of one claim may be one question to it."""
        answers = await _ask(self._second, queries) if queries else []
        return dict(zip(queries, answers, strict=True))

    async def probe(self) -> Probe:
        """Ask both backends one tiny question; both have to be usable."""
        first, second = await check_up(self._first), await check_up(self._second)
        names = self._first.info.name, self._second.info.name
        detail = f"{names[0]} {first.detail}; {names[1]} {second.detail}"
        return Probe(first.ok and second.ok, detail, second.logprobs)

    def _in_doubt(self, measurement: Measurement) -> bool:
        if not isinstance(measurement, Estimate):
            return True
        in_band = self._low <= measurement.supported <= self._high
        return in_band or not self._read_alike(measurement, self._first)

    def _read_alike(self, estimate: Estimate, backend: Backend) -> bool:
        """Return whether an estimate comes to the same at the cascade's thresholds."""
        return _reading(estimate, backend.info) == _reading(estimate, self.info)

    def _choose(self, first: Measurement, second: Measurement) -> Measurement:
        if isinstance(first, Estimate) and isinstance(second, Estimate):
            return self._pooled(first, second)
        if isinstance(first, Estimate) and self._read_alike(first, self._first):
            return _with(replace(first, stage=CascadeBranch.STOOD_IN), second)
        if isinstance(second, Estimate) and not self._read_alike(second, self._second):
            return _with(replace(first, stage=CascadeBranch.SECOND), second)
        return _with(replace(second, stage=CascadeBranch.SECOND), first)

    def _pooled(self, first: Estimate, second: Estimate) -> Estimate:
        one, other = _told(first, self._first.info), _told(second, self._second.info)
        if one.contradicted is None and other.contradicted is None:
            one, other = first, second
        return replace(
            pooled(one, other),
            model=f"{first.model}+{second.model}",
            fingerprint=self.info.fingerprint,
            stage=CascadeBranch.SECOND,
            latency_ms=_sum(first.latency_ms, second.latency_ms),
            **_taken(first, second),
        )


def _told(estimate: Estimate, info: BackendInfo) -> Estimate:
    """Return an estimate for pooling, without a P(contradicted) of a model that knows none."""
    if info.tells_contradiction:
        return estimate
    return replace(estimate, contradicted=None, not_in_context=None)


def _with(kept: Measurement, other: Measurement) -> Measurement:
    """Return the measurement that counts, with the usage of the other one added."""
    took = taken(kept) + taken(other)
    if took == taken(kept):
        return kept
    if isinstance(kept, Unmeasured):
        return BilledFailure.of(kept, took)
    return replace(kept, tokens=took.tokens, cost_usd=took.cost_usd, cached=False)


def _shown(query: Query, info: BackendInfo) -> Query:
    """Return a query as a backend reads it: with the whole in place of the passage, or alone."""
    context = query.whole if info.reads is Reads.WHOLE and query.whole else query.context
    return replace(query, context=context, whole=None)


def _each_once(
    doubts: Mapping[int, Query], answers: Mapping[Query, Measurement]
) -> dict[int, Measurement]:
    """Return the answer to each doubt; its usage counts where the question comes up first."""
    found: dict[int, Measurement] = {}
    counted: set[Query] = set()
    for i, query in doubts.items():
        answer = answers[query]
        if query in counted and isinstance(answer, Estimate):
            answer = replace(answer, latency_ms=0.0, tokens=0, cost_usd=0.0)
        elif query in counted and isinstance(answer, Unmeasured):
            answer = BilledFailure.of(answer, Taken())
        found[i] = answer
        counted.add(query)
    return found


async def _ask(backend: Backend, queries: Sequence[Query]) -> Sequence[Measurement]:
    measured = await backend.estimate(queries)
    if len(measured) != len(queries):
        msg = f"{backend.info.name} gave {len(measured)} measurements for {len(queries)} queries"
        raise BackendError(msg, hint=_CHECK)
    if not all(isinstance(measurement, Measurement) for measurement in measured):
        msg = f"{backend.info.name} gave something that is no measurement"
        raise BackendError(msg, hint=_CHECK)
    return measured


def _reading(estimate: Estimate, info: BackendInfo) -> tuple[bool, bool]:
    """Return whether the claim counts as opposed, and as supported, at a backend's thresholds."""
    if estimate.contradicted is None:  # yes or no only: opposed is an equally improbable claim
        opposed = estimate.supported <= 1.0 - info.support_threshold
    else:
        opposed = estimate.contradicted >= info.contradiction_threshold
    return opposed, estimate.supported >= info.support_threshold


def _between(first: float, second: float) -> float:
    """Return two thresholds pooled; equal ones are kept, to four places."""
    return round(pooled_probability(first, second), 4)


def _taken(first: Estimate, second: Estimate) -> dict[str, Any]:
    """Return the usage of two estimates: a cached one was paid before, unless both are cached."""
    cached = first.cached and second.cached
    one, other = (
        replace(estimate, tokens=0, cost_usd=0.0) if estimate.cached and not cached else estimate
        for estimate in (first, second)
    )
    return {
        "tokens": _sum(one.tokens, other.tokens),
        "cost_usd": _sum(one.cost_usd, other.cost_usd),
        "cached": cached,
    }


def _sum(first: Number | None, second: Number | None) -> Number | None:
    return None if first is None or second is None else first + second


def _fingerprint(first: BackendInfo, second: BackendInfo, low: float, high: float) -> str:
    parts = [first.fingerprint, second.fingerprint, repr(low), repr(high), repr(WEIGHT)]
    for info in (first, second):
        parts += [repr(info.support_threshold), repr(info.contradiction_threshold)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _band(low: float | None, high: float | None, first: BackendInfo) -> tuple[float, float]:
    """Return the band around the first's threshold in which the second is asked."""
    fitted = (None, None) if first.certainty is None else first.certainty.band()
    below, above = (LOW if fitted[0] is None else fitted[0]), (fitted[1] or HIGH)
    threshold = first.support_threshold
    return (
        min(below, threshold) if low is None else low,
        max(above, threshold) if high is None else high,
    )


def _ensure_band(low: float, high: float, first: BackendInfo) -> None:
    try:
        ensure_probability(low, "low")
        ensure_probability(high, "high")
    except ValueError as error:
        raise ConfigurationError(str(error), hint="Probabilities run from 0 to 1") from None
    if not low <= first.support_threshold <= high:
        msg = (
            f"the band from {low} to {high} does not hold the support threshold"
            f" {first.support_threshold} of {first.name}"
        )
        raise ConfigurationError(msg, hint="Widen it: near the threshold the second is needed")
