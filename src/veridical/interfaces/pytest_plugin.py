"""The pytest plugin: `assert_grounded`, the fixture `grounded`, JUnit properties, a summary.

    def test_answer(grounded):
        grounded(bot("When did it open?"), sources={"S1": TEXT})

Every pytest of an environment loads this file, so it imports nothing but pytest: the verifier is
built by the first assertion, once for all of them. Probabilities are kept in pytest's cache folder
(or where `cache.path` says), so that a model that samples cannot flip a gate that has passed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from veridical.core.policy import FailOn, Policy
    from veridical.core.ports import Backend
    from veridical.core.sources import Sources
    from veridical.pipeline.reports import Report
    from veridical.settings import Settings
    from veridical.wiring.runtime import Runtime

PREFIX = "veridical."
_FOR_EVER_S = 100 * 365.25 * 86_400.0
_NOTHING = "nothing_to_check"
_FAIL_ON = ("any", "sure", "contradicted")


class GroundedFixture(Protocol):
    """Type of the fixture `grounded`: `assert_grounded` under its own name."""

    def __call__(  # noqa: PLR0913 -- the arguments of `assert_grounded`
        self,
        answer: str,
        sources: Sources,
        question: str | None = None,
        *,
        allow: Collection[str] = (),
        fail_on: FailOn | None = None,
        policy: Policy | None = None,
        backend: str | Backend | None = None,
    ) -> Report:
        """Return the result of `assert_grounded`."""
        ...


def assert_grounded(  # noqa: PLR0913 -- a keyword for each thing that may be told
    answer: str,
    sources: Sources,
    question: str | None = None,
    *,
    allow: Collection[str] = (),
    fail_on: FailOn | None = None,
    policy: Policy | None = None,
    backend: str | Backend | None = None,
) -> Report:
    """Fail if a claim of `answer` is not supported by `sources`; return the report.

    `fail_on` selects the flagged claims that fail: `"any"`, claims with a `"sure"` verdict, or
    `"contradicted"` ones. None is the option `--veridical-fail-on`, or `veridical_fail_on` in
    pytest's file, or the `policy`, or the settings. An unmeasured claim fails, and so does an
    answer without a claim.

    `allow` names further results that pass: statuses such as `"unsupported"` or `"undetermined"`,
    and `"nothing_to_check"` for answers without a claim. The `AssertionError` names each claim that
    fails, with its evidence. Errors of input and configuration are those of `veridical.check`;
    `ValueError` if `allow` names a status that does not exist.
    """
    __tracebackhide__ = True
    _ensure_known(allow)
    chosen = _fail_on(fail_on)
    if _running is None:  # a script, or a test without the plugin
        from veridical.wiring.api import check

        report = check(answer, sources, question, policy, backend)
    else:
        report = _running.check(answer, sources, question, policy, backend)
    message = failure(report, allow, chosen)
    if message:
        raise AssertionError(message)
    return report


@pytest.fixture
def grounded() -> GroundedFixture:
    """Fail if a claim of an answer is not supported: `grounded(answer, sources)`."""
    return assert_grounded


# --- messages ---------------------------------------------------------------------------------


def failure(report: Report, allow: Collection[str] = (), fail_on: FailOn | None = None) -> str:
    """Return the failing claims with their evidence, one by one; "" if all pass.

    A `fail_on` of None is that of the report's policy.
    """
    from veridical.pipeline.reports import phrases

    if report.summary.outcome.value == _NOTHING and _NOTHING not in allow:
        return f"{phrases.headline(report)}\nAllow it with allow={{'{_NOTHING}'}}."
    failing = {verdict.claim.id for verdict in report.failing_on(fail_on or report.policy.fail_on)}
    failed = [
        verdict
        for verdict in report.claims
        if (verdict.claim.id in failing or phrases.tone(verdict) == "undetermined")
        and verdict.status.value not in allow
    ]
    if not failed:
        return ""
    lines = [phrases.headline(report)]
    for verdict in failed:
        lines += ["", *_told(verdict, report)]
    return "\n".join(lines)


def _told(verdict: Any, report: Report) -> list[str]:  # noqa: ANN401 -- a Verdict, not imported here
    from veridical.core.verdicts import row_of
    from veridical.pipeline.reports import phrases
    from veridical.pipeline.reports.escaping import one_line
    from veridical.pipeline.reports.positions import Lines

    look = phrases.LOOKS[phrases.tone(verdict)]
    lines = [
        f"{look.mark} {verdict.claim.id} {look.label}: {one_line(verdict.claim.text)}",
        f"    {phrases.reason(verdict)}",
    ]
    for evidence in verdict.shown:
        source = report.sources.get(evidence.source)
        line = "" if source is None else f", line {Lines(source.text).at(evidence.span.start).line}"
        lines.append(
            f"    {evidence.role.value} {evidence.source}{line}: “{one_line(evidence.text)}”"
        )
    if action := row_of(verdict).suggested_action:
        lines.append(f"    → {action}.")
    return lines


def _fail_on(given: FailOn | None) -> FailOn | None:
    """Return the `fail_on` of a test or its run; None if neither has one."""
    if given is None and _running is not None:
        given = _running.fail_on
    if given is not None:
        from veridical.core.policy import ensure_fail_on

        ensure_fail_on(given)
    return given


def _ensure_known(allow: Collection[str]) -> None:
    if isinstance(allow, str):
        msg = f"allow is a collection of statuses: write allow={{{allow!r}}}"
        raise ValueError(msg)  # noqa: TRY004 -- one error for what `allow` cannot be
    if not allow:
        return
    from veridical.core.verdicts import Status

    known = {_NOTHING, *(status.value for status in Status)}
    if unknown := sorted(set(allow) - known):
        msg = f"allow has no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        raise ValueError(msg)


def properties(report: Report) -> list[tuple[str, str | int]]:
    """Return the JUnit XML properties of a check: outcome, counts, ids, statuses, never a text."""
    flagged = [_named(verdict) for verdict in report.flagged]
    found: list[tuple[str, str | int]] = [
        ("outcome", report.summary.outcome.value),
        ("claims_checked", report.summary.claims_checked),
        *((f"status.{status}", n) for status, n in _by_status(report)),
        *((f"unsure.{name}", n) for name, n in _unsure(report)),
        ("backend", f"{report.backend.name}:{report.backend.model}"),
    ]
    if flagged:
        found.append(("flagged", ", ".join(flagged)))
    return [(f"{PREFIX}{name}", value) for name, value in found]


def _named(verdict: Any) -> str:  # noqa: ANN401 -- as above
    unsure = " unsure" if verdict.please_look else ""
    return f"{verdict.claim.id} {verdict.status.value}{unsure}"


def _by_status(report: Report) -> list[tuple[str, int]]:
    from veridical.pipeline.reports import phrases

    by_status = {status.value: n for status, n in report.summary.by_status.items() if n}
    return [(tone, by_status[tone]) for tone in phrases.LOOKS if tone in by_status]


def _unsure(report: Report) -> list[tuple[str, int]]:
    """Return the numbers of verdicts for and against a claim that need review, where above 0."""
    summary = report.summary
    counts = {"flagged": summary.flagged.unsure, "passed": summary.passed.unsure}
    return [(name, n) for name, n in counts.items() if n]


# --- one verifier for all tests ----------------------------------------------------------------


@dataclass
class _Running:
    """Verifiers of a run of tests, each opened when it is first asked."""

    cache: pytest.Cache | None
    fail_on: FailOn | None = None
    parts: dict[object, Runtime] = field(default_factory=dict)
    item: pytest.Item | None = None

    def check(
        self,
        answer: str,
        sources: Sources,
        question: str | None,
        policy: Policy | None,
        backend: str | Backend | None,
    ) -> Report:
        parts = self._parts_of(backend)
        call = partial(parts.verifier.check, answer, sources, question, policy=policy)
        report = parts.run(call)
        if self.item is not None:
            self.item.user_properties += properties(report)
        return report

    def _parts_of(self, backend: str | Backend | None) -> Runtime:
        key = backend if isinstance(backend, str | None) else id(backend)
        if key not in self.parts:
            from veridical.settings import Settings
            from veridical.wiring.runtime import Runtime

            made = Runtime(backend, settings=_kept(Settings.load(), self.cache))
            made.verifier  # noqa: B018 -- made now: settings that describe none are not kept
            self.parts[key] = made
        return self.parts[key]

    def close(self) -> None:
        for parts in self.parts.values():
            parts.close()
        self.parts.clear()


def _kept(settings: Settings, cache: pytest.Cache | None) -> Settings:
    """Return settings with a cache that outlives the run, if they have none."""
    if settings.cache.path is not None or cache is None:
        return settings
    path = str(cache.mkdir("veridical") / "estimates.db")
    block = settings.cache.model_copy(update={"path": path, "ttl_s": _FOR_EVER_S})
    return settings.model_copy(update={"cache": block})


_running: _Running | None = None


_HELP = "Which flagged claims fail a test: any, sure or contradicted."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the options."""
    group = parser.getgroup("veridical")
    group.addoption("--veridical-fail-on", choices=_FAIL_ON, default=None, help=_HELP)
    parser.addini("veridical_fail_on", _HELP, default="")


def _chosen(config: pytest.Config) -> Any:  # noqa: ANN401 -- one of `_FAIL_ON`, or None
    given = config.getoption("--veridical-fail-on") or config.getini("veridical_fail_on") or None
    if given is not None and given not in _FAIL_ON:
        msg = f"veridical_fail_on must be one of {', '.join(_FAIL_ON)}"
        raise pytest.UsageError(msg)
    return given


def pytest_configure(config: pytest.Config) -> None:
    """Begin; nothing is loaded yet."""
    global _running  # noqa: PLW0603 -- pytest calls module functions, and one run is at a time
    cache = getattr(config, "cache", None)  # None with `-p no:cacheprovider`
    _running = _Running(cache, _chosen(config))


def pytest_unconfigure() -> None:
    """Close the verifiers."""
    global _running  # noqa: PLW0603 -- as above
    if _running is not None:
        _running.close()
    _running = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record the test that asks."""
    running = _running
    if running is not None:
        running.item = item
    try:
        return (yield)
    finally:
        if running is not None:
            running.item = None


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401 -- its type is private to pytest
    """Print the number of checked claims and of their tests, if any were."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
    ]
    lines = summary([getattr(report, "user_properties", ()) for report in reports])
    if lines:
        terminalreporter.section("veridical")
        for line in lines:
            terminalreporter.write_line(line)


def summary(tests: Sequence[Sequence[tuple[str, object]]]) -> list[str]:
    """Return the lines of the summary from the properties of tests; none if nothing was checked."""
    asked = [test for test in tests if any(name == f"{PREFIX}outcome" for name, _ in test)]
    if not asked:
        return []
    from veridical.pipeline.reports.phrases import count

    total, answers, unsure = Counter[str](), 0, 0
    for name, value in (each for test in asked for each in test):
        answers += name == f"{PREFIX}outcome"
        if name.startswith(f"{PREFIX}status.") and isinstance(value, int):
            total[name.removeprefix(f"{PREFIX}status.").replace("_", " ")] += value
        if name.startswith(f"{PREFIX}unsure.") and isinstance(value, int):
            unsure += value
    said = ", ".join(f"{n:,} {status}" for status, n in total.items())
    said += f" ({unsure:,} of them unsure: please look)" if unsure else ""
    checked = f"{count(total.total(), 'claim')} checked in {count(answers, 'answer')}"
    return [f"{checked}, by {count(len(asked), 'test')}" + (f": {said}" if said else "")]
