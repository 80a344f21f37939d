"""`veridical repl`: a Python shell with the functions at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.core.types import Source

EXAMPLES = """\b
Examples:
  veridical repl --source S1=history.md --source notes.txt
  veridical repl --text-model openai:MODEL --source docs/
  echo 'verify_claim("It has six lanes.", "It has eight lanes.")' | veridical repl --json

\b
Exit codes:
  0  left with /quit, exit() or at the end of the input; exit(N) leaves with N
  2  wrong use or configuration
  3  a backend cannot start
"""

Backend = options.Backend
TextModel = Annotated[
    str | None,
    typer.Option("--text-model", metavar="NAME[:MODEL]", help="Text model of llm()."),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        "-s",
        metavar="[ID=]PATH",
        help="Sources of /verify and llm(): files and folders as for `veridical check`. May be "
        "given several times.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print each result as one line of JSON on stdout.")
]
Config = options.Config
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no greeting and no notes.")]


@reported
def repl(  # noqa: PLR0913 -- one parameter per option is how typer reads a command
    *,
    backend: Backend = None,
    text_model: TextModel = None,
    source: Sources = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Open a Python shell with `veridical.repl`."""
    import sys

    from veridical import repl as functions
    from veridical.interfaces.repl import lines
    from veridical.interfaces.repl.commands import run_command
    from veridical.interfaces.repl.display import Display
    from veridical.interfaces.repl.shell import Shell
    from veridical.settings import Settings

    settings = Settings.load(config)
    functions.configure(settings=settings, backend=backend, text_model=text_model)
    shell = Shell(run_command, display=Display(json=json), sources=_read(source or [], quiet=quiet))
    if sys.stdin.isatty() and not quiet:
        asked, model = functions.current()
        shell.display.say(f"veridical: backend {asked}; text model {model or 'none'}; /help helps")
    lines.run(shell)


def _read(sources: Sequence[str], *, quiet: bool) -> tuple[Source, ...]:
    from veridical.errors import ConfigurationError
    from veridical.readers.documents import STDIN, path_of, read_sources

    if not sources:
        return ()
    if STDIN in map(path_of, sources):
        msg = "standard input is where the shell reads its lines"
        raise ConfigurationError(msg, hint="Name a file with --source")
    found = read_sources(sources, checked=STDIN)
    if not quiet:
        for notice in found.notices:
            say("note", str(notice))
    return found.sources
