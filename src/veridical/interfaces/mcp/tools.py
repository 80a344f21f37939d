"""Tools, with one verifier for all calls, and a memory when it is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread

from veridical.audit import auditing
from veridical.core.types import Source
from veridical.interfaces.mcp import answers, arguments
from veridical.quotes.grounding import ground_quotes
from veridical.verification.worker_threads import in_worker_thread
from veridical.wiring.build import build_verifier
from veridical.wiring.runtime import Runtime, load_gate_model

if TYPE_CHECKING:
    from veridical.core.ports import Backend
    from veridical.memory import Memory
    from veridical.settings import Settings

Call: TypeAlias = Callable[[Any], Awaitable[answers.Output]]
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

    def __init__(self, settings: Settings, *, backend: Backend | None = None) -> None:
        self._limits = settings.server.limits
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
        """Close everything that is open."""
        self._parts.close()

    # --- the tools ---------------------------------------------------------------------------

    async def check(self, given: arguments.Check) -> answers.CheckAnswer:
        """Check an answer."""
        policy = self._verifier.policy
        if given.fail_on is not None:
            policy = replace(policy, fail_on=given.fail_on)
        report = await self._verifier.check(
            given.answer, given.sources, given.question, policy=policy
        )
        return answers.checked(report)

    async def verify_claim(self, given: arguments.VerifyClaim) -> answers.ClaimAnswer:
        """Verify a claim."""
        policy = replace(self._verifier.policy, target_confidence=given.confidence)
        verdict = await self._verifier.verify(
            given.claim, given.sources, given.question, cites=given.cites, policy=policy
        )
        return answers.claim(verdict)

    async def ground_quotes(self, given: arguments.GroundQuotes) -> answers.QuotesAnswer:
        """Look quotes up."""
        self._limits.ensure_sources([Source("source", given.source)], "the source has")
        speaker = tuple(given.speaker) or None
        look = partial(
            ground_quotes, given.quotes, given.source, strict=given.strict, speaker=speaker
        )
        return answers.grounded(await in_worker_thread(look))

    async def audit_trace(self, given: arguments.AuditTrace) -> answers.Audited:
        """Audit a trace."""
        steps = [step.model_dump(exclude_none=True) for step in given.steps]
        trace = replace(auditing.parse_trace(steps), question=given.question, answer=given.answer)
        parts = self._parts
        wanted = parts.settings.hallucination.trace_auditing.check_post_hoc
        audit = await auditing.audit(
            trace,
            self._verifier,
            sources=given.sources,
            executor=auditing.AnswerDeriver(parts.backend, parts.model) if wanted else None,
        )
        return answers.audited(audit)

    async def remember(self, given: arguments.Remember) -> answers.Remembering:
        """Remember a fact; it is verified first, whatever else stores facts unverified."""
        memory = await self._opened()
        done = await memory.aremember(
            given.fact,
            given.sources,
            about=given.about,
            confidence=given.confidence,
            tier=given.tier,
        )
        return answers.remembering(done)

    async def recall(self, given: arguments.Recall) -> answers.Recalled:
        """Recall facts."""
        memory = await self._opened()
        # One more than is shown: are there more?
        find = partial(memory.facts, text=given.words, entity=given.about, limit=given.limit + 1)
        return answers.recalled(await anyio.to_thread.run_sync(find), given.limit)

    async def _opened(self) -> Memory:
        async with self._making:
            if not self._parts.made("gated_memory"):
                await anyio.to_thread.run_sync(self._open)
        return self._parts.gated_memory

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
    f" At most {answers.MOST_CLAIMS} claims are shown; claims_left_out counts the others.",
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
