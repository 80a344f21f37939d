"""Input files of a batch: files, folders and globs, in the order of the arguments."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.batch.formats import READERS, ensure_readable, rows_of, suffix_of
from veridical.errors import ConfigurationError, DocumentError
from veridical.readers.documents import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from veridical.batch.rows import AnyRow

FORMATS = ", ".join(READERS)


def find_files(arguments: Sequence[str], output: Path) -> list[Path]:
    """Return the files named by the arguments; those of a folder or glob are sorted.

    The folder `output` holds no inputs. `DocumentError` if an argument names no row file.
    """
    found = [path for argument in arguments for path in _files(argument, output.resolve())]
    resolved = [path.resolve() for path in found]
    if len(set(resolved)) < len(resolved):
        msg = "an input file is given more than once"
        raise ConfigurationError(msg, hint="Name every file once, by itself or by its folder")
    for path in found:
        ensure_readable(path)
    return found


def read_rows(files: Iterable[Path]) -> Iterator[tuple[int, int, AnyRow]]:
    """Yield the rows of all files, each with the number of its file from 0, and its own from 1."""
    for number, path in enumerate(files):
        for place, row in enumerate(rows_of(path), start=1):
            yield number, place, row


def _files(argument: str, output: Path) -> list[Path]:
    path = Path(argument)
    if path.is_file():
        return [_known(path)]
    if path.resolve() == output:  # the shell's glob names it, too
        return []
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if _visible(one.relative_to(path)))
    else:
        found = [Path(one) for one in sorted(glob.glob(argument, recursive=True))]  # noqa: PTH207 -- an argument may begin at the root
    files = [one for one in found if _is_input(one, output)]
    if not files:
        msg = f"{shown(argument)} names no file of rows"
        raise DocumentError(msg, hint=f"Rows are read from {FORMATS}, the first three also gzipped")
    return files


def _is_input(path: Path, output: Path) -> bool:
    return path.is_file() and bool(suffix_of(path)) and output not in path.resolve().parents


def _visible(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)


def _known(path: Path) -> Path:
    if not suffix_of(path):
        msg = f"{shown(path)} has no known suffix"
        raise DocumentError(msg, hint=f"Rows are read from {FORMATS}, the first three also gzipped")
    return path
