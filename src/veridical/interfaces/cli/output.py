"""Output of commands: stdout, report files, a progress bar."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import ConfigurationError
from veridical.readers.documents import STDIN, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

CLOSED = "it is closed"


def print_text(text: str) -> bool:
    """Write text to stdout; False if the reader went away (`| head`), which is no error.

    `ConfigurationError` if stdout cannot be written; the same holds for every function here.
    """
    return _to_stdout(lambda: sys.stdout.write(text))


def print_json(document: str) -> None:
    """Write a JSON document to stdout as UTF-8, whatever the locale."""
    data = _encoded(document.rstrip("\n")) + b"\n"
    _to_stdout(lambda: sys.stdout.buffer.write(data))


def print_address(command: str, address: str, *, json: bool, quiet: bool) -> None:
    """Write the address of a command: a line, a document `veridical.<command>/1`, or nothing."""
    from json import dumps

    if json:
        print_json(dumps({"schema": f"veridical.{command}/1", "address": address}))
    elif not quiet:
        print_text(f"veridical listens on {address}\n")


def print_rich(show: Callable[[Console], None]) -> bool:
    """Write the output of `show` on a console to stdout, as `print_text` does."""
    from rich.console import Console

    def write() -> None:
        # Captured, because rich ends the process with its own exit code when a pipe breaks.
        console = Console()
        with console.capture() as capture:
            show(console)
        shown = capture.get()
        # Rich fills lines up to the width: in a file or a pipe, nobody asked for them.
        sys.stdout.write(shown if console.is_terminal else _without_trailing(shown))

    return _to_stdout(write)


def _without_trailing(text: str) -> str:
    """Return the text without blanks at the ends of lines."""
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows of cells as lines, the cells below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _encoded(text: str) -> bytes:
    # Half a surrogate pair has no UTF-8 and is written as JSON escapes it.
    return text.encode(errors="backslashreplace")


def _to_stdout(write: Callable[[], object]) -> bool:
    if sys.stdout is None:
        raise not_written(CLOSED)
    try:
        write()
        sys.stdout.flush()
    except OSError as error:
        drop_stdout()
        if not isinstance(error, BrokenPipeError):
            raise not_written(error.strerror) from None
        return False
    return True


def drop_stdout() -> None:
    """Redirect Python's last flush of stdout at exit to nothing: it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def not_written(why: str | None) -> ConfigurationError:
    """Return the error for a stdout that cannot be written, with the reason."""
    msg = f"cannot write to standard output: {why}"
    return ConfigurationError(msg, hint="Send it to a file on a disk with room, or to a program")


# --- report files ----------------------------------------------------------------------------


def ensure_writable(outputs: Iterable[Path], inputs: Iterable[str]) -> None:
    """Raise `ConfigurationError` now for a file that could not be written later."""
    taken = {Path(path).resolve() for path in inputs if path != STDIN}
    for path in outputs:
        _ensure_writable(path)
        if path.resolve() in taken:
            msg = f"{shown(path)} is read as an input or written twice"
            raise ConfigurationError(msg, hint="Give every output a file of its own")
        taken.add(path.resolve())


def _ensure_writable(path: Path) -> None:
    parent = path.resolve().parent
    if path.is_dir():
        msg = f"cannot write {shown(path)}: it is a folder"
    elif not parent.is_dir():
        msg = f"cannot write {shown(path)}: there is no folder {shown(parent)}"
    elif not os.access(path if path.exists() else parent, os.W_OK):
        msg = f"cannot write {shown(path)}: permission denied"
    else:
        return
    raise ConfigurationError(msg, hint="Name a file in a folder that exists and can be written")


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; raise `ConfigurationError` if that fails."""
    try:
        _replace(path.resolve(), _encoded(text))
    except OSError as error:
        msg = f"cannot write {shown(path)}: {error.strerror}"
        raise ConfigurationError(msg, hint="Check the disk and the folder's permissions") from None


def _replace(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # a pipe or a device: nothing to put in its place
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


# --- progress --------------------------------------------------------------------------------


@contextmanager
def progress_bar(
    *, wanted: bool, doing: str = "checking", in_bytes: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a callback that moves a bar on stderr; None where nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    counted = DownloadColumn() if in_bytes else MofNCompleteColumn()
    shown = (TextColumn(doing), BarColumn(), counted, TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
