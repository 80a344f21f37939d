from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from veridical.pipeline.reports.report import Report


def suite_of(report: Report) -> ET.Element:
    root = ET.fromstring(report.to_junit().encode())  # noqa: S314 -- our own output
    (suite,) = root.findall("testsuite")
    return suite


def outcomes(suite: ET.Element) -> dict[str, str]:
    result = {}
    for case in suite.findall("testcase"):
        tags = [child.tag for child in case if child.tag != "properties"]
        result[case.attrib["name"].split(":")[0]] = tags[0] if tags else "passed"
    return result


def test_each_claim_is_a_test_case_with_its_outcome(report: Report) -> None:
    assert outcomes(suite_of(report)) == {
        "c1": "skipped",
        "c2": "passed",
        "c3": "passed",
        "c4": "failure",
        "c5": "failure",
        "c6": "failure",
        "c7": "error",
        "c8": "failure",
        "c9": "skipped",
        "c10": "failure",
    }


def test_totals_agree_with_the_cases(report: Report) -> None:
    suite = suite_of(report)
    totals = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert totals == {"tests": "10", "failures": "5", "errors": "1", "skipped": "2"}


def test_answer_with_nothing_to_check_is_skipped_not_passed(nothing: Report) -> None:
    assert outcomes(suite_of(nothing)) == {"c1": "skipped", "nothing to check": "skipped"}


def test_answer_without_claims_is_skipped_not_passed(nothing: Report) -> None:
    assert outcomes(suite_of(replace(nothing, claims=()))) == {"nothing to check": "skipped"}


def test_properties_carry_the_figures(report: Report) -> None:
    case = suite_of(report).findall("testcase")[3]
    values = {item.attrib["name"]: item.attrib["value"] for item in case.iter("property")}
    assert values["p1"] == "0.010000"
    assert values["budget_gap_bits"] == "1.632810"


def test_failure_says_why(report: Report) -> None:
    failure = suite_of(report).findall("testcase")[3].find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "contradicted"
    assert "contradicts S2:0-35: The colour is International Orange." in (failure.text or "")


def test_hostile_text_is_shown_not_obeyed(report: Report) -> None:
    case = suite_of(report).findall("testcase")[9]
    assert "<script>alert('x')</script> ␛[31mred␛[0m" in case.attrib["name"]


@pytest.mark.parametrize("length", [10, 1_000])
def test_name_of_a_long_claim_is_shortened(report: Report, length: int) -> None:
    verdict = report.claims[3]
    claim = replace(verdict.claim, text="x" * length)
    case = suite_of(replace(report, claims=(replace(verdict, claim=claim),))).find("testcase")
    assert case is not None
    assert len(case.attrib["name"]) <= 170
    assert case.attrib["name"].endswith("…") == (length > 160)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_well_formed_xml(report: Report, text: str) -> None:
    verdict = report.claims[3]
    claim = replace(verdict.claim, text=text)
    evidence = tuple(replace(piece, text=text) for piece in verdict.evidence)
    hostile = replace(verdict, claim=claim, evidence=evidence)
    assert outcomes(suite_of(replace(report, claims=(hostile,)))) == {"c4": "failure"}
