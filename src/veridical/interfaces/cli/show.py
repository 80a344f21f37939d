"""`veridical show`: a report rendered again, out of its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import InputError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.check import (
    Verbose,
    exit_code,
    path_uri,
    print_report,
    write_reports,
)
from veridical.interfaces.cli.failures import reported
from veridical.interfaces.cli.report_files import ReportFiles, takes_report_files
from veridical.interfaces.cli.report_input import ReportFile, read_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.core.types import Source
    from veridical.pipeline.reports import Report

EXAMPLES = """\b
Examples:
  veridical check answer.md --source docs/ --json > report.json
  veridical show report.json
  veridical show report.json --markdown report.md --junit report.xml
  veridical show report.json --answer answer.md --source docs/ --html report.html

\b
Exit codes: those of `check`
  0  no claim fails; with --fail-on any: every checked claim is supported
  1  at least one claim fails
  2  wrong use, no report, or other texts than those of the report
  3  none fails, but one is undetermined, or there is nothing to check
"""

Answer = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="The answer of the report, if it is not saved in it."),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source", "-s", metavar="[ID=]PATH", help="A source of the report, as given to `check`."
    ),
]
Json = options.Json
Quiet = options.Quiet


@reported
@takes_report_files
def show(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    report: ReportFile,
    *,
    answer: Answer = None,
    source: Sources = None,
    files: ReportFiles,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Render a report again: for a person, or as files of other formats.

    Nothing is checked again. A report that the page saved holds its answer and sources.
    """
    from veridical.interfaces.cli.output import ensure_writable
    from veridical.readers.documents import path_of

    given = [report, *([] if answer is None else [answer]), *map(path_of, source or ())]
    ensure_writable(files.values(), given)
    found = _read(report, answer, source or (), files)
    write_reports(found, files, "answer.txt" if answer is None else path_uri(answer))
    print_report(found, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(exit_code(found))


def _read(report: str, answer: str | None, sources: Sequence[str], files: ReportFiles) -> Report:
    from veridical.pipeline.reports.parsing import from_document
    from veridical.readers.documents import ensure_one_stdin, read_answer

    ensure_one_stdin(report, [*([] if answer is None else [answer]), *sources])
    saved = read_report(report)
    text = saved.answer if answer is None else read_answer(answer)
    texts = _sources(sources, answer or "", files) if sources else saved.sources
    found = from_document(saved.document, text, texts, saved.question)
    _ensure_its_texts(found)
    if sources:
        _ensure_its_ids(found)
    return found


def _sources(paths: Sequence[str], answer: str, files: ReportFiles) -> Mapping[str, Source]:
    from veridical.readers.documents import read_sources

    read = read_sources(paths, checked=answer, written=list(files.values())).sources
    return {source.id: source for source in read}


def _ensure_its_texts(report: Report) -> None:
    """Raise `InputError` if the answer or a source is another than that of the report."""
    end = max((verdict.claim.span.end for verdict in report.claims), default=0)
    if report.answer and (end > len(report.answer) or not _says_its_claims(report)):
        raise _other_text(len(report.answer))
    for piece in (piece for verdict in report.claims for piece in verdict.evidence):
        source = report.sources.get(piece.source)
        if source is not None and piece.span.of(source.text) != piece.text:
            raise _other_text(len(source.text))


def _says_its_claims(report: Report) -> bool:
    """Return whether the claims have words of their places in the answer.

    They are rarely equal: a claim has its lead-in and the headers of its table, and lacks marks and
    a stated confidence. Of the shorter of both nearly all words are in the other, and of the places
    in another text few.
    """
    shared = shorter = 0
    for claim in (verdict.claim for verdict in report.claims):
        said, there = _words(claim.text), _words(claim.span.of(report.answer))
        if said and there and said.isdisjoint(there):
            return False
        shared += len(said & there)
        shorter += min(len(said), len(there))
    return 2 * shared >= shorter


def _words(text: str) -> frozenset[str]:
    from veridical.core.fact_tokens import words
    from veridical.core.text import normalise

    return frozenset(word.text for word in words(normalise(text).text))


def _ensure_its_ids(report: Report) -> None:
    """Raise `InputError` if the report names none of the sources.

    One of several may be unknown to it: a report names only sources that were read for a claim.
    """
    named = {piece.source for verdict in report.claims for piece in verdict.evidence}
    for verdict in report.claims:
        named |= {piece.source for piece in (*verdict.windows_scored, *verdict.stitched_scored)}
    if named and named.isdisjoint(report.sources):
        msg = "the report names other sources than those given"
        raise InputError(msg, hint="Give a source with its id in the report: --source ID=PATH")


def _other_text(characters: int) -> InputError:
    msg = f"a text of {characters:,} characters is not the one that the report is about"
    return InputError(msg, hint="Give the files of that check, or leave them out")
