"""`veridical eval`: detection quality on labelled data."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.errors import ConfigurationError
from veridical.interfaces.cli import check, options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from veridical.evaluation.answer_results import AnswerEvaluation
    from veridical.evaluation.bootstrap import Resampling
    from veridical.evaluation.dataset import Dataset
    from veridical.evaluation.results import Evaluation
    from veridical.settings import Settings

DONE = 0
NOTHING_MEASURED = 3
EXAMPLES = """\b
Examples:
  veridical eval labelled.jsonl
  veridical eval data/*.jsonl.gz --limit 100 --html quality.html
  veridical eval big.jsonl.gz --resume big.results.jsonl --json
  veridical eval --answers answers/*.jsonl

\b
Exit codes:
  0  measured
  2  wrong use or configuration, or malformed rows
  3  nothing could be measured
"""

Data = Annotated[
    list[Path],
    typer.Argument(metavar="DATA...", help="Labelled claims: JSONL files, plain or gzipped."),
]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Measure N random rows of each file.")
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed of the sample and the intervals.")
]
Bootstrap = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Bootstrap replicates for the 95 % intervals; 0: none."),
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Store results by row here, and skip stored rows."),
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="OUT", help="Write the report as Markdown.")
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write the report as one HTML page.")
]
Answers = Annotated[
    bool,
    typer.Option("--answers", help="DATA are whole answers whose claims are labelled."),
]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Data and options of an evaluation."""

    datasets: tuple[Dataset, ...]
    resume: Path | None
    bootstrap: int
    seed: int
    limit: int | None


@reported
def evaluate(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    data: Data,
    *,
    answers: Answers = False,
    limit: Limit = None,
    seed: Seed = 0,
    backend: check.Backend = None,
    windows: check.Windows = None,
    bootstrap: Bootstrap = 1000,
    resume: Resume = None,
    markdown: Markdown = None,
    html: Html = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Measure detection quality on labelled data."""
    from veridical.evaluation.bootstrap import Resampling
    from veridical.evaluation.dataset import read_datasets
    from veridical.interfaces.cli.output import ensure_writable, progress_bar
    from veridical.settings import Settings

    policy = {"windows": check.parse_windows(windows)}
    settings = Settings.load(config, backend=backend, policy=policy)
    outputs = [path for path in (markdown, html, resume) if path is not None]
    ensure_writable(outputs, [str(path) for path in data])
    if answers:
        _refuse({"--resume": resume, "--html": html})
        with progress_bar(wanted=not (quiet or json)) as progress:
            found = _run_answers(settings, data, Resampling(bootstrap, seed), limit, progress)
        _write_answers(found, markdown)
        _print_answers(found, json=json, quiet=quiet)
        raise typer.Exit(DONE if found.total.claims else NOTHING_MEASURED)
    datasets = tuple(one.sample(limit, seed) for one in read_datasets(data))
    plan = _Plan(datasets, resume, bootstrap, seed, limit)
    with progress_bar(wanted=not (quiet or json)) as progress:
        evaluation = _run(settings, plan, progress)
    _write_files(evaluation, markdown, html)
    _print(evaluation, json=json, quiet=quiet)
    raise typer.Exit(DONE if evaluation.mean.n else NOTHING_MEASURED)


def _run(
    settings: Settings, plan: _Plan, progress: Callable[[int, int], None] | None
) -> Evaluation:
    from veridical.evaluation.bootstrap import Resampling
    from veridical.evaluation.harness import measure
    from veridical.evaluation.ledger import Ledger
    from veridical.evaluation.results import evaluate
    from veridical.verification.sync import SyncVerifier
    from veridical.verification.verifier import Verifier
    from veridical.wiring.build import build_backend

    backend, policy = build_backend(settings, settings.backend), settings.to_policy()
    kept = Ledger(plan.resume, backend.info, policy) if plan.resume else nullcontext()
    with SyncVerifier(Verifier(backend, policy=policy)) as verifier, kept as ledger:
        measured = measure(plan.datasets, verifier, policy=policy, ledger=ledger, progress=progress)
    resampling = Resampling(plan.bootstrap, plan.seed)
    return evaluate(measured, backend.info, policy, resampling, plan.limit)


def _refuse(given: Mapping[str, Path | None]) -> None:
    for option, value in given.items():
        if value is not None:
            msg = f"{option} does not go with --answers"
            raise ConfigurationError(msg, hint="Use --json or --markdown")


def _run_answers(
    settings: Settings,
    data: list[Path],
    resampling: Resampling,
    limit: int | None,
    progress: Callable[[int, int], None] | None,
) -> AnswerEvaluation:
    from veridical.evaluation.answer_results import check_answers, evaluate_answers
    from veridical.evaluation.answers import read_answers, sampled
    from veridical.verification.sync import SyncVerifier
    from veridical.verification.verifier import Verifier
    from veridical.wiring.build import build_backend

    sets = sampled(read_answers(data), limit, resampling.seed)
    backend, policy = build_backend(settings, settings.backend), settings.to_policy()
    with SyncVerifier(Verifier(backend, policy=policy)) as verifier:
        outcomes = check_answers(sets, verifier, policy=policy, progress=progress)
    names = [one.name for one in sets]
    return evaluate_answers(
        outcomes,
        names,
        backend=backend.info,
        policy=policy,
        resampling=resampling,
        limit=limit,
    )


def _write_answers(evaluation: AnswerEvaluation, markdown: Path | None) -> None:
    from veridical.evaluation.answer_tables import answers_to_markdown
    from veridical.interfaces.cli.output import write_file

    if markdown:
        write_file(markdown, answers_to_markdown(evaluation))


def _print_answers(evaluation: AnswerEvaluation, *, json: bool, quiet: bool) -> None:
    from veridical.evaluation.answer_tables import answers_to_json, render_answers
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        print_json(answers_to_json(evaluation))
    elif not quiet:
        print_rich(lambda console: render_answers(evaluation, console))


def _write_files(evaluation: Evaluation, markdown: Path | None, html: Path | None) -> None:
    from veridical.interfaces.cli.output import write_file

    if markdown:
        from veridical.evaluation.pages import to_markdown

        write_file(markdown, to_markdown(evaluation))
    if html:
        from veridical.evaluation.pages import to_html

        write_file(html, to_html(evaluation))


def _print(evaluation: Evaluation, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        from veridical.evaluation.document import to_json

        print_json(to_json(evaluation))
    elif not quiet:
        from veridical.evaluation.terminal import render

        print_rich(lambda console: render(evaluation, console))
