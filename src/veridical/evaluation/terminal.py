"""Evaluation on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from veridical.evaluation.notes import notes
from veridical.evaluation.tables import MEAN, Table, baselines, calibration, coverage, detection

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from veridical.evaluation.results import Evaluation

_FEW_COLUMNS = 7
"""Number of columns up to which 80 characters hold a table with padding."""


def render(evaluation: Evaluation, console: Console) -> None:
    """Print the tables and their notes."""
    for make in (detection, baselines, calibration, coverage):
        console.print(rich_table(make(evaluation)))
        console.print()
    for note in notes(evaluation):
        console.print(Text(note))


def rich_table(table: Table) -> RichTable:
    """Return a table as the terminal shows it."""
    wide = len(table.columns) > _FEW_COLUMNS
    shown = RichTable(
        title=Text(table.title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0 if wide else 1),
        collapse_padding=True,
        show_edge=not wide,
    )
    for position, column in enumerate(table.columns):
        justify: JustifyMethod = "right" if position else "left"
        width = _narrowest(table, position) if wide and position else None
        shown.add_column(Text(column), justify=justify, overflow="fold", width=width)
    for row in table.rows:
        cells = [Text(cell) for cell in row]
        shown.add_row(*cells, style="bold" if row[0] == MEAN else None)
    return shown


def _narrowest(table: Table, position: int) -> int:
    """Return the least width in which a column folds no word of its head and no cell."""
    words = table.columns[position].split()
    return max(map(len, [*words, *(row[position] for row in table.rows)]), default=0)
