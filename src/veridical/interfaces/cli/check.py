"""`veridical check`: an answer against its sources."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.core.assessment import Outcome
from veridical.core.types import ensure_text
from veridical.core.verdicts import Status
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.core.types import Source
    from veridical.pipeline.reports import Report
    from veridical.readers.documents import Notice
    from veridical.settings import Settings

CLEAN, FAILED, UNKNOWN = 0, 1, 3
NOTICES_SHOWN = 5
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
EXAMPLES = """\b
Examples:
  veridical check answer.md --source S1=report.pdf --source notes.txt
  veridical check answer.md --source docs/ --html report.html
  ask-model | veridical check - --source docs/ --json
  veridical check answer.md --source chunks.jsonl --windows all --quiet
  veridical check answer.md --source docs/ --mode critical_only --max-claims 20
  veridical check answer.md --source docs/ --fail-on any

\b
Exit codes:
  0  no claim fails; with --fail-on any: every checked claim is supported
  1  at least one claim fails
  2  wrong use or configuration
  3  none fails, but one is undetermined, or there is nothing to check
"""

Answer = Annotated[
    str, typer.Argument(metavar="ANSWER", help="The answer: a file, or - for stdin.")
]
Sources = Annotated[
    list[str],
    typer.Option(
        "--source",
        "-s",
        metavar="[ID=]PATH",
        help="Evidence, citable by ID: text, Markdown, HTML, PDF, or JSON(L) of {id, text}; "
        "a file, a folder, or - for stdin. May be given several times.",
    ),
]
Question = Annotated[str | None, typer.Option(metavar="TEXT", help="The question of the answer.")]
Backend = options.Backend
Windows = Annotated[
    str | None,
    typer.Option(
        metavar="N|all",
        help="Number of evidence windows scored per claim beside the best sentences.",
    ),
]
SupportThreshold = Annotated[
    float | None,
    typer.Option(metavar="P", help="Minimum probability to count a claim as supported (0-1)."),
]
ContradictionThreshold = Annotated[
    float | None,
    typer.Option(metavar="P", help="Minimum probability to count a claim as contradicted (0-1)."),
]
CheckMode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="full|sample|critical_only",
        help="Claims to verify: all, a sample, or claims with numbers, names, negations.",
    ),
]
SampleRate = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Share of the claims to sample (0-1).")
]
MaxClaims = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum number of claims to verify.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="any|sure|contradicted",
        help="Flagged claims that fail: all, claims with a sure verdict, or claims that the "
        "evidence opposes. Default: sure, or any where the backend can be sure of no flag.",
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write the report as one HTML page.")
]
Sarif = Annotated[
    Path | None, typer.Option("--sarif", metavar="OUT", help="Write the report as SARIF 2.1.0.")
]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="OUT", help="Write the report as JUnit XML.")
]
Json = options.Json
Quiet = options.Quiet
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Add probabilities, bits, rules and all evidence to the report."
    ),
]
Config = options.Config


@dataclass(frozen=True, slots=True)
class _Case:
    """Input of a check: texts and question, and the unreadable parts of the sources."""

    answer: str = field(repr=False)
    sources: tuple[Source, ...]
    question: str | None = field(repr=False)
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class _Files:
    """Paths of the reports that are written to files."""

    html: Path | None
    sarif: Path | None
    junit: Path | None

    @property
    def given(self) -> list[Path]:
        return [path for path in (self.html, self.sarif, self.junit) if path is not None]


@reported
def check(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    answer: Answer,
    *,
    source: Sources,
    question: Question = None,
    backend: Backend = None,
    windows: Windows = None,
    support_threshold: SupportThreshold = None,
    contradiction_threshold: ContradictionThreshold = None,
    mode: CheckMode = None,
    sample_rate: SampleRate = None,
    max_claims: MaxClaims = None,
    fail_on: FailOn = None,
    html: Html = None,
    sarif: Sarif = None,
    junit: Junit = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    config: Config = None,
) -> None:
    """Check every claim of ANSWER against sources."""
    from veridical.interfaces.cli.output import ensure_writable, progress_bar
    from veridical.readers.documents import path_of
    from veridical.settings import Settings

    policy = {
        "windows": parse_windows(windows),
        "support_threshold": support_threshold,
        "contradiction_threshold": contradiction_threshold,
        "mode": mode,
        "sample_rate": sample_rate,
        "max_claims": max_claims,
        "fail_on": fail_on,
    }
    settings = Settings.load(config, backend=backend, policy=policy)
    files = _Files(html, sarif, junit)
    ensure_writable(files.given, [answer, *map(path_of, source)])
    case = _read(answer, source, question, files)
    _say_notices(case.notices, quiet=quiet)
    with progress_bar(wanted=not (quiet or json)) as progress:
        report = _run(settings, case, progress)
    _write_files(report, files, answer)
    _print(report, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(exit_code(report))


def exit_code(report: Report) -> int:
    """Return 1 if a claim fails under the policy, 3 if that is not known, else 0."""
    if report.failing:
        return FAILED
    lost = any(
        verdict.status is Status.UNDETERMINED and verdict.checked for verdict in report.claims
    )
    unknown = report.summary.outcome in {Outcome.UNDETERMINED, Outcome.NOTHING_TO_CHECK}
    return UNKNOWN if lost or unknown else CLEAN


def parse_windows(text: str | None) -> int | str | None:
    """Return a number as one; any other text stays, for the settings to report its error."""
    return int(text) if text is not None and WHOLE_NUMBER.fullmatch(text) else text


def _read(answer: str, sources: Sequence[str], question: str | None, files: _Files) -> _Case:
    from veridical.readers.documents import ensure_one_stdin, read_answer, read_sources

    ensure_one_stdin(answer, sources)
    if question is not None:
        ensure_text(question, "--question")
    documents = read_sources(sources, checked=answer, written=files.given)
    return _Case(read_answer(answer), documents.sources, question, documents.notices)


def _say_notices(notices: Sequence[Notice], *, quiet: bool) -> None:
    if quiet:
        return
    for notice in notices[:NOTICES_SHOWN]:
        say("note", str(notice))
    if len(notices) > NOTICES_SHOWN:
        say("note", f"and {len(notices) - NOTICES_SHOWN} more files like these")


def _run(settings: Settings, case: _Case, progress: Callable[[int, int], None] | None) -> Report:
    from veridical.verification.sync import SyncVerifier
    from veridical.wiring.build import build_verifier

    with SyncVerifier(build_verifier(settings)) as verifier:
        return verifier.check(
            case.answer,
            sources=case.sources,
            question=case.question,
            policy=settings.to_policy(),
            progress=progress,
        )


def _write_files(report: Report, files: _Files, answer: str) -> None:
    from veridical.interfaces.cli.output import write_file

    if files.html:
        write_file(files.html, report.to_html())
    if files.sarif:
        uri = "stdin" if answer == "-" else Path(answer).as_posix()
        write_file(files.sarif, report.to_sarif(answer_uri=uri))
    if files.junit:
        write_file(files.junit, report.to_junit())


def _print(report: Report, *, json: bool, quiet: bool, verbose: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        print_json(report.to_json())
    elif not quiet:
        from veridical.pipeline.reports.text import render

        print_rich(lambda console: render(report, console, verbose=verbose))
