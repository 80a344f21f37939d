"""Evaluation on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from veridical.evaluation.notes import notes
from veridical.evaluation.tables import MEAN, Table, baselines, calibration, coverage, detection

if TYPE_CHECKING:
    from rich.console import Console

    from veridical.evaluation.results import Evaluation


def render(evaluation: Evaluation, console: Console) -> None:
    """Print the tables and their notes."""
    for make in (detection, baselines, calibration, coverage):
        console.print(rich_table(make(evaluation)))
        console.print()
    for note in notes(evaluation):
        console.print(Text(note))


def rich_table(table: Table) -> RichTable:
    """Return a table as the terminal shows it."""
    shown = RichTable(
        title=Text(table.title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for position, column in enumerate(table.columns):
        shown.add_column(Text(column), justify="right" if position else "left", overflow="fold")
    for row in table.rows:
        cells = [Text(cell) for cell in row]
        shown.add_row(*cells, style="bold" if row[0] == MEAN else None)
    return shown
