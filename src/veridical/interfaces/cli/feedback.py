"""`veridical feedback`: marks on verdicts, right or wrong."""

from __future__ import annotations

import json as json_module
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.errors import InputError, VeridicalError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.report_input import ReportFile, read_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from veridical.feedback.labels import Feedback, FeedbackLabel
    from veridical.settings import Settings

MARK_EXAMPLES = """\b
Examples:
  veridical check answer.md --source docs/ --json > report.json
  veridical feedback mark report.json c3 wrong
  veridical feedback mark report.json c4 right
  veridical feedback mark report.json c7 wrong --actual contradicted

\b
Exit codes:
  0  kept
  2  wrong use or configuration
"""
LIST_EXAMPLES = """\b
Examples:
  veridical feedback list
  veridical feedback list --json
"""
REMOVE_EXAMPLES = """\b
Examples:
  veridical feedback remove 12
"""
EXPORT_EXAMPLES = """\b
Examples:
  veridical feedback export > feedback.jsonl
  veridical feedback export --out feedback.jsonl
  veridical feedback export --json
"""
UNIDENTIFIED = "the backend cannot be identified here, so that calibrate cannot use this mark"


class Judgement(StrEnum):
    """Judgement of a person on a verdict."""

    RIGHT = "right"
    WRONG = "wrong"


ClaimId = Annotated[str, typer.Argument(metavar="CLAIM", help="The claim's id, such as c3.")]
Verdict = Annotated[Judgement, typer.Argument(help="Judgement on the verdict.")]
Actual = Annotated[str | None, typer.Option(metavar="STATUS", help="The correct status.")]
Number = Annotated[
    int, typer.Argument(metavar="ID", max=options.MOST, help="The mark's number in the list.")
]
Out = Annotated[Path | None, typer.Option(metavar="OUT", help="Write to this file.")]
Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("mark", epilog=MARK_EXAMPLES)
@reported
def mark(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    report: ReportFile,
    claim: ClaimId,
    verdict: Verdict,
    *,
    actual: Actual = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Mark the verdict on a claim right or wrong.

    A later mark replaces it. Numbers, ids and hashes are kept, no text.
    """
    from veridical.settings import Settings

    settings = Settings.load(config)
    document = report_document(report)
    made = build_feedback(settings).mark(
        document,
        claim,
        right=verdict is Judgement.RIGHT,
        actual=actual,
        fingerprint=fingerprint_of(document, settings),
    )
    if made.fingerprint is None and not quiet:
        say("note", UNIDENTIFIED)
    _print_one(made, json=json, quiet=quiet)


@app.command("list", epilog=LIST_EXAMPLES)
@reported
def show(*, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """List the marks, oldest first."""
    from veridical.interfaces.cli.output import print_rich
    from veridical.settings import Settings

    marks = build_feedback(Settings.load(config)).list()
    if json:
        _print_document(marks)
    elif not quiet:
        print_rich(lambda console: _render(marks, console))


@app.command("remove", epilog=REMOVE_EXAMPLES)
@reported
def remove(
    number: Number, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Remove a mark."""
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.settings import Settings

    if not build_feedback(Settings.load(config)).remove(number):
        msg = f"there is no mark {number}"
        raise InputError(msg, hint="veridical feedback list shows their numbers")
    if json:
        print_json(json_module.dumps({"schema": "veridical.feedback/1", "removed": [number]}))
    elif not quiet:
        print_text(f"Removed mark {number}\n")


@app.command("export", epilog=EXPORT_EXAMPLES)
@reported
def export(
    *, out: Out = None, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Write the marks as JSON lines.

    With --json they are one document.
    """
    from veridical.feedback.labels import to_document
    from veridical.interfaces.cli.output import ensure_writable, print_json, write_file
    from veridical.settings import Settings

    ensure_writable([out] if out else [], [])
    marks = build_feedback(Settings.load(config)).list()
    if json:
        text = json_module.dumps(to_document(marks), indent=2) + "\n"
    else:
        text = "".join(json_module.dumps(one.to_dict()) + "\n" for one in marks)
    if out:
        write_file(out, text)
    elif text and not quiet:
        print_json(text)


def build_feedback(settings: Settings) -> Feedback:
    """Return the marks in the store of the settings."""
    from veridical.feedback.labels import Feedback
    from veridical.wiring.build import build_store

    return Feedback(build_store(settings))


def report_document(argument: str) -> dict[str, Any]:
    """Return the document of a report; an empty one, which no mark takes, if it is none."""
    document = read_report(argument).document
    return document if isinstance(document, dict) else {}


def fingerprint_of(document: dict[str, Any], settings: Settings) -> str | None:
    """Return the fingerprint of the backend a report names, if it can be made here.

    For reports that do not contain it.
    """
    from veridical.wiring.build import build_backend

    backend = document.get("backend")
    if not isinstance(backend, dict) or backend.get("fingerprint"):
        return None
    name, model = backend.get("name"), backend.get("model")
    for named in (settings.backend, f"{name}:{model}"):
        try:
            info = build_backend(settings, named).info
        except VeridicalError:
            continue
        if (info.name, info.model) == (name, model):
            return info.fingerprint
    return None


def _print_one(made: FeedbackLabel, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_text

    if json:
        _print_document([made])
    elif not quiet:
        word = "right" if made.right else "wrong"
        also = f", {made.actual} would have been right" if made.actual and not made.right else ""
        print_text(f"Kept as mark {made.id}: {made.claim_id} {made.status} was {word}{also}\n")


def _print_document(marks: Sequence[FeedbackLabel]) -> None:
    from veridical.feedback.labels import to_document
    from veridical.interfaces.cli.output import print_json

    print_json(json_module.dumps(to_document(marks), indent=2))


def _render(marks: Sequence[FeedbackLabel], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not marks:
        console.print("No feedback yet: veridical feedback mark REPORT CLAIM right|wrong")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    heads = ("id", "when", "report", "claim", "verdict", "p1", "was", "actual", "backend")
    for head in heads:
        table.add_column(head, justify="right" if head in {"id", "p1"} else "left")
    for one in marks:
        table.add_row(*map(Text, _cells(one)))
    console.print(table)
    console.print(f"{len(marks)} mark{'s' * (len(marks) > 1)}")


def _cells(one: FeedbackLabel) -> tuple[str, ...]:
    return (
        str(one.id),
        f"{one.created.astimezone():%Y-%m-%d %H:%M}",
        one.report_id,
        one.claim_id,
        one.status.value,
        f"{one.p1.supported:.2f}" if one.p1 else "-",
        "right" if one.right else "wrong",
        one.actual.value if one.actual else "-",
        f"{one.backend}:{one.model}",
    )
