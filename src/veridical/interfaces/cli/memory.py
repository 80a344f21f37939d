"""`veridical memory`: stored facts, the verification queue, and rejections."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import memory_examples, options
from veridical.interfaces.cli.failures import UNDETERMINED, WRONG_USE, reported, say
from veridical.wiring.runtime import load_gate_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from veridical.core.types import Source
    from veridical.memory import Memory, QueueResult, RememberResult

FLAGGED = 1
NONE_YET = "No facts: veridical memory add TEXT --source PATH"
NONE_FOUND = "No fact that is remembered and valid now matches"

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The fact: one assertion.")]
FactId = Annotated[str, typer.Argument(metavar="ID", help="Id of the fact, as in list.")]
Goal = Annotated[str, typer.Argument(metavar="TIER", help="session or long_term.")]
Query = Annotated[
    str, typer.Argument(metavar="TEXT", help="Words of a fact (all of them), or its meaning.")
]
IsSemantic = Annotated[
    bool,
    typer.Option("--semantic", help="Search by meaning, with the model embeddings.model."),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        "-s",
        metavar="[ID=]PATH",
        help="Evidence: a file, a folder, or - for stdin. May be given several times.",
    ),
]
Entities = Annotated[
    list[str] | None,
    typer.Option(
        "--entity",
        "-e",
        metavar="[ROLE=]NAME",
        help="Entity of the fact. May be given several times.",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--entity",
        "-e",
        metavar="NAME",
        help="Facts about this entity only. May be given several times.",
    ),
]
Relation = Annotated[str | None, typer.Option(metavar="NAME", help="Relation of the entities.")]
Confidence = Annotated[float | None, typer.Option(metavar="P", help="Stated confidence (0-1).")]
TierName = Annotated[str, typer.Option(metavar="TIER", help="task, session or long_term.")]
TierFilter = Annotated[
    str | None, typer.Option("--tier", metavar="TIER", help="Facts of this tier only.")
]
FromSource = Annotated[
    str | None, typer.Option("--source", "-s", metavar="ID", help="Facts from this source only.")
]
DependsOn = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="A fact this one depends on. May be given several times."),
]
Gate = Annotated[
    bool | None,
    typer.Option(
        "--gate/--no-gate", help="Verify the fact before it is stored (default: configured)."
    ),
]
All = Annotated[bool, typer.Option("--all", help="Also facts queued, retracted or not valid now.")]
Limit = Annotated[
    int, typer.Option(metavar="N", min=1, max=options.MOST, help="Maximum number of results.")
]
WorkLimit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, max=options.MOST, help="Maximum number of facts."),
]
Early = Annotated[
    bool, typer.Option("--early", help="Also facts that are not due or were given up.")
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("add", epilog=memory_examples.ADD)
@reported
def add(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    text: Text,
    *,
    source: Sources = None,
    entity: Entities = None,
    relation: Relation = None,
    confidence: Confidence = None,
    tier: TierName = "long_term",
    depends_on: DependsOn = None,
    gate: Gate = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Store a fact if its evidence supports it."""
    given = _read(source or [], quiet=quiet)
    with _memory(config, gate) as memory:
        load_gate_model(memory)
        done = memory.remember(
            text,
            given,
            entities=[_entity(each) for each in entity or []],
            relation=relation,
            confidence=confidence,
            tier=tier,
            depends_on=depends_on or [],
        )
    _finish(done, json=json, quiet=quiet)


@app.command("list", epilog=memory_examples.LIST)
@reported
def show_all(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    *,
    entity: Names = None,
    relation: Relation = None,
    source: FromSource = None,
    tier: TierFilter = None,
    everything: All = False,
    limit: Limit = 100,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """List the facts, newest first."""
    from veridical.interfaces.cli.memory_output import facts_table
    from veridical.memory.documents import facts_document

    with _memory(config, gate=False) as memory:
        found = memory.facts(
            entities=entity or [],
            relation=relation,
            source=source,
            tier=tier,
            everything=everything,
            limit=limit,
        )
    narrowed = any((entity, relation, source, tier))
    shown = facts_table(found, NONE_FOUND if narrowed else NONE_YET)
    _print(lambda: facts_document(found), shown, json=json, quiet=quiet)


@app.command("search", epilog=memory_examples.SEARCH)
@reported
def search(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    text: Query,
    *,
    semantic: IsSemantic = False,
    limit: Limit = 20,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Find facts by words or meaning.

    The best match comes first.
    """
    from veridical.interfaces.cli.memory_output import facts_table, matches_table
    from veridical.memory.documents import facts_document, matches_document

    with _memory(config, gate=False) as memory:
        if semantic:
            near = memory.similar(text, limit=limit)
            _print(lambda: matches_document(near), matches_table(near), json=json, quiet=quiet)
            return
        found = memory.search(text, limit=limit)
    _print(lambda: facts_document(found), facts_table(found, NONE_FOUND), json=json, quiet=quiet)


@app.command("show", epilog=memory_examples.SHOW)
@reported
def show(
    fact_id: FactId, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Show everything about a fact."""
    from veridical.interfaces.cli.memory_output import fact_page
    from veridical.memory.documents import one_document

    with _memory(config, gate=False) as memory:
        fact, links = memory.get(fact_id), memory.links(fact_id)
    _print(lambda: one_document(fact, links), fact_page(fact, links), json=json, quiet=quiet)


@app.command("verify-pending", epilog=memory_examples.VERIFY)
@reported
def verify_pending(
    *,
    limit: WorkLimit = None,
    early: Early = False,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Verify the facts that are due in the queue."""
    from veridical.interfaces.cli.memory_output import worked_lines
    from veridical.memory.documents import worked_document

    # This command is for verification, whether new facts are verified or not.
    with _memory(config, gate=True) as memory:
        worked = memory.verify_pending(limit=limit, early=early)
    _print(lambda: worked_document(worked), worked_lines(worked), json=json, quiet=quiet)
    raise typer.Exit(_work_code(worked))


@app.command("pending", epilog=memory_examples.PENDING)
@reported
def pending(*, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """List the facts in the queue, with reasons."""
    from veridical.interfaces.cli.memory_output import pending_table
    from veridical.memory.documents import pending_document

    with _memory(config, gate=False) as memory:
        found = memory.pending()
    _print(lambda: pending_document(found), pending_table(found), json=json, quiet=quiet)


@app.command("rejected", epilog=memory_examples.REJECTED)
@reported
def rejected(
    *, limit: Limit = 100, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """List rejected facts, newest first.

    Hashes and figures only, no text.
    """
    from veridical.interfaces.cli.memory_output import rejections_table
    from veridical.memory.documents import rejections_document

    with _memory(config, gate=False) as memory:
        found = memory.rejections(limit=limit)
    _print(lambda: rejections_document(found), rejections_table(found), json=json, quiet=quiet)


@app.command("retract", epilog=memory_examples.RETRACT)
@reported
def retract(
    fact_id: FactId, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Retract a fact and its dependent facts."""
    from veridical.interfaces.cli.memory_output import retracted_lines
    from veridical.memory.documents import facts_document

    with _memory(config, gate=False) as memory:
        gone = memory.retract(fact_id)
    _print(lambda: facts_document(gone), retracted_lines(gone), json=json, quiet=quiet)


@app.command("delete", epilog=memory_examples.DELETE)
@reported
def delete(
    fact_id: FactId, *, json: Json = False, quiet: Quiet = False, config: Config = None
) -> None:
    """Delete a fact with its text, for good, and retract its dependent facts.

    Texts of its sources go, too, unless another fact has them.
    """
    from veridical.interfaces.cli.memory_output import deleted_lines
    from veridical.memory.documents import deleted_document

    with _memory(config, gate=False) as memory:
        gone = memory.delete(fact_id)
    _print(lambda: deleted_document(fact_id, gone), deleted_lines(gone), json=json, quiet=quiet)


@app.command("promote", epilog=memory_examples.PROMOTE)
@reported
def promote(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    fact_id: FactId,
    tier: Goal,
    *,
    gate: Gate = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Promote a fact if its evidence supports it."""
    with _memory(config, gate) as memory:
        load_gate_model(memory)
        done = memory.promote(fact_id, tier)
    _finish(done, json=json, quiet=quiet)


# --- parts -----------------------------------------------------------------------------------


def _memory(config: Path | None, gate: bool | None) -> Memory:  # noqa: FBT001 -- an option handed on
    from veridical.settings import Settings
    from veridical.wiring.memories import build_memory

    return build_memory(Settings.load(config), gate=gate)


def _read(sources: Sequence[str], *, quiet: bool) -> tuple[Source, ...] | None:
    from veridical.readers.documents import read_sources

    if not sources:
        return None
    documents = read_sources(sources)
    for notice in () if quiet else documents.notices[:5]:
        say("note", str(notice))
    return documents.sources


def _entity(argument: str) -> str | tuple[str, str]:
    """Split `[ROLE=]NAME`."""
    role, equals, name = argument.partition("=")
    return (role, name) if equals else argument


def _finish(done: RememberResult, *, json: bool, quiet: bool) -> None:
    from veridical.interfaces.cli.memory_output import remembered_lines
    from veridical.memory.documents import remembered_document

    _print(lambda: remembered_document(done), remembered_lines(done), json=json, quiet=quiet)
    raise typer.Exit(_code(done))


def _code(done: RememberResult) -> int:
    from veridical.memory import FactOutcome, FactState

    if done.outcome is FactOutcome.FAILED:
        return WRONG_USE
    if done.outcome is FactOutcome.REJECTED or done.fact is None:
        return FLAGGED
    if done.pending:
        return UNDETERMINED
    return FLAGGED if done.fact.state is FactState.UNSUPPORTED else 0


def _work_code(worked: QueueResult) -> int:
    if worked.rejected or worked.unsupported:
        return FLAGGED
    return UNDETERMINED if worked.retried or worked.given_up or worked.lost else 0


def _print(
    document: Callable[[], dict[str, Any]],
    show_it: Callable[[Console], None],
    *,
    json: bool,
    quiet: bool,
) -> None:
    from veridical.interfaces.cli.output import print_json, print_rich

    if json:
        print_json(json_module.dumps(document(), indent=2, ensure_ascii=False))
    elif not quiet:
        print_rich(show_it)
