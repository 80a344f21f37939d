"""Certainty of verdicts: the probability that each is right, and whether it is sure.

This is the only place where that is decided. The inputs are known to a reader of the report, too:
the estimate, the words of the claim, and the sentences that decided it.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING

from veridical.core.certainty import SCORE, UNCALIBRATED, VerdictKind, log_odds
from veridical.core.measurements import Estimate
from veridical.core.status_table import STATUS_TABLE
from veridical.core.verdicts import Certainty, Status
from veridical.pipeline.judgement.aggregation import required
from veridical.pipeline.judgement.contradictions import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.core.certainty import CertaintyModel
    from veridical.core.policy import Policy
    from veridical.core.verdicts import Verdict


def rated(verdict: Verdict, model: CertaintyModel | None, policy: Policy) -> Verdict:
    """Return the verdict with its probability of being right and its certainty.

    Without a `model` the probabilities of the backend are taken as they are.
    """
    model = model or UNCALIBRATED
    kind = kind_of(verdict)
    if kind is None:
        return replace(verdict, certainty=Certainty.UNSURE, probability_right=None)
    by_rule = dict(model.rules).get(verdict.rule)
    if by_rule is not None:
        return replace(verdict, certainty=Certainty.SURE, probability_right=by_rule)
    fit = model.of(kind)
    right = fit.probability(features(verdict, kind))
    sure = fit.sure(right) and not (model.heeds_intervals and _undecided(verdict, policy))
    certainty = Certainty.SURE if sure else Certainty.UNSURE
    return replace(verdict, certainty=certainty, probability_right=right)


def kind_of(verdict: Verdict) -> VerdictKind | None:
    """Return the kind of a verdict; None if it cannot be right or wrong."""
    by_score = isinstance(verdict.p1, Estimate) or verdict.status is Status.PHANTOM_CITATION
    return STATUS_TABLE[verdict.status].kind if verdict.checked and by_score else None


def features(verdict: Verdict, kind: VerdictKind) -> dict[str, float]:
    """Return the features for the probability of being right, by name.

    `score` is the log-odds of the conclusion; `coverage` the share of the claim's words that stand
    in the sentences that decided; `length` the binary logarithm of the claim's words, and
    `sentences` that of the sentences, each plus one.
    """
    claim = content_words(verdict.claim.text)
    read = content_words(" ".join(piece.text for piece in verdict.evidence))
    return {
        SCORE: _score(verdict, kind),
        "coverage": len(claim & read) / len(claim) if claim else 1.0,
        "length": log2(1 + len(verdict.claim.text.split())),
        "sentences": log2(1 + len(verdict.evidence)),
    }


def _score(verdict: Verdict, kind: VerdictKind) -> float:
    p1 = verdict.p1
    if not isinstance(p1, Estimate):
        return 0.0
    return log_odds(p1.supported) if kind is VerdictKind.SUPPORTED else -log_odds(p1.supported)


def _undecided(verdict: Verdict, policy: Policy) -> bool:
    """Return whether the interval of P(supported) holds the support threshold."""
    p1 = verdict.p1
    threshold = required(policy.support_threshold)
    return isinstance(p1, Estimate) and p1.low < threshold <= p1.high


def grounded(verdicts: Iterable[Verdict], model: CertaintyModel | None) -> float | None:
    """Return the probability that every checked claim is supported; None if that is unknown.

    Claims that are too vague to be right or wrong do not count.
    """
    checked = [verdict for verdict in verdicts if verdict.checked]
    known = [verdict for verdict in checked if verdict.probability_right is not None]
    if not known or any(verdict.status is Status.UNDETERMINED for verdict in checked):
        return None
    return (model or UNCALIBRATED).grounded(map(_supported, known))


def _supported(verdict: Verdict) -> float:
    """Return the probability that the claim is supported, given the verdict on it."""
    right = verdict.probability_right or 0.0
    return right if verdict.status is Status.SUPPORTED else 1.0 - right
