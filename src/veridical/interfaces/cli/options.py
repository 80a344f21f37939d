"""The options that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print errors only; the exit code is the answer.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Read this file, not ./veridical.yaml."),
]
