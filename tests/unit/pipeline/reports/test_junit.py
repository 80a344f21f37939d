from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from veridical.core.policy import FailOn
    from veridical.pipeline.reports.report import Report


def suite_of(report: Report) -> ET.Element:
    root = ET.fromstring(report.to_junit().encode())  # noqa: S314 -- our own output
    (suite,) = root.findall("testsuite")
    return suite


def outcomes(suite: ET.Element) -> dict[str, str]:
    result = {}
    for case in suite.findall("testcase"):
        tags = [child.tag for child in case if child.tag not in {"properties", "system-out"}]
        result[case.attrib["name"].split(":")[0]] = tags[0] if tags else "passed"
    return result


def test_each_claim_is_a_test_case_with_its_outcome(report: Report) -> None:
    assert outcomes(suite_of(report)) == {
        "c1": "skipped",
        "c2": "passed",
        "c3": "passed",
        "c4": "failure",
        "c5": "skipped",
        "c6": "failure",
        "c7": "error",
        "c8": "skipped",
        "c9": "skipped",
        "c10": "skipped",
    }


@pytest.mark.parametrize(
    ("fail_on", "failures"),
    [("any", {"c4", "c5", "c6", "c8", "c10"}), ("sure", {"c4", "c6"}), ("contradicted", {"c4"})],
)
def test_failures_are_the_claims_that_fail_by_the_policy(
    report: Report, fail_on: FailOn, failures: set[str]
) -> None:
    found = outcomes(suite_of(replace(report, policy=replace(report.policy, fail_on=fail_on))))
    assert {claim for claim, outcome in found.items() if outcome == "failure"} == failures
    assert {"c4", "c5", "c6", "c8", "c10"} - failures <= {
        claim for claim, outcome in found.items() if outcome == "skipped"
    }


def test_what_is_unsure_says_so_whether_it_passes_or_not(report: Report) -> None:
    cases = suite_of(report).findall("testcase")
    unsure_pass, unsure_flag = cases[2], cases[4]
    assert "please look" in (unsure_pass.findtext("system-out") or "")
    assert "please look" in (unsure_flag.findtext("system-out") or "")
    skipped = unsure_flag.find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("Partially supported, unsure: ")
    for sure in (cases[1], cases[3], cases[5]):
        assert "please look" not in ET.tostring(sure, encoding="unicode")


def test_totals_agree_with_the_cases(report: Report) -> None:
    suite = suite_of(report)
    totals = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert totals == {"tests": "10", "failures": "2", "errors": "1", "skipped": "5"}


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
