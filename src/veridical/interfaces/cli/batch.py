"""`veridical batch`: the rows of a data set, in runs that go on where the last one ended."""

from __future__ import annotations

import json as json_module
import sys
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from veridical.errors import ConfigurationError
from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported
from veridical.interfaces.cli.provider_batch import asked_once, ensure_batchable, run_at_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from veridical.batch.engines import BatchEngine
    from veridical.batch.estimating import BatchEstimate
    from veridical.batch.running import BatchJob, BatchRun
    from veridical.batch.survey import Selection
    from veridical.batch.totals import FlaggedShare
    from veridical.core.measurements import Taken
    from veridical.core.ports import Backend as BackendPort
    from veridical.core.printing import Document
    from veridical.settings import Settings

DONE, LEFT = 0, 1
ROWS_OF_SERVICE = 8
"""Rows under way at once where a service is asked: the time is spent waiting."""

EXAMPLES = """\b
Examples:
  veridical batch answers.jsonl checked/
  veridical batch data/ 'more/*.csv' checked/ --processes 4
  veridical batch answers.jsonl checked/ --dry-run
  veridical batch answers.jsonl checked/ --sample 0.1 --stop-share 0.05
  veridical batch answers.parquet claims/ --per-claim --json
  veridical batch answers.jsonl checked/ --backend openai:gpt-4.1 --provider-batch

\b
Exit codes:
  0  nothing is left to do, or the flagged share is decided
  1  rows are left: they have an error, or the limit was reached
  2  wrong use or configuration, unreadable files, or ids that come twice
  3  the backend cannot start, or the provider of batches refuses

The same command again goes on: rows with a result are not checked again, rows
with an error are, and the input may have grown.
"""

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Rows {id, answer, sources} or {id, claim, evidence}: JSONL, CSV or Parquet; "
        "files, folders or globs.",
    ),
]
Output = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="Folder of the results, rows.jsonl.")
]
PerClaim = Annotated[
    bool, typer.Option("--per-claim", help="Write a row for each claim, not for each answer.")
]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Check N rows at most in this run.")
]
Sample = Annotated[
    float | None,
    typer.Option(metavar="SHARE", min=0, max=1, help="Take a share of the rows, by their ids."),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the sample.")]
StopShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        min=0,
        max=1,
        help="Stop once the flagged share is above or below this with 95 % certainty.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate time and money from a few rows; write nothing.")
]
EngineName = Annotated[
    Literal["local", "ray"],
    typer.Option(
        help="Where rows are checked: on this machine, or on the Ray cluster at RAY_ADDRESS."
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Processes or actors, each with a model and one thread (default: one for each "
        "processor, or this process where a service is asked).",
    ),
]
ProviderBatch = Annotated[
    bool,
    typer.Option(
        "--provider-batch",
        help="Send requests in batches that OpenAI or Azure answers within a day, at half price.",
    ),
]
Backend = options.Backend
Json = options.Json
Quiet = options.Quiet
Config = options.Config


@reported
def batch(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    inputs: Inputs,
    output: Output,
    *,
    per_claim: PerClaim = False,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 0,
    stop_share: StopShare = None,
    dry_run: DryRun = False,
    engine: EngineName = "local",
    processes: Processes = None,
    provider_batch: ProviderBatch = False,
    backend: Backend = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Check the rows of INPUT, and write the results to the folder OUTPUT."""
    from veridical.batch.inputs import find_files
    from veridical.batch.output import OutputFolder
    from veridical.batch.provider import PRICE_SHARE
    from veridical.batch.running import BatchJob, run_batch
    from veridical.batch.survey import Selection
    from veridical.settings import Settings
    from veridical.wiring.build import build_backend

    settings = Settings.load(config, backend=backend)
    asking = asked_once(settings) if provider_batch else settings
    built = build_backend(asking, settings.backend)
    selection = Selection(tuple(find_files(inputs, output)), sample, seed)
    identity = _identity(settings, built, selection, per_claim=per_claim)
    job = BatchJob(selection, OutputFolder(output), identity, per_claim, limit, stop_share)
    workers = _processes(built, processes)
    new_engine = partial(_engine, settings, built, workers, per_claim)
    if engine == "ray":
        new_engine = partial(_ray_engine, settings, built, processes, per_claim)
    if provider_batch:
        ensure_batchable(settings, job, built, engine)
    if dry_run:
        found = _estimated(job, settings, built, workers)
        if provider_batch and found.cost_usd is not None:
            found.cost_usd *= PRICE_SHARE
        _print(found.body(), _estimate_lines(found), json=json, quiet=quiet)
        raise typer.Exit(DONE)
    if provider_batch:
        run = run_at_provider(settings, job, built, tell=_teller(wanted=not quiet))
    else:
        with _progress(wanted=not (quiet or json)) as progress:
            run = run_batch(job, new_engine, progress)
    _print(run.body(), _run_lines(job, run), json=json, quiet=quiet)
    raise typer.Exit(DONE if run.complete else LEFT)


# --- the job ---------------------------------------------------------------------------------


def _identity(
    settings: Settings, built: BackendPort, selection: Selection, *, per_claim: bool
) -> Document:
    from veridical.batch.identity import identity_of, text_model_identity
    from veridical.wiring.build import build_text_model

    claims, claims_model = settings.claims, None
    if claims.model is not None:
        model = build_text_model(settings, claims.model)
        claims_model = text_model_identity(model, claims.max_tokens)
    return identity_of(
        built.info,
        settings.to_policy(),
        selection,
        claims_model=claims_model,
        per_claim=per_claim,
    )


def _processes(built: BackendPort, given: int | None) -> int:
    """Return the number of processes; 1 is this one."""
    from veridical.pipeline.inference.processors import usable_processors
    from veridical.wiring.build import is_in_process, is_instant

    if given is not None and given > 1 and not is_in_process(built):
        raise _not_divided(built)
    return given or (usable_processors() if is_instant(built) else 1)


def _engine(settings: Settings, built: BackendPort, processes: int, per_claim: bool) -> BatchEngine:  # noqa: FBT001 -- bound by `partial`
    from veridical.batch.engines import ProcessEngine, ThreadEngine
    from veridical.verification.sync import SyncVerifier
    from veridical.wiring.build import build_verifier, is_in_process

    if processes > 1:
        return ProcessEngine(settings, processes=processes, per_claim=per_claim)
    rows = 1 if is_in_process(built) else ROWS_OF_SERVICE
    verifier = SyncVerifier(build_verifier(settings, backend=built))
    return ThreadEngine(verifier, workers=rows, per_claim=per_claim)


def _ray_engine(
    settings: Settings,
    built: BackendPort,
    actors: int | None,
    per_claim: bool,  # noqa: FBT001 -- bound by `partial`
) -> BatchEngine:
    from veridical.batch.ray_engine import RayEngine
    from veridical.wiring.build import is_in_process

    if not is_in_process(built):
        raise _not_divided(built)
    return RayEngine(settings, actors=actors, per_claim=per_claim)


def _not_divided(built: BackendPort) -> ConfigurationError:
    msg = f"the backend {built.info.name} is a service: its limits hold within one process"
    return ConfigurationError(msg, hint="Leave --processes and --engine out")


# --- the estimate ----------------------------------------------------------------------------


def _estimated(
    job: BatchJob, settings: Settings, built: BackendPort, processes: int
) -> BatchEstimate:
    from veridical.batch.estimating import count_queries, estimate_job
    from veridical.wiring.build import is_in_process

    found = estimate_job(job)
    count_queries(found, built.info, settings.to_policy())
    if is_in_process(built):
        found.cost_usd = 0.0
        _time(found, settings, processes)
    else:
        found.cost_usd = _cost(found, settings, built)
    return found


def _time(found: BatchEstimate, settings: Settings, processes: int) -> None:
    from veridical.batch.estimating import time_rows
    from veridical.batch.stage import checked
    from veridical.verification.sync import SyncVerifier

    threads = {"threads": 1} if processes > 1 else {}
    alone = settings.model_copy(update=threads)
    with SyncVerifier.from_settings(alone) as verifier:
        time_rows(found, partial(checked, verifier=verifier, per_claim=False), processes)


def _cost(found: BatchEstimate, settings: Settings, built: BackendPort) -> float | None:
    from veridical.pipeline.inference.listed_prices import address_of, listed_cost_usd
    from veridical.pipeline.inference.prices import Usage, price_of
    from veridical.wiring.build import prices

    price = price_of(built.info.model, prices(settings))
    # A word of output for each query.
    if price is not None:
        return (found.tokens * price.input + found.queries * price.output) / 1e6
    one = Usage(round(found.tokens / max(found.queries, 1)), 1)
    listed = listed_cost_usd(built.info.model, one, address_of(built))
    return None if listed is None else listed * found.queries


# --- output ----------------------------------------------------------------------------------


@contextmanager
def _progress(*, wanted: bool) -> Iterator[Callable[[BatchRun], None] | None]:
    """Yield a callback that shows a run on stderr; None where nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shown = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None, rate="")
        yield lambda run: bar.update(
            task, completed=run.totals.rows, total=run.rows, rate=_rate(run)
        )


def _teller(*, wanted: bool) -> Callable[[str], None]:
    """Return a callback that writes a line of progress to stderr."""
    return partial(print, file=sys.stderr, flush=True) if wanted else lambda _: None


def _rate(run: BatchRun) -> str:
    """Return rate, time left and cost so far."""
    if run.per_second is None or run.seconds_left is None:
        return ""
    return f"{run.per_second:.1f} rows/s, {_time_text(run.seconds_left)} left, {_money(run.taken)}"


def _time_text(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _money(taken: Taken) -> str:
    return _dollars(taken.cost_usd)


def _dollars(amount: float | None) -> str:
    if amount is None:
        return "cost unknown"
    return f"${amount:.4f}" if 0 < amount < 1 else f"${amount:,.2f}"


def _print(document: Document, lines: list[str], *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.output import print_json, print_text

    if json:
        print_json(json_module.dumps(document, indent=2))
    elif not quiet:
        print_text("\n".join(lines) + "\n")


def _run_lines(job: BatchJob, run: BatchRun) -> list[str]:
    from veridical.interfaces.cli.output import columns
    from veridical.readers.documents import shown

    totals = run.totals
    errors = f", {totals.errors.total()} of them with an error" if totals.errors else ""
    found = [
        ("rows", f"{totals.rows} of {run.rows} written{errors}"),
        ("outcomes", _counted(totals.outcomes)),
        ("errors", _counted(totals.errors)),
        ("flagged share", _share_text(totals.share)),
        ("this run", _run_text(run)),
        ("stopped by", str(run.stopped or "").replace("_", " ")),
        ("results", shown(job.folder.rows)),
    ]
    return columns([pair for pair in found if pair[1]])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))


def _share_text(share: FlaggedShare) -> str:
    if not share.of:
        return ""
    low, high = share.interval
    return f"{share.flagged / share.of:.1%} of {share.of} (95 % interval {low:.1%} to {high:.1%})"


def _run_text(run: BatchRun) -> str:
    rate = f", {run.per_second:.1f} rows/s" if run.per_second else ""
    return f"{run.rows_checked} checked in {_time_text(run.seconds)}{rate}, {_money(run.taken)}"


def _estimate_lines(found: BatchEstimate) -> list[str]:
    from veridical.interfaces.cli.output import columns

    faulty = f", {found.faulty} faulty" if found.faulty else ""
    unknown = "unknown: a service is not asked"
    return columns(
        [
            ("rows", f"{found.rows_left} of {found.rows} left{faulty}"),
            ("queries", f"about {found.queries:,.0f}, {found.tokens:,.0f} tokens"),
            ("time", unknown if found.seconds is None else f"about {_time_text(found.seconds)}"),
            ("money", _dollars(found.cost_usd)),
            ("from", f"{len(found.sample)} rows"),
        ]
    )
