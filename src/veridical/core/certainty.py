"""Probability that a verdict is right, and the threshold from which it counts as sure.

A verdict on a claim is of one of three kinds: supported, contradicted, not supported. For each kind
a logistic model, fitted on labelled claims by `training/certainty.py`, turns the features of the
verdict into the probability that it is right. The probability rises with the score (the log-odds of
the conclusion), whatever the data say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, isfinite, log, prod
from typing import TYPE_CHECKING, Any

from veridical.core.information import clip, ensure_probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCORE = "score"


class VerdictKind(StrEnum):
    """Conclusion of a verdict on a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_SUPPORTED = "not_supported"


@dataclass(frozen=True, slots=True)
class Fit:
    """Logistic model: P(right) = 1 / (1 + exp(-(intercept + sum of weight x feature))).

    A verdict is sure if its P(right) is at least `sure_from`; None means that no verdict is sure.
    `sure_score` is the score from which a verdict with otherwise usual features is sure, for
    callers that know the score alone. A negative weight of the score is a `ValueError`: a more
    extreme score never makes a verdict less sure.
    """

    intercept: float
    weights: tuple[tuple[str, float], ...]
    sure_from: float | None
    sure_score: float | None = None

    def __post_init__(self) -> None:
        numbers = [self.intercept, *(weight for _, weight in self.weights)]
        if not all(map(isfinite, numbers)):
            msg = "the numbers of a fit are finite"
            raise ValueError(msg)
        if dict(self.weights).get(SCORE, 0.0) < 0:
            msg = "the weight of the score is 0 at least"
            raise ValueError(msg)
        if self.sure_from is not None:
            ensure_probability(self.sure_from, "sure_from")

    def probability(self, features: Mapping[str, float]) -> float:
        """Return P(right) of a verdict with these features."""
        return logistic(self.intercept + sum(w * features[name] for name, w in self.weights))

    def sure(self, probability: float) -> bool:
        """Return whether a verdict with this P(right) is sure."""
        return self.sure_from is not None and probability >= self.sure_from


@dataclass(frozen=True, slots=True)
class CertaintyModel:
    """Fits of a backend, by kind of verdict.

    `rules` lists the rules whose verdicts are sure whatever the score, each with its P(right).
    `exponent` is that of `grounded`. With `heeds_intervals` a verdict is also unsure if the
    interval of P(supported) holds the support threshold: for backends without fitted data.
    """

    supported: Fit
    contradicted: Fit
    not_supported: Fit
    rules: tuple[tuple[str, float], ...] = ()
    exponent: float = 1.0
    heeds_intervals: bool = False

    def __post_init__(self) -> None:
        for _, probability in self.rules:
            ensure_probability(probability, "the P(right) of a rule")
        if not self.exponent > 0 or not isfinite(self.exponent):
            msg = "the exponent is a number above 0"
            raise ValueError(msg)

    def of(self, kind: VerdictKind) -> Fit:
        """Return the fit for a kind of verdict."""
        fit: Fit = getattr(self, kind.value)
        return fit

    def band(self) -> tuple[float | None, float | None]:
        """Return the P(supported) down to which flags are unsure, and up to which passes are.

        The band follows from the score alone; None where no verdict is sure.
        """
        flags = (self.contradicted.sure_score, self.not_supported.sure_score)
        known = [score for score in flags if score is not None]
        low = logistic(-max(known)) if len(known) == len(flags) else None
        high = self.supported.sure_score
        return low, None if high is None else logistic(high)

    @property
    def tells_sure_flags(self) -> bool:
        """True if any flag decided by a model can be sure."""
        return any(fit.sure_from is not None for fit in (self.contradicted, self.not_supported))

    def grounded(self, supported: Iterable[float]) -> float:
        """Return the probability that all claims are supported, given the probability of each.

        Claims of one answer are not independent: the product of their probabilities is raised to
        the fitted exponent.
        """
        return float(prod(supported) ** self.exponent)


_AS_IT_IS = Fit(0.0, ((SCORE, 1.0),), 0.9)

UNCALIBRATED = CertaintyModel(
    _AS_IT_IS,
    _AS_IT_IS,
    _AS_IT_IS,
    rules=(("cited_id_does_not_exist", 1.0),),
    heeds_intervals=True,
)
"""For a backend without fitted data: its probability is taken as it is, sure from .9."""


def log_odds(p: float) -> float:
    """Return the log-odds of a probability, clipped as for bits (.001 to .999)."""
    clipped = clip(p)
    return log(clipped / (1.0 - clipped))


def logistic(x: float) -> float:
    """Return the probability whose log-odds are `x`."""
    return 1.0 / (1.0 + exp(-x)) if x >= 0 else exp(x) / (1.0 + exp(x))


def from_document(document: Mapping[str, Any]) -> CertaintyModel:
    """Return the model under `certainty` of a card.

    `KeyError`, `TypeError` or `ValueError` if there is none. Keys for human readers, such as the
    data of the fit, are ignored.
    """
    rules: Mapping[str, Any] = document["rules"]
    return CertaintyModel(
        supported=_fit(document[VerdictKind.SUPPORTED.value]),
        contradicted=_fit(document[VerdictKind.CONTRADICTED.value]),
        not_supported=_fit(document[VerdictKind.NOT_SUPPORTED.value]),
        rules=tuple(sorted((name, float(p)) for name, p in rules.items())),
        exponent=float(document["exponent"]),
    )


def _fit(document: Mapping[str, Any]) -> Fit:
    limit = document["sure_from"]
    weights = tuple((name, float(weight)) for name, weight in document["weights"].items())
    return Fit(
        float(document["intercept"]),
        weights,
        None if limit is None else float(limit),
        None if (score := document.get("sure_score")) is None else float(score),
    )
