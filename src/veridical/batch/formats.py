"""Readers of row files: JSONL, CSV and Parquet, row by row.

JSONL and CSV may be gzipped. Parquet needs the extra `parquet`.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from veridical.batch.rows import AnyRow, parse_row, unreadable
from veridical.errors import DocumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Reader: TypeAlias = Callable[[Path], Iterator[AnyRow]]

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line, so that a file without line breaks does not fill the memory."""

PARQUET_ROWS = 256
"""Rows of a Parquet file that are in memory at once."""

COLUMNS = frozenset({"id", "answer", "sources", "claim", "evidence", "question", "meta"})

NESTED = ("sources", "evidence", "meta")
"""Columns of a CSV file whose cells may hold JSON."""


def rows_of(path: Path) -> Iterator[AnyRow]:
    """Yield the rows of a file, in its order; a row that cannot be read is a fault.

    `DocumentError` if the file cannot be read.
    """
    try:
        yield from READERS[suffix_of(path)](path)
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "damaged gzip"
        raise _wrong(path, reason) from None


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format; empty if it is none of a row file."""
    name = path.name.lower().removesuffix(".gz")
    return next((suffix for suffix in READERS if name.endswith(suffix)), "")


def _wrong(path: Path, reason: str) -> DocumentError:
    from veridical.readers.documents import shown

    msg = f"cannot read {shown(path)}: {reason}"
    return DocumentError(msg, hint="Name JSONL, CSV or Parquet files, or folders of them")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        packed = file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
        yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file


# --- JSONL -----------------------------------------------------------------------------------


def _jsonl(path: Path) -> Iterator[AnyRow]:
    for line in _lines(path):
        if line.strip():
            yield _json_row(line)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines; of one that is too long its beginning, and a byte more than it may have."""
    with _opened(path) as file:
        start = BOM
        while line := file.readline(LONGEST_LINE + 1):
            yield line.removeprefix(start)
            start = b""
            while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE + 1)


def _json_row(line: bytes) -> AnyRow:
    if len(line) > LONGEST_LINE:
        return unreadable(line, f"the line has more than {LONGEST_LINE} bytes")
    try:
        value = json.loads(line.decode())
        return parse_row(value)
    except UnicodeDecodeError as error:
        return unreadable(line, f"the line is not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return unreadable(line, f"the line is not JSON at column {error.colno}")
    except RecursionError:
        return unreadable(line, "the JSON is nested too deeply")
    except ValueError:
        return unreadable(line, "the JSON holds an integer of too many digits")


# --- CSV -------------------------------------------------------------------------------------


def _csv(path: Path) -> Iterator[AnyRow]:
    csv.field_size_limit(min(sys.maxsize, LONGEST_LINE))
    number = 0

    def text(line: bytes) -> str:
        nonlocal number
        number += 1
        if len(line) > LONGEST_LINE:
            msg = f"the line has more than {LONGEST_LINE} bytes"
            raise csv.Error(msg)
        return line.decode("utf-8", "surrogateescape")

    # After an error the reader begins a row with the next line. Strict: a quote that is not closed
    # is an error, where it would make the rest of the file one cell.
    reader = csv.reader(map(text, _lines(path)), strict=True)
    header = _csv_header(path, reader)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield unreadable(str(number).encode(), f"line {number}: {error}")
            continue
        if cells is None:
            return
        if cells:
            yield _csv_row(header, cells)


def _csv_header(path: Path, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = next(reader, None)
    except csv.Error:
        raise _wrong(path, "its first line is no row of CSV; lines end in LF or CR LF") from None
    if not header or "id" not in header:
        raise _wrong(path, "its first line names no column 'id'")
    if twice := [name for name in sorted(COLUMNS) if header.count(name) > 1]:
        raise _wrong(path, f"its first line names the column {twice[0]!r} more than once")
    return header


def _csv_row(header: list[str], cells: list[str]) -> AnyRow:
    if len(cells) != len(header):
        data = "\0".join(cells).encode("utf-8", "surrogateescape")
        return unreadable(data, f"{len(cells)} cells, the header has {len(header)}")
    given = {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
    for name in given.keys() & set(NESTED):
        given[name] = _nested(given[name])
    return parse_row(given)


def _nested(cell: str) -> Any:  # noqa: ANN401 -- a value of JSON
    """Return the object or list in a cell, or else the cell, which is a text."""
    if cell.lstrip()[:1] not in {"[", "{"}:
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


# --- Parquet ---------------------------------------------------------------------------------


def _parquet(path: Path) -> Iterator[AnyRow]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        msg = "Parquet files need pyarrow"
        raise MissingExtraError(msg, hint="pip install 'veridical[parquet]'") from None
    try:
        yield from _parquet_rows(ParquetFile(path))
    except (ArrowException, ValueError):
        raise _wrong(path, "it is not a Parquet file") from None


def _parquet_rows(file: Any) -> Iterator[AnyRow]:  # noqa: ANN401 -- pyarrow has no types of its own
    names = [name for name in file.schema_arrow.names if name in COLUMNS]
    for batch in file.iter_batches(batch_size=PARQUET_ROWS, columns=names):
        for value in batch.to_pylist():
            yield parse_row({name: _object(name, one) for name, one in value.items()})


def _object(name: str, value: Any) -> Any:  # noqa: ANN401 -- a value of a Parquet file
    """Return a value as JSON has it, whose keys are texts."""
    if isinstance(value, dict) and name in {"sources", "evidence"}:
        # The struct of a column has the members of all rows.
        return {key: one for key, one in value.items() if one is not None}
    # Arrow gives maps as lists of pairs.
    pairs = isinstance(value, list) and value and all(isinstance(one, tuple) for one in value)
    return {str(key): one for key, one in value} if pairs else value


READERS: dict[str, Reader] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}
"""Readers by the suffix of the file."""


def ensure_readable(path: Path) -> None:
    """Raise now what reading the first row of a file would raise."""
    next(rows_of(path), None)
