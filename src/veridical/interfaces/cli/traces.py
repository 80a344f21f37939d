"""`veridical traces`: stored reasoning traces, their verification and exchange."""

from __future__ import annotations

import json as json_module
import sys
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import EvidenceJSONError, InputError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from veridical.core.printing import Document
    from veridical.traces import EpistemicReport, ReasoningTraces, TraceSummary

FLAGGED = 1
UNDETERMINED = 3
CODES = """
\b
Exit codes:
  0  no claim is flagged
  1  at least one claim is flagged
  2  wrong use or configuration
  3  none is flagged, but at least one is not verified or could not be measured
"""
LIST_EXAMPLES = """\b
Examples:
  veridical traces list
  veridical traces list --json
"""
SHOW_EXAMPLES = """\b
Examples:
  veridical traces show goal-5c4d
  veridical traces show goal-5c4d --json
"""
REPORT_EXAMPLES = f"""\b
Examples:
  veridical traces report goal-5c4d
  veridical traces report goal-5c4d --json
{CODES}"""
VERIFY_EXAMPLES = f"""\b
Examples:
  veridical traces verify goal-5c4d
  veridical traces verify goal-5c4d --again --backend openai:gpt-4.1-mini
{CODES}"""
EXPORT_EXAMPLES = """\b
Examples:
  veridical traces export goal-5c4d --out trace.json
  veridical traces export goal-5c4d --format graphml --out trace.graphml
  veridical traces export goal-5c4d --format mermaid
"""
IMPORT_EXAMPLES = """\b
Examples:
  veridical traces import trace.json
  ssh host veridical traces export goal-5c4d | veridical traces import -
"""
REMOVE_EXAMPLES = """\b
Examples:
  veridical traces remove goal-5c4d6f708192a3b4
"""


class TraceFormat(StrEnum):
    """File format of a trace."""

    JSON = "json"
    GRAPHML = "graphml"
    MERMAID = "mermaid"


Goal = Annotated[
    str, typer.Argument(metavar="GOAL", help="Id of the goal, or a unique prefix of it.")
]
WholeGoal = Annotated[str, typer.Argument(metavar="GOAL", help="Full id of the goal.")]
Source = Annotated[
    str, typer.Argument(metavar="FILE", help="JSON output of export: a file, or - for stdin.")
]
How = Annotated[TraceFormat, typer.Option("--format", help="File format.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file, not stdout.")]
Again = Annotated[bool, typer.Option("--again", help="Also verify claims that have a verdict.")]
Backend = Annotated[
    str | None,
    typer.Option(metavar="NAME[:MODEL]", help="Backend of the verification (default: configured)."),
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("list", epilog=LIST_EXAMPLES)
@reported
def show_all(*, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """List the goals of the traces, oldest first."""
    from veridical.interfaces.cli.output import print_rich

    with _traces(config) as traces:
        goals = traces.goals()
    if json:
        _print({"schema": "veridical.traces/1", "goals": [_summary(one) for one in goals]})
    elif not quiet:
        print_rich(lambda console: _render(goals, console))


@app.command("show", epilog=SHOW_EXAMPLES)
@reported
def show(goal: Goal, *, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """Show a goal and its tree."""
    from veridical.interfaces.cli.output import print_rich
    from veridical.traces.trees import TraceLayout

    with _traces(config) as traces:
        trace = traces.tree(traces.find_goal(goal))
    if json:
        _print(trace.to_dict())
    elif not quiet:
        print_rich(lambda console: console.print(TraceLayout(_encoding()).trace(trace)))


@app.command("report", epilog=REPORT_EXAMPLES)
@reported
def report(goal: Goal, *, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """Report the verdicts on a goal's claims.

    The last measured verification of each claim counts.
    """
    with _traces(config) as traces:
        found = traces.get_verification_report(traces.find_goal(goal))
    _finish(found, json=json, quiet=quiet)


@app.command("verify", epilog=VERIFY_EXAMPLES)
@reported
def verify(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    goal: Goal,
    *,
    again: Again = False,
    backend: Backend = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Verify the open claims of a goal.

    Open claims have no verdict yet. The report on the goal is printed.
    """
    with _traces(config) as traces:
        goal_id = traces.find_goal(goal)
        traces.verify_claims(goal_id, backend, again=again)
        found = traces.get_verification_report(goal_id)
    _finish(found, json=json, quiet=quiet)


@app.command("export", epilog=EXPORT_EXAMPLES)
@reported
def export(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    goal: Goal,
    *,
    how: How = TraceFormat.JSON,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Export a goal with its tree.

    JSON can be imported again.
    """
    from veridical.interfaces.cli.output import ensure_writable, print_json, write_file
    from veridical.traces.graphs import to_graphml, to_mermaid

    ensure_writable([out] if out else [], [])
    with _traces(config) as traces:
        trace = traces.tree(traces.find_goal(goal))
    if json or how is TraceFormat.JSON:
        text = json_module.dumps(trace.to_dict(), ensure_ascii=False, indent=2) + "\n"
    else:
        text = to_graphml(trace) if how is TraceFormat.GRAPHML else to_mermaid(trace)
    if out:
        write_file(out, text)
    elif not quiet:
        print_json(text)


@app.command("import", epilog=IMPORT_EXAMPLES)
@reported
def import_(
    file: Source, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Import a trace that was exported as JSON.

    Ids and verifications stay as they are.
    """
    from veridical.core.strict_json import strict_json
    from veridical.interfaces.cli.output import print_text
    from veridical.readers.documents import read_text

    try:
        document = strict_json(read_text(file, "the trace"))
    except EvidenceJSONError as error:
        raise InputError(error.message, hint="veridical traces export GOAL writes one") from None
    with _traces(config) as traces:
        goal = traces.import_trace(document)
    if json:
        _print({"schema": "veridical.traces/1", "imported": [goal]})
    elif not quiet:
        print_text(f"Imported {goal}\n")


@app.command("remove", epilog=REMOVE_EXAMPLES)
@reported
def remove(
    goal: WholeGoal, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Remove the trace of a goal, with its texts."""
    from veridical.interfaces.cli.output import print_text

    with _traces(config) as traces:
        nodes = traces.remove(goal)
    if json:
        _print({"schema": "veridical.traces/1", "removed": [goal]})
    elif not quiet:
        print_text(f"Removed {goal} with its {nodes} node{'s' * (nodes != 1)}\n")


@contextmanager
def _traces(config: Path | None) -> Iterator[ReasoningTraces]:
    from veridical.settings import Settings
    from veridical.traces import ReasoningTraces

    with ReasoningTraces(settings=Settings.load(config)) as traces:
        yield traces


def _finish(found: EpistemicReport, *, json: bool, quiet: bool) -> None:
    """Print a report, and end with the exit code of its outcome."""
    from veridical.interfaces.cli.output import print_rich
    from veridical.traces.trees import TraceLayout

    if json:
        _print(found.to_dict())
    elif not quiet:
        print_rich(lambda console: console.print(TraceLayout(_encoding()).report(found)))
    raise typer.Exit({"flagged": FLAGGED, "undetermined": UNDETERMINED}.get(found.outcome.value, 0))


def _print(document: Document) -> None:
    from veridical.interfaces.cli.output import print_json

    print_json(json_module.dumps(document, ensure_ascii=False, indent=2))


def _encoding() -> str:
    return (sys.stdout.encoding or "utf-8").lower()


def _summary(one: TraceSummary) -> Document:
    return {**one.goal.to_dict(), "nodes": one.nodes, "claims": one.claims}


def _render(goals: Sequence[TraceSummary], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from veridical.pipeline.reports.escaping import one_line

    if not goals:
        console.print("No traces yet: programs write them with veridical.traces")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("goal", "when", "nodes", "claims", "text"):
        right = head in {"nodes", "claims"}
        table.add_column(head, justify="right" if right else "left", no_wrap=head == "goal")
    for one in goals:
        when = f"{one.goal.created.astimezone():%Y-%m-%d %H:%M}"
        cells = (one.goal.id, when, str(one.nodes), str(one.claims), one_line(one.goal.text))
        table.add_row(*map(Text, cells))
    console.print(table)
