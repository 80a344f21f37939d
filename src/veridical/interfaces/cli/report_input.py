"""Reports as input of a command: what `check --json`, the service and its page save."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.errors import VeridicalError

if TYPE_CHECKING:
    from veridical.core.types import Source

ReportFile = Annotated[
    str,
    typer.Argument(metavar="REPORT", help="Output of `check --json`: a file, or - for stdin."),
]


@dataclass(frozen=True, slots=True)
class SavedReport:
    """Document of a report, with the texts that were saved beside it, if any."""

    document: object = field(repr=False)
    answer: str = field(default="", repr=False)
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False)
    question: str | None = field(default=None, repr=False)


def read_report(argument: str) -> SavedReport:
    """Return the report in a file or on standard input; `InputError` for malformed sources.

    The page and the service save it beside its texts, as the value of `report`.
    """
    value = _read_json(argument)
    if not isinstance(value, dict) or "report" not in value:
        return SavedReport(value)
    answer, question = value.get("answer"), value.get("question")
    return SavedReport(
        value["report"],
        answer if isinstance(answer, str) else "",
        _sources(value.get("sources")),
        question if isinstance(question, str) else None,
    )


def _read_json(argument: str) -> object:
    """Return the JSON value; None if there is none, which is no report either."""
    from veridical.readers.documents import read_text

    try:
        value: object = json.loads(read_text(argument, "the report"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, VeridicalError):
            raise
        return None
    return value


def _sources(value: object) -> Mapping[str, Source]:
    from veridical.core.sources import as_sources

    if isinstance(value, list):
        value = [_source(one) for one in value]
    return as_sources(value) if value and isinstance(value, list | Mapping) else {}


def _source(value: object) -> Any:  # noqa: ANN401 -- what is no source, `as_sources` refuses
    from veridical.core.types import Source

    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return value
    return Source(value.get("id", ""), value.get("text", ""), value["name"])
