"""Rendering of a trace audit: for a terminal, and as one HTML page without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from veridical.audit.values import Cited, Soundness
from veridical.core.status_table import STATUS_TABLE
from veridical.pipeline.reports import figures, phrases
from veridical.pipeline.reports.epistemic import (
    QUIET,
    Layout,
    columns,
    cut,
    shown_probability,
    tone_of,
)
from veridical.pipeline.reports.templates import content_policy, page_style, resource, template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console, RenderableType

    from veridical.audit.values import PostHoc, StepAudit, StepCitation, TraceAudit
    from veridical.core.epistemic import ClaimVerification

LEFT_OUT: Mapping[str, str] = {
    "tool_calls": "calls of tools, which assert nothing",
    "messages_after_the_answer": "messages after the answer",
}
_CITED: Mapping[Cited, str] = {
    Cited.SOURCE: "a source",
    Cited.ENTAILED_STEP: "a step that is entailed",
    Cited.FAILED_STEP: "a step that is not entailed: nothing can rest on it",
    Cited.UNMEASURED_STEP: "a step that could not be measured",
    Cited.FORWARD: "what comes later: a forward citation",
    Cited.CYCLIC: "what rests on this step in turn: a circle",
    Cited.PHANTOM: "nothing that exists: a phantom citation",
}
_OUTCOMES: Mapping[Soundness, str] = {  # the tones of the check report's outcomes
    Soundness.VALID: "grounded",
    Soundness.WARNING: "flagged",
    Soundness.INVALID: "flagged",
    Soundness.UNAUDITABLE: "undetermined",
}
_TONES: Mapping[str, str] = {
    "derivable": "supported",
    "not_derivable": "unsupported",
    "derives_something_else": "contradicted",
    "undetermined": "undetermined",
}
_EVIDENCE_SHOWN = 3
_STEPS = 200


class AuditLayout(Layout):
    """Layout of claims, and of audits of steps."""

    def audit(self, audit: TraceAudit) -> RenderableType:
        """Return the conclusion about a trace, its steps with their labels, and its answer.

        The first unsupported step is bold.
        """
        table = columns("", "step", "label", "p1", "gap", "", "why")
        for step in audit.steps[:_STEPS]:
            tone = tone_of(step.verification)
            style = phrases.style(tone)
            table.add_row(
                self._ink(self._mark(tone), style),
                self._ink(step.id, style),
                self._ink(step.label or "not measured", style),
                self._ink(shown_probability(step.verification.p1)),
                self._ink(figures.signed(step.verification.budget_gap)),
                self._ink(cut(step.text), "bold" if step is audit.first_error else ""),
                self._ink(_step_rule(step), QUIET),
            )
        head = [self._ink(line, self._audit_style(audit)) for line in audit.overview()]
        if (more := len(audit.steps) - _STEPS) > 0:
            head.append(self._ink(f"The first {_STEPS} steps are shown, {more} are not"))
        tail = () if audit.post_hoc is None else map(self._ink, audit.post_hoc.lines())
        return Group(*head, table, *tail)

    @staticmethod
    def _audit_style(audit: TraceAudit) -> str:
        if audit.overall is not None and audit.overall.soundness.value == "UNAUDITABLE":
            return phrases.style("undetermined")
        valid = audit.overall is None or audit.overall.soundness.value == "VALID"
        return phrases.style("supported" if valid and audit.first_error is None else "contradicted")


def _step_rule(step: StepAudit) -> str:
    """Return the deciding rule of a step, and the faults of its citations."""
    faults = [f"{cited.id} is {cited.kind.value}" for cited in step.citations if cited.fault]
    return ", ".join([phrases.rule(step.verification.rule), *faults])


def render(audit: TraceAudit, console: Console) -> None:
    """Print an audit to a console: conclusion, steps, first unsupported step, answer."""
    console.print(Group(*_blocks(audit, AuditLayout(console.encoding))))


def _blocks(audit: TraceAudit, layout: AuditLayout) -> Iterator[RenderableType]:
    yield layout.audit(audit)
    if audit.first_error is not None:
        yield Text("\nThe first step that does not hold", style="bold")
        yield Padding(layout.claim(audit.first_error.verification), (0, 0, 0, 2), expand=False)
    for line in left_out(audit):
        yield Text(f"\n{line}", style="grey50")


def left_out(audit: TraceAudit) -> Iterator[str]:
    """Yield a line for each kind of omitted part of a log, with its count."""
    for name, n in audit.left_out.items():
        yield f"Left out: {LEFT_OUT.get(name, name.replace('_', ' '))} ({n})"


# --- the page --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """One step as the page shows it."""

    step: StepAudit
    first_error: bool

    @property
    def tone(self) -> str:
        return self.step.verification.status.value

    @property
    def look(self) -> phrases.StatusStyle:
        return phrases.LOOKS[self.tone]

    @property
    def label(self) -> str:
        return (self.step.label or "not measured").replace("_", " ")

    @property
    def action(self) -> str | None:
        row = STATUS_TABLE[self.step.verification.status]
        return None if self.step.label == "ENTAILED" else row.suggested_action

    @property
    def claims(self) -> tuple[_Claim, ...]:
        return tuple(map(_Claim, self.step.claims))

    @property
    def citations(self) -> tuple[tuple[StepCitation, str], ...]:
        return tuple((cited, _CITED[cited.kind]) for cited in self.step.citations)


@dataclass(frozen=True, slots=True)
class _Claim:
    """One claim of a step, with its figures in words."""

    found: ClaimVerification

    @property
    def tone(self) -> str:
        return self.found.status.value

    @property
    def look(self) -> phrases.StatusStyle:
        return phrases.LOOKS[self.tone]

    @property
    def rule(self) -> str:
        return phrases.rule(self.found.rule)

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        verdict = self.found.verdict
        if verdict is None or not phrases.asked(verdict):
            return ()
        with_, without = figures.measured(verdict.p1), figures.measured(verdict.p0)
        return (
            ("With what it rests on", with_),
            ("Without it", without),
            ("Bits", figures.bits(verdict.budget)),
        )

    @property
    def evidence(self) -> object:
        return self.found.evidence[:_EVIDENCE_SHOWN]


def to_html(audit: TraceAudit) -> str:
    """Return the audit as one HTML page: no other file, no network, no script."""
    css = page_style() + resource("veridical.audit", "audit.css")
    head, *counts = audit.overview()
    first = audit.first_error
    return template("veridical.audit", "audit.html.j2").render(
        policy=content_policy(css),
        css=css,
        head=head,
        counts=counts,
        outcome="undetermined" if audit.overall is None else _OUTCOMES[audit.overall.soundness],
        audit=audit,
        rows=[_Row(step, step is first) for step in audit.steps],
        answer=audit.post_hoc and _Derivation(audit.post_hoc),
        left_out=list(left_out(audit)),
    )


@dataclass(frozen=True, slots=True)
class _Derivation:
    """The post-hoc check as the page shows it."""

    found: PostHoc

    @property
    def tone(self) -> str:
        return _TONES[self.found.verdict.value]

    @property
    def verdict(self) -> str:
        return self.found.verdict.value.replace("_", " ")

    @property
    def rule(self) -> str:
        return phrases.rule(self.found.rule)

    @property
    def p(self) -> str:
        return "not measured" if self.found.p is None else figures.probability(self.found.p)

    @property
    def similarity(self) -> str | None:
        value = self.found.similarity
        return None if value is None else f"{value:.2f} of 1"

    @property
    def needed(self) -> str | None:
        needed = self.found.needed
        if not needed.tried:
            return None
        tried = f"{needed.tried} of {needed.of} left out one at a time"
        return f"{', '.join(needed.unneeded) or 'none'} ({tried})"
