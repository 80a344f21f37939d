"""Report: an assessment with its output formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Assessment
from veridical.core.policy import ensure_fail_on
from veridical.errors import FlaggedError

if TYPE_CHECKING:
    from rich.console import Console

    from veridical.core.policy import FailOn

# Renderers are imported where they are used: `import veridical` loads neither rich nor jinja2.


@dataclass(frozen=True, repr=False)
class Report(Assessment):
    """Verdict on an answer, claim by claim; `print(report)` is readable."""

    def raise_for_flagged(self, fail_on: FailOn | None = None) -> None:
        """Raise `FlaggedError` if a claim fails under `fail_on`; None is the policy's.

        An undetermined claim does not fail. `ConfigurationError` if there is no such `fail_on`.
        """
        if fail_on is not None:
            ensure_fail_on(fail_on)
        failing = self.failing_on(fail_on or self.policy.fail_on)
        if failing:
            ids = ", ".join(verdict.claim.id for verdict in failing)
            msg = f"{len(failing)} of {self.summary.claims_checked} checked claims flagged: {ids}"
            raise FlaggedError(msg, hint="Print the report to see why")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object of schema `veridical.report/1`."""
        from veridical.pipeline.reports.document import to_document

        return to_document(self)

    def to_json(self) -> str:
        """Return the report as JSON text of schema `veridical.report/1`."""
        from veridical.pipeline.reports.document import to_json

        return to_json(self)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file and no network."""
        from veridical.pipeline.reports.html import to_html

        return to_html(self)

    def to_sarif(self, *, answer_uri: str = "answer.txt") -> str:
        """Return the flagged and undetermined claims as a SARIF 2.1.0 log."""
        from veridical.pipeline.reports.sarif import to_sarif

        return to_sarif(self, answer_uri=answer_uri)

    def to_junit(self) -> str:
        """Return the claims as JUnit XML, one test case each."""
        from veridical.pipeline.reports.junit import to_junit

        return to_junit(self)

    def __str__(self) -> str:
        from veridical.pipeline.reports.text import to_plain

        return to_plain(self)

    def __repr__(self) -> str:
        # Counts only: a repr ends up in logs and tracebacks, where no text belongs.
        summary = self.summary
        return (
            f"{type(self).__name__}(outcome={summary.outcome.value!r}, "
            f"checked={summary.claims_checked}, flagged={len(self.flagged)})"
        )

    def __rich_console__(self, console: Console, _options: object) -> list[object]:
        from veridical.pipeline.reports.text import layout

        return [layout(self, console)]
