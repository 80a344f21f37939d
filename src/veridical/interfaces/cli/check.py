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
from veridical.errors import ConfigurationError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say
from veridical.interfaces.cli.report_files import ReportFiles, takes_report_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.core.types import Source
    from veridical.pipeline.reports import Report
    from veridical.readers.documents import Documents, Notice
    from veridical.settings import Settings

CLEAN, FAILED, UNKNOWN = 0, 1, 3
NOTICES_SHOWN = 5
STDIN = "-"
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
EXAMPLES = """\b
Examples:
  veridical check answer.md --source S1=report.pdf --source notes.txt
  veridical check answer.md --source docs/ --html report.html
  ask-model | veridical check - --source docs/ --json
  veridical check answer.md --source chunks.jsonl --windows all --quiet
  veridical check answer.md --source docs/ --mode critical_only --max-claims 20
  veridical check answer.md --source docs/ --fail-on any
  veridical check --text "It has six lanes [S1]." --source S1=notice.docx
  veridical check --claim "It has six lanes." --source article.html --main-text

\b
Exit codes:
  0  no claim fails; with --fail-on any: every checked claim is supported
  1  at least one claim fails
  2  wrong use or configuration
  3  none fails, but one is undetermined, or there is nothing to check
"""

Answer = Annotated[
    str | None, typer.Argument(metavar="ANSWER", help="The answer: a file, or - for stdin.")
]
Text = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help="The answer itself, not a file.")
]
OneClaim = Annotated[
    str | None,
    typer.Option(
        "--claim",
        metavar="TEXT",
        help="One claim, taken as it stands: checked in place of an answer.",
    ),
]
Sources = Annotated[
    list[str],
    typer.Option(
        "--source",
        "-s",
        metavar="[ID=]PATH",
        help="Evidence, citable by ID: text, Markdown, HTML, PDF, DOCX, or JSON(L) of "
        "{id, text}; a file, a folder, or - for stdin. May be given several times.",
    ),
]
MainText = Annotated[
    bool,
    typer.Option("--main-text", help="Of HTML sources keep the article only, without menus."),
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
class _Subject:
    """Answer in a file or on the command line, or one claim."""

    file: str | None = None
    text: str = field(default="", repr=False)
    is_claim: bool = False

    @property
    def files(self) -> list[str]:
        """The file, if it is one."""
        return [] if self.file is None else [self.file]

    def read(self) -> str:
        """Return the text."""
        from veridical.readers.documents import read_answer

        return self.text if self.file is None else read_answer(self.file)

    @property
    def uri(self) -> str:
        """Path of the answer for report formats that point into it."""
        return "argument" if self.file is None else path_uri(self.file)


@dataclass(frozen=True, slots=True)
class _Case:
    """Input of a check: texts and question, and the unreadable parts of the sources."""

    subject: _Subject
    answer: str = field(repr=False)
    sources: tuple[Source, ...]
    question: str | None = field(repr=False)
    notices: tuple[Notice, ...]


@reported
@takes_report_files
def check(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    answer: Answer = None,
    *,
    text: Text = None,
    claim: OneClaim = None,
    source: Sources,
    main_text: MainText = False,
    question: Question = None,
    backend: Backend = None,
    windows: Windows = None,
    support_threshold: SupportThreshold = None,
    contradiction_threshold: ContradictionThreshold = None,
    mode: CheckMode = None,
    sample_rate: SampleRate = None,
    max_claims: MaxClaims = None,
    fail_on: FailOn = None,
    files: ReportFiles,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    config: Config = None,
) -> None:
    """Check every claim of ANSWER against sources.

    --text or --claim take the place of ANSWER.
    """
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
    subject = _subject(answer, text, claim)
    settings = Settings.load(config, backend=backend, policy=policy)
    ensure_writable(files.values(), [*subject.files, *map(path_of, source)])
    documents = _sources(subject, source, files, main_text=main_text)
    case = _read(subject, documents, question)
    _say_notices(case.notices, quiet=quiet)
    with progress_bar(wanted=not (quiet or json)) as progress:
        report = _run(settings, case, progress)
    write_reports(report, files, subject.uri)
    print_report(report, json=json, quiet=quiet, verbose=verbose)
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


def _subject(answer: str | None, text: str | None, claim: str | None) -> _Subject:
    """Return what is checked; `ConfigurationError` unless it is given in one way."""
    given = [each for each in (answer, text, claim) if each is not None]
    if len(given) != 1:
        msg = f"the answer is given in {len(given)} ways"
        raise ConfigurationError(msg, hint="Give one of ANSWER, --text TEXT and --claim TEXT")
    if answer is not None:
        return _Subject(file=answer)
    ensure_text(given[0], "--text" if claim is None else "--claim")
    return _Subject(text=given[0], is_claim=claim is not None)


def _sources(
    subject: _Subject, sources: Sequence[str], files: ReportFiles, *, main_text: bool
) -> Documents:
    from veridical.readers.documents import ensure_one_stdin, read_sources

    file = "".join(subject.files)
    ensure_one_stdin(file, sources)
    written = list(files.values())
    return read_sources(sources, checked=file, written=written, main_text=main_text)


def _read(subject: _Subject, documents: Documents, question: str | None) -> _Case:
    if question is not None:
        ensure_text(question, "--question")
    return _Case(subject, subject.read(), documents.sources, question, documents.notices)


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
        if case.subject.is_claim:
            return verifier.check_claim(
                case.answer, case.sources, case.question, policy=settings.to_policy()
            )
        return verifier.check(
            case.answer,
            sources=case.sources,
            question=case.question,
            policy=settings.to_policy(),
            progress=progress,
        )


def path_uri(path: str) -> str:
    """Return a path as reports name it; standard input has a name of its own."""
    return "stdin" if path == STDIN else Path(path).as_posix()


def write_reports(report: Report, files: ReportFiles, answer_uri: str) -> None:
    """Write the report to each of the files, in its format."""
    from veridical.interfaces.cli.output import write_file

    for name, path in files.items():
        write_file(path, report.render(name, answer_uri=answer_uri))


def print_report(report: Report, *, json: bool, quiet: bool, verbose: bool) -> None:
    """Print the report as a JSON document, for a person, or not at all."""
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        print_json(report.to_json())
    elif not quiet:
        from veridical.pipeline.reports.text import render

        print_rich(lambda console: render(report, console, verbose=verbose))
