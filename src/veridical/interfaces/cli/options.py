"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST = 2**31 - 1
"""The largest number that goes to a database."""

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print errors only; the exit code is the result.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Read this file, not ./veridical.yaml."),
]
Backend = Annotated[
    str | None, typer.Option(metavar="NAME[:MODEL]", help="Backend that estimates probabilities.")
]

# --- commands that listen ---------------------------------------------------------------------

Host = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Address to listen on (127.0.0.1); any other needs keys."),
]
Keys = Annotated[
    str | None, typer.Option(metavar="FILE", help="Require an API key listed in FILE.")
]
NoAddress = Annotated[bool, typer.Option("--quiet", help="Print no address.")]
