"""Reports as input of a command: the output of `check --json`, or a download from the service."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from veridical.errors import VeridicalError

ReportFile = Annotated[
    str,
    typer.Argument(metavar="REPORT", help="Output of `check --json`: a file, or - for stdin."),
]


def read_report(argument: str) -> object:
    """Return the JSON value in a file or on standard input; None if it holds none."""
    from veridical.readers.documents import read_text

    try:
        value: object = json.loads(read_text(argument, "the report"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, VeridicalError):
            raise
        return None
    return value
