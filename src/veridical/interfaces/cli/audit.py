"""`veridical audit`: the steps of a trace, and whether its answer follows from them."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.audit.values import Soundness
from veridical.core.types import ensure_text
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from veridical.audit.auditing import StepTrace
    from veridical.audit.values import TraceAudit
    from veridical.core.types import Source
    from veridical.settings import Settings

EXIT_CODES = {
    Soundness.VALID: 0,
    Soundness.WARNING: 1,
    Soundness.INVALID: 1,
    Soundness.UNAUDITABLE: 3,
}
NOTICES_SHOWN = 5
EXAMPLES = """\b
Examples:
  veridical audit trace.json --source S1=report.pdf
  veridical audit messages.json --html audit.html
  veridical audit spans.jsonl --text-model openai:MODEL --json
  make-trace | veridical audit - --source docs/ --no-post-hoc

\b
Exit codes:
  0  VALID: every step that asserts something is entailed, and the answer follows
  1  WARNING or INVALID: a step, a citation or the answer does not hold
  2  wrong use or configuration, or a file of another shape
  3  UNAUDITABLE: something could not be measured, or nothing is asserted
"""

TraceFile = Annotated[
    str,
    typer.Argument(
        metavar="TRACE",
        help="Steps, a chat or agent log (OpenAI, Anthropic), or OpenTelemetry spans: "
        "JSON or JSONL, or - for stdin.",
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        "-s",
        metavar="[ID=]PATH",
        help="Evidence for every step, citable by ID: a file or a folder. "
        "May be given several times.",
    ),
]
Question = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The question, if the trace has none.")
]
Answer = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The answer, if the trace has none.")
]
Backend = options.Backend
TextModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:MODEL]",
        help="Text model that derives the answer from the steps alone (default: the answer is "
        "read against the steps).",
    ),
]
CheckPostHoc = Annotated[
    bool | None,
    typer.Option("--post-hoc/--no-post-hoc", help="Check that the answer follows from the steps."),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write the audit as one HTML page.")
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@reported
def audit(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    trace: TraceFile,
    *,
    source: Sources = None,
    question: Question = None,
    answer: Answer = None,
    backend: Backend = None,
    text_model: TextModel = None,
    post_hoc: CheckPostHoc = None,
    html: Html = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Audit the reasoning steps of TRACE.

    Each step is read against its evidence and the entailed steps before it, and the answer against
    the entailed steps.
    """
    from veridical.interfaces.cli.output import ensure_writable, progress_bar, write_file
    from veridical.readers.documents import path_of
    from veridical.settings import Settings

    settings = Settings.load(config, backend=backend)
    given = source or []
    written = [html] if html else []
    ensure_writable(written, [trace, *map(path_of, given)])
    read = _said(_read(trace, given), question, answer)
    sources = _sources(given, trace, written, quiet=quiet)
    wanted = settings.hallucination.trace_auditing.check_post_hoc if post_hoc is None else post_hoc
    named = (text_model or settings.text_model) if wanted else None
    with progress_bar(wanted=not (quiet or json)) as progress:
        found = _run(settings, read, sources, named, progress, check=wanted)
    if html:
        from veridical.audit.render import to_html

        write_file(html, to_html(found))
    _print(found, json=json, quiet=quiet)
    raise typer.Exit(_exit_code(found))


def _read(argument: str, sources: Sequence[str]) -> StepTrace:
    from veridical.audit.agent_logs import read_trace
    from veridical.readers.documents import STDIN, ensure_one_stdin, read_text, shown

    ensure_one_stdin(argument, sources)
    place = "the trace from standard input" if argument == STDIN else shown(argument)
    return read_trace(read_text(argument, "the trace"), place)


def _said(trace: StepTrace, question: str | None, answer: str | None) -> StepTrace:
    """Return the trace with the given question and answer in place of its own, if any."""
    for text, name in ((question, "--question"), (answer, "--answer")):
        if text is not None:
            ensure_text(text, name)
    asked = trace.question if question is None else question
    return replace(trace, question=asked, answer=trace.answer if answer is None else answer)


def _sources(
    given: Sequence[str], trace: str, written: Sequence[Path], *, quiet: bool
) -> tuple[Source, ...]:
    from veridical.readers.documents import read_sources

    if not given:
        return ()
    documents = read_sources(given, checked=trace, written=written)
    if not quiet:
        for notice in documents.notices[:NOTICES_SHOWN]:
            say("note", str(notice))
        if len(documents.notices) > NOTICES_SHOWN:
            say("note", f"and {len(documents.notices) - NOTICES_SHOWN} more files like these")
    return documents.sources


def _run(  # noqa: PLR0913 -- what is audited, with what, by whom
    settings: Settings,
    trace: StepTrace,
    sources: Sequence[Source],
    named: str | None,
    progress: Callable[[int, int], None] | None,
    *,
    check: bool,
) -> TraceAudit:
    from functools import partial

    import anyio

    from veridical.audit import auditing
    from veridical.wiring.build import build_backend, build_text_model, build_verifier

    backend = build_backend(settings, settings.backend)
    model = None if named is None else build_text_model(settings, named)
    call = partial(
        auditing.audit,
        trace,
        build_verifier(settings, backend=backend),
        sources=sources or None,
        policy=settings.to_policy(),
        executor=auditing.AnswerDeriver(backend, model) if check else None,
        progress=progress,
    )
    return anyio.run(call)


def _print(found: TraceAudit, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        print_json(json_module.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    elif not quiet:
        from veridical.audit.render import render

        print_rich(lambda console: render(found, console))


def _exit_code(found: TraceAudit) -> int:
    return EXIT_CODES[Soundness.UNAUDITABLE if found.overall is None else found.overall.soundness]
