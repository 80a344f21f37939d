from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from veridical.core.verdicts import Certainty
from veridical.pipeline.reports.sarif import as_uri

if TYPE_CHECKING:
    from veridical.core.types import Source
    from veridical.pipeline.reports.report import Report

# What SARIF 2.1.0 requires of the objects we write, from the standard's text.
LEVELS = {"error", "warning", "note", "none"}


def run_of(report: Report, **options: str) -> dict[str, Any]:
    log = json.loads(report.to_sarif(**options))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def physical(location: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    place = location["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]


def cut_by_lines(text: str, region: dict[str, Any]) -> str:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[region["startLine"] - 1] + region["startColumn"] - 1
    return text[start : starts[region["endLine"] - 1] + region["endColumn"] - 1]


def cut_by_offset(text: str, region: dict[str, Any]) -> str:
    return text[region["charOffset"] : region["charOffset"] + region["charLength"]]


def test_results_are_the_flagged_and_the_undetermined_claims(report: Report) -> None:
    claims = [result["properties"]["claim"] for result in run_of(report)["results"]]
    assert claims == ["c4", "c5", "c6", "c7", "c8", "c10"]


def test_results_refer_to_a_described_rule_with_a_known_level(report: Report) -> None:
    run = run_of(report)
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        usual = rule["defaultConfiguration"]["level"]
        assert result["level"] == ("note" if "please look" in result["message"]["text"] else usual)
        assert result["level"] in LEVELS
        assert rule["help"]["text"]


@pytest.mark.parametrize(
    ("claim", "level"),
    [("c4", "error"), ("c5", "warning"), ("c6", "error"), ("c7", "note"), ("c10", "warning")],
)
def test_level_of_what_is_sure_follows_the_status(report: Report, claim: str, level: str) -> None:
    sure = tuple(replace(verdict, certainty=Certainty.SURE) for verdict in report.claims)
    results = run_of(replace(report, claims=sure))["results"]
    assert {r["properties"]["claim"]: r["level"] for r in results}[claim] == level


def test_what_is_unsure_is_a_note_that_says_so(report: Report) -> None:
    results = {r["properties"]["claim"]: r for r in run_of(report)["results"]}
    assert results["c10"]["level"] == "note"
    assert results["c10"]["properties"]["certainty"] == "unsure"
    assert results["c10"]["message"]["text"].startswith("Unsupported, unsure: ")
    assert "please look" in results["c10"]["message"]["text"]
    assert results["c4"]["level"] == "error"
    assert "please look" not in results["c4"]["message"]["text"]


def test_regions_cut_exactly_the_claim_in_code_points(report: Report) -> None:
    run = run_of(report)
    texts = {verdict.claim.id: verdict.claim.text for verdict in report.claims}
    assert run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        uri, region = physical(result["locations"][0])
        text = texts[result["properties"]["claim"]]
        assert uri == "answer.txt"
        assert cut_by_offset(report.answer, region) == text
        assert cut_by_lines(report.answer, region) == text
        assert region["snippet"]["text"] == text


def test_related_locations_cut_exactly_the_evidence(report: Report) -> None:
    by_uri: dict[str, Source] = {
        as_uri(source.path or source.id): source for source in report.sources.values()
    }
    verdicts = {verdict.claim.id: verdict for verdict in report.claims}
    for result in run_of(report)["results"]:
        evidence = verdicts[result["properties"]["claim"]].evidence
        for piece, location in zip(evidence, result["relatedLocations"], strict=True):
            uri, region = physical(location)
            text = by_uri[uri].text
            assert cut_by_offset(text, region) == piece.text
            assert cut_by_lines(text, region) == piece.text


def test_every_location_is_a_listed_artifact(report: Report) -> None:
    run = run_of(report)
    listed = {artifact["location"]["uri"] for artifact in run["artifacts"]}
    assert listed == {"answer.txt", "docs/the%20bridge.md", "S2", "S3"}


def test_fingerprints_differ_by_claim_and_stay_the_same(report: Report) -> None:
    prints = [r["partialFingerprints"]["veridicalClaim/v1"] for r in run_of(report)["results"]]
    again = [r["partialFingerprints"]["veridicalClaim/v1"] for r in run_of(report)["results"]]
    assert prints == again
    assert len(set(prints)) == len(prints)


def test_answer_uri_is_percent_encoded(report: Report) -> None:
    run = run_of(report, answer_uri="out/my answer.md")
    assert physical(run["results"][0]["locations"][0])[0] == "out/my%20answer.md"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ü.txt", "a%20b/%C3%BC.txt"),
        ("/abs/x.txt", "file:///abs/x.txt"),
        ("C:\\docs\\x y.txt", "file:///C:/docs/x%20y.txt"),
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("S:1", "S%3A1"),
    ],
)
def test_paths_become_uris(path: str, uri: str) -> None:
    assert as_uri(path) == uri
    assert uri.startswith("file:") or unquote(uri) == path


def test_a_file_name_that_is_no_utf8_becomes_its_bytes() -> None:
    assert as_uri(os.fsdecode(b"an\xffswer.md")) == "an%FFswer.md"


def test_message_cannot_smuggle_placeholders_or_links(report: Report) -> None:
    verdict = report.claims[3]
    claim = replace(verdict.claim, text="see {0} and [this](1)")
    run = run_of(replace(report, claims=(replace(verdict, claim=claim),)))
    message = run["results"][0]["message"]["text"]
    assert "{{0}}" in message
    assert "](1)" not in message


def test_nothing_to_check_is_announced(nothing: Report) -> None:
    run = run_of(nothing)
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert run["results"] == []
    assert notice["level"] == "warning"
    assert "Nothing to check" in notice["message"]["text"]


def test_grounded_answer_has_no_results(grounded: Report) -> None:
    assert run_of(grounded)["results"] == []
