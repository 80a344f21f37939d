"""Verifications, reports and audits of SPEC-16 for a terminal: tables, and one claim in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from veridical.core.verdicts import row_of
from veridical.pipeline.reports import figures, phrases
from veridical.pipeline.reports.escaping import one_line
from veridical.pipeline.reports.meters import bits_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from veridical.core.epistemic import ClaimVerification, HallucinationReport
    from veridical.core.similarity import Contradictions
    from veridical.core.verdicts import Verdict

QUIET = "grey50"
_CELLS = 16
_SHOWN = 160
_PIECES = 3


class Layout:
    """Layout of values in characters that a terminal of this encoding can show."""

    def __init__(self, encoding: str) -> None:
        self._unicode = encoding.startswith("utf")
        self._encoding = encoding

    # --- many claims -------------------------------------------------------------------------

    def report(self, report: HallucinationReport) -> RenderableType:
        """Return a report: number of claims, a table of them, contradictions, next commands."""
        head, _, _ = str(report).partition("\n")
        if not report.claims:
            return self._ink(head)
        sure = any(not claim.please_look for claim in report.flagged)
        style = phrases.style("contradicted" if report.flagged_claims else "supported")
        if report.flagged_claims and not sure:
            style = phrases.style(phrases.unsure("contradicted"))
        if not report.flagged_claims and report.undetermined_claims:
            style = phrases.style("undetermined")
        blocks = [self._ink(head, style), self.claims(report.claims)]
        if report.contradictions is not None and report.contradictions.pairs:
            blocks.append(self.contradictions(report.contradictions))
        return Group(*blocks)

    def claims(self, claims: Sequence[ClaimVerification]) -> RenderableType:
        """Return a table of claims: status, probabilities, bits, text."""
        if not claims:
            return self._ink("No claim to verify")
        table = columns("", "claim", "status", "p1", "p0", "bits", "")
        for claim in claims:
            tone = tone_of(claim)
            style = phrases.style(tone)
            table.add_row(
                self._ink(self._mark(tone), style),
                self._ink(claim.claim_id, style),
                self._ink(phrases.LOOKS[tone].label, style),
                self._ink(shown_probability(claim.p1)),
                self._ink(shown_probability(claim.p0)),
                self._bar(claim.verdict),
                self._ink(cut(claim.claim_text)),
            )
        return table

    def contradictions(self, found: Contradictions) -> RenderableType:
        """Return the pairs of claims that oppose each other."""
        lines = [one_line(line) for line in str(found).splitlines()]
        return Group(*(self._ink(line, phrases.style("contradicted")) for line in lines[:-1]))

    # --- one claim ---------------------------------------------------------------------------

    def claim(self, claim: ClaimVerification) -> RenderableType:
        """Return all data of one claim."""
        tone = tone_of(claim)
        label = phrases.LOOKS[tone].label
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in self._rows(claim):
            grid.add_row(self._ink(name, QUIET), value)
        title = f"{self._mark(tone)} {claim.claim_id} {label}"
        return Group(self._ink(title, phrases.style(tone)), grid)

    def _rows(self, claim: ClaimVerification) -> Iterator[tuple[str, Text]]:
        yield "claim", self._ink(one_line(claim.claim_text), "bold")
        verdict = claim.verdict
        if verdict is not None:
            yield (
                "why",
                self._ink(f"{phrases.reason(verdict)} (rule: {phrases.rule(verdict.rule)})"),
            )
            if verdict.probability_right is not None:
                yield "verdict", self._ink(figures.certainty(verdict))
            if phrases.asked(verdict):
                yield "p1", self._ink(figures.measured(verdict.p1))
                yield "p0", self._ink(figures.measured(verdict.p0))
                yield "bits", self._ink(figures.bits(verdict.budget))
                yield "", self._bar(verdict, cells=32)
        if claim.consistency_score is not None:
            yield "consistency", self._ink(shown_probability(claim.consistency_score))
        for span in claim.evidence[:_PIECES]:
            place = f"{span.source}, characters {span.span.start}-{span.span.end}"
            yield span.role.value, self._ink(f"{place}: “{cut(span.text, 2 * _SHOWN)}”")
        for note in claim.notes:
            yield "note", self._ink(phrases.NOTES[note])
        if verdict is not None and (action := row_of(verdict).suggested_action):
            yield "do", self._ink(action, "italic")

    # --- parts -------------------------------------------------------------------------------

    def _ink(self, text: str, style: str = "") -> Text:
        shown = one_line(text).encode(self._encoding, "backslashreplace").decode(self._encoding)
        return Text(shown, style=style, overflow="fold")

    def _mark(self, tone: str) -> str:
        look = phrases.LOOKS[tone]
        return look.mark if self._unicode else look.ascii_mark

    def _bar(self, verdict: Verdict | None, cells: int = _CELLS) -> Text:
        ink = "█▒│·" if self._unicode else "#x|."
        bar = None if verdict is None else bits_bar(verdict.budget, cells=cells, ink=ink)
        if bar is None:
            return self._ink("")
        return self._ink(bar.text, phrases.style("supported" if bar.paid else "unsupported"))


def columns(*names: str) -> Table:
    """Return a table without a frame; its last column folds."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style=QUIET)
    for name in names[:-1]:
        table.add_column(name, no_wrap=bool(name))
    table.add_column(names[-1], overflow="fold")
    return table


def tone_of(claim: ClaimVerification) -> str:
    """Return the key of `phrases.LOOKS` for a claim: its status, sure or unsure."""
    return phrases.unsure(claim.status) if claim.please_look else claim.status.value


def shown_probability(value: float | None) -> str:
    """Return a probability with two decimals, or a dash where it is unknown."""
    return "–" if value is None else figures.probability(value)


def cut(text: str, limit: int = _SHOWN) -> str:
    """Return a text on one line, at most `limit` characters long."""
    line = one_line(text)
    return line if len(line) <= limit else f"{line[:limit]} …"
