"""Labelled data sets: JSONL files, plain or gzipped, read whole before anything is measured."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError, DocumentError
from veridical.evaluation.rows import Malformed, Row, SkippedRow, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from veridical.evaluation.rows import SkipReason

GZIP_MAGIC = b"\x1f\x8b"
SHOWN = 20
"""Problems that an error message lists; it counts the rest."""

ROW_SHAPE = (
    'A row is {"id", "evidence": text | [text] | [{"id", "text"}], "claim", '
    '"label": "supported" | "not_supported", "label3"?, "cites"?}'
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Measurable rows of one file, and the number of skipped rows by reason.

    `fingerprint` is the SHA-256 of the content, so it is the same plain and gzipped.
    """

    name: str
    fingerprint: str
    rows: tuple[Row, ...]
    skipped: Mapping[SkipReason, int]

    def sample(self, limit: int | None, seed: int) -> Dataset:
        """Return `limit` rows, in file order; a larger sample of the same seed holds them too."""
        if limit is None or limit >= len(self.rows):
            return self
        ranked = sorted(self.rows, key=lambda row: _rank(row.id, seed))
        chosen = {row.id for row in ranked[:limit]}
        return replace(self, rows=tuple(row for row in self.rows if row.id in chosen))


def _rank(row_id: str, seed: int) -> bytes:
    return sha256(f"{seed}\0{row_id}".encode()).digest()


def read_datasets(paths: Sequence[Path]) -> tuple[Dataset, ...]:
    """Return the data sets in the order given.

    `DocumentError` names every malformed row of every file by file and line.
    """
    problems: list[str] = []
    found = [
        _read(path, name, problems) for path, name in zip(paths, file_names(paths), strict=True)
    ]
    raise_for_problems(problems, ROW_SHAPE)
    return tuple(found)


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return the file names, or the paths as given where two files have the same name."""
    if len({path.resolve() for path in paths}) < len(paths):
        msg = "a data file is given more than once"
        raise ConfigurationError(msg, hint="Name every file once")
    count = Counter(path.name for path in paths)
    return [path.name if count[path.name] == 1 else path.as_posix() for path in paths]


def _read(path: Path, name: str, problems: list[str]) -> Dataset:
    data = file_content(path, name)
    rows: dict[str, Row] = {}
    skipped: Counter[SkipReason] = Counter()
    seen: dict[str, int] = {}
    for number, line in numbered_lines(data, name):
        parsed = parse(line)
        if isinstance(parsed, Malformed):
            problems += [f"{name}, line {number}: {problem}" for problem in parsed.problems]
        elif parsed.id in seen:
            problems.append(f"{name}, line {number}: has the id of line {seen[parsed.id]}")
        elif isinstance(parsed, SkippedRow):
            skipped[parsed.reason] += 1
        else:
            rows[parsed.id] = parsed
        if not isinstance(parsed, Malformed):
            seen.setdefault(parsed.id, number)
    return Dataset(name, sha256(data).hexdigest(), tuple(rows.values()), skipped)


def file_content(path: Path, name: str) -> bytes:
    """Return a file's bytes, unpacked where it is gzipped."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "damaged gzip"
        msg = f"cannot read {name}: {reason}"
        raise DocumentError(msg, hint="Name a JSONL file, plain or gzipped") from None


def numbered_lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{name} is not UTF-8 at byte {error.start}"
        raise DocumentError(msg, hint="Save it as UTF-8") from None
    # Not splitlines(): a JSON string may hold U+2028 and other line breaks that are not "\n".
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def raise_for_problems(problems: Sequence[str], row_shape: str) -> None:
    """Raise a `DocumentError` that lists the problems, if there are any."""
    if not problems:
        return
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    msg = "\n".join([f"{len(problems)} problems in the data", *problems[:SHOWN], *more])
    raise DocumentError(msg, hint=row_shape)


def total_rows(datasets: Iterable[Dataset]) -> int:
    """Return the number of rows to measure."""
    return sum(len(dataset.rows) for dataset in datasets)
