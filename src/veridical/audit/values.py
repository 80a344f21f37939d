"""Values of the audit of a chain of reasoning: citations, steps, post-hoc check, conclusion.

Unknown values are None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

from veridical.core.measurements import NOTHING, Taken
from veridical.core.printing import number, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from veridical.core.epistemic import ClaimVerification
    from veridical.core.printing import Document
    from veridical.core.status_table import StepLabel


class Cited(StrEnum):
    """Kind of the target of a citation."""

    SOURCE = "source"
    """A source, or a context that this or an earlier step was given."""
    ENTAILED_STEP = "entailed_step"
    FAILED_STEP = "failed_step"
    """An earlier step that is not ENTAILED: it exists, but it is no premise."""
    UNMEASURED_STEP = "unmeasured_step"
    FORWARD = "forward"
    """A later step, or a context that is given later."""
    CYCLIC = "cyclic"
    """The step itself, or a step that cites this one directly or indirectly."""
    PHANTOM = "phantom"
    """An unknown id."""


FAULTS = frozenset({Cited.FORWARD, Cited.CYCLIC, Cited.PHANTOM})
"""Citations that are wrong whatever the texts say."""


@dataclass(frozen=True, slots=True)
class StepCitation:
    """Id that a step cites, with the kind of its target."""

    id: str
    kind: Cited

    @property
    def fault(self) -> bool:
        """True if the citation is wrong whatever the texts say."""
        return self.kind in FAULTS

    def body(self) -> Document:
        """Return the citation as part of a JSON object."""
        return {"id": self.id, "kind": self.kind.value}


# --- the post-hoc check ----------------------------------------------------------------------


class PostHocVerdict(StrEnum):
    """Verdict on the derivation of the answer from the entailed steps."""

    DERIVABLE = "derivable"
    NOT_DERIVABLE = "not_derivable"
    DERIVES_SOMETHING_ELSE = "derives_something_else"
    UNDETERMINED = "undetermined"


Executor: TypeAlias = Literal["text_model", "entailment", "none"]
"""Method: by a text model; by entailment against the steps; none without a step."""


@dataclass(frozen=True, slots=True, repr=False)
class Needed:
    """Steps that the answer does not need, found by leaving out one at a time.

    Of the `of` premises of the answer, `tried` were left out; `unneeded` are the steps without
    which the answer is still supported. Two steps of the same content can each be left out alone.
    `reason` says why none was tried.
    """

    unneeded: tuple[str, ...] = ()
    tried: int = 0
    of: int = 0
    reason: str | None = None

    def body(self) -> Document:
        """Return the result as part of a JSON object."""
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
    """Result of the post-hoc check: derivation of the answer from the entailed steps alone.

    `rule` names the deciding rule. `derived` is the text model's answer from the steps, None if no
    model was asked or nothing follows. `similarity` (0 to 1) compares it with the answer, None
    where texts or numbers decided. `p` is P(answer | entailed steps), None if not measured.
    `premises` are the ids of the steps (and observations) shown. `taken` is the cost of the check.
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
            "similarity": number(self.similarity),
            "p": number(self.p),
            "premises": list(self.premises),
            "needed": self.needed.body(),
        }

    def lines(self) -> Iterator[str]:
        """Yield the result as lines of text."""
        words = self.verdict.value.replace("_", " ")
        yield f"Answer: {words} ({self.rule.replace('_', ' ')})"
        if self.derived is not None:
            yield f"  derived from the steps alone: {one_line(self.derived)}"
        if self.needed.unneeded:
            yield f"  not needed for it: {', '.join(self.needed.unneeded)}"

    def __repr__(self) -> str:
        # No text: a repr ends up in logs and tracebacks.
        return f"PostHoc(verdict={self.verdict.value!r}, rule={self.rule!r})"


# --- the whole trace -------------------------------------------------------------------------


class Soundness(StrEnum):
    """Conclusion about a whole trace."""

    VALID = "VALID"
    WARNING = "WARNING"
    INVALID = "INVALID"
    UNAUDITABLE = "UNAUDITABLE"


@dataclass(frozen=True, slots=True)
class Overall:
    """Conclusion about a trace, with the deciding rule."""

    soundness: Soundness
    rule: str

    def body(self) -> Document:
        """Return the conclusion as part of a JSON object."""
        return {"soundness": self.soundness.value, "rule": self.rule}


@dataclass(frozen=True, slots=True, repr=False)
class StepAudit:
    """One step of a chain of reasoning: its label, the deciding claim, and all its claims.

    `label` is None where the step could not be measured. `read_against` are the ids of the
    premises of the step: sources and earlier steps. `citations` are its citations with their
    kinds. A `final` step is part of the answer.
    """

    id: str
    text: str
    label: StepLabel | None
    verification: ClaimVerification
    claims: tuple[ClaimVerification, ...] = ()
    read_against: tuple[str, ...] = ()
    citations: tuple[StepCitation, ...] = ()
    final: bool = False

    @property
    def bad(self) -> bool:
        """True if the step is contradicted or not in context."""
        return self.label in {"CONTRADICTED", "NOT_IN_CONTEXT"}

    def body(self) -> Document:
        """Return the step as part of a JSON object."""
        return {
            "id": self.id,
            "text": self.text,
            "label": self.label,
            "final": self.final,
            "citations": [citation.body() for citation in self.citations],
            "read_against": list(self.read_against),
            "verification": self.verification.body(),
            "claims": [claim.body() for claim in self.claims],
        }

    def __str__(self) -> str:
        label = self.label or "not measured"
        mark = self.verification.mark
        rule = self.verification.rule.replace("_", " ").replace(":", ": ")
        return f"{mark} {self.id} {label}: {one_line(self.text)}\n  {rule}"

    def __repr__(self) -> str:
        return f"StepAudit(id={self.id!r}, label={self.label!r})"


@dataclass(frozen=True, slots=True, repr=False)
class TraceAudit:
    """Audit of a chain of reasoning, in the order of its steps.

    `post_hoc` is None if there was no answer to derive, or the check was not requested.
    """

    steps: tuple[StepAudit, ...]
    overall: Overall | None = None
    post_hoc: PostHoc | None = None
    question: str | None = None
    answer: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def taken(self) -> Taken:
        """Tokens and cost of the audit: of its claims, and of the post-hoc check."""
        found = (Taken(claim.tokens, claim.cost_usd) for one in self.steps for claim in one.claims)
        return sum(found, Taken() if self.post_hoc is None else self.post_hoc.taken)

    @property
    def tokens(self) -> int | None:
        """Tokens of the audit; None if a part is unknown."""
        return self.taken.tokens

    @property
    def cost_usd(self) -> float | None:
        """Cost of the audit in USD; None if a part is unknown."""
        return self.taken.cost_usd

    @property
    def first_error(self) -> StepAudit | None:
        """First step that is contradicted or not in context; None if there is none."""
        return next((step for step in self.steps if step.bad), None)

    @property
    def undetermined(self) -> int:
        """Number of steps that could not be measured."""
        return sum(step.label is None for step in self.steps)

    def to_dict(self) -> Document:
        """Return the audit as a JSON object of schema `veridical.audit/1`."""
        first = self.first_error
        return {
            "schema": "veridical.audit/1",
            "overall": None if self.overall is None else self.overall.body(),
            "first_error": None if first is None else first.id,
            "undetermined": self.undetermined,
            "question": self.question,
            "answer": self.answer,
            "post_hoc": None if self.post_hoc is None else self.post_hoc.body(),
            "left_out": dict(self.left_out),
            **self.taken.body(),
            "steps": [step.body() for step in self.steps],
        }

    def overview(self) -> Iterator[str]:
        """Yield the conclusion and the number of unsupported steps as lines of text."""
        if self.overall is not None:
            yield f"{self.overall.soundness.value}: {self.overall.rule.replace('_', ' ')}"
        first = self.first_error
        bad, total = sum(step.bad for step in self.steps), len(self.steps)
        line = f"{bad} of {total} steps do not hold"
        line += "" if first is None else f"; the first is {first.id}"
        yield line + (f"; {self.undetermined} could not be measured" if self.undetermined else "")

    def __str__(self) -> str:
        tail = () if self.post_hoc is None else self.post_hoc.lines()
        return "\n".join([*self.overview(), *map(str, self.steps), *tail])

    def __repr__(self) -> str:
        return f"TraceAudit(labels={[step.label for step in self.steps]!r})"
