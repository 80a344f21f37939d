"""Output folder of a batch: its manifest, its rows, and rows kept from an interrupted run.

`rows.jsonl` is at any moment the beginning of what it will be in the end, in input order. A row
with an error ends the part that a later run can build on: the results behind it move to
`kept.jsonl`, from where they return in their place.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from veridical.batch.rows import FaultName
from veridical.errors import ConfigurationError
from veridical.readers.documents import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from veridical.batch.rows import AnyRow
    from veridical.core.printing import Document

SCHEMA = "veridical.batch-job/1"
COPIED = 1 << 20
_FAULTS = frozenset(name.value for name in FaultName)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one row in a file of results: where they are, and the first of them."""

    start: int
    end: int
    first: Document

    @property
    def id(self) -> str | None:
        """Id of the row."""
        row_id: str | None = self.first["id"]
        return row_id

    @property
    def digest(self) -> str:
        """Digest of the row's content."""
        return str(self.first["input"])

    @property
    def error(self) -> str | None:
        """Name of the row's error."""
        error: str | None = self.first["error"]
        return error

    @property
    def settled(self) -> bool:
        """True unless the next run should check the row again."""
        return self.error is None or self.error in _FAULTS

    def is_of(self, row: AnyRow) -> bool:
        """Return whether this is the result of a row of this id and content."""
        return self.id == row.id and self.digest == row.digest


class OutputFolder:
    """Folder of one job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = path / "rows.jsonl"
        self.kept = path / "kept.jsonl"
        self.manifest = path / "manifest.json"

    def ensure_of(self, job: Document) -> None:
        """Raise `ConfigurationError` for the folder of another job, or of none."""
        if not self.path.exists():
            return
        if not self.path.is_dir() or (not self.manifest.exists() and self._holds_other_files()):
            msg = f"{shown(self.path)} is not the folder of a batch"
            raise ConfigurationError(msg, hint="Name a new folder, or that of an earlier run")
        if self.manifest.exists():
            self._ensure_same(job)

    def _holds_other_files(self) -> bool:
        # A run that ended before it wrote the manifest leaves files whose names begin with a dot.
        return any(not path.name.startswith(".") for path in self.path.iterdir())

    def _ensure_same(self, job: Document) -> None:
        try:
            written = json.loads(self.manifest.read_bytes())
            known = written["job"] if written["schema"] == SCHEMA else None
        except (ValueError, KeyError, TypeError):
            known = None
        if not isinstance(known, dict):
            msg = f"{shown(self.manifest)} is not the manifest of a batch"
            raise ConfigurationError(msg, hint="Name a new folder")
        differ = [name for name in sorted({*job, *known}) if job.get(name) != known.get(name)]
        if differ:
            msg = f"{shown(self.path)} holds another job: {', '.join(differ)} differ"
            raise ConfigurationError(msg, hint="Name a new folder, or run with the same settings")

    @contextmanager
    def opened(self, job: Document) -> Iterator[None]:
        """Make the folder with its manifest, and keep other runs out of it."""
        self.ensure_of(job)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with (self.path / ".lock").open("ab") as lock:
                _hold(lock, self.path)
                self.ensure_of(job)
                if not self.manifest.exists():
                    written = {"schema": SCHEMA, "job": job}
                    replace_file(self.manifest, json.dumps(written, indent=2).encode() + b"\n")
                yield
        except OSError as error:
            msg = f"cannot write {shown(self.path)}: {error.strerror}"
            raise ConfigurationError(msg, hint="Check the disk and its permissions") from None

    def move_tail(self, prefix: int, kept_end: int, is_kept: Callable[[Block], bool]) -> None:
        """Move the settled results behind the first `prefix` bytes of rows to the kept ones.

        These have `kept_end` whole bytes; what `is_kept` among them is not written again.
        """
        if not self.rows.exists() or self.rows.stat().st_size == prefix:
            return
        with self.kept.open("ab") as kept, self.rows.open("rb") as rows:
            kept.truncate(kept_end)
            for block in blocks(self.rows, prefix):
                if block.settled and not is_kept(block):
                    rows.seek(block.start)
                    kept.write(rows.read(block.end - block.start))
            _sync(kept)
        # Only now: results are in both files for a moment, and never in neither.
        os.truncate(self.rows, prefix)

    def end(self) -> None:
        """Remove results kept from earlier runs: all of them are in their place."""
        self.kept.unlink(missing_ok=True)


def blocks(path: Path, start: int = 0) -> Iterator[Block]:
    """Yield the results in a file from `start` on; one that was written in part ends them.

    `ConfigurationError` if a line is no result.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(start)
        while (block := _block(file, path, start)) is not None:
            yield block
            start = block.end


def _block(file: BinaryIO, path: Path, start: int) -> Block | None:
    line = file.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        first = json.loads(line)
        block = Block(start, start + len(line), first)
        more = first.get("lines", 1) - 1
        _ = block.id, block.digest, block.error
    except (ValueError, KeyError, TypeError, AttributeError):
        msg = f"{shown(path)} holds a line that is not a result, at byte {start}"
        raise ConfigurationError(msg, hint="Name a new folder, or remove the line") from None
    end = block.end
    for _ in range(more):
        line = file.readline()
        if not line.endswith(b"\n"):
            return None
        end += len(line)
    return Block(start, end, first)


def encoded(lines: Iterable[Document]) -> bytes:
    """Return output rows as they stand in the file."""
    texts = (json.dumps(line, ensure_ascii=False, allow_nan=False) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "backslashreplace")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("wb") as file:
        file.write(data)
        _sync(file)
    draft.replace(path)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _hold(lock: BinaryIO, folder: Path) -> None:
    """Lock a file until it is closed, or the process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        msg = f"another run writes to {shown(folder)}"
        raise ConfigurationError(msg, hint="Wait for its end, or name another folder") from None
