"""The pytest plugin, in a pytest of its own: the real one, with the real verifier."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from veridical.interfaces.pytest_plugin import assert_grounded, failure, properties, summary
from veridical.sync import SyncVerifier
from veridical.testing import FakeBackend, fake_estimate
from veridical.verifier import Verifier

pytest_plugins = ["pytester"]

SOURCES = {"S1": "The bridge was opened to traffic in 1998. It carries eight lanes."}
GOOD, BAD = "The bridge opened in 1998 [S1].", "The bridge has six lanes [S1]."
TESTS = f"""
from veridical.pytest import assert_grounded

SOURCES = {SOURCES!r}

def test_good(grounded):
    report = grounded({GOOD!r}, SOURCES)
    assert report.summary.outcome == "grounded"

def test_bad():
    assert_grounded({BAD!r}, SOURCES)

def test_allowed(grounded):
    grounded({BAD!r}, SOURCES, allow={{"contradicted"}})

def test_nothing(grounded):
    grounded("Shall we go?", SOURCES)

def test_other():
    pass
"""


def checked(answer: str, *estimates: object) -> str:
    found = iter(estimates)
    with SyncVerifier(Verifier(FakeBackend(lambda _: next(found)))) as verifier:  # type: ignore[arg-type]
        return failure(verifier.check(answer, SOURCES))


def test_run_of_tests_says_which_claims_fail_and_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("--junitxml=out.xml")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E * Flagged: 1 of 1 checked claim",
            "E * ✗ c1 contradicted: The bridge has six lanes.",
            "E * The evidence opposes the claim.",
            "E * contradicts S1, line 1: “It carries eight lanes.”",
            "E * Nothing to check: no checkable claim in this answer",
            "*= veridical =*",
            "3 claims checked in 4 answers, by 4 tests: *",
        ]
    )
    tree = ET.parse(pytester.path / "out.xml")  # noqa: S314 -- our own file
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    bad = {each.get("name"): each.get("value") for each in cases["test_bad"].iter("property")}
    assert bad["veridical.outcome"] == "flagged"
    assert bad["veridical.flagged"] == "c1 contradicted"
    assert list(cases["test_other"].iter("property")) == []
    assert (pytester.path / ".pytest_cache/d/veridical/estimates.db").is_file()


def test_second_run_asks_nothing_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_it(grounded):
            report = grounded({GOOD!r}, {SOURCES!r})
            print("cached", [claim.p1.cached for claim in report.claims])
        """
    )
    first = pytester.runpytest_subprocess("-s")
    second = pytester.runpytest_subprocess("-s")
    first.stdout.fnmatch_lines(["*cached ?False?*"])
    second.stdout.fnmatch_lines(["*cached ?True?*"])


def test_pytest_that_checks_nothing_loads_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others load much
    pytester.makepyfile(
        """
        import sys

        def test_it(request):
            assert request.config.pluginmanager.has_plugin("veridical")
            heavy = {"anyio", "numpy", "onnxruntime", "pydantic", "rich", "yaml", "veridical.api"}
            assert heavy & set(sys.modules) == set()
        """
    )
    result = pytester.runpytest_subprocess("-p", "veridical")
    result.assert_outcomes(passed=1)
    assert "= veridical =" not in result.stdout.str()
    assert not (pytester.path / ".pytest_cache/d/veridical").exists()


def test_what_was_not_measured_is_no_pass() -> None:
    from veridical.core.measurements import Unmeasured, UnmeasuredReason

    lost = Unmeasured(UnmeasuredReason.TIMEOUT)
    assert "? c1 undetermined" in checked(GOOD, lost, lost)


def test_supported_claims_pass() -> None:
    assert checked(GOOD, fake_estimate(0.99), fake_estimate(0.2)) == ""


def test_allowing_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="allow has no wrong; there are contradicted"):
        assert_grounded(GOOD, SOURCES, allow={"wrong"})
    with pytest.raises(ValueError, match="write allow="):
        assert_grounded(GOOD, SOURCES, allow="unsupported")


def test_properties_hold_no_text() -> None:
    with SyncVerifier(Verifier(FakeBackend(lambda _: fake_estimate(0.1)))) as verifier:
        said = str(properties(verifier.check(BAD, SOURCES)))
    assert "c1 unsupported" in said
    assert "lanes" not in said


def test_summary_adds_up_what_tests_checked() -> None:
    one = [("veridical.outcome", "flagged"), ("veridical.status.supported", 2)]
    two = [("veridical.outcome", "grounded"), ("veridical.status.supported", 1)]
    assert summary([one + two, two, [("other", 1)]]) == [
        "4 claims checked in 3 answers, by 2 tests: 4 supported"
    ]
    assert summary([[("other", 1)]]) == []
