"""Realistic assessments, built by hand, with every kind of text that a report must survive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from veridical.core.assessment import Counts, Outcome, Summary
from veridical.core.information import budget_gap_bits, observed_bits, required_bits
from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Estimator,
    Measurement,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.policy import Policy
from veridical.core.types import Citation, Claim, Confidence, Exclusion, Source, SourceSpan, Span
from veridical.core.verdicts import (
    Budget,
    Certainty,
    EvidenceSpan,
    Interval,
    Note,
    PartVerdict,
    QuantityDifference,
    Role,
    Status,
    Verdict,
)
from veridical.pipeline.reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterable

HOSTILE = (
    "<script>alert('x')</script> \x1b[31mred\x1b[0m [bold]loud[/bold] \x00\x07 \u202eevil\u202c"
)
BACKEND = BackendInfo("embedded", "verifier-v5", Estimator.CROSS_ENCODER, "f00d")

ANSWER = (
    "👩‍🚀 Hello! The bridge opened in 1937 [S1], and it is 2,737 m long [S1].\n\n"
    "It was painted blue [S2]. Every tourist visits it [S2].\n"
    "- Tolls rose in 2024 [S9].\n"
    "- שלום עולם, the toll is 9 dollars [S2].\n"
    "It is kind of nice. What do you think?\n"
    f"The sign says {HOSTILE} [S3].\n"
)
BRIDGE = (
    "# The bridge\n\n"
    "The bridge opened to traffic on 27 May 1937. Its total length is 2,737 metres,\n"
    "and its main span of 1,280 metres was the longest in the world until 1964.\n"
)
GUIDE = (
    "The colour is International Orange.\r\nMany tourists visit the bridge; "
    "the toll is 9 dollars. The colour is orange, not blue. 🌉\r\n"
)
SIGN = f'He wrote: "{HOSTILE}" </script><img src=x onerror=alert(1)> & more.'

SOURCES = {
    "S1": Source("S1", BRIDGE, path="docs/the bridge.md"),
    "S2": Source("S2", GUIDE),
    "S3": Source("S3", SIGN),
}


def estimate(supported: float, contradicted: float | None = 0.0, **changes: object) -> Estimate:
    rest = None if contradicted is None else 1.0 - supported - contradicted
    low, high = max(0.0, supported - 0.02), min(1.0, supported + 0.02)
    made = Estimate(
        supported, contradicted, rest, low, high, Estimator.CROSS_ENCODER, "verifier-v5", "f00d"
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def unmeasured(reason: UnmeasuredReason = UnmeasuredReason.TIMEOUT) -> Unmeasured:
    return Unmeasured(reason)


def budget(p1: Measurement, p0: Measurement, target: float = 0.95) -> Budget:
    if isinstance(p1, Unmeasured) or isinstance(p0, Unmeasured):
        return Budget(target)
    gap = budget_gap_bits(target, p0.supported, p1.supported)
    return Budget(
        target,
        required_bits(target, p0.supported),
        observed_bits(p1.supported, p0.supported),
        gap,
        Interval(gap - 0.1, gap + 0.1),
        None if abs(gap) < 0.1 else gap <= 0,
    )


def quote(source: str, text: str, role: Role = Role.SUPPORTS) -> EvidenceSpan:
    start = SOURCES[source].text.index(text)
    return EvidenceSpan(source, Span(start, start + len(text)), text, role)


def span_of(text: str, answer: str = ANSWER) -> Span:
    start = answer.index(text)
    return Span(start, start + len(text))


@dataclass
class Build:
    """Verdict in the making: a place in the answer and the findings about it."""

    text: str
    status: Status
    rule: str
    p1: Measurement = field(default_factory=lambda: estimate(0.97))
    p0: Measurement = field(default_factory=lambda: estimate(0.4))
    cites: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    parts: tuple[PartVerdict, ...] = ()
    excluded: Exclusion | None = None
    confidence: Confidence | None = None
    evidence_dependence: float | None = 0.57
    sure: bool = False
    right: float | None = None

    def verdict(self, number: int) -> Verdict:
        span = span_of(self.text)
        claim = Claim(
            f"c{number}",
            self.text,
            span,
            sentence=number,
            excluded=self.excluded,
            confidence=self.confidence,
        )
        target = self.confidence.value if self.confidence else 0.95
        return Verdict(
            claim,
            self.status,
            self.rule,
            tuple(
                Citation(cite, Span(span.end, span.end), cite if cite in SOURCES else None)
                for cite in self.cites
            ),
            self.p1,
            self.p0,
            budget(self.p1, self.p0, target),
            self.evidence_dependence,
            self.notes,
            self.evidence,
            self.parts,
            (SourceSpan("S1", Span(0, 60)), SourceSpan("S2", Span(0, 50))),
            windows_total=5,
            certainty=Certainty.SURE if self.sure else Certainty.UNSURE,
            probability_right=self.right,
        )


BUILDS = (
    Build(
        "Hello!",
        Status.UNVERIFIABLE,
        "not_assertive",
        unmeasured(UnmeasuredReason.DISABLED),
        unmeasured(UnmeasuredReason.DISABLED),
        excluded=Exclusion.GREETING,
        evidence_dependence=None,
    ),
    Build(
        "The bridge opened in 1937",
        Status.SUPPORTED,
        "support_threshold_reached",
        cites=("S1",),
        evidence=(quote("S1", "The bridge opened to traffic on 27 May 1937."),),
        confidence=Confidence(0.9, stated=True),
        sure=True,
        right=0.98,
    ),
    Build(
        "it is 2,737 m long",
        Status.SUPPORTED,
        "support_threshold_reached",
        estimate(0.98),
        estimate(0.96),
        cites=("S1",),
        notes=(Note.EVIDENCE_INDEPENDENT, Note.PARTLY_SCORED),
        evidence=(quote("S1", "27 May 1937. Its total length is 2,737 metres"),),
        evidence_dependence=0.02,
        right=0.83,
    ),
    Build(
        "It was painted blue",
        Status.CONTRADICTED,
        "contradiction_threshold_reached",
        estimate(0.01, 0.97),
        estimate(0.5, 0.1),
        cites=("S2",),
        notes=(Note.CONFIDENCE_NOT_JUSTIFIED,),
        evidence=(
            quote("S2", "The colour is International Orange.", Role.CONTRADICTS),
            quote("S2", "The colour is orange, not blue. 🌉", Role.CONTRADICTS),
        ),
        sure=True,
        right=0.97,
    ),
    Build(
        "Every tourist visits it",
        Status.PARTIALLY_SUPPORTED,
        "weaker_form_supported",
        estimate(0.31, None),
        estimate(0.2, None),
        cites=("S2",),
        notes=(Note.OVER_EXTRAPOLATION,),
        evidence=(quote("S2", "Many tourists visit the bridge; the toll is 9 dollars."),),
        parts=(
            PartVerdict(
                "Many tourists visit it", span_of("Every tourist"), Status.SUPPORTED, estimate(0.9)
            ),
            PartVerdict(
                "Every tourist visits it",
                span_of("Every tourist"),
                Status.UNSUPPORTED,
                unmeasured(),
            ),
        ),
        right=0.7,
    ),
    Build(
        "Tolls rose in 2024",
        Status.PHANTOM_CITATION,
        "cited_id_does_not_exist",
        estimate(0.12, 0.05),
        estimate(0.11, 0.05),
        cites=("S9", "S1"),
        evidence=(quote("S2", "the toll is 9 dollars", Role.NEAREST),),
        sure=True,
        right=1.0,
    ),
    Build(
        "שלום עולם, the toll is 9 dollars",
        Status.UNDETERMINED,
        "p1_unmeasured",
        unmeasured(),
        estimate(0.3),
        cites=("S2",),
        evidence_dependence=None,
    ),
    Build(
        "It is kind of nice",
        Status.UNVERIFIABLE,
        "vague",
        unmeasured(UnmeasuredReason.DISABLED),
        unmeasured(UnmeasuredReason.DISABLED),
        evidence_dependence=None,
    ),
    Build(
        "What do you think?",
        Status.UNVERIFIABLE,
        "not_assertive",
        unmeasured(UnmeasuredReason.DISABLED),
        unmeasured(UnmeasuredReason.DISABLED),
        excluded=Exclusion.QUESTION,
        evidence_dependence=None,
    ),
    Build(
        f"The sign says {HOSTILE}",
        Status.UNSUPPORTED,
        "below_support_threshold",
        estimate(0.2),
        estimate(0.2),
        cites=("S3",),
        evidence=(quote("S3", HOSTILE, Role.NEAREST),),
        evidence_dependence=0.0,
        right=0.61,
    ),
)


def summary_of(verdicts: tuple[Verdict, ...], outcome: Outcome) -> Summary:
    checked = [verdict for verdict in verdicts if verdict.claim.assertive]
    skipped = Counter(v.claim.excluded.value for v in verdicts if v.claim.excluded)
    gaps = [v.budget.budget_gap_bits for v in checked if v.budget.budget_gap_bits is not None]
    return Summary(
        outcome,
        sentences=9,
        claims_extracted=len(verdicts),
        claims_checked=len(checked),
        skipped=dict(skipped),
        by_status=Counter(verdict.status for verdict in checked),
        max_gap_bits=max(gaps, default=None),
        overall_confidence=0.51234567 if checked else None,
        latency_ms=412.25,
        probability_grounded=None if Outcome.FLAGGED is not outcome else 0.0123456789,
        flagged=_counts(verdict for verdict in checked if verdict.flagged),
        passed=_counts(verdict for verdict in checked if verdict.status is Status.SUPPORTED),
    )


def _counts(verdicts: Iterable[Verdict]) -> Counts:
    found = Counter(verdict.sure for verdict in verdicts)
    return Counts(found[True], found[False])


def make_report(
    answer: str,
    sources: dict[str, Source],
    verdicts: tuple[Verdict, ...],
    outcome: Outcome = Outcome.FLAGGED,
) -> Report:
    summary = summary_of(verdicts, outcome)
    return Report(answer, sources, verdicts, summary, Policy().resolved(BACKEND), BACKEND)


@pytest.fixture(scope="session")
def report() -> Report:
    """Ten claims, every status, hostile text in the answer and in a source."""
    verdicts = tuple(build.verdict(number) for number, build in enumerate(BUILDS, start=1))
    return make_report(ANSWER, SOURCES, verdicts)


@pytest.fixture(scope="session")
def grounded(report: Report) -> Report:
    """Two supported claims and nothing else."""
    return make_report(ANSWER, SOURCES, report.claims[1:3], Outcome.GROUNDED)


@pytest.fixture(scope="session")
def nothing(report: Report) -> Report:
    """Hold a greeting only, which is nothing to check."""
    return make_report(ANSWER, SOURCES, report.claims[:1], Outcome.NOTHING_TO_CHECK)


@pytest.fixture(scope="session")
def lost(report: Report) -> Report:
    """One supported claim and one that could not be measured."""
    verdicts = (report.claims[1], report.claims[6])
    return make_report(ANSWER, SOURCES, verdicts, Outcome.UNDETERMINED)


@pytest.fixture
def differing(report: Report) -> Report:
    """Return the report with a quantity that differs in its first contradicted claim."""
    stated = QuantityDifference("2,737 m", "2,373\nm", "length", "S1", Span(60, 70))
    verdicts = tuple(
        replace(verdict, rule="quantity_differs", difference=stated)
        if verdict.status is Status.CONTRADICTED
        else verdict
        for verdict in report.claims
    )
    return replace(report, claims=verdicts)
