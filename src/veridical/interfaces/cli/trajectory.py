"""`veridical trajectory`: verification results and costs over many runs."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from veridical.orchestrator.analysis import Cost, Latency, RunTotals

CLEAN = 0
FLAGGED = 1
NOT_VERIFIED = 3
EXAMPLES = """\b
Examples:
  veridical trajectory runs.jsonl
  veridical trajectory runs.jsonl --json

\b
Exit codes:
  0  no answer that was returned has flagged claims
  1  at least one has
  2  wrong use, or not a trajectory
  3  no answer was verified
"""

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Output of an orchestrator: JSON lines."),
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@reported
def trajectory(
    file: File,
    *,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Summarise the runs of a trajectory.

    The summary has attempts, flags before and after, actions, latency and cost.
    """
    from veridical.interfaces.cli.output import print_json, print_rich
    from veridical.orchestrator.analysis import read_trajectory, summarise, to_document
    from veridical.settings import Settings

    Settings.load(config)  # an error in the configuration is reported, as by every command
    summary = summarise(read_trajectory(file))
    _warn(summary)
    if json:
        print_json(json_module.dumps(to_document(summary), ensure_ascii=False, indent=2))
    elif not quiet:
        print_rich(lambda console: _render(summary, console))
    raise typer.Exit(_code(summary))


def _code(summary: RunTotals) -> int:
    if not summary.verified:
        return NOT_VERIFIED
    return FLAGGED if summary.flagged.after else CLEAN


def _warn(summary: RunTotals) -> None:
    whole = summary.unreadable - summary.torn
    if whole:
        say("note", f"{whole} line{'s are' if whole > 1 else ' is'} no event of a trajectory")
    if summary.torn:
        say("note", "the last line is torn: a run was writing, or broke off")


def _render(summary: RunTotals, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, says in _rows(summary):
        table.add_row(Text(name, style="bold"), Text(says))
    console.print(table)


def _rows(summary: RunTotals) -> Iterator[tuple[str, str]]:
    yield "runs", _runs(summary)
    yield "attempts", _attempts(summary)
    yield "answers", _counts(summary.actions)
    flagged, critical = summary.flagged, summary.critical
    yield "flagged", f"{flagged.before} claims in first attempts, {flagged.after} in answers"
    yield "critical", f"{critical.before} claims in first attempts, {critical.after} in answers"
    yield "skipped", _counts(summary.skips)
    yield "failures", _counts(summary.failures)
    yield "generation", _latency(summary.generation)
    yield "verification", _latency(summary.verification)
    yield "cost", _cost(summary.cost)


def _runs(summary: RunTotals) -> str:
    parts = [f"{summary.runs}; {summary.verified} verified"]
    if summary.unanswered:
        parts.append(f"{summary.unanswered} without an answer")
    if summary.unfinished:
        parts.append(f"{summary.unfinished} unfinished")
    return ", ".join(parts)


def _attempts(summary: RunTotals) -> str:
    return f"{summary.attempts}; runs retried: {summary.retried}, better for it: {summary.improved}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items()) or "none"


def _latency(latency: Latency) -> str:
    if latency.p50_ms is None or latency.p95_ms is None:
        return "not measured"
    return f"p50 {latency.p50_ms:,.0f} ms, p95 {latency.p95_ms:,.0f} ms ({latency.n} measured)"


def _cost(cost: Cost) -> str:
    if cost.generation_usd is None or cost.verification_usd is None:
        return "unknown"
    says = f"${cost.generation_usd:.6f} generation, ${cost.verification_usd:.6f} verification"
    return says if cost.share is None else f"{says} ({cost.share:.1%} of generation)"
