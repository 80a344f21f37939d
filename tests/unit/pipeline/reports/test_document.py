from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pytest
from jsonschema import Draft202012Validator

from veridical.core.assessment import CascadeUsage
from veridical.core.information import EPSILON
from veridical.core.measurements import UnmeasuredReason
from veridical.core.policy import FAIL_ON
from veridical.core.status_table import GapType
from veridical.core.types import Exclusion
from veridical.core.verdicts import Certainty, Note, Status

if TYPE_CHECKING:
    from veridical.pipeline.reports.report import Report

SCHEMA_FILE = Path(__file__).parents[4] / "docs" / "schemas" / "report-1.schema.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(document)
    return document


@pytest.mark.parametrize("which", ["report", "grounded", "nothing", "lost"])
def test_every_outcome_validates_against_the_published_schema(
    which: str, schema: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    document = json.loads(request.getfixturevalue(which).to_json())
    Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize("windows", [0, 3, "all"])
def test_every_number_of_windows_fits_the_schema(
    report: Report, schema: dict[str, Any], windows: int | Literal["all"]
) -> None:
    policy = replace(report.policy, windows=windows)
    Draft202012Validator(schema).validate(replace(report, policy=policy).to_dict())


def test_what_a_cascade_saved_is_in_the_summary(report: Report, schema: dict[str, Any]) -> None:
    saving = CascadeUsage(asked_first=24, asked_second=4, stood_in=1)
    document = replace(report, summary=replace(report.summary, cascade=saving)).to_dict()
    Draft202012Validator(schema).validate(document)
    assert document["summary"]["cascade"] == {
        "asked_first": 24,
        "asked_second": 4,
        "stood_in": 1,
        "saved": 0.833333,
    }
    assert report.to_dict()["summary"]["cascade"] is None


def test_sure_and_unsure_verdicts_are_counted(report: Report) -> None:
    summary = report.to_dict()["summary"]
    assert summary["by_certainty"] == {
        "flagged": {"sure": 2, "unsure": 3},
        "passed": {"sure": 1, "unsure": 1},
    }
    assert summary["failing"] == 2
    assert summary["probability_grounded"] == 0.012346
    claims = {claim["id"]: claim for claim in report.to_dict()["claims"]}
    assert (claims["c4"]["certainty"], claims["c4"]["probability_right"]) == ("sure", 0.97)
    assert (claims["c7"]["certainty"], claims["c7"]["probability_right"]) == ("unsure", None)


def test_schema_knows_every_value_of_the_enums(schema: dict[str, Any]) -> None:
    claim, defs = schema["$defs"]["claim"]["properties"], schema["$defs"]
    assert defs["status"]["enum"] == list(Status)
    assert defs["certainty"]["enum"] == list(Certainty)
    assert defs["policy"]["properties"]["fail_on"]["enum"] == list(FAIL_ON)
    assert defs["unmeasured"]["properties"]["unmeasured"]["enum"] == list(UnmeasuredReason)
    assert claim["notes"]["items"]["enum"] == list(Note)
    assert claim["excluded"]["enum"] == [*Exclusion, None]
    assert set(claim["gap_type"]["enum"]) == {*get_args(GapType), None}


def test_json_keeps_text_and_offsets_exactly(report: Report) -> None:
    document = json.loads(report.to_json())
    for verdict, claim in zip(report.claims, document["claims"], strict=True):
        span = claim["span"]
        assert claim["text"] == verdict.claim.text
        assert report.answer[span["start"] : span["end"]] == claim["text"]
        for evidence in claim["evidence"]:
            source = report.sources[evidence["source"]].text
            assert source[evidence["start"] : evidence["end"]] == evidence["text"]


def test_dictionary_and_json_are_the_same_document(report: Report) -> None:
    assert json.loads(report.to_json()) == report.to_dict()


def test_json_is_stable(report: Report) -> None:
    assert report.to_json() == report.to_json()
    assert "שלום" in report.to_json()


def test_yes_no_only_estimate_leaves_two_probabilities_null(report: Report) -> None:
    p1 = report.to_dict()["claims"][4]["p1"]
    assert (p1["contradicted"], p1["not_in_context"]) == (None, None)


def test_excluded_claim_is_unmeasured_because_disabled(report: Report) -> None:
    asked_by_mistake = replace(report.claims[0], p1=report.claims[1].p1)
    claim = replace(report, claims=(asked_by_mistake,)).to_dict()["claims"][0]
    assert claim["p1"] == claim["p0"] == {"unmeasured": "disabled"}
    assert (claim["assertive"], claim["flagged"], claim["excluded"]) == (False, False, "greeting")


def test_undetermined_claim_has_a_reason_and_no_bits(report: Report) -> None:
    claim = report.to_dict()["claims"][6]
    assert claim["p1"] == {"unmeasured": "timeout"}
    assert claim["budget_gap_bits"] is None
    assert claim["confidence_justified"] is None


def test_undecided_confidence_is_null(report: Report) -> None:
    claim = report.to_dict()["claims"][2]
    assert claim["confidence_justified"] is None
    assert claim["gap_interval_bits"]["low"] < 0 < claim["gap_interval_bits"]["high"]


def test_policy_shows_the_thresholds_in_force(report: Report) -> None:
    policy = report.to_dict()["policy"]
    assert policy["support_threshold"] == report.backend.support_threshold
    assert policy["epsilon"] == EPSILON


def test_every_status_is_counted_even_if_zero(grounded: Report) -> None:
    by_status = grounded.to_dict()["summary"]["by_status"]
    assert by_status == {status.value: 0 for status in Status} | {"supported": 2}


def test_numbers_are_rounded_to_six_decimals(report: Report) -> None:
    assert report.to_dict()["summary"]["overall_confidence"] == 0.512346


def test_negative_zero_is_zero(report: Report) -> None:
    verdict = replace(report.claims[1], evidence_dependence=-0.0)
    assert '"evidence_dependence": 0.0' in replace(report, claims=(verdict,)).to_json()


def test_infinite_number_is_refused(report: Report) -> None:
    summary = replace(report.summary, max_gap_bits=float("inf"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(report, summary=summary).to_json()


def test_evidence_says_where_the_claim_differs_from_it(report: Report) -> None:
    contradicted = report.claims[3]
    place = replace(contradicted.evidence[0], text="It was painted orange")
    changed = replace(report, claims=(replace(contradicted, evidence=(place,)),))
    (found,) = changed.to_dict()["claims"][0]["evidence"]
    assert found["differs"] == {
        "claim": [{"start": 15, "end": 19}],
        "evidence": [{"start": 15, "end": 21}],
    }


def test_quantities_that_differ_are_both_named(differing: Report, schema: dict[str, Any]) -> None:
    document = differing.to_dict()
    Draft202012Validator(schema).validate(document)
    found = [c["quantity_difference"] for c in document["claims"] if "quantity_difference" in c]
    place = {"source": "S1", "start": 60, "end": 70}
    assert found == [{"claimed": "2,737 m", "stated": "2,373\nm", "dimension": "length"} | place]


def test_a_report_says_its_outcome_and_its_reasons_in_words(lost: Report) -> None:
    document = lost.to_dict()
    assert (
        document["summary"]["headline"]
        == "Undetermined: 1 of 2 checked claims could not be decided"
    )
    assert "; not measured: 1 because " in document["summary"]["coverage"]
    assert document["claims"][0]["reason"] == "The evidence states the claim."
    assert document["claims"][1]["reason"].startswith("Could not be measured: ")
