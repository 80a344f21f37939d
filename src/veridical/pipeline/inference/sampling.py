"""Estimates from repeated three-way answers: Wilson intervals and sequential stopping.

For models without log-probabilities (SPEC-08.14). The point estimate is the raw share of YES: it is
the observed count, needs no prior, and the shares of the three answers sum to 1. The uncertainty of
a few answers is in the interval (Wilson 1927, 95 %), which always holds the raw share: three times
YES is 1.00 [0.44, 1.00].

Asking stops for a claim when its interval lies wholly on one side of the threshold at which its
probability will be read, or when the maximum is reached. With a threshold of .7 that takes 9 YES in
a row, or 3 answers none of which is YES. A round asks for as many samples as any decision needs, so
that they can be asked at once and none of them is in vain.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from veridical.core.measurements import Estimate, Estimator, Unmeasured, UnmeasuredReason
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.prompts import AnswerWord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from veridical.core.measurements import BackendInfo

# `No information is given` and `No-one knows` say something else than `No.` does.
_ANSWER = re.compile(
    rf"[\W_]*(?:answer\W+)?({'|'.join(AnswerWord)})\b(?!['’-]?[ \t]*\w)", re.IGNORECASE
)
_THOUGHT = "</think>"

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share; (0, 1) for no trials.

    It holds `successes / trials`, and narrows to it as the trials grow.
    """
    if not 0 <= successes <= trials:
        msg = f"{successes} of {trials} is no share"
        raise ValueError(msg)
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    weight = z * z / trials
    centre = share + weight / 2
    half = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    # The minimum and the maximum only undo rounding, which shows where the share is 0 or 1.
    low = max(0.0, min((centre - half) / (1 + weight), share))
    high = min(1.0, max((centre + half) / (1 + weight), share))
    return low, high


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of the answers to one claim."""

    yes: int = 0
    no: int = 0
    unsure: int = 0

    @property
    def total(self) -> int:
        """Number of samples."""
        return self.yes + self.no + self.unsure

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds for the share of YES."""
        return wilson(self.yes, self.total)

    def plus(self, answers: Sequence[AnswerWord]) -> Tally:
        """Return the tally with more answers counted in."""
        more = Counter(answers)
        return Tally(
            self.yes + more[AnswerWord.YES],
            self.no + more[AnswerWord.NO],
            self.unsure + more[AnswerWord.UNSURE],
        )

    def estimate(
        self,
        info: BackendInfo,
        *,
        latency_ms: float | None = None,
        tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> Estimate:
        """Return the estimate of the backend `info`; `ValueError` if there is no sample."""
        if self.total == 0:
            msg = "no samples, no estimate"
            raise ValueError(msg)
        low, high = self.interval
        return Estimate(
            supported=self.yes / self.total,
            contradicted=self.no / self.total,
            not_in_context=self.unsure / self.total,
            low=low,
            high=high,
            estimator=Estimator.SAMPLING,
            model=info.model,
            fingerprint=info.fingerprint,
            samples=self.total,
            latency_ms=latency_ms,
            tokens=tokens,
            cost_usd=cost_usd,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Number of samples to take of a claim.

    At least `minimum`, at most `maximum` times it is asked about; between them asking stops once
    the interval does not hold `threshold` any more. `ConfigurationError` for impossible values.
    """

    minimum: int = 3
    maximum: int = 10
    threshold: float = 0.7

    def __post_init__(self) -> None:
        if not 1 <= self.minimum <= self.maximum:
            msg = f"samples must be 1 or more: at least {self.minimum}, at most {self.maximum}"
            raise ConfigurationError(msg, hint="Let the minimum be no more than the maximum")
        if not 0.0 < self.threshold < 1.0:  # true for NaN
            msg = "the threshold of sampling must lie between 0 and 1"
            raise ConfigurationError(msg, hint="Use the support threshold of the policy")

    def decided(self, tally: Tally) -> bool:
        """Return whether the interval lies wholly on one side of the threshold."""
        low, high = tally.interval
        return low >= self.threshold or high < self.threshold

    def further(self, tally: Tally, asked: int) -> int:
        """Return how many more samples can be asked for before any could be in vain; 0: stop.

        `asked` counts the requests so far, answered or not. A claim that was asked about `minimum`
        times without one readable answer is given up.
        """
        left = self.maximum - asked
        if tally.total == 0:
            return min(left, max(0, self.minimum - asked))
        if tally.total >= self.minimum and self.decided(tally):
            return 0
        return next(
            (more for more in range(1, left) if self._may_decide(tally, more)), max(0, left)
        )

    def _may_decide(self, tally: Tally, more: int) -> bool:
        agreeing = Tally(tally.yes + more, tally.no, tally.unsure)
        opposing = Tally(tally.yes, tally.no + more, tally.unsure)
        enough = tally.total + more >= self.minimum
        return enough and (self.decided(agreeing) or self.decided(opposing))


@dataclass(slots=True)
class _Claim:
    """State of one claim."""

    tally: Tally = field(default_factory=Tally)
    asked: int = 0
    failure: Unmeasured | None = None
    malformed: Unmeasured | None = None

    def further(self, plan: Plan) -> int:
        return 0 if self.failure else plan.further(self.tally, self.asked)

    def result(self, plan: Plan) -> Tally | Unmeasured:
        if self.failure and self.tally.total < plan.minimum:
            return self.failure
        if self.tally.total:
            return self.tally
        detail = f"no readable answer in {self.asked} replies"
        return self.malformed or Unmeasured(UnmeasuredReason.MALFORMED_REPLY, detail)


def answer_in(text: str) -> AnswerWord | None:
    """Return the answer that a reply begins with, thoughts left out; None if it is none."""
    found = _ANSWER.match(said(text))
    return AnswerWord(found[1].upper()) if found else None


def said(text: str) -> str:
    """Return a reply without the thoughts before it."""
    return text.rpartition(_THOUGHT)[2]


async def sample(
    ask: Callable[[int], Awaitable[AnswerWord | Unmeasured]],
    *,
    minimum: int,
    maximum: int,
    threshold: float,
) -> Tally | Unmeasured:
    """Ask about one claim until it is decided; return the answers, or the reason for none.

    `ask(number)` asks once, numbers count from 0. It is called for several numbers at a time, and
    limits its own concurrency. Its failures are treated as in `sample_many`.
    """

    async def ask_one(number: int, _: Sequence[int]) -> Mapping[int, AnswerWord] | Unmeasured:
        answer = await ask(number)
        return answer if isinstance(answer, Unmeasured) else {0: answer}

    (found,) = await sample_many(ask_one, 1, Plan(minimum, maximum, threshold))
    return found


async def sample_many(
    ask: Callable[[int, Sequence[int]], Awaitable[Mapping[int, AnswerWord] | Unmeasured]],
    claims: int,
    plan: Plan,
) -> list[Tally | Unmeasured]:
    """Ask about several claims together, until each is decided; decided ones drop out.

    `ask(number, indices)` asks request `number` about some of the claims 0 to `claims` - 1 and
    returns an answer for each that was answered. A claim that a reply misses, or a malformed reply,
    costs that sample only. Any other failure ends the asking: claims with `minimum` answers by then
    keep them, the others fail with it. The first request goes alone: it fills a service's prompt
    cache, and a service that is down is asked once.
    """
    states = [_Claim() for _ in range(claims)]
    number = 0

    async def request(number: int, indices: Sequence[int]) -> None:
        pending = [i for i in indices if states[i].failure is None]
        if not pending:
            return
        reply = await ask(number, pending)
        for i in pending:
            states[i].asked += 1
            _count(states[i], reply.get(i) if not isinstance(reply, Unmeasured) else reply)

    while rounds := _round(states, plan, first=number == 0):
        async with anyio.create_task_group() as tasks:
            for indices in rounds:
                tasks.start_soon(request, number, indices)
                number += 1
    return [state.result(plan) for state in states]


def _round(states: Sequence[_Claim], plan: Plan, *, first: bool) -> list[list[int]]:
    """Return the claims of each request of the next round."""
    wanted = {i: state.further(plan) for i, state in enumerate(states)}
    requests = max(wanted.values(), default=0)
    if first:
        requests = min(1, requests)
    return [[i for i, more in wanted.items() if more > k] for k in range(requests)]


def _count(state: _Claim, answer: AnswerWord | Unmeasured | None) -> None:
    if isinstance(answer, AnswerWord):
        state.tally = state.tally.plus([answer])
    elif answer is not None and answer.reason is UnmeasuredReason.MALFORMED_REPLY:
        state.malformed = answer
    elif answer is not None and state.failure is None:
        state.failure = answer
