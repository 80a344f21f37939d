"""Tools, with one verifier for all calls, and a memory when it is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread

from veridical.audit import auditing
from veridical.core.projects import project_in_force
from veridical.core.types import Source
from veridical.interfaces.http.schemas import plain_sources
from veridical.interfaces.http.usage import usage_sink
from veridical.interfaces.mcp import answers, arguments
from veridical.interfaces.mcp.progress import Progress
from veridical.quotes.grounding import ground_quotes
from veridical.telemetry import (
    LogSink,
    Telemetry,
    audited,
    checked,
    fact_decided,
    failure,
    quoted,
    verified,
)
from veridical.verification.worker_threads import in_worker_thread
from veridical.wiring.build import build_verifier
from veridical.wiring.runtime import Runtime, load_gate_model

if TYPE_CHECKING:
    from veridical.core.ports import Backend
    from veridical.memory import Memory
    from veridical.settings import Settings
    from veridical.telemetry import Sink

Call: TypeAlias = Callable[[Any, Progress], Awaitable[answers.Output]]
CHECK, MEMORY = "check", "memory"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its description for an agent, and its function.

    `scope` is the permission a key needs for it. `writes` is true if it changes something.
    """

    name: str
    title: str
    description: str
    arguments: type[arguments.Arguments]
    output: type[answers.Output]
    call: Call
    scope: str = CHECK
    writes: bool = False


class Toolbox:
    """Implementation of the tools; close it at the end. Errors are those of the library."""

    def __init__(
        self, settings: Settings, *, backend: Backend | None = None, sinks: Sequence[Sink] = ()
    ) -> None:
        self._limits = settings.server.limits
        # Over HTTP the calls of a key count as its requests to the service do.
        self.usage = usage_sink(settings.server, lambda: self._parts.store, self._failed)
        self._telemetry = Telemetry([LogSink(), self.usage, *sinks])
        self._hash_key = settings.telemetry.key_of_hashes
        self._parts = Runtime(backend, settings=settings)
        self._parts.take_over(backend)
        # Made now, so that a wrong name is said now.
        self._verifier = build_verifier(settings, backend=self._parts.backend, limits=self._limits)
        self._making = anyio.Lock()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools."""
        return (
            Tool(
                "check", "Check an answer", _CHECK, arguments.Check, answers.CheckAnswer, self.check
            ),
            Tool(
                "verify_claim",
                "Verify one claim",
                _VERIFY,
                arguments.VerifyClaim,
                answers.ClaimAnswer,
                self.verify_claim,
            ),
            Tool(
                "ground_quotes",
                "Look quotes up in a text",
                _QUOTES,
                arguments.GroundQuotes,
                answers.QuotesAnswer,
                self.ground_quotes,
            ),
            Tool(
                "audit_trace",
                "Audit a chain of reasoning",
                _AUDIT,
                arguments.AuditTrace,
                answers.Audited,
                self.audit_trace,
            ),
            Tool(
                "remember",
                "Remember a fact",
                _REMEMBER,
                arguments.Remember,
                answers.Remembering,
                self.remember,
                MEMORY,
                writes=True,
            ),
            Tool(
                "recall",
                "Recall facts",
                _RECALL,
                arguments.Recall,
                answers.Recalled,
                self.recall,
                MEMORY,
            ),
        )

    def close(self) -> None:
        """Write what was used, and close everything that is open."""
        self.usage.write()
        self._parts.close()

    def _failed(self, where: str, error: BaseException) -> None:
        self._telemetry.take(failure(where, error))

    # --- the tools ---------------------------------------------------------------------------

    async def check(
        self, given: arguments.Check, progress: Progress | None = None
    ) -> answers.CheckAnswer:
        """Check an answer."""
        policy = self._verifier.policy
        if given.fail_on is not None:
            policy = replace(policy, fail_on=given.fail_on)
        report = await self._verifier.check(
            given.answer,
            plain_sources(given.sources),
            given.question,
            policy=policy,
            progress=progress,
            watcher=self._telemetry,
        )
        self._telemetry.take(checked(report, hash_key=self._hash_key))
        return answers.checked(report)

    async def verify_claim(
        self, given: arguments.VerifyClaim, _progress: Progress
    ) -> answers.ClaimAnswer:
        """Verify a claim."""
        started = perf_counter()
        policy = replace(self._verifier.policy, target_confidence=given.confidence)
        verdict = await self._verifier.verify(
            given.claim,
            plain_sources(given.sources),
            given.question,
            cites=given.cites,
            policy=policy,
        )
        seconds = perf_counter() - started
        info = self._parts.backend.info
        self._telemetry.take(verified(verdict, info, seconds, hash_key=self._hash_key))
        return answers.claim(verdict)

    async def ground_quotes(
        self, given: arguments.GroundQuotes, _progress: Progress
    ) -> answers.QuotesAnswer:
        """Look quotes up."""
        self._limits.ensure_sources([Source("source", given.transcript)], "the transcript has")
        started = perf_counter()
        by_key = given.quotes if isinstance(given.quotes, dict) else {None: given.quotes}
        keys = [key for key, quotes in by_key.items() for _ in quotes]
        look = partial(
            ground_quotes,
            [*chain.from_iterable(by_key.values())],
            given.transcript,
            strict=given.strict,
            speaker=tuple(given.speaker) or None,
        )
        matches = await in_worker_thread(look)
        self._telemetry.take(quoted(matches, perf_counter() - started))
        return answers.grounded(matches, keys)

    async def audit_trace(
        self, given: arguments.AuditTrace, progress: Progress | None = None
    ) -> answers.Audited:
        """Audit a trace."""
        started = perf_counter()
        steps = [
            step if isinstance(step, str) else step.model_dump(exclude_none=True)
            for step in given.steps
        ]
        trace = replace(auditing.parse_trace(steps), question=given.question, answer=given.answer)
        parts = self._parts
        wanted = parts.settings.hallucination.trace_auditing.check_post_hoc
        audit = await auditing.audit(
            trace,
            self._verifier,
            sources=plain_sources(given.sources),
            executor=auditing.AnswerDeriver(parts.backend, parts.model) if wanted else None,
            progress=progress,
        )
        self._telemetry.take(audited(audit, perf_counter() - started))
        return answers.audited(audit)

    async def remember(self, given: arguments.Remember, _progress: Progress) -> answers.Remembering:
        """Remember a fact; it is verified first, whatever else stores facts unverified."""
        started = perf_counter()
        memory = await self._opened()
        done = await memory.aremember(
            given.text,
            plain_sources(given.sources),
            entities=given.entities,
            confidence=given.confidence,
            tier=given.tier,
        )
        self._telemetry.take(fact_decided(done, perf_counter() - started))
        return answers.remembering(done)

    async def recall(self, given: arguments.Recall, _progress: Progress) -> answers.Recalled:
        """Recall facts."""
        memory = await self._opened()
        # One more than is shown: are there more?
        find = partial(
            memory.facts, text=given.text, entities=given.entities, limit=given.limit + 1
        )
        return answers.recalled(await anyio.to_thread.run_sync(find), given.limit)

    async def _opened(self) -> Memory:
        async with self._making:
            if not self._parts.made("gated_memory"):
                await anyio.to_thread.run_sync(self._open)
        project = project_in_force() or self._parts.settings.store.project
        return self._parts.gated_memory.of(project)

    def _open(self) -> None:
        load_gate_model(self._parts.gated_memory)


def _described(text: str, of: type[arguments.Arguments]) -> str:
    import json

    example = json.dumps(arguments.example_of(of))
    bound = f"Long texts in the result are cut at {answers.MOST_CHARACTERS} characters."
    return f"{text}\n\nExample arguments: {example}\n\n{bound}"


_CHECK = _described(
    "Check a text against sources, claim by claim, before you give it to somebody. Use it on an"
    " answer that you wrote from documents. Flagged claims come first, each with what the sources"
    " say and what to do: correct those that are sure, and check again; of those that are unsure,"
    " read the evidence yourself first. An outcome of undetermined or"
    " nothing_to_check is not a pass."
    f" At most {answers.MOST_CLAIMS} claims are shown; claims_not_shown counts the others.",
    arguments.Check,
)
_VERIFY = _described(
    "Verify one claim, taken as it stands, against sources. Use it for a single statement; use"
    " check for a whole text.",
    arguments.VerifyClaim,
)
_QUOTES = _described(
    "Look up whether quotes stand in a text word for word, and where. No model is asked. A quote"
    " that is there may have caveats, such as negated_context: read around it then."
    f" At most {arguments.MOST_QUOTES} quotes.",
    arguments.GroundQuotes,
)
_AUDIT = _described(
    "Audit a chain of reasoning: which steps follow from the sources and from earlier steps that"
    " hold, which step is the first that does not, and whether the answer follows."
    f" At most {arguments.MOST_STEPS} steps.",
    arguments.AuditTrace,
)
_REMEMBER = _described(
    "Remember a fact, if the sources carry it. It is verified first: what they oppose or do not"
    " state is rejected, and the reason says which.",
    arguments.Remember,
)
_RECALL = _described(
    "Recall facts that were remembered, by their words or by what they are about; without either,"
    f" the newest. At most {arguments.MOST_FACTS}.",
    arguments.Recall,
)
