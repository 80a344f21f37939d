"""Estimates from the log-probabilities of an answer's first token, with honest bounds."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.measurements import Estimate, Unmeasured
from veridical.pipeline.inference.failures import malformed
from veridical.pipeline.inference.prompts import AnswerWord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from veridical.core.measurements import BackendInfo

LEAST_MASS = 0.2
"""Minimum share of all probability on the answers' spellings, or else the model did not answer."""

_ROUNDING = 0.01
"""Tolerance for the sum of probabilities above 1: servers compute them in 16 bits."""

# tokenizers write Ġ, Ċ and ▁ for a space and a line break
_WORD = re.compile(r"[\W\d_ĠĊ]*([A-Za-z]+)[\W\d_]*")


@dataclass(frozen=True, slots=True)
class TokenProbabilities:
    """P of each answer, given that it is one of the three, and bounds for P(YES).

    `mass` is the share of all probability on the answers' spellings; it has been renormalised away.
    """

    probabilities: Mapping[AnswerWord, float]
    low: float
    high: float
    mass: float

    def estimate(
        self,
        info: BackendInfo,
        *,
        latency_ms: float | None = None,
        tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> Estimate:
        """Return the estimate of the backend `info`: YES supports, NO contradicts."""
        return Estimate(
            supported=self.probabilities[AnswerWord.YES],
            contradicted=self.probabilities[AnswerWord.NO],
            not_in_context=self.probabilities[AnswerWord.UNSURE],
            low=self.low,
            high=self.high,
            estimator=info.estimator,
            model=info.model,
            fingerprint=info.fingerprint,
            latency_ms=latency_ms,
            tokens=tokens,
            cost_usd=cost_usd,
        )


def read_logprobs(top: Iterable[tuple[str, float]]) -> TokenProbabilities | Unmeasured:
    """Return the answer probabilities from the most probable first tokens.

    `top` holds pairs of token and natural log-probability, in any order. Every spelling of an
    answer counts: case, leading space, quotes, and a token that only begins the word (`Y`, `UN`).
    The probability outside the listed tokens may be further spellings of any one answer: the bounds
    allow for all of it. A malformed reply if this is no distribution, or if the answers hold less
    than `LEAST_MASS` of it.
    """
    listed, held = _held(top, answer_of)
    if isinstance(held, Unmeasured):
        return held
    mass = math.fsum(held.values())
    if mass < LEAST_MASS:
        return malformed(f"{mass:.0%} of the first token's probability is on an answer")
    return _reading(held, mass, rest=max(0.0, 1.0 - listed))


def read_word(
    top: Iterable[tuple[str, float]], spells: Callable[[str], AnswerWord | None]
) -> TokenProbabilities | Unmeasured:
    """Return P(YES) of a judge with two answers, all else being UNSURE.

    `spells` is the answer that a token spells. Its bounds and failures are those of
    `read_logprobs`, but nothing is renormalised: the threshold of such a judge is one of the
    probability of its word.
    """
    listed, held = _held(top, spells)
    if isinstance(held, Unmeasured):
        return held
    mass = math.fsum(held.values())
    if mass < LEAST_MASS:
        return malformed(f"{mass:.0%} of the probability is on an answer")
    yes = min(held[AnswerWord.YES], 1.0)
    return TokenProbabilities(
        probabilities={AnswerWord.YES: yes, AnswerWord.NO: 0.0, AnswerWord.UNSURE: 1.0 - yes},
        low=yes,
        high=min(1.0, yes + max(0.0, 1.0 - listed)),
        mass=min(mass, 1.0),
    )


def _held(
    top: Iterable[tuple[str, float]], spells: Callable[[str], AnswerWord | None]
) -> tuple[float, Mapping[AnswerWord, float] | Unmeasured]:
    """Return the listed probability, and that of each answer; a malformed reply if it is none."""
    listed: list[float] = []
    found: dict[AnswerWord, list[float]] = {answer: [] for answer in AnswerWord}
    for token, logprob in top:
        probability = math.exp(min(logprob, 1.0))  # above 0 it is none, and exp(1000) overflows
        listed.append(probability)
        answer = spells(token)
        if answer is not None:
            found[answer].append(probability)
    total = math.fsum(sorted(listed))
    if not total <= 1.0 + _ROUNDING:  # true for NaN
        return total, malformed("the log-probabilities are not those of a distribution")
    return total, {answer: math.fsum(sorted(shares)) for answer, shares in found.items()}


def answer_of(token: str) -> AnswerWord | None:
    """Return the answer that a token spells or begins; None if it is none."""
    return spelled(token, {answer.value: answer for answer in AnswerWord})


def spelled(token: str, answers: Mapping[str, AnswerWord]) -> AnswerWord | None:
    """Return the answer whose word, in capitals, a token spells or begins; None if there is none.

    No two words begin with the same letter, so at most one fits.
    """
    word = _WORD.fullmatch(token)
    begun = None if word is None else word[1].upper()
    return next((a for w, a in answers.items() if begun and w.startswith(begun)), None)


def _reading(held: Mapping[AnswerWord, float], mass: float, rest: float) -> TokenProbabilities:
    yes = held[AnswerWord.YES]
    supported = min(yes / mass, 1.0)
    return TokenProbabilities(
        probabilities={answer: min(share / mass, 1.0) for answer, share in held.items()},
        # With nothing left over these are the same number, but for rounding.
        low=min(yes / (mass + rest), supported),
        high=max(min((yes + rest) / (mass + rest), 1.0), supported),
        mass=min(mass, 1.0),
    )
