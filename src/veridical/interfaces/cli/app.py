"""Registration of the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from veridical.interfaces.cli import (
    audit,
    batch,
    calibrate,
    check,
    config,
    doctor,
    evaluate,
    extract,
    feedback,
    feedback_many,
    init,
    keys,
    mcp,
    memory,
    models,
    quotes,
    repl,
    serve,
    show,
    traces,
    trajectory,
)

# Plain help: the rich one alone would take longer to load than all of `veridical --help` may.
app = typer.Typer(
    help="Check what a language model says against the evidence it was given, claim by claim.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("check", epilog=check.EXAMPLES)(check.check)
app.command("show", epilog=show.EXAMPLES)(show.show)
app.command("batch", epilog=batch.EXAMPLES)(batch.batch)
app.command("eval", epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command("extract", epilog=extract.EXAMPLES)(extract.extract)
app.command("quotes", epilog=quotes.EXAMPLES)(quotes.quotes)
app.command("audit", epilog=audit.EXAMPLES)(audit.audit)
app.command("calibrate", epilog=calibrate.EXAMPLES)(calibrate.calibrate)
app.command("repl", epilog=repl.EXAMPLES)(repl.repl)
app.command("serve", epilog=serve.EXAMPLES)(serve.serve)
app.command("mcp", epilog=mcp.EXAMPLES)(mcp.mcp)
app.command("trajectory", epilog=trajectory.EXAMPLES)(trajectory.trajectory)
app.command("init", epilog=init.EXAMPLES)(init.init)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
feedback.app.command("mark-many", epilog=feedback_many.EXAMPLES)(feedback_many.mark_many)
app.add_typer(feedback.app, name="feedback", help="Mark verdicts as right or wrong.")
app.add_typer(memory.app, name="memory", help="Store facts that their evidence supports.")
app.add_typer(models.app, name="models", help="Download and check public verifiers.")
app.add_typer(traces.app, name="traces", help="Show and verify reasoning traces.")
app.add_typer(keys.app, name="keys", help="Manage the API keys of the service.")
app.add_typer(config.app, name="config", help="Show the configuration.")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 -- the signature of an option callback
    if wanted:
        from importlib.metadata import version

        typer.echo(f"veridical {version('veridical')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True),
]


@app.callback()
def _root(*, _version: Version = False) -> None:
    """Hold the options of the program itself."""
