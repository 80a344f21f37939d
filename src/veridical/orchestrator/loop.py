"""Orchestrator: generation, verification, and action on unsupported claims."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Self, TypeAlias
from uuid import uuid4

from veridical.core.guidance import guidance
from veridical.core.measurements import UNKNOWN, Unmeasured, taken
from veridical.core.policy import Policy
from veridical.errors import BackendError, ConfigurationError
from veridical.orchestrator.annotation import annotate
from veridical.orchestrator.calls import Allowance, apart, call
from veridical.orchestrator.checkpoint import Checkpoint, CheckpointInput, Checks
from veridical.orchestrator.config import VerificationConfig
from veridical.orchestrator.generation import Draft, Generate, as_generate, draft, no_answer
from veridical.orchestrator.results import (
    Action,
    Attempt,
    FailureChoice,
    FailureKind,
    ProcessedAnswer,
    ProcessingFailure,
    Replacement,
    Spent,
    best_of,
)
from veridical.orchestrator.trajectory import Event, Recorder, Trajectory

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping

    from veridical import Report
    from veridical.core.ports import TextModel
    from veridical.orchestrator.config import OnFailure
    from veridical.settings import Settings

Reply: TypeAlias = FailureChoice | Replacement
Ask: TypeAlias = "Callable[[Report], Reply | Awaitable[Reply]]"
"""Callback that chooses the action on critical claims; a plain function may block."""

_KEEP = "keep"
_PASS = "pass"  # noqa: S105 -- a decision, no password
_REPLACE = "replace"

DEADLINE_S = 30.0
"""Default of the seconds that verification may add to an answer."""


class Orchestrator:
    """Question answering by `generate`, with verification of each answer.

    `generate` is a `TextModel`, or a function of a prompt and a `context` (texts by source id),
    async or not. `verifier` is a `Verifier` or a `SyncVerifier` that is open (which keeps a backend
    that blocks away from the event loop). Omitted arguments are taken from `settings`, in the
    blocks
    `verification`, `hallucination` and `policy` (default: from file and environment). A
    `config` overrides the settings and the policy of a `verifier`; a verifier's own policy
    overrides
    the settings.

    On critical claims, `on_failure` is: `flag`, mark them in the text; `retry`, generate again
    with guidance, at most `max_retries` times, keep the best attempt and mark the remaining ones;
    `ask`, let the callback `ask` decide. Both override those of `config`. Flagged claims that are
    not critical, or do not fail by the policy's `fail_on`, are marked only.

    `trajectory` is a file that events are appended to, a function that is called with each, or a
    `Trajectory`. Verification, retries included, adds at most `deadline_s` seconds to an answer
    (the time of `ask` excluded), and is skipped while `max_concurrent_checks` are running. It
    never raises: failures are recorded in the answer. One orchestrator may answer many questions
    at once.

    orchestrator = Orchestrator(generate, Verifier.from_settings(), on_failure="retry")
    answer = await orchestrator.process("When did it open?", {"S1": "It opened in 1998."})
    print(answer.text)

    `ConfigurationError` if an argument is out of range.
    """

    def __init__(  # noqa: PLR0913 -- the surface of the whole package, all but two have defaults
        self,
        generate: Generate | TextModel,
        verifier: Checks | None = None,
        *,
        on_failure: OnFailure | None = None,
        max_retries: int | None = None,
        ask: Ask | None = None,
        config: VerificationConfig | None = None,
        trajectory: str | os.PathLike[str] | Callable[[Event], object] | Trajectory | None = None,
        deadline_s: float | None = None,
        max_concurrent_checks: int = 8,
        settings: Settings | None = None,
    ) -> None:
        said = _Said(settings)
        given = {"on_failure": on_failure, "max_retries": max_retries}
        own = {name: value for name, value in given.items() if value is not None}
        policy = _own_policy(verifier)
        base = VerificationConfig.of(said.settings, policy) if config is None else config
        self.config = replace(base, **own)  # type: ignore[arg-type]
        if deadline_s is None:
            deadline_s = said.settings.hallucination.timeout or DEADLINE_S
        _ensure(ask, self.config, deadline_s, max_concurrent_checks)
        if verifier is None and self.config.enabled:
            verifier = _verifier(self.config, said.settings)
        if policy is None and config is None:
            policy = said.settings.to_policy()
        policy = policy or getattr(verifier, "policy", None) or Policy()
        self._setup = _Setup(
            as_generate(generate),
            Checkpoint(verifier, self.config, policy, max_concurrent_checks=max_concurrent_checks),
            self.config,
            ask,
            _trajectory(trajectory),
            deadline_s,
        )

    @classmethod
    def from_settings(
        cls,
        generate: Generate | TextModel,
        settings: Settings | None = None,
        *,
        verifier: Checks | None = None,
        ask: Ask | None = None,
        trajectory: str | os.PathLike[str] | Callable[[Event], object] | Trajectory | None = None,
    ) -> Self:
        """Return the orchestrator that the settings describe: another form of `settings=`."""
        return cls(generate, verifier, ask=ask, trajectory=trajectory, settings=settings)

    async def process(
        self, query: str, context: Mapping[str, str] | None = None, *, verify: bool | None = None
    ) -> ProcessedAnswer:
        """Return the answer to a question, verified against the texts of `context`.

        `verify=False` returns it as it is generated, `verify=True` verifies one that `skip_short`
        would leave out. Raises the exceptions of the first call of `generate`, and nothing else.
        """
        return await _Run(self._setup, query, dict(context or {}), verify=verify).answer()


@dataclass(frozen=True, slots=True)
class _Setup:
    """Common configuration of all runs of an orchestrator."""

    generate: Generate
    checkpoint: Checkpoint
    config: VerificationConfig
    ask: Ask | None
    trajectory: Trajectory | None
    deadline_s: float


@dataclass(frozen=True, slots=True)
class _Decision:
    """Next action; `final` if it is about the latest attempt, whichever is the best."""

    name: str
    final: bool = False
    text: str | None = field(default=None, repr=False)
    failure: ProcessingFailure | None = None


class _Run:
    """Processing of one question."""

    def __init__(
        self, setup: _Setup, query: str, context: Mapping[str, str], *, verify: bool | None
    ) -> None:
        self._setup = setup
        self._config = setup.config
        self._query = query
        self._context = context
        self._started = perf_counter()
        self._allowance = Allowance(setup.deadline_s)
        self._lost = Spent()
        self._record = Recorder(setup.trajectory, uuid4().hex[:12])
        self._case = CheckpointInput(
            {key: text for key, text in context.items() if not _blank(text)},
            None if _blank(query) else query,
            self._allowance,
            verify,
        )

    async def answer(self) -> ProcessedAnswer:
        self._record.started(self._query, self._context, self._config)
        try:
            found = await self._first()
        except Exception as error:
            failure = ProcessingFailure(FailureKind.GENERATE_ERROR, type(error).__name__)
            self._record.not_attempted(1, failure, Spent(None, None, self._elapsed_ms))
            self._record.broke_off(failure, self._elapsed_ms)
            raise
        self._record.attempted(1, self._query, found)
        first = Attempt(1, found.text, found.spent, cut_off=found.cut_off)
        try:
            answer = await self._verified(first)
        except Exception as error:  # noqa: BLE001 -- a bug of ours must not cost the answer
            answer = self._untouched(first, type(error).__name__)
        self._record.finished(answer)
        return answer

    async def _verified(self, first: Attempt) -> ProcessedAnswer:
        attempts = [await self._examine(first)]
        while True:
            decision = await self._decide(attempts)
            self._record.decided(attempts[-1].number, decision.name)
            if decision.name != FailureChoice.RETRY:
                return self._settled(attempts, decision)
            again = await self._again(attempts)
            if isinstance(again, ProcessingFailure):
                decision = _Decision(FailureChoice.FLAG, failure=again)
                self._record.decided(attempts[-1].number, decision.name)
                return self._settled(attempts, decision)
            attempts.append(again)

    async def _first(self) -> Draft:
        found = await self._draft(self._query)
        if isinstance(found, Unmeasured):
            raise no_answer(found)
        return found

    async def _draft(self, prompt: str) -> Draft | Unmeasured:
        return await draft(self._setup.generate, prompt, self._context)

    async def _examine(self, attempt: Attempt) -> Attempt:
        examined = await self._setup.checkpoint.examine(attempt, self._case)
        self._record.verified(examined)
        return examined

    async def _decide(self, attempts: list[Attempt]) -> _Decision:
        latest = attempts[-1]
        if not latest.verified:
            return _Decision(_KEEP)
        if not (latest.flagged or latest.critical):
            return _Decision(_PASS)
        if not latest.critical or self._config.on_failure == "flag":
            return _Decision(FailureChoice.FLAG)
        left = self._config.max_retries - latest.number + 1
        repeats = latest.text in [earlier.text for earlier in attempts[:-1]]
        if self._config.on_failure == "retry":
            # A generator that repeats itself will do so again: it would read the same guidance.
            return _Decision(
                FailureChoice.RETRY if left > 0 and not repeats else FailureChoice.FLAG
            )
        return await self._asked(latest, left)

    async def _asked(self, latest: Attempt, left: int) -> _Decision:
        ask, report = self._setup.ask, latest.report
        if ask is None or report is None:
            return _Decision(FailureChoice.FLAG)
        try:
            reply = await apart(call(ask, report))
        except Exception as error:  # noqa: BLE001 -- a failing callback must not cost the answer
            failure = ProcessingFailure(FailureKind.ASK_ERROR, type(error).__name__)
            return _Decision(FailureChoice.FLAG, failure=failure)
        if isinstance(reply, Replacement) and isinstance(reply.text, str):
            return _Decision(_REPLACE, final=True, text=reply.text)
        if isinstance(reply, str) and reply == FailureChoice.RETRY:
            return _Decision(FailureChoice.RETRY if left > 0 else FailureChoice.FLAG)
        if isinstance(reply, str) and reply in {FailureChoice.ACCEPT, FailureChoice.FLAG}:
            return _Decision(str(reply), final=True)
        failure = ProcessingFailure(
            FailureKind.ASK_ERROR, f"an unknown reply ({type(reply).__name__})"
        )
        return _Decision(FailureChoice.FLAG, failure=failure)

    async def _again(self, attempts: list[Attempt]) -> Attempt | ProcessingFailure:
        """Return another attempt, with guidance on the faults of the latest one."""
        latest, number = attempts[-1], len(attempts) + 1
        found = guidance(latest.report.to_correct) if latest.report else None
        prompt = f"{self._query}\n\n{found}" if found else self._query
        started, took = perf_counter(), UNKNOWN
        try:
            written = await self._allowance.spend(self._draft(prompt))
        except TimeoutError:
            failure = ProcessingFailure(FailureKind.TIMEOUT, "generate")
        except Exception as error:  # noqa: BLE001 -- there is an answer already
            failure = ProcessingFailure(FailureKind.GENERATE_ERROR, type(error).__name__)
        else:
            if isinstance(written, Draft):
                self._record.attempted(number, prompt, written)
                attempt = Attempt(number, written.text, written.spent, cut_off=written.cut_off)
                return await self._compared(attempt, attempts)
            failure = ProcessingFailure(FailureKind.GENERATE_ERROR, BackendError.__name__)
            took = taken(written)
        self._lost = Spent(took.cost_usd, took.tokens, (perf_counter() - started) * 1000)
        self._record.not_attempted(number, failure, self._lost)
        return failure

    async def _compared(self, attempt: Attempt, before: list[Attempt]) -> Attempt:
        """Return the attempt with its report, reused if the same text was verified before."""
        alike = (old for old in before if old.verified and old.cut_off is attempt.cut_off)
        known = next((old for old in alike if old.text == attempt.text), None)
        if known is None:
            return await self._examine(attempt)
        found = replace(known, number=attempt.number, generation=attempt.generation)
        found = replace(found, verification=Spent())
        self._record.verified(found)
        return found

    # --- the end -----------------------------------------------------------------------------

    def _settled(self, attempts: list[Attempt], decision: _Decision) -> ProcessedAnswer:
        best = attempts[-1] if decision.final else best_of(attempts)
        text, action = _outcome(best, decision)
        return ProcessedAnswer(
            text,
            tuple(attempts),
            best,
            action,
            self._elapsed_ms,
            guidance(best.report.to_correct) if best.verified and best.report else None,
            decision.failure or best.failure or attempts[-1].failure,
            self._lost,
        )

    def _untouched(self, first: Attempt, detail: str) -> ProcessedAnswer:
        failure = ProcessingFailure(FailureKind.INTERNAL_ERROR, detail)
        failed = replace(first, failure=failure)
        return ProcessedAnswer(
            first.text, (failed,), failed, Action.NOT_VERIFIED, self._elapsed_ms, failure=failure
        )

    @property
    def _elapsed_ms(self) -> float:
        return (perf_counter() - self._started) * 1000


def _outcome(best: Attempt, decision: _Decision) -> tuple[str, Action]:
    if decision.text is not None:
        return decision.text, Action.REPLACED
    if not best.verified or best.report is None:
        return best.text, Action.NOT_VERIFIED
    if not (best.flagged or best.critical):
        return best.text, Action.PASSED
    if decision.name == FailureChoice.ACCEPT:
        return best.text, Action.ACCEPTED
    return annotate(best.report), Action.FLAGGED


def _blank(text: object) -> bool:
    return isinstance(text, str) and not text.strip()


@dataclass(slots=True)
class _Said:
    """Settings, read when they are first needed."""

    given: Settings | None

    @property
    def settings(self) -> Settings:
        if self.given is None:
            from veridical.settings import Settings

            self.given = Settings.load()
        return self.given


def _own_policy(verifier: Checks | None) -> Policy | None:
    """Return the policy that a verifier was given; None if it has none, or the default one."""
    policy: Policy | None = getattr(verifier, "policy", None)
    return None if policy == Policy() else policy


def _verifier(config: VerificationConfig, settings: Settings) -> Checks:
    """Return the verifier of the settings, with the backend that the configuration names."""
    from veridical.verification.verifier import Verifier

    named = config.verification_model or settings.aliases.output
    block = settings.aliases.model_copy(update={"output": named})
    found = settings.model_copy(update={"aliases": block})
    return Verifier.from_settings(found, operation="output")


def _trajectory(
    given: str | os.PathLike[str] | Callable[[Event], object] | Trajectory | None,
) -> Trajectory | None:
    return given if given is None or isinstance(given, Trajectory) else Trajectory(given)


def _ensure(
    ask: object, config: VerificationConfig, deadline_s: float, max_concurrent_checks: int
) -> None:
    if config.on_failure == "ask" and ask is None:
        msg = "on_failure is ask, but there is no callback to ask"
        raise ConfigurationError(msg, hint="Pass ask=, a function that takes a report")
    if not deadline_s > 0:
        msg = "deadline_s must be a number of seconds above 0"
        raise ConfigurationError(msg, hint="30 is the default")
    if max_concurrent_checks < 1:
        msg = "max_concurrent_checks must be a whole number from 1"
        raise ConfigurationError(msg, hint="8 is the default")
