"""Text report for a terminal: readable without colour, safe with any text in it."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from veridical.core.assessment import Outcome
from veridical.core.cancellation import checkpoint
from veridical.core.differences import marked
from veridical.core.types import Exclusion, Span
from veridical.core.verdicts import Role, Status, row_of
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.escaping import one_line, visible
from veridical.pipeline.reports.figures import bits, certainty, grounded, measured
from veridical.pipeline.reports.meters import bits_bar
from veridical.pipeline.reports.positions import SourceLines, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from veridical.core.assessment import Assessment
    from veridical.core.verdicts import Budget, EvidenceSpan, PartVerdict, Verdict

PLAIN_WIDTH = 100
_EVIDENCE_SHOWN = 3
_QUOTE_SHOWN = 320
_INDENT = 2

_OUTCOME_TONES = {
    Outcome.GROUNDED: Status.SUPPORTED,
    Outcome.FLAGGED: Status.CONTRADICTED,
    Outcome.UNDETERMINED: Status.UNDETERMINED,
    Outcome.NOTHING_TO_CHECK: Status.UNDETERMINED,
}
_ROLE_TONES = {
    Role.SUPPORTS: Status.SUPPORTED,
    Role.CONTRADICTS: Status.CONTRADICTED,
    Role.NEAREST: phrases.EXCLUDED,
}
_Row = tuple[Text, Text]


def render(assessment: Assessment, console: Console, *, verbose: bool = False) -> None:
    """Print the report to a console, in colour where the console has it.

    `verbose` adds probabilities, bits, rules and all evidence to each flagged claim.
    """
    console.print(layout(assessment, console, verbose=verbose))


def to_plain(assessment: Assessment, *, verbose: bool = False) -> str:
    """Return the report as text without colour, 100 columns wide."""
    console = Console(
        file=StringIO(), width=PLAIN_WIDTH, color_system=None, force_terminal=False, no_color=True
    )
    with console.capture() as capture:
        render(assessment, console, verbose=verbose)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def layout(assessment: Assessment, console: Console, *, verbose: bool = False) -> RenderableType:
    """Return the report as a rich renderable for `console`."""
    return Group(*_Terminal(assessment, console.encoding, verbose=verbose).blocks())


@dataclass(frozen=True, slots=True)
class _Ink:
    """Converter of untrusted text to rich text, in characters that the terminal can show."""

    encoding: str

    def __call__(self, text: str, style: str = "") -> Text:
        shown = visible(text).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return Text(shown, style=style, overflow="fold")

    def mark(self, tone: str) -> str:
        look = phrases.LOOKS[tone]
        return look.mark if self.encoding.startswith("utf") else look.ascii_mark


class _Terminal:
    """One assessment laid out for a terminal."""

    def __init__(self, assessment: Assessment, encoding: str, *, verbose: bool) -> None:
        self._assessment = assessment
        self._verbose = verbose
        self._ink = _Ink(encoding)
        self._lines = SourceLines()

    def blocks(self) -> Iterator[RenderableType]:
        assessment = self._assessment
        tone = _OUTCOME_TONES[assessment.summary.outcome]
        only_unsure = assessment.flagged and not any(v.sure for v in assessment.flagged)
        style = phrases.style(phrases.unsure(tone) if only_unsure else tone)
        yield self._ink(phrases.headline(assessment), f"{style} bold")
        if assessment.answer:  # a report read back from its document alone has none
            yield from self._section("Answer", [self._answer()])
        lost = [v for v in assessment.claims if phrases.tone(v) == Status.UNDETERMINED]
        noted = [v for v in assessment.claims if v.notes and v.status is Status.SUPPORTED]
        sure = [verdict for verdict in assessment.flagged if verdict.sure]
        look = [verdict for verdict in assessment.flagged if not verdict.sure]
        yield from self._section("Flagged", map(self._details, sure))
        yield from self._section("Flagged, unsure: please look", map(self._details, look))
        yield from self._section("Undetermined", map(self._details, lost))
        yield from self._section("Supported, with a note", map(self._details, noted))
        yield from self._section("Summary", [self._summary()])

    def _section(
        self, title: str, blocks: Sequence[RenderableType] | Iterator[RenderableType]
    ) -> Iterator[RenderableType]:
        for index, block in enumerate(blocks):
            yield Text() if index else Text(f"\n{title}", style="bold")
            yield Padding(block, (0, 0, 0, _INDENT), expand=False)

    def _answer(self) -> Text:
        answer, verdicts = self._assessment.answer, self._assessment.claims
        spans = [verdict.claim.span for verdict in verdicts]
        text = self._ink("")
        for segment in segments(Span(0, len(answer)), spans):
            checkpoint()
            owners = [verdicts[index] for index in segment.owners]
            tones = [phrases.tone(verdict) for verdict in owners]
            style = phrases.style(min(tones, key=phrases.URGENCY.index)) if tones else ""
            text.append_text(self._ink(segment.span.of(answer), style))
            for verdict in owners:
                if verdict.claim.span.end == segment.span.end and _is_marked(verdict):
                    text.append_text(self._badge(verdict))
        text.rstrip()
        return text

    def _badge(self, verdict: Verdict) -> Text:
        tone = phrases.tone(verdict)
        style = phrases.style(tone) if verdict.please_look else f"bold {phrases.style(tone)}"
        return self._ink(f" {self._ink.mark(tone)}{verdict.claim.id}", style)

    def _details(self, verdict: Verdict) -> RenderableType:
        checkpoint()
        tone = phrases.tone(verdict)
        title = f"{self._ink.mark(tone)} {verdict.claim.id} {phrases.LOOKS[tone].label}"
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for label, value in self._rows(verdict):
            grid.add_row(label, value)
        body = Padding(grid, (0, 0, 0, _INDENT), expand=False)
        return Group(self._ink(title, phrases.style(tone)), body)

    def _rows(self, verdict: Verdict) -> Iterator[_Row]:
        yield self._row("claim", one_line(verdict.claim.text), "bold")
        if verdict.claim.read_as is not None:
            yield self._row("read as", one_line(verdict.claim.read_as))
        rule = f" (rule: {phrases.rule(verdict.rule)})" if self._verbose else ""
        yield self._row("why", f"{phrases.reason(verdict)}{rule}")
        if self._verbose:
            yield from self._figures(verdict)
        yield from map(self._part, verdict.parts)
        yield from self._evidence_rows(verdict)
        for note in verdict.notes:
            yield self._row("note", phrases.NOTES[note])
        if action := row_of(verdict).suggested_action:
            yield self._row("do", action, "italic")

    def _figures(self, verdict: Verdict) -> Iterator[_Row]:
        if verdict.probability_right is not None:
            yield self._row("verdict", certainty(verdict))
        if phrases.asked(verdict):
            yield self._row("p1", measured(verdict.p1))
            yield self._row("p0", measured(verdict.p0))
            yield self._row("bits", bits(verdict.budget))
            yield from self._bar(verdict.budget)

    def _evidence_rows(self, verdict: Verdict) -> Iterator[_Row]:
        """Yield the evidence: all of it, or without `verbose` the deciding or nearest piece."""
        shown = verdict.shown[: _EVIDENCE_SHOWN if self._verbose else 1]
        for evidence in shown:
            yield self._evidence(evidence)
            yield from self._differs(verdict.claim.text, evidence)
        if self._verbose and (more := len(verdict.shown) - len(shown)):
            yield self._row("", f"and {phrases.count(more, 'more piece')} of evidence")

    def _row(self, label: str, value: str, style: str = "") -> _Row:
        return self._ink(label, "grey50"), self._ink(value, style)

    def _bar(self, budget: Budget) -> Iterator[_Row]:
        bar = bits_bar(budget, ink="█▒│·" if self._ink.encoding.startswith("utf") else "#x|.")
        if bar is not None:
            style = phrases.style(Status.SUPPORTED if bar.paid else Status.UNSUPPORTED)
            yield self._ink(""), self._ink(bar.text, style)

    def _part(self, part: PartVerdict) -> _Row:
        tone = part.status.value
        text = f"{self._ink.mark(tone)} {phrases.LOOKS[tone].label}: {one_line(part.text)}"
        return self._ink("part", "grey50"), self._ink(text, phrases.style(tone))

    def _evidence(self, evidence: EvidenceSpan) -> _Row:
        label = self._ink(evidence.role.value, phrases.style(_ROLE_TONES[evidence.role]))
        return label, self._ink(f"{self._place(evidence)}: “{_quote(evidence.text)}”")

    def _differs(self, claim: str, evidence: EvidenceSpan) -> Iterator[_Row]:
        """Yield the words by which the claim differs from the deciding evidence, if any."""
        if evidence.role is Role.NEAREST:
            return
        found = marked(claim, evidence)
        sides = ((found.claim, claim), (found.evidence, evidence.text))
        said, there = (", ".join(span.of(text) for span in spans) for spans, text in sides)
        if found:
            both = f"“{said}” in the claim, “{there}” there" if said and there else said or there
            yield self._row("differs", both)

    def _place(self, evidence: EvidenceSpan) -> str:
        span, source = evidence.span, self._assessment.sources.get(evidence.source)
        place = [evidence.source]
        if source is not None:
            place.append(f"line {self._lines.of(source).at(span.start).line}")
        if self._verbose or source is None:
            place.append(f"characters {span.start}-{span.end}")
        return ", ".join(place)

    def _summary(self) -> RenderableType:
        line = self._ink("")
        for tone, n in phrases.tally(self._assessment):
            entry = f"{self._ink.mark(tone)} {n} {phrases.LOOKS[tone].label}"
            line.append("   " if line else "").append_text(self._ink(entry, phrases.style(tone)))
        totals = self._ink(phrases.denominators(self._assessment))
        whole = self._ink(grounded(self._assessment))
        return Group(*[block for block in (totals, line, whole) if block], self._made_by())

    def _made_by(self) -> Text:
        backend, summary = self._assessment.backend, self._assessment.summary
        made_by = f"{backend.name} {backend.model} ({backend.estimator.value})"
        made_by += f", {summary.latency_ms:,.0f} ms"
        if summary.cascade is not None:
            made_by += f"; {phrases.savings(summary.cascade)}"
        if summary.extraction.model is not None:
            made_by += f"; {phrases.extraction(summary.extraction)}"
        return self._ink(made_by, "grey50")


def _quote(text: str) -> str:
    line = one_line(text)
    if len(line) <= _QUOTE_SHOWN:
        return line
    return f"{line[:_QUOTE_SHOWN]} … ({len(line) - _QUOTE_SHOWN:,} characters more)"


def _is_marked(verdict: Verdict) -> bool:
    """Return whether the answer shows a badge: on checked and on hedged statements."""
    return verdict.checked or verdict.claim.excluded is Exclusion.HEDGED
