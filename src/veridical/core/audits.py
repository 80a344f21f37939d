"""What an audit says besides the labels of the steps: citations, the post-hoc check, the overall.

What is unknown is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from veridical.core.measurements import NOTHING, Taken

if TYPE_CHECKING:
    from collections.abc import Iterator

Document: TypeAlias = dict[str, Any]

_DECIMALS = 6
_SHOWN = 240


class Cited(StrEnum):
    """What a step cites with one id."""

    SOURCE = "source"
    """A source, or a context that this or an earlier step was given."""
    ENTAILED_STEP = "entailed_step"
    FAILED_STEP = "failed_step"
    """An earlier step that is not ENTAILED: it exists, but nothing can rest on it."""
    UNMEASURED_STEP = "unmeasured_step"
    FORWARD = "forward"
    """A later step, or a context that is given later."""
    CYCLIC = "cyclic"
    """The step itself, or a step that cites this one in turn, by way of others too."""
    PHANTOM = "phantom"
    """Nothing that exists."""


FAULTS = frozenset({Cited.FORWARD, Cited.CYCLIC, Cited.PHANTOM})
"""Citations that are wrong whatever the texts say."""


@dataclass(frozen=True, slots=True)
class StepCitation:
    """One id that a step cites, and what it stands for."""

    id: str
    kind: Cited

    @property
    def fault(self) -> bool:
        """Whether the citation is wrong whatever the texts say."""
        return self.kind in FAULTS

    def body(self) -> Document:
        """Return the citation as part of a JSON object."""
        return {"id": self.id, "kind": self.kind.value}


# --- the post-hoc check ----------------------------------------------------------------------


class PostHocVerdict(StrEnum):
    """Whether the answer follows from the steps that hold."""

    DERIVABLE = "derivable"
    NOT_DERIVABLE = "not_derivable"
    DERIVES_SOMETHING_ELSE = "derives_something_else"
    UNDETERMINED = "undetermined"


Executor: TypeAlias = Literal["text_model", "entailment", "none"]
"""Who derived: a text model; nobody, the answer was read against the steps; there was no step."""


@dataclass(frozen=True, slots=True, repr=False)
class Needed:
    """Which steps the answer can do without, found by leaving out one at a time.

    Of the `of` steps that it was derived from, `tried` were left out; `unneeded` are those without
    which the answer is still supported. Two steps that say the same can each be left out alone.
    `reason` says why none was tried.
    """

    unneeded: tuple[str, ...] = ()
    tried: int = 0
    of: int = 0
    reason: str | None = None

    def body(self) -> Document:
        """Return it as part of a JSON object."""
        return {
            "unneeded": list(self.unneeded),
            "tried": self.tried,
            "of": self.of,
            "reason": self.reason,
        }

    def __repr__(self) -> str:
        return f"Needed(unneeded={len(self.unneeded)}, tried={self.tried}, of={self.of})"


@dataclass(frozen=True, slots=True, repr=False)
class PostHoc:
    """Whether the answer can be derived from the entailed steps by somebody who never saw it.

    `rule` names what decided. `derived` is what a text model made of the steps, None if nobody was
    asked or it said that nothing follows. `similarity` (0 to 1) compares it with the answer, None
    where texts or numbers decided. `p` is P(answer | entailed steps), None if not measured.
    `premises` are the ids of the steps (and observations) that were shown. `taken` is what it took.
    """

    verdict: PostHocVerdict
    rule: str
    executor: Executor
    derived: str | None = None
    similarity: float | None = None
    p: float | None = None
    premises: tuple[str, ...] = ()
    needed: Needed = Needed()
    taken: Taken = NOTHING

    def body(self) -> Document:
        """Return the check as part of a JSON object."""
        return {
            "verdict": self.verdict.value,
            "rule": self.rule,
            "executor": self.executor,
            "derived": self.derived,
            "similarity": _number(self.similarity),
            "p": _number(self.p),
            "premises": list(self.premises),
            "needed": self.needed.body(),
        }

    def lines(self) -> Iterator[str]:
        """Say it in lines for people."""
        words = self.verdict.value.replace("_", " ")
        yield f"Answer: {words} ({self.rule.replace('_', ' ')})"
        if self.derived is not None:
            yield f"  derived from the steps alone: {_one_line(self.derived)}"
        if self.needed.unneeded:
            yield f"  not needed for it: {', '.join(self.needed.unneeded)}"

    def __repr__(self) -> str:
        # No text: a repr ends up in logs and tracebacks.
        return f"PostHoc(verdict={self.verdict.value!r}, rule={self.rule!r})"


# --- the whole trace -------------------------------------------------------------------------


class Soundness(StrEnum):
    """What is concluded about a whole trace."""

    VALID = "VALID"
    WARNING = "WARNING"
    INVALID = "INVALID"
    UNAUDITABLE = "UNAUDITABLE"


@dataclass(frozen=True, slots=True)
class Overall:
    """The conclusion about a trace, and the rule that decided it."""

    soundness: Soundness
    rule: str

    def body(self) -> Document:
        """Return the conclusion as part of a JSON object."""
        return {"soundness": self.soundness.value, "rule": self.rule}


def _number(value: float | None) -> float | None:
    return None if value is None else round(float(value), _DECIMALS) + 0.0


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    line = line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
