"""Report: an assessment with its output formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veridical.core.assessment import Assessment
from veridical.core.policy import ensure_fail_on
from veridical.errors import FlaggedError
from veridical.pipeline.reports.formats import format_named

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

    from veridical.core.policy import FailOn


@dataclass(frozen=True, repr=False)
class Report(Assessment):
    """Verdict on an answer, claim by claim; `print(report)` is readable."""

    @property
    def headline(self) -> str:
        """Outcome in one sentence, with the number of checked claims; no text of the answer."""
        from veridical.pipeline.reports.phrases import headline

        return headline(self)

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

    def render(self, name: str, *, answer_uri: str = "answer.txt") -> str:
        """Return the report in the format of that name; `InputError` if there is none.

        `answer_uri` is the path or URI of the answer, for formats that point into it.
        """
        return format_named(name).render(self, answer_uri)

    def to_json(self) -> str:
        """Return the report as JSON text of schema `veridical.report/1`."""
        return self.render("json")

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file and no network."""
        return self.render("html")

    def to_markdown(self) -> str:
        """Return the report as Markdown, with a table of the claims."""
        return self.render("markdown")

    def to_pandas(self) -> DataFrame:
        """Return the claims as a data frame of pandas, one row each.

        `MissingExtraError` if pandas is not installed.
        """
        from veridical.pipeline.reports.frames import to_pandas

        return to_pandas(self)

    def to_sarif(self, *, answer_uri: str = "answer.txt") -> str:
        """Return the flagged and undetermined claims as a SARIF 2.1.0 log."""
        return self.render("sarif", answer_uri=answer_uri)

    def to_junit(self) -> str:
        """Return the claims as JUnit XML, one test case each."""
        return self.render("junit")

    def _repr_html_(self) -> str:
        """Return the headline and the claims to look at, as a notebook shows them."""
        from veridical.pipeline.reports.html import to_fragment

        return to_fragment(self)

    def __str__(self) -> str:
        return self.render("text")

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
