"""The report formats, one row each: `Report`, the command line, the service and its page use it.

A renderer is imported when it is called, for `import veridical` loads neither rich nor jinja2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.core.assessment import Assessment


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format: `render` takes an assessment and the path or URI of the answer.

    `help` completes the sentence "Write the report as ...". A `printed` format goes to stdout on
    the command line; any other has an option `--NAME OUT`.
    """

    name: str
    media_type: str
    suffix: str
    render: Callable[[Assessment, str], str]
    help: str
    printed: bool = False


def format_named(name: str) -> ReportFormat:
    """Return a format; `InputError` if there is none of that name."""
    found = FORMATS.get(name)
    if found is None:
        msg = "there is no such report format"
        raise InputError(msg, hint=f"One of {', '.join(FORMATS)}")
    return found


def _text(assessment: Assessment, _answer_uri: str) -> str:
    from veridical.pipeline.reports.text import to_plain

    return to_plain(assessment)


def _json(assessment: Assessment, _answer_uri: str) -> str:
    from veridical.pipeline.reports.document import to_json

    return to_json(assessment)


def _html(assessment: Assessment, _answer_uri: str) -> str:
    from veridical.pipeline.reports.html import to_html

    return to_html(assessment)


def _markdown(assessment: Assessment, _answer_uri: str) -> str:
    from veridical.pipeline.reports.markdown import to_markdown

    return to_markdown(assessment)


def _sarif(assessment: Assessment, answer_uri: str) -> str:
    from veridical.pipeline.reports.sarif import to_sarif

    return to_sarif(assessment, answer_uri=answer_uri)


def _junit(assessment: Assessment, _answer_uri: str) -> str:
    from veridical.pipeline.reports.junit import to_junit

    return to_junit(assessment)


_ROWS = (
    ReportFormat("text", "text/plain", "txt", _text, "plain text", printed=True),
    ReportFormat("json", "application/json", "json", _json, "JSON", printed=True),
    ReportFormat("html", "text/html", "html", _html, "one HTML page"),
    ReportFormat("markdown", "text/markdown", "md", _markdown, "Markdown"),
    ReportFormat("sarif", "application/sarif+json", "sarif", _sarif, "SARIF 2.1.0"),
    ReportFormat("junit", "application/xml", "xml", _junit, "JUnit XML"),
)
FORMATS: Mapping[str, ReportFormat] = {row.name: row for row in _ROWS}
