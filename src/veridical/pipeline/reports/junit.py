"""The claims as JUnit XML, for the test page of a CI system.

A claim that fails under the policy's `fail_on` is a failure, an undetermined one an error. A
flagged claim that does not fail is skipped, with the details as output: CI systems show that
between a pass and a failure. So is an excluded one. An unsure pass says so in its output. An answer
with nothing to check gets one skipped test case of that name, for an empty suite would show as a
pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from veridical.core.assessment import Outcome
from veridical.core.cancellation import checkpoint
from veridical.core.measurements import Estimate
from veridical.core.verdicts import Status, row_of
from veridical.pipeline.reports import phrases
from veridical.pipeline.reports.escaping import one_line, visible
from veridical.pipeline.reports.figures import bits, certainty, measured

if TYPE_CHECKING:
    from veridical.core.assessment import Assessment
    from veridical.core.measurements import Measurement
    from veridical.core.verdicts import EvidenceSpan, Verdict

_NAME_LENGTH = 160
_SUITE = "veridical"


def to_junit(assessment: Assessment) -> str:
    """Return the assessment as JUnit XML; characters that XML forbids are made visible."""
    suite = Element("testsuite", name=_SUITE)
    suite.set("time", f"{assessment.summary.latency_ms / 1000:.3f}")
    _properties(suite, _summary(assessment))
    failing = {verdict.claim.id for verdict in assessment.failing}
    for verdict in assessment.claims:
        _case(suite, verdict, fails=verdict.claim.id in failing)
    if assessment.summary.outcome is Outcome.NOTHING_TO_CHECK or not assessment.claims:
        _nothing(suite, assessment)
    return _document(suite)


def _document(suite: Element) -> str:
    totals = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    root = Element("testsuites", name=_SUITE)
    root.append(suite)
    for name, total in totals.items():
        suite.set(name, str(total))
        root.set(name, str(total))
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(suite: Element, verdict: Verdict, *, fails: bool) -> None:
    checkpoint()
    name = f"{verdict.claim.id}: {_shortened(one_line(verdict.claim.text))}"
    case = SubElement(suite, "testcase", classname=_SUITE, name=visible(name))
    _properties(case, _figures(verdict))
    if not verdict.checked:
        SubElement(case, "skipped", message=phrases.reason(verdict))
    elif verdict.status is Status.UNDETERMINED:
        _problem(case, "error", verdict)
    elif fails:
        _problem(case, "failure", verdict)
    elif verdict.flagged:
        label = phrases.LOOKS[phrases.tone(verdict)].label.capitalize()
        message = visible(f"{label}: {one_line(phrases.reason(verdict))}")
        SubElement(case, "skipped", message=message)
        SubElement(case, "system-out").text = _details(verdict)
    elif verdict.please_look:
        SubElement(case, "system-out").text = _details(verdict)


def _nothing(suite: Element, assessment: Assessment) -> None:
    case = SubElement(suite, "testcase", classname=_SUITE, name="nothing to check")
    SubElement(case, "skipped", message=phrases.headline(assessment))


def _problem(case: Element, tag: str, verdict: Verdict) -> None:
    message = one_line(phrases.reason(verdict))
    problem = SubElement(case, tag, type=verdict.status.value, message=message)
    problem.text = _details(verdict)


def _details(verdict: Verdict) -> str:
    lines = [phrases.reason(verdict)] if verdict.please_look else []
    lines += [f"claim: {verdict.claim.text}", f"rule: {verdict.rule}"]
    lines.append(f"verdict: {certainty(verdict)}")
    lines += [f"p1: {measured(verdict.p1)}", f"p0: {measured(verdict.p0)}"]
    lines += [f"bits: {bits(verdict.budget)}", *map(_evidence, verdict.shown)]
    if action := row_of(verdict).suggested_action:
        lines.append(f"do: {action}")
    return visible("\n".join(lines))


def _evidence(evidence: EvidenceSpan) -> str:
    place = f"{evidence.source}:{evidence.span.start}-{evidence.span.end}"
    return f"{evidence.role.value} {place}: {evidence.text}"


def _shortened(text: str) -> str:
    return text if len(text) <= _NAME_LENGTH else f"{text[: _NAME_LENGTH - 1]}…"


def _summary(assessment: Assessment) -> dict[str, str]:
    summary = assessment.summary
    return {
        "outcome": summary.outcome.value,
        "fail_on": assessment.policy.fail_on or "any",
        "failing": str(len(assessment.failing)),
        "probability_grounded": _figure(summary.probability_grounded),
        "checked": phrases.denominators(assessment),
        "backend": f"{assessment.backend.name} {assessment.backend.model}",
        "max_gap_bits": _figure(summary.max_gap_bits),
    }


def _figures(verdict: Verdict) -> dict[str, str]:
    return {
        "status": verdict.status.value if verdict.checked else phrases.EXCLUDED,
        "certainty": verdict.certainty.value,
        "p1": _supported(verdict.p1),
        "p0": _supported(verdict.p0),
        "budget_gap_bits": _figure(verdict.budget.budget_gap_bits),
    }


def _supported(measurement: Measurement) -> str:
    if isinstance(measurement, Estimate):
        return _figure(measurement.supported)
    return f"unmeasured: {measurement.reason.value}"


def _figure(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:.6f}"


def _properties(parent: Element, values: dict[str, str]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=name, value=visible(value))
