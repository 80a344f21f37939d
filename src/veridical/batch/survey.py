"""Survey of the input before anything is checked: its size, its ids, and what earlier runs did."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from veridical.batch.inputs import read_rows
from veridical.batch.output import blocks
from veridical.batch.totals import Totals
from veridical.errors import ConfigurationError, DocumentError
from veridical.readers.documents import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from veridical.batch.index import RowIndex
    from veridical.batch.output import Block, OutputFolder
    from veridical.batch.rows import AnyRow

SHOWN = 20
"""Repeated ids that an error message lists; it counts the rest."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of a job: those of the files, or a share of them drawn by their ids."""

    files: tuple[Path, ...]
    sample: float | None = None
    seed: int = 0

    def rows(self) -> Iterator[tuple[int, int, AnyRow]]:
        """Yield the rows with their places, as `read_rows` does."""
        return (item for item in read_rows(self.files) if self._drawn(item[2].id))

    def _drawn(self, row_id: str | None) -> bool:
        if self.sample is None or row_id is None:
            return True
        rank = sha256(f"{self.seed}\0{row_id}".encode()).digest()[:8]
        return int.from_bytes(rank) < self.sample * 2**64


@dataclass(slots=True)
class Survey:
    """Number of rows, and those at the beginning whose results stand: rows, bytes, totals."""

    rows: int = 0
    done: int = 0
    prefix: int = 0
    totals: Totals = field(default_factory=Totals)
    kept: int = 0


def survey(selection: Selection, folder: OutputFolder, index: RowIndex) -> Survey:
    """Return the survey; the index then holds the ids of the input.

    `DocumentError` names ids that come twice, and is raised where there are no rows.
    `ConfigurationError` if results of earlier runs are not of this input.
    """
    found, repeated = Survey(), list[str]()
    earlier: Iterator[Block] | None = blocks(folder.rows)
    for file, place, row in selection.rows():
        found.rows += 1
        if row.id is not None and (first := index.add(row.id, file, place)) is not None:
            repeated.append(_repeated(selection.files, (file, place), first))
        block = next(earlier, None) if earlier is not None else None
        if block is not None and block.settled and block.is_of(row):
            _count(found, block)
        else:
            earlier = None
    if not found.rows:
        msg = "the input has no rows"
        raise DocumentError(msg, hint="Name files with rows, or take a larger sample")
    _raise_for_repeated(repeated)
    _ensure_all_known(folder, found, index)
    return found


def _count(found: Survey, block: Block) -> None:
    found.done += 1
    found.prefix = block.end
    found.totals.add(block.first)


def _ensure_all_known(folder: OutputFolder, found: Survey, index: RowIndex) -> None:
    """Raise unless each result is of a row of the input: a lost one may have been paid for."""
    lost = 0
    for block in behind(folder, found):
        if block.error is None:
            known = block.id is not None and block.id in index
            found.kept += known
            lost += not known
    if lost:
        msg = f"{lost} results in {shown(folder.path)} are of rows that are not in the input"
        raise ConfigurationError(msg, hint="Name the whole input, or a new folder")


def behind(folder: OutputFolder, found: Survey) -> Iterator[Block]:
    """Yield the results that are not at the beginning, kept ones first."""
    return chain(blocks(folder.kept), blocks(folder.rows, found.prefix))


def _repeated(files: Sequence[Path], here: tuple[int, int], first: tuple[int, int]) -> str:
    (file, row), (other, known) = here, first
    return f"{shown(files[file])}, row {row}: has the id of {shown(files[other])}, row {known}"


def _raise_for_repeated(repeated: Sequence[str]) -> None:
    if not repeated:
        return
    more = [f"and {len(repeated) - SHOWN} more"] if len(repeated) > SHOWN else []
    msg = "\n".join(
        [f"rows with the id of an earlier one: {len(repeated)}", *repeated[:SHOWN], *more]
    )
    raise DocumentError(msg, hint="Give every row an id of its own")
