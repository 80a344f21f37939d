"""The options of a command that writes reports to files: one for each format."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from veridical.pipeline.reports.formats import FORMATS, ReportFormat

ReportFiles: TypeAlias = Mapping[str, Path]
"""Where reports are written: a path by the name of its format."""

_PARAMETER = "files"


def takes_report_files(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each format in the place of its parameter `files`."""
    options = {row.name: _option(row) for row in FORMATS.values() if not row.printed}

    @wraps(command)
    def run(**given: object) -> None:
        paths = {name: given.pop(name) for name in options}
        files = {name: path for name, path in paths.items() if path is not None}
        command(**given, **{_PARAMETER: files})

    # Typer reads the options of a command from its signature.
    own = inspect.signature(command, eval_str=True)
    expanded = [
        one
        for name, parameter in own.parameters.items()
        for one in (options.values() if name == _PARAMETER else [parameter])
    ]
    run.__signature__ = own.replace(parameters=expanded)  # type: ignore[attr-defined]
    return run


def _option(row: ReportFormat) -> Parameter:
    says = f"Write the report as {row.help}."
    option = typer.Option(f"--{row.name}", metavar="OUT", help=says)
    kind = Annotated[Path | None, option]
    return Parameter(row.name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
