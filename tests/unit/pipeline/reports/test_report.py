from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import veridical
from veridical.errors import ConfigurationError, FlaggedError
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from veridical.core.policy import FailOn
    from veridical.pipeline.reports.report import Report


def test_flagged_report_raises_with_ids_and_no_text(report: Report) -> None:
    with pytest.raises(FlaggedError, match=r"2 of 8 checked claims flagged: c4, c6\.") as e:
        report.raise_for_flagged()
    assert not any(verdict.claim.text in str(e.value) for verdict in report.claims)


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [("any", "c4, c5, c6, c8, c10"), ("sure", "c4, c6"), ("contradicted", "c4")],
)
def test_what_raises_is_what_the_caller_or_the_policy_says(
    report: Report, fail_on: FailOn, failing: str
) -> None:
    with pytest.raises(FlaggedError, match=rf": {failing}\."):
        report.raise_for_flagged(fail_on)
    told = replace(report, policy=replace(report.policy, fail_on=fail_on))
    assert ", ".join(verdict.claim.id for verdict in told.failing) == failing
    with pytest.raises(FlaggedError, match=rf": {failing}\."):
        told.raise_for_flagged()
    assert told.flagged == report.flagged


def test_an_unknown_fail_on_is_refused(grounded: Report) -> None:
    with pytest.raises(ConfigurationError, match="fail_on must be one of"):
        grounded.raise_for_flagged("unsure")  # type: ignore[arg-type]


@pytest.mark.parametrize("which", ["grounded", "nothing", "lost"])
def test_only_flagged_claims_raise(which: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(which)
    report.raise_for_flagged()


def test_repr_holds_counts_and_no_text(report: Report) -> None:
    assert repr(report) == "Report(outcome='flagged', checked=8, flagged=5)"


def test_a_checked_report_survives_pickling() -> None:
    backend = FakeBackend(lambda _: fake_estimate(0.9))
    report = veridical.check("It rained.", sources={"S1": "It rained."}, backend=backend)
    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301 -- our own bytes
    assert copy.deepcopy(report) == report


def test_str_is_the_text_report(report: Report) -> None:
    assert str(report).startswith("Flagged: 5 of 8 checked claims")


def test_the_headline_is_the_first_line_of_the_text_and_holds_no_claim(report: Report) -> None:
    assert str(report).startswith(report.headline)
    assert not any(verdict.claim.text in report.headline for verdict in report.claims)


def test_importing_the_report_loads_no_renderer() -> None:
    code = (
        "import sys, veridical.pipeline.reports.report; "
        "print(sorted({'rich', 'jinja2', 'markupsafe', 'xml.etree'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
