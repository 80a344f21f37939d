"""The pytest plugin, in a pytest of its own: the real one, with the real verifier."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from veridical.core.policy import FAIL_ON, FailOn
from veridical.errors import ConfigurationError
from veridical.interfaces.pytest_plugin import assert_grounded, failure, properties, summary
from veridical.testing import FakeBackend, fake_estimate
from veridical.verification.sync import SyncVerifier
from veridical.verification.verifier import Verifier

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.slow

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


def checked(answer: str, *estimates: object, fail_on: FailOn | None = None) -> str:
    found = iter(estimates)
    with SyncVerifier(Verifier(FakeBackend(lambda _: next(found)))) as verifier:  # type: ignore[arg-type]
        return failure(verifier.check(answer, SOURCES), fail_on=fail_on)


def test_run_of_tests_says_which_claims_fail_and_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("--junitxml=out.xml")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E * No sure errors: 1 of 1 checked claim needs a look",
            "E * [?]✗ c1 contradicted*: The bridge has six lanes.",
            "E * The claim says “six” where the evidence says “eight”.*",
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
    assert bad["veridical.flagged"] == "c1 contradicted unsure"
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
            heavy = {"anyio", "numpy", "onnxruntime", "pydantic", "rich", "yaml"}
            heavy.add("veridical.wiring.api")
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


@pytest.mark.parametrize(
    ("estimate", "failing"),
    [
        (fake_estimate(0.02, 0.97), {None, "any", "sure", "contradicted"}),
        (fake_estimate(0.2, 0.7), {"any", "contradicted"}),
        (fake_estimate(0.02), {None, "any", "sure"}),
        (fake_estimate(0.3), {"any"}),
    ],
)
def test_which_flagged_claims_fail_is_chosen(estimate: object, failing: set[FailOn]) -> None:
    for fail_on in (None, *FAIL_ON):
        assert bool(checked(BAD, estimate, estimate, fail_on=fail_on)) == (fail_on in failing)


UNSURE = f"""
from veridical.testing import FakeBackend, fake_estimate

BACKEND = FakeBackend(lambda _: fake_estimate(0.3))

def test_default(grounded):
    grounded({BAD!r}, {SOURCES!r}, backend=BACKEND)

def test_argument(grounded):
    grounded({BAD!r}, {SOURCES!r}, backend=BACKEND, fail_on="any")

def test_argument_wins(grounded):
    grounded({BAD!r}, {SOURCES!r}, backend=BACKEND, fail_on="contradicted")
"""


@pytest.mark.parametrize(
    ("option", "ini", "failed"),
    [
        ((), "", 1),
        (("--veridical-fail-on=any",), "", 2),
        ((), "any", 2),
        (("--veridical-fail-on=sure",), "any", 1),
    ],
)
def test_a_run_of_tests_chooses_which_flagged_claims_fail(
    pytester: pytest.Pytester, option: tuple[str, ...], ini: str, failed: int
) -> None:
    pytester.makeini(f"[pytest]\nveridical_fail_on = {ini}\n")
    pytester.makepyfile(UNSURE)
    result = pytester.runpytest_subprocess(*option)
    result.assert_outcomes(passed=3 - failed, failed=failed)
    result.stdout.fnmatch_lines(
        [
            "E * No sure errors: 1 of 1 checked claim needs a look",
            "E * ?○ c1 unsupported, unsure: The bridge has six lanes.",
            "3 claims checked in 3 answers, *: 3 unsupported (3 of them unsure: please look)",
        ]
    )


def test_a_wrong_choice_in_pytests_file_is_wrong_use(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nveridical_fail_on = unsure\n")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*veridical_fail_on must be one of any, sure, contradicted*"])


def test_supported_claims_pass() -> None:
    assert checked(GOOD, fake_estimate(0.99), fake_estimate(0.2)) == ""


def test_allowing_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="allow has no wrong; there are contradicted"):
        assert_grounded(GOOD, SOURCES, allow={"wrong"})
    with pytest.raises(ConfigurationError, match="fail_on must be one of"):
        assert_grounded(GOOD, SOURCES, fail_on="unsure")  # type: ignore[arg-type]
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
