"""Checkpoint behind each answer: whether it is verified, and with which result."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from veridical.core.assessment import Assessment, Outcome
from veridical.core.measurements import Unmeasured, UnmeasuredReason
from veridical.core.verdicts import Note, Status
from veridical.orchestrator.calls import call, is_async
from veridical.orchestrator.results import (
    Attempt,
    FailureKind,
    ProcessingFailure,
    Spent,
    UnverifiedReason,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from veridical import Report
    from veridical.core.policy import Policy
    from veridical.orchestrator.calls import Allowance
    from veridical.orchestrator.config import VerificationConfig

MIN_CHARACTERS = 100
"""SPEC-16: a shorter answer is probably a simple one."""


class Checks(Protocol):
    """Part of a verifier that the checkpoint uses; `Verifier` and `SyncVerifier` have it."""

    @property
    def check(self) -> Callable[..., Any]:
        """Method that returns the report on an answer; see `Verifier.check`."""
        ...


@dataclass(frozen=True, slots=True)
class CheckpointInput:
    """Input for the verification of an answer; blank sources are left out.

    `wanted` is the caller's choice: True verifies also an answer too short to be verified by
    default, False verifies none.
    """

    sources: Mapping[str, str] = field(repr=False)
    question: str | None = field(repr=False)
    allowance: Allowance
    wanted: bool | None = None


class Checkpoint:
    """Verification of attempts; a failure is kept as a reason, and nothing is raised."""

    def __init__(
        self,
        verifier: Checks | None,
        config: VerificationConfig,
        policy: Policy,
        *,
        max_concurrent_checks: int,
    ) -> None:
        self._verifier = verifier
        self._config = config
        self._policy = config.to_policy(policy)
        self._limit = max_concurrent_checks
        self._running: Counter[object] = Counter()
        self._lock = Lock()

    async def examine(self, attempt: Attempt, case: CheckpointInput) -> Attempt:
        """Return the attempt with its report, or with the reason for its absence.

        Where critical claims are acted upon, a sample that finds one is followed by a full check:
        all of them are needed, and later attempts are compared with this one.
        """
        again = attempt.number > 1  # an attempt to do better is compared in full, however short
        skipped = self._skipped(attempt.text, case, again=again)
        if skipped is not None:
            return replace(attempt, skipped=skipped)
        sampled = self._policy.mode == "sample"
        full = replace(self._policy, mode="full") if sampled else self._policy
        found = await self._check(attempt, case, full if again else self._policy)
        if sampled and not again and found.critical and self._config.on_failure != "flag":
            whole = await self._check(attempt, case, full)
            spent = found.verification + whole.verification
            found = replace(whole if whole.verified else found, verification=spent)
        return found

    def _skipped(self, text: str, case: CheckpointInput, *, again: bool) -> UnverifiedReason | None:
        first = not again
        reasons = {
            UnverifiedReason.NO_ANSWER: not text.strip(),
            UnverifiedReason.NOT_WANTED: first and case.wanted is False,
            UnverifiedReason.DISABLED: first and not self._config.enabled,
            UnverifiedReason.TOO_SHORT: first and self._is_short(text) and not case.wanted,
            UnverifiedReason.NO_EVIDENCE: first and not case.sources,
            UnverifiedReason.LOAD: first and len(self._running) >= self._limit,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _is_short(self, text: str) -> bool:
        return self._config.skip_short and len(text) < MIN_CHARACTERS

    async def _check(self, attempt: Attempt, case: CheckpointInput, policy: Policy) -> Attempt:
        started, check = perf_counter(), object()
        try:
            with self._counted(check):
                report = await case.allowance.spend(self._report(check, attempt.text, case, policy))
        except TimeoutError:
            return _failed(attempt, FailureKind.TIMEOUT, "", started)
        except Exception as error:  # noqa: BLE001 -- a failing verifier must not cost the answer
            # Only the name: the message may quote the answer.
            return _failed(attempt, FailureKind.VERIFIER_ERROR, type(error).__name__, started)
        return _examined(attempt, report, started)

    @contextmanager
    def _counted(self, check: object) -> Iterator[None]:
        """Count a check as running until the last of its parts ends: wait, task and thread.

        Past the deadline nobody waits for the other two any more, but they may still go on.
        """
        with self._lock:
            self._running[check] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[check] -= 1
                if not self._running[check]:
                    del self._running[check]

    async def _report(
        self, check: object, text: str, case: CheckpointInput, policy: Policy
    ) -> Report:
        if self._verifier is None:
            msg = "there is no verifier"
            raise TypeError(msg)
        function = self._verifier.check
        with self._counted(check):
            found: Report | None = await call(
                function if is_async(function) else self._counted(check)(function),
                text,
                case.sources,
                case.question,
                policy=policy,
            )
        if not isinstance(found, Assessment):
            msg = "what the verifier returned is no report"
            raise TypeError(msg)
        return found


def _failed(attempt: Attempt, kind: FailureKind, detail: str, started: float) -> Attempt:
    spent = Spent(None, None, (perf_counter() - started) * 1000)
    return replace(attempt, failure=ProcessingFailure(kind, detail), verification=spent)


def _examined(attempt: Attempt, report: Report, started: float) -> Attempt:
    summary = report.summary
    spent = Spent(summary.cost_usd, summary.tokens, (perf_counter() - started) * 1000)
    report = _noted(report) if attempt.cut_off else report
    found = replace(attempt, report=report, verification=spent)
    if summary.outcome is Outcome.UNDETERMINED:
        return replace(found, failure=ProcessingFailure(FailureKind.UNDETERMINED, _reason(report)))
    if summary.outcome is Outcome.NOTHING_TO_CHECK:
        return replace(found, skipped=UnverifiedReason.NOTHING_TO_CHECK)
    return found


def _noted(report: Report) -> Report:
    """Return the report with a note on its last claim: the answer is cut off there."""
    if not report.claims:
        return report
    *others, last = report.claims
    noted = replace(last, notes=(*last.notes, Note.ANSWER_CUT_OFF))
    return replace(report, claims=(*others, noted))


def _reason(report: Report) -> str:
    """Return the commonest reason for unmeasured claims; without any, that most are hedged."""
    reasons = Counter(
        verdict.p1.reason.value
        for verdict in report.claims
        if verdict.status is Status.UNDETERMINED and isinstance(verdict.p1, Unmeasured)
    )
    if len(reasons) > 1:  # claims that the mode or the limit left out are no failure
        del reasons[UnmeasuredReason.DISABLED.value]
    return reasons.most_common(1)[0][0] if reasons else "mostly_hedged"
