"""Index of row ids in a temporary SQLite database, so that memory does not grow with the rows."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from veridical.batch.output import Block

CACHE_KIB = 8_192
_TABLES = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-{cache};
CREATE TABLE ids (key BLOB PRIMARY KEY, file INTEGER, place INTEGER) WITHOUT ROWID;
CREATE TABLE kept (key BLOB PRIMARY KEY, digest TEXT, start INTEGER, end INTEGER) WITHOUT ROWID;
BEGIN;
"""


class RowIndex:
    """Ids of the input, and results of earlier runs by id; a context manager."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)  # a file that SQLite removes
        self._base.executescript(_TABLES.format(cache=CACHE_KIB))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._base.close()

    def add(self, row_id: str, file: int, place: int) -> tuple[int, int] | None:
        """Add an id of the input; return the place of the row that has it already."""
        new = "INSERT OR IGNORE INTO ids VALUES (?, ?, ?)"
        if self._base.execute(new, (_key(row_id), file, place)).rowcount:
            return None
        places = "SELECT file, place FROM ids WHERE key = ?"
        found: tuple[int, int] = self._base.execute(places, (_key(row_id),)).fetchone()
        return found

    def __contains__(self, row_id: str) -> bool:
        found = self._base.execute("SELECT 1 FROM ids WHERE key = ?", (_key(row_id),))
        return found.fetchone() is not None

    def keep(self, block: Block) -> None:
        """Remember where the result of a row is kept; a later one takes its place."""
        if block.id is not None:
            row = (_key(block.id), block.digest, block.start, block.end)
            self._base.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", row)

    def kept(self, row_id: str, digest: str) -> tuple[int, int] | None:
        """Return where the result of a row of this content is kept; None if it is not."""
        query = "SELECT start, end FROM kept WHERE key = ? AND digest = ?"
        found: tuple[int, int] | None = self._base.execute(query, (_key(row_id), digest)).fetchone()
        return found


def _key(row_id: str) -> bytes:
    return blake2b(row_id.encode(), digest_size=16).digest()
