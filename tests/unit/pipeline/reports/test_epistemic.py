"""Results of SPEC-16 on a terminal: complete, safe, and readable without colour."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console, RenderableType

from veridical.audit.render import AuditLayout as Layout
from veridical.audit.values import StepAudit, TraceAudit
from veridical.core.epistemic import Verifications
from veridical.core.similarity import Consistency, Contradiction, Contradictions
from veridical.core.verdicts import Status
from veridical.pipeline.judgement.epistemic import hallucinations, not_verified, verification
from veridical.pipeline.reports.report import Report


def shown(layout: RenderableType, *, colour: bool = False) -> str:
    system = "256" if colour else None
    console = Console(file=StringIO(), width=160, color_system=system, force_terminal=colour)  # type: ignore[arg-type]
    with console.capture() as capture:
        console.print(layout)
    return capture.get()


@pytest.mark.spec("SPEC-16.34")
def test_a_report_is_a_table_of_its_claims_with_bits_as_bars(report: Report) -> None:
    found = hallucinations(report)
    text = shown(Layout("utf-8").report(found))
    assert text.startswith(str(found).splitlines()[0])
    for claim in found.claims:
        assert any(claim.claim_id in line and "│" in line for line in text.splitlines()) or (
            claim.budget_gap is None
        )


def test_pairs_that_oppose_each_other_are_named(report: Report) -> None:
    pairs = Contradictions((Contradiction("c1", "c2", "It is on.", "It is off.", 0.9),), 1, 1)
    text = shown(Layout("utf-8").report(hallucinations(report, pairs)))
    assert "c1 and c2 oppose each other (0.90): It is on. / It is off." in text


def test_one_claim_says_why_its_numbers_its_evidence_and_what_to_do(report: Report) -> None:
    (verdict, *_) = [v for v in report.claims if v.status is Status.CONTRADICTED]
    text = shown(
        Layout("utf-8").claim(verification(verdict, Consistency(value=0.9, method="rules")))
    )
    for row in ("claim", "why", "p1", "p0", "bits", "consistency", "contradicts", "do"):
        assert any(line.startswith(row) for line in text.splitlines()), row


def test_nothing_that_steers_a_terminal_gets_through(report: Report) -> None:
    layout = Layout("utf-8")
    for verdict in report.claims:
        text = shown(layout.claim(verification(verdict)))
        assert not {"\x1b", "\x00", "\x07", "\u202e"} & set(text)


def test_a_terminal_that_knows_ascii_only_gets_ascii(report: Report) -> None:
    layout = Layout("ascii")
    claims = Verifications(verification(verdict) for verdict in report.claims if verdict.checked)
    assert shown(layout.claims(claims)).isascii()


def test_colour_adds_nothing_but_colour(report: Report) -> None:
    found = hallucinations(report)
    plain = shown(Layout("utf-8").report(found))
    assert "\x1b[" not in plain
    assert "\x1b[" in shown(Layout("utf-8").report(found), colour=True)


def test_steps_are_a_table_of_labels(report: Report) -> None:
    (bad, *_) = [v for v in report.claims if v.status is Status.CONTRADICTED]
    step = StepAudit("step1", "It opened in 1936.", "CONTRADICTED", verification(bad))
    text = shown(Layout("utf-8").audit(TraceAudit((step,))))
    assert "1 of 1 steps do not hold; the first is step1" in text
    assert "CONTRADICTED" in text


def test_what_was_not_verified_is_said_in_one_line() -> None:
    layout = Layout("utf-8")
    assert shown(layout.report(not_verified("", "no_answer"))) == "Not verified: no answer\n"
    assert shown(layout.claims(())) == "No claim to verify\n"
