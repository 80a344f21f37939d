"""Hedged claims are marked and counted in every view."""

from __future__ import annotations

import json

import anyio
import pytest

from veridical.core.assessment import Outcome
from veridical.pipeline.reports import Report
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.verifier import Verifier

ANSWER = "It opened in 1998. It might have been red. Perhaps it fell."
SAID = (
    "Undetermined: most of the answer is hedged; 1 checked claim (2 more hedged, so not verified)"
)


@pytest.fixture(scope="module")
def report() -> Report:
    verifier = Verifier(FakeBackend(lambda _: fake_estimate(0.99)))
    return anyio.run(verifier.check, ANSWER, {"S1": "It opened in 1998."})


def test_the_text_marks_each_hedged_statement_and_says_why_it_is_no_pass(report: Report) -> None:
    assert report.summary.outcome is Outcome.UNDETERMINED
    assert SAID in str(report)
    assert "It might have been red. ·c2 Perhaps it fell. ·c3" in str(report)


def test_the_other_views_count_them_too(report: Report) -> None:
    assert report.to_dict()["summary"]["skipped"] == {"hedged": 2}
    assert [claim["excluded"] for claim in report.to_dict()["claims"]] == [None, "hedged", "hedged"]
    assert SAID in report.to_html()
    assert report.to_html().count('"mark t-excluded"') == 2
    assert report.to_junit().count("<skipped") == 2
    (run,) = json.loads(report.to_sarif())["runs"]
    assert SAID in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_a_wholly_hedged_answer_says_that_it_is() -> None:
    verifier = Verifier(FakeBackend(lambda _: fake_estimate(0.99)))
    found = anyio.run(verifier.check, "Perhaps it fell.", {"S1": "It fell."})
    assert "Nothing to check: all that the answer states is hedged (1)" in str(found)
