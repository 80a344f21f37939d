"""Content of the HTML page as plain values: every split of a text is made here, in code points.

A browser counts UTF-16 units, so no offset ever reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from veridical.core.cancellation import checkpoint
from veridical.core.differences import marked, pieces
from veridical.core.types import Source, Span
from veridical.core.verdicts import Role, Status, row_of
from veridical.pipeline.reports import figures, phrases
from veridical.pipeline.reports.escaping import one_line, visible
from veridical.pipeline.reports.excerpts import Gap, excerpts
from veridical.pipeline.reports.meters import BeliefMeter, BitsMeter, belief_meter, bits_meter
from veridical.pipeline.reports.positions import SourceLines, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from veridical.core.assessment import Assessment, Outcome
    from veridical.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Badge:
    """Mark at the end of a claim; `index` is the claim's place in the report."""

    index: int
    id: str
    tone: str

    @property
    def look(self) -> phrases.StatusStyle:
        """Words and mark of the badge's tone."""
        return phrases.LOOKS[self.tone]


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch of a text and the claims it belongs to, most urgent tone first in line."""

    text: str = field(repr=False)
    tone: str = ""
    claims: tuple[Badge, ...] = ()
    badges: tuple[Badge, ...] = ()
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """One piece of evidence in the details of a claim; `anchor` is None if it is not shown.

    Its text comes in `pieces`, each with True if the claim differs in it.
    """

    role: Role
    source: str
    line: int | None
    span: Span
    pieces: tuple[tuple[str, bool], ...] = field(repr=False)
    anchor: str | None


@dataclass(frozen=True, slots=True)
class PartLine:
    """One conjunct of a partially supported claim."""

    badge: Badge
    text: str = field(repr=False)
    p1: str


@dataclass(frozen=True, slots=True)
class ClaimCard:
    """Details of one claim."""

    badge: Badge
    verdict: Verdict
    reason: str = field(repr=False)
    rule: str
    p1: str
    p1_rest: str
    p0: str
    p0_rest: str
    target: str
    bits: tuple[tuple[str, str], ...]
    belief: BeliefMeter | None
    budget: BitsMeter | None
    action: str | None
    notes: tuple[str, ...]
    parts: tuple[PartLine, ...]
    evidence: tuple[EvidenceCard, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def asked(self) -> bool:
        """True if the claim has figures to show."""
        return self.verdict.checked and phrases.asked(self.verdict)

    @property
    def listed(self) -> bool:
        """True if the claim belongs in the list of claims to look at."""
        return self.verdict.flagged or self.badge.tone == Status.UNDETERMINED


@dataclass(frozen=True, slots=True)
class Shown:
    """Source as the page shows it: pieces, and gaps with the number of omitted characters."""

    anchor: str
    id: str
    path: str | None
    length: int
    blocks: tuple[Gap | tuple[Highlight, ...], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """Status that occurs, its frequency, and its stretch of the bar, in hundredths."""

    tone: str
    look: phrases.StatusStyle
    n: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Page:
    """All values that the template prints."""

    outcome: Outcome
    headline: str
    denominators: str
    grounded: str
    only_unsure: bool
    question: str | None = field(repr=False)
    made_by: str
    shares: tuple[Share, ...]
    excluded: int
    answer: tuple[Highlight, ...]
    cards: tuple[ClaimCard, ...]
    sources: tuple[Shown, ...]

    @property
    def listed(self) -> tuple[ClaimCard, ...]:
        """Claims to look at: flagged and undetermined."""
        return tuple(card for card in self.cards if card.listed)


def to_page(assessment: Assessment) -> Page:
    """Return the content of the page of an assessment."""
    return _Builder(assessment).page()


_Cited: TypeAlias = tuple[Badge, int, Span]


@dataclass(frozen=True, slots=True)
class _Builder:
    assessment: Assessment
    badges: list[Badge] = field(default_factory=list)
    lines: SourceLines = field(default_factory=SourceLines)
    evidence: dict[str, list[_Cited]] = field(default_factory=dict, repr=False)

    def page(self) -> Page:
        assessment = self.assessment
        for index, verdict in enumerate(assessment.claims):
            self.badges.append(Badge(index, verdict.claim.id, phrases.tone(verdict)))
            for number, each in enumerate(verdict.shown):
                self.evidence.setdefault(each.source, []).append(
                    (self.badges[-1], number, each.span)
                )
        shared = excerpts(assessment)
        return Page(
            outcome=assessment.summary.outcome,
            headline=phrases.headline(assessment),
            denominators=phrases.denominators(assessment),
            grounded=figures.grounded(assessment),
            only_unsure=bool(assessment.flagged) and not any(v.sure for v in assessment.flagged),
            question=assessment.question,
            made_by=_made_by(assessment),
            shares=tuple(_shares(assessment)),
            excluded=sum(not verdict.checked for verdict in assessment.claims),
            answer=tuple(self._answer()),
            cards=tuple(map(self._card, self.badges)),
            sources=tuple(
                self._source(number, source, shared[source.id])
                for number, source in enumerate(assessment.sources.values(), start=1)
            ),
        )

    def _answer(self) -> Iterator[Highlight]:
        spans = [verdict.claim.span for verdict in self.assessment.claims]
        text = visible(self.assessment.answer)
        for segment in segments(Span(0, len(text)), spans):
            checkpoint()
            owners = [self.badges[index] for index in segment.owners]
            ending = [
                badge
                for badge in owners
                if spans[badge.index].end == segment.span.end and badge.tone != phrases.EXCLUDED
            ]
            yield _piece(segment.span.of(text), owners, ending)

    def _source(self, number: int, source: Source, stretches: Sequence[Gap | Span]) -> Shown:
        text = visible(source.text)
        found = self.evidence.get(source.id, [])
        blocks = tuple(
            part if isinstance(part, Gap) else tuple(_marked(text, part, _inside(part, found)))
            for part in stretches
        )
        return Shown(f"source-{number}", source.id, source.path, len(text), blocks)

    def _card(self, badge: Badge) -> ClaimCard:
        checkpoint()
        verdict = self.assessment.claims[badge.index]
        return ClaimCard(
            badge=badge,
            verdict=verdict,
            reason=phrases.reason(verdict),
            rule=phrases.rule(verdict.rule),
            p1=figures.supported(verdict.p1),
            p1_rest=figures.rest(verdict.p1),
            p0=figures.supported(verdict.p0),
            p0_rest=figures.rest(verdict.p0),
            target=figures.probability(verdict.budget.target),
            bits=figures.budget_rows(verdict.budget),
            belief=belief_meter(verdict),
            budget=bits_meter(verdict.budget),
            action=row_of(verdict).suggested_action,
            notes=tuple(phrases.NOTES[note] for note in verdict.notes),
            parts=tuple(_parts(verdict)),
            evidence=tuple(self._quotes(badge)),
            facts=tuple(_facts(verdict)),
        )

    def _quotes(self, badge: Badge) -> Iterator[EvidenceCard]:
        verdict = self.assessment.claims[badge.index]
        for index, evidence in enumerate(verdict.shown):
            span, source = evidence.span, self.assessment.sources.get(evidence.source)
            there = source is not None and span.start < min(span.end, len(source.text))
            line = self.lines.of(source).at(span.start).line if source else None
            anchor = _anchor(badge, index) if there else None
            shown = replace(evidence, text=one_line(evidence.text))
            differs = marked(verdict.claim.text, shown).evidence
            text = tuple(pieces(shown.text, differs))
            yield EvidenceCard(evidence.role, evidence.source, line, span, text, anchor)


def _anchor(badge: Badge, index: int) -> str:
    return f"{badge.id}-evidence-{index + 1}"


def _piece(text: str, owners: Sequence[Badge], ending: Sequence[Badge] = ()) -> Highlight:
    owners = sorted(owners, key=lambda badge: phrases.URGENCY.index(badge.tone))
    tone = owners[0].tone if owners else ""
    return Highlight(text.replace("\r", ""), tone, tuple(owners), tuple(ending))


def _inside(within: Span, found: Sequence[_Cited]) -> list[_Cited]:
    return [each for each in found if each[2].overlaps(within)]


def _marked(text: str, within: Span, found: Sequence[_Cited]) -> Iterator[Highlight]:
    for segment in segments(within, [span for _, _, span in found]):
        inside = [found[index] for index in segment.owners]
        owners = dict.fromkeys(badge for badge, _, _ in inside)
        piece = _piece(segment.span.of(text), list(owners))
        anchors = tuple(
            _anchor(badge, index)
            for badge, index, span in inside
            if max(span.start, within.start) == segment.span.start
        )
        yield Highlight(piece.text, piece.tone, piece.claims, (), anchors)


def _parts(verdict: Verdict) -> Iterator[PartLine]:
    for part in verdict.parts:
        badge = Badge(0, "", part.status.value)
        yield PartLine(badge, one_line(part.text), figures.supported(part.p1))


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    confidence = verdict.claim.confidence
    if verdict.probability_right is not None:
        yield "Verdict", figures.certainty(verdict)
    if verdict.claim.read_as is not None:
        yield "Read as", one_line(verdict.claim.read_as)
    if confidence is not None:
        how = "stated in the answer" if confidence.stated else "inferred from its wording"
        yield "Confidence", f"{figures.probability(confidence.value)}, {how}"
    if verdict.evidence_dependence is not None:
        yield "Evidence dependence", f"{verdict.evidence_dependence:.2f} of 1"
    if verdict.citations:
        yield "Cites", ", ".join(phrases.citation(cite) for cite in verdict.citations)
    if verdict.windows_total:
        yield "Evidence scored", phrases.windows(verdict)


def _shares(assessment: Assessment) -> Iterator[Share]:
    tally = phrases.tally(assessment)
    total, x = sum(n for _, n in tally), 0.0
    for tone, n in tally:
        width = 100.0 * n / total
        yield Share(tone, phrases.LOOKS[tone], n, round(x, 3), round(width, 3))
        x += width


def _made_by(assessment: Assessment) -> str:
    backend, summary = assessment.backend, assessment.summary
    parts = [f"{backend.name} {backend.model} ({backend.estimator.value.replace('_', ' ')})"]
    parts.append(f"{summary.latency_ms:,.0f} ms")
    if summary.tokens is not None:
        parts.append(phrases.count(summary.tokens, "token"))
    if summary.cost_usd is not None:
        parts.append(f"{summary.cost_usd:.4f} USD")
    if summary.cascade is not None:
        parts.append(phrases.savings(summary.cascade))
    if summary.extraction.model is not None:
        parts.append(phrases.extraction(summary.extraction))
    return ", ".join(parts)
