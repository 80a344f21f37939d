"""`veridical feedback mark-many`: marks on verdicts, as the lines of a file ask for them."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import InputError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.feedback import (
    UNIDENTIFIED,
    Actual,
    Judgement,
    build_feedback,
    fingerprint_of,
    report_document,
)
from veridical.interfaces.cli.feedback_lines import RefusedLine, numbered, parse_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from veridical.feedback.labels import FeedbackLabel, PreparedReport
    from veridical.settings import Settings

REFUSED = 1
EXAMPLES = """\b
Examples:
  veridical feedback mark-many marks.jsonl
  veridical feedback mark-many marks.jsonl --report report.json --json
  veridical feedback mark-many ids.txt --report report.json --verdict right

\b
A line is {"report": PATH, "claim": ID, "verdict": "right" or "wrong"}, with
"actual" and "comment" where they apply, or the id of a claim.

\b
Exit codes:
  0  every line is kept
  1  at least one line is refused, and named on stderr; the others are kept
  2  wrong use or configuration
"""

Marks = Annotated[
    str,
    typer.Argument(metavar="MARKS", help="JSON lines, or claim ids: a file, or - for stdin."),
]
Report = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Output of `check --json`, for lines that name none."),
]
Verdict = Annotated[
    Judgement | None, typer.Option(help="Judgement on the verdict, for lines that have none.")
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@reported
def mark_many(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    marks: Marks,
    *,
    report: Report = None,
    verdict: Verdict = None,
    actual: Actual = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Mark many verdicts right or wrong, as the lines of a file say.

    A line that cannot be kept is named, and the others are kept.
    """
    from veridical.readers.documents import ensure_one_stdin, read_text
    from veridical.settings import Settings

    settings = Settings.load(config)
    ensure_one_stdin(marks, [] if report is None else [report])
    lines = list(numbered(read_text(marks, "the list of marks")))
    given = {"report": report, "verdict": verdict, "actual": actual}
    writer = _Writer(settings, {key: str(text) for key, text in given.items() if text is not None})
    writer.write(lines)
    _print(writer, json=json, quiet=quiet)
    raise typer.Exit(REFUSED if writer.refused else 0)


class _Writer:
    """Marks that were kept, and lines that were refused."""

    def __init__(self, settings: Settings, given: dict[str, str]) -> None:
        self._settings = settings
        self._given = given
        self._feedback = build_feedback(settings)
        self._reports: dict[str, PreparedReport] = {}
        self.kept: list[FeedbackLabel] = []
        self.refused: list[RefusedLine] = []

    def write(self, lines: Iterable[tuple[int, str]]) -> None:
        for number, line in lines:
            try:
                self.kept.append(self._mark(line))
            except InputError as error:
                self.refused.append(RefusedLine(number, error.message, error.hint))

    def _mark(self, line: str) -> FeedbackLabel:
        asked = parse_line(line, self._given)
        return self._feedback.mark(
            self._report(asked.report),
            asked.claim_id,
            right=asked.right,
            actual=asked.actual,
            comment=asked.comment,
        )

    def _report(self, path: str) -> PreparedReport:
        """Return a report with the fingerprint of its backend; each is read once."""
        from veridical.feedback.labels import prepare_report

        if path not in self._reports:
            document = report_document(path)
            fingerprint = fingerprint_of(document, self._settings)
            self._reports[path] = prepare_report(document, fingerprint)
        return self._reports[path]


def _print(writer: _Writer, *, json: bool, quiet: bool) -> None:
    from veridical.feedback.labels import to_document
    from veridical.interfaces.cli.output import print_json, print_text

    for one in writer.refused:
        say("error", f"line {one.line}: {one.message}", one.hint)
    if not quiet and any(mark.fingerprint is None for mark in writer.kept):
        say("note", f"for at least one mark, {UNIDENTIFIED}")
    if json:
        refused = {"refused": [asdict(one) for one in writer.refused]}
        print_json(json_module.dumps(to_document(writer.kept) | refused, indent=2))
    elif not quiet:
        print_text(f"Kept {len(writer.kept):,} marks, refused {len(writer.refused):,} lines\n")
