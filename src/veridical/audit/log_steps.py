"""Conversion of chat messages to the steps, contexts and answer of a trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from veridical.audit.steps import Step, StepTrace
from veridical.core.types import Source
from veridical.errors import DocumentError
from veridical.pipeline.claims import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Said:
    """Text of a log with its role and, for a tool's result, the id of the call."""

    role: Role
    text: str = field(repr=False)
    call: str | None = None


@dataclass(slots=True)
class Log:
    """Texts of a log, message by message, with counts of its other parts."""

    messages: list[list[Said]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


# --- messages to steps -----------------------------------------------------------------------


def to_trace(log: Log, place: str) -> StepTrace:
    """Return the assistant's texts as steps; `DocumentError` if there are none."""
    speaking = [n for n, said in enumerate(log.messages) if any(_by_assistant(said))]
    if not speaking:
        msg = f"{place} holds no text of an assistant"
        raise DocumentError(msg, hint="What the assistant says are the steps of a trace")
    builder = _Builder()
    for number, message in enumerate(log.messages[: speaking[-1] + 1]):
        for said in message:
            builder.add(said, final=number == speaking[-1])
    log.left_out["messages_after_the_answer"] += sum(map(bool, log.messages[speaking[-1] + 1 :]))
    return builder.trace({name: n for name, n in log.left_out.items() if n})


def _by_assistant(said: Iterable[Said]) -> Iterator[Said]:
    return (one for one in said if one.role == "assistant")


@dataclass(slots=True)
class _Builder:
    """Collector of steps and the context of each."""

    steps: list[Step] = field(default_factory=list)
    waiting: list[Source] = field(default_factory=list)
    observations: set[str] = field(default_factory=set)
    question: str | None = field(default=None, repr=False)
    answer: list[str] = field(default_factory=list, repr=False)
    taken: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)

    def add(self, said: Said, *, final: bool) -> None:
        if said.role == "assistant":
            self._add_steps(said.text, final=final)
            return
        source = Source(self._id(said), said.text)
        self.waiting.append(source)
        if said.role == "tool":
            self.observations.add(source.id)
        if said.role == "user":
            self.question = said.text

    def _add_steps(self, text: str, *, final: bool) -> None:
        if final:
            self.answer.append(text)
        for sentence in [span.of(text) for span in split_sentences(text)] or [text]:
            step_id = self._free(f"step{len(self.steps) + 1}")
            self.steps.append(Step(step_id, sentence, context=tuple(self.waiting), final=final))
            self.waiting.clear()

    def _id(self, said: Said) -> str:
        """Return an unused id: that of the call, else the role and a number."""
        if said.call is not None and said.call.strip() and said.call not in self.ids:
            return self._free(said.call)
        self.taken[said.role] += 1
        return self._free(f"{said.role}{self.taken[said.role]}")

    def _free(self, wanted: str) -> str:
        found, number = wanted, 2
        while found in self.ids:
            found, number = f"{wanted}-{number}", number + 1
        self.ids.add(found)
        return found

    def trace(self, left_out: Mapping[str, int]) -> StepTrace:
        # Without anything before it, an answer is no end of a trace: its sentences are the trace.
        ended = self.observations or not all(step.final for step in self.steps)
        return StepTrace(
            steps=tuple(self.steps),
            question=self.question,
            answer="\n".join(self.answer) if ended else None,
            observations=frozenset(self.observations),
            left_out=left_out,
        )
