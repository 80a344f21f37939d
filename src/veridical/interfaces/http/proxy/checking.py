"""Verification of the upstream's texts by the orchestrator, with its actions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Outcome
from veridical.core.measurements import Generated
from veridical.core.types import ClaimKind
from veridical.interfaces.http.limits import OverloadedError
from veridical.interfaces.http.proxy.json_answers import as_paragraphs
from veridical.orchestrator import (
    FailureKind,
    Orchestrator,
    ProcessingFailure,
    UnverifiedReason,
    VerificationConfig,
    annotate,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from veridical import Report
    from veridical.core.policy import Policy
    from veridical.core.verdicts import Verdict
    from veridical.interfaces.http.proxy.request import ProxyRequest
    from veridical.orchestrator import ProcessedAnswer
    from veridical.orchestrator.checkpoint import Checks
    from veridical.settings.service_blocks import ProxySettings

MOST_CHARACTERS = 400_000
"""A longer answer is passed on without a verdict."""

TOO_LONG = "too_long"
UNREADABLE = "unreadable_reply"
BROKE_OFF = "upstream_broke_off"
INTERNAL = "internal_error"

_OVERLOADED = ProcessingFailure(FailureKind.VERIFIER_ERROR, OverloadedError.__name__)
"""The service turned the check away: no failure, its answers go out unverified instead of late."""


UPSTREAM = "upstream"
"""Author of the texts: the model's name is the client's business."""


@dataclass(frozen=True, slots=True)
class UpstreamText:
    """Text of the upstream; `cut_off` if it ended at the model's limit on tokens."""

    text: str = field(repr=False)
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class VerifiedChoice:
    """One text of a reply, and the verdict on it.

    `number` is which attempt it is, from 1. `reason` is the reason for a missing verdict. `blocked`
    is true if it is to be withheld. `left_out` counts assertions that were not verified, by reason;
    `cut_off` is true if the text ended at the model's limit on tokens.
    """

    text: str = field(repr=False)
    outcome: Outcome
    number: int = 1
    attempts: int = 1
    report: Report | None = None
    guidance: str | None = field(default=None, repr=False)
    reason: str | None = None
    blocked: bool = False
    left_out: Mapping[str, int] | None = None
    cut_off: bool = False

    @property
    def flagged(self) -> int | None:
        """Number of flagged claims; None if there is no verdict."""
        return None if self.report is None else len(self.report.flagged)

    @property
    def to_mark(self) -> tuple[Verdict, ...]:
        """Claims that are flagged or critical."""
        return () if self.report is None else self.report.to_mark

    @property
    def marked(self) -> str:
        """Text with a mark at each claim to correct."""
        return annotate(self.report) if self.report is not None else self.text

    @property
    def legend(self) -> str:
        """Remarks on the flagged claims, to follow a text that has been sent already."""
        if self.report is None or not self.to_mark:
            return ""
        # Claims in code get no mark but are named in the legend: here all are to be named.
        named = [
            replace(verdict, claim=replace(verdict.claim, kind=ClaimKind.CODE))
            for verdict in self.report.claims
        ]
        return annotate(replace(self.report, claims=tuple(named))).removeprefix(self.report.answer)

    @property
    def notice(self) -> str:
        """Notice in place of a text that is withheld."""
        checked = self.report.summary.claims_checked if self.report is not None else 0
        return (
            f"This answer was withheld: {len(self.to_mark)} of {checked} checked claims could"
            " not be confirmed by the sources."
        )


def undetermined(text: str, reason: str) -> VerifiedChoice:
    """Return a choice without a verdict, with the reason."""
    return VerifiedChoice(text, Outcome.UNDETERMINED, reason=reason)


class ChoiceVerifier:
    """Verifier of texts, so many at once; a failure is a reason, never an exception."""

    def __init__(
        self,
        verifier: Checks,
        policy: Policy,
        settings: ProxySettings,
        verification: VerificationConfig,
        shed: Callable[[], object] = lambda: None,
    ) -> None:
        self._verifier = verifier
        self._shed = shed
        self._policy = policy
        self._settings = settings
        self._verification = verification
        self._running = 0

    async def judge(
        self,
        said: UpstreamText,
        asked: ProxyRequest,
        again: Callable[[str, str], Awaitable[UpstreamText]] | None = None,
    ) -> VerifiedChoice:
        """Return the verdict on a text; `again` writes another one, from a text and guidance."""
        text = said.text
        if len(text) > MOST_CHARACTERS:
            return undetermined(text, TOO_LONG)
        if self._running >= self._settings.max_concurrent_checks:
            self._shed()
            return undetermined(text, UnverifiedReason.LOAD.value)
        self._running += 1
        try:
            answer = await self._answer(said, asked, again)
        except Exception as error:  # noqa: BLE001 -- a bug of ours must not cost the answer
            return undetermined(text, f"{INTERNAL}: {type(error).__name__}")
        finally:
            self._running -= 1
        return _judged(answer, asked)

    async def _answer(
        self,
        first: UpstreamText,
        asked: ProxyRequest,
        again: Callable[[str, str], Awaitable[UpstreamText]] | None,
    ) -> ProcessedAnswer:
        question = asked.question or ""
        texts = [first]

        async def generate(prompt: str, /, *, context: Mapping[str, str]) -> Generated:
            del context  # the upstream has it from the messages
            if again is not None and prompt != question:
                guidance = prompt.removeprefix(question).strip()
                texts.append(await again(texts[-1].text, guidance))
            said = texts[-1]
            text = said.text if asked.prose else as_paragraphs(said.text)
            return Generated(text, UPSTREAM, cut_off=said.cut_off)

        policy = replace(self._policy, **asked.options.policy)
        orchestrator = Orchestrator(
            generate,
            _Checks(self._verifier, policy),
            config=self._config(policy, retries=again is not None),
            deadline_s=self._settings.deadline_s,
        )
        return await orchestrator.process(question, asked.sources)

    def _config(self, policy: Policy, *, retries: bool) -> VerificationConfig:
        """Return the configuration for an answer, under the policy of the request."""
        return replace(
            self._verification.under(policy),
            on_failure="retry" if retries else "flag",
            max_retries=self._settings.max_retries if retries else 0,
        )


@dataclass(frozen=True, slots=True)
class _Checks:
    """Verifier under the policy of one request."""

    verifier: Checks
    policy: Policy

    @property
    def check(self) -> Callable[..., Any]:
        return self.verifier.check


def _judged(answer: ProcessedAnswer, asked: ProxyRequest) -> VerifiedChoice:
    best = answer.best
    report = best.report
    found = VerifiedChoice(
        best.text,
        Outcome.UNDETERMINED if report is None else report.summary.outcome,
        best.number,
        len(answer.attempts),
        report,
        answer.guidance,
        _reason(answer),
        blocked=asked.options.on_failure == "block" and bool(best.critical),
        left_out=best.left_out,
        cut_off=best.cut_off,
    )
    if best.skipped is UnverifiedReason.NO_ANSWER:
        return replace(found, outcome=Outcome.NOTHING_TO_CHECK)
    return found


def _reason(answer: ProcessedAnswer) -> str | None:
    if answer.skipped is not None:
        return answer.skipped.value
    failure = answer.failure
    if failure is None:
        return None
    if failure == _OVERLOADED:
        return UnverifiedReason.LOAD.value
    return f"{failure.kind.value}: {failure.detail}" if failure.detail else failure.kind.value
