"""Results of the orchestrator: the final answer, its attempts, reports and costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from veridical.core.assessment import Outcome
from veridical.core.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical import Report
    from veridical.core.verdicts import Verdict


class Action(StrEnum):
    """Final action on the answer."""

    PASSED = "passed"
    """Nothing is flagged; the text is untouched."""
    FLAGGED = "flagged"
    """Claims are flagged; the text has marks and a legend."""
    ACCEPTED = "accepted"
    """Claims are flagged, and the callback took the text as it is."""
    REPLACED = "replaced"
    """Claims are flagged, and the callback gave a text of its own."""
    NOT_VERIFIED = "not_verified"
    """Not verified: `skipped` or `failure` is the reason; the text is untouched."""


class UnverifiedReason(StrEnum):
    """Reason why an answer was not verified although nothing failed."""

    NO_ANSWER = "no_answer"
    NOT_WANTED = "not_wanted"
    DISABLED = "disabled"
    TOO_SHORT = "too_short"
    NO_EVIDENCE = "no_evidence"
    LOAD = "load"
    NOTHING_TO_CHECK = "nothing_to_check"


class FailureKind(StrEnum):
    """Kind of failure."""

    VERIFIER_ERROR = "verifier_error"
    TIMEOUT = "timeout"
    UNDETERMINED = "undetermined"
    GENERATE_ERROR = "generate_error"
    ASK_ERROR = "ask_error"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class ProcessingFailure:
    """Failure as a value; `detail` is a type or a reason, never a text."""

    kind: FailureKind
    detail: str = ""


class FailureChoice(StrEnum):
    """Choice of a callback about an answer with critical claims."""

    ACCEPT = "accept"
    RETRY = "retry"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text that a callback puts in the place of an answer."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Spent:
    """Cost in USD and tokens, None where unknown, and latency in milliseconds."""

    cost_usd: float | None = 0.0
    tokens: int | None = 0
    latency_ms: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        cost, more_cost = self.cost_usd, other.cost_usd
        tokens, more_tokens = self.tokens, other.tokens
        return Spent(
            None if cost is None or more_cost is None else cost + more_cost,
            None if tokens is None or more_tokens is None else tokens + more_tokens,
            self.latency_ms + other.latency_ms,
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """Generated text with its verification; `number` counts from 1.

    `cut_off` is true if the model stopped at its limit on tokens: the text may lack its end.
    """

    number: int
    text: str = field(repr=False)
    generation: Spent = Spent(None, None)
    verification: Spent = Spent()
    report: Report | None = None
    skipped: UnverifiedReason | None = None
    failure: ProcessingFailure | None = None
    cut_off: bool = False

    @property
    def verified(self) -> bool:
        """True if verification reached a result, grounded or flagged; undetermined is none."""
        return self.report is not None and self.report.summary.outcome in {
            Outcome.GROUNDED,
            Outcome.FLAGGED,
        }

    @property
    def flagged(self) -> tuple[Verdict, ...]:
        """Checked claims that are not supported."""
        return self.report.flagged if self.verified and self.report else ()

    @property
    def critical(self) -> tuple[Verdict, ...]:
        """Claims that require action, including supported ones with a wide gap."""
        return self.report.critical if self.verified and self.report else ()

    @property
    def left_out(self) -> Mapping[str, int] | None:
        """Number of assertions that the mode or the limit left unverified, by reason.

        None if there is no report: then nothing was verified, and `skipped` or `failure` is the
        reason.
        """
        if self.report is None:
            return None
        skips = (verdict.claim.skipped for verdict in self.report.claims if not verdict.checked)
        return dict(Counter(skip.value for skip in skips if skip is not None))


@dataclass(frozen=True, slots=True)
class ProcessedAnswer:
    """Result of `process`; `text` is the answer for the user.

    `original` is the best attempt as it was generated, `report` its verification. `guidance` are
    the corrections to make in it, for the model (None if nothing fails by the policy's `fail_on`).
    `generation` and `verification` are sums over all attempts, `latency_ms` is the time from
    question to answer. `lost` is the cost of a retry that gave no text, and so is no attempt.
    """

    text: str = field(repr=False)
    attempts: tuple[Attempt, ...]
    best: Attempt
    action: Action
    latency_ms: float
    guidance: str | None = field(default=None, repr=False)
    failure: ProcessingFailure | None = None
    lost: Spent = Spent()

    @property
    def original(self) -> str:
        """Best attempt, without marks."""
        return self.best.text

    @property
    def report(self) -> Report | None:
        """Report on `original`; None if it was not verified."""
        return self.best.report

    @property
    def skipped(self) -> UnverifiedReason | None:
        """Reason why `original` was not verified although nothing failed."""
        return self.best.skipped

    @property
    def left_out(self) -> Mapping[str, int] | None:
        """Number of assertions of `original` left out, by reason; see `Attempt.left_out`."""
        return self.best.left_out

    @property
    def cut_off(self) -> bool:
        """True if `original` was cut off at the model's limit on tokens."""
        return self.best.cut_off

    @property
    def generation(self) -> Spent:
        """Cost of generation, all attempts together, and a retry that gave no text."""
        return sum((attempt.generation for attempt in self.attempts), self.lost)

    @property
    def verification(self) -> Spent:
        """Cost of verification, all attempts together."""
        return sum((attempt.verification for attempt in self.attempts), Spent())

    @property
    def cost_usd(self) -> float | None:
        """Total cost in USD; None if a part of it is unknown."""
        return (self.generation + self.verification).cost_usd


def best_of(attempts: Sequence[Attempt]) -> Attempt:
    """Return the best attempt: verified, fewest critical claims, highest share supported, earliest.

    A claim that could not be determined counts as a critical one: unknown is not a pass.
    """
    return min(attempts, key=_rank)


def _rank(attempt: Attempt) -> tuple[bool, int, float, int]:
    report = attempt.report
    if report is None or not attempt.verified:
        return (True, 0, 0.0, attempt.number)
    counts = report.summary.by_status
    unknown = counts.get(Status.UNDETERMINED, 0)
    share = counts.get(Status.SUPPORTED, 0) / report.summary.claims_checked
    return (False, len(attempt.critical) + unknown, -share, attempt.number)
