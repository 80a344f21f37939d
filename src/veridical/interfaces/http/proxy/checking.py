"""Verification of the upstream's texts by the orchestrator, with its actions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Outcome
from veridical.core.measurements import Generated
from veridical.core.types import ClaimKind
from veridical.core.verdicts import Status
from veridical.interfaces.http.limits import Kind, OverloadedError, RequestQueue
from veridical.interfaces.http.proxy.json_answers import as_paragraphs
from veridical.orchestrator import (
    FailureKind,
    Orchestrator,
    ProcessingFailure,
    UnverifiedReason,
    VerificationConfig,
    annotate,
)
from veridical.orchestrator.annotation import RULE
from veridical.orchestrator.phrases import phrases_for
from veridical.telemetry import Shed, Telemetry, Waited

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
"""A longer answer gets no verdict."""

TOO_LONG = "too_long"
UNREADABLE = "unreadable_reply"
UNREADABLE_REQUEST = "unreadable_request"
BROKE_OFF = "upstream_broke_off"
FAILED = "upstream_failed"
INTERNAL = "internal_error"

CHOSEN = frozenset(
    {
        UnverifiedReason.DISABLED.value,
        UnverifiedReason.NOT_WANTED.value,
        UnverifiedReason.TOO_SHORT.value,
    }
)
"""Reasons that a user or an operator chose: `on_unverified` does not apply to them."""

_OVERLOADED = ProcessingFailure(FailureKind.VERIFIER_ERROR, OverloadedError.__name__)
"""The service turned the check away: no failure of the verifier."""

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
    `cut_off` is true if the text ended at the model's limit on tokens. `waited_s` is how long its
    check waited for a slot.
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
    waited_s: float = 0.0

    @property
    def unverified(self) -> bool:
        """True if it has no verdict, or one on a part of its claims, and nobody chose that."""
        missing = self.outcome is Outcome.UNDETERMINED and self.reason not in CHOSEN
        return missing or self.partly_measured

    @property
    def partly_measured(self) -> bool:
        """True if some of the checked claims could not be measured."""
        claims = () if self.report is None else self.report.claims
        return any(one.checked and one.status is Status.UNDETERMINED for one in claims)

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
        phrases = phrases_for(self.text)
        if self.report is None or not self.blocked:
            return phrases.withheld_unverified
        checked = self.report.summary.claims_checked
        return phrases.withheld.format(count=len(self.to_mark), checked=checked)

    @property
    def remark(self) -> str:
        """Remark behind a text that was not verified."""
        return f"{RULE}{phrases_for(self.text).unverified}"


def undetermined(text: str, reason: str, waited_s: float = 0.0) -> VerifiedChoice:
    """Return a choice without a verdict, with the reason."""
    return VerifiedChoice(text, Outcome.UNDETERMINED, reason=reason, waited_s=waited_s)


class ChoiceVerifier:
    """Verifier of texts, so many at once; a failure is a reason, never an exception.

    Other texts wait for a slot, up to the deadline of the proxy. A check has that time once more:
    with the rest of it, those that waited longest would take slots and not come to an end.
    """

    def __init__(
        self,
        verifier: Checks,
        policy: Policy,
        settings: ProxySettings,
        verification: VerificationConfig,
        telemetry: Telemetry,
    ) -> None:
        self._verifier = verifier
        self._telemetry = telemetry
        self._policy = policy
        self._settings = settings
        self._verification = verification
        # Answers on their way to a user wait whatever the length of the queue.
        self._slots = RequestQueue(settings.max_concurrent_checks, waiting=0)

    async def judge(
        self,
        said: UpstreamText,
        asked: ProxyRequest,
        again: Callable[[str, str], Awaitable[UpstreamText]] | None = None,
    ) -> VerifiedChoice:
        """Return the verdict on a text; `again` writes another one, from a text and guidance."""
        text, started = said.text, perf_counter()
        if len(text) > MOST_CHARACTERS:
            return undetermined(text, TOO_LONG)
        try:
            async with self._slots.slot(Kind.OUTPUT, wait_s=self._settings.deadline_s):
                waited_s = self._waited(started)
                answer = await self._answer(said, asked, again)
        except OverloadedError:
            self._telemetry.take(Shed("output", "overload"))
            return undetermined(text, UnverifiedReason.LOAD.value, self._waited(started))
        except Exception as error:  # noqa: BLE001 -- a bug of ours must not cost the answer
            return undetermined(text, f"{INTERNAL}: {type(error).__name__}")
        return replace(_judged(answer, asked), waited_s=waited_s)

    def _waited(self, started: float) -> float:
        """Return the seconds of a wait for a slot, and report them."""
        waited_s = perf_counter() - started
        self._telemetry.take(Waited("proxy", waited_s))
        return waited_s

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
    if found.reason is None and found.partly_measured:
        return replace(found, reason=FailureKind.UNDETERMINED.value)
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
