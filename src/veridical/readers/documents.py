"""Reading of the answer and its sources from files, folders and standard input."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.types import Source, ensure_text
from veridical.errors import DocumentError, SourceError
from veridical.readers.formats import DocumentFormat, decode, format_of, is_pdf, to_text
from veridical.readers.records import SHAPES, NotRecords, Record, json_records, jsonl_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

STDIN = "-"
MAX_BYTES = 256 * 1024 * 1024
LONGEST_SHOWN_PATH = 200


@dataclass(frozen=True, slots=True)
class Notice:
    """Document that was not read, or only in part, with the reason."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Documents:
    """Sources that were read, and notices of all that were not."""

    sources: tuple[Source, ...]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """How sources are read: files that are no evidence, each with the reason; pages or articles."""

    own: Mapping[tuple[int, int] | None, str]
    main_text: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Texts of one document: one per record, with its place."""

    records: tuple[Record, ...]
    path: str
    remark: str = ""


def read_answer(argument: str) -> str:
    """Read the answer from a file, or from standard input if `argument` is "-"."""
    place = "the answer from standard input" if argument == STDIN else shown(argument)
    data = _read(argument, place)
    kind = format_of("answer.txt" if argument == STDIN else argument, data)
    if kind in {DocumentFormat.JSON, DocumentFormat.JSONL}:
        kind = DocumentFormat.TEXT  # an answer may be JSON; only sources come as records
    text = to_text(data, kind, place).text
    ensure_text(text, place)
    return text


def read_text(argument: str, what: str) -> str:
    """Read a file, or standard input if `argument` is "-", as text without conversion."""
    place = f"{what} from standard input" if argument == STDIN else shown(argument)
    data = _read(argument, place)
    if is_pdf(data):
        msg = f"{place} is a PDF, but {what} has to be text"
        raise DocumentError(msg, hint="Convert it to text first")
    text = decode(data, place)
    ensure_text(text, place)
    return text


def read_sources(
    arguments: Sequence[str],
    *,
    checked: str = "",
    written: Iterable[Path] = (),
    main_text: bool = False,
) -> Documents:
    """Read every `[ID=]PATH`: a file, a folder, or "-" for standard input.

    The file that is `checked` and the reports that are `written` are no evidence: they are skipped
    in a folder, and a `SourceError` if they are named. With `main_text` an HTML page is its
    article, without what stands around it.
    """
    if not arguments:
        msg = "there are no sources"
        raise SourceError(msg, hint="Name at least one with --source [ID=]PATH")
    how = _Reading(_own(checked, written), main_text)
    items = [item for argument in arguments for item in _read_argument(argument, how)]
    found = [item for item in items if isinstance(item, _Found)]
    notices = [item for item in items if isinstance(item, Notice)]
    notices += [Notice(item.path, item.remark) for item in found if item.remark]
    _refuse_duplicates(record for item in found for record in item.records)
    sources = (Source(r.id, r.text, item.path) for item in found for r in item.records)
    return Documents(tuple(sources), tuple(notices))


def read_upload(data: bytes, name: str) -> Documents:
    """Read one document that was sent, under the name that it has; `DocumentError` if it is none.

    A JSON document may hold several sources, with ids of their own. Errors do not name it.
    """
    found = _convert(data, name, _name(name), _Reading({}, main_text=False), place="the document")
    if isinstance(found, Notice):
        msg = f"{found.path} {found.reason}"
        raise DocumentError(msg, hint=SHAPES)
    notices = (Notice(found.path, found.remark),) if found.remark else ()
    return Documents(tuple(Source(r.id, r.text, _name(name)) for r in found.records), notices)


def ensure_one_stdin(answer: str, sources: Sequence[str]) -> None:
    """Raise `DocumentError` if standard input is asked for more than once."""
    asked = [answer, *map(path_of, sources)].count(STDIN)
    if asked > 1:
        msg = f"standard input is asked for {asked} times, and can be read once"
        raise DocumentError(msg, hint="Give '-' for the answer or for one source, not both")


def path_of(source: str) -> str:
    """Return the path in `[ID=]PATH`."""
    return _split_id(source)[1]


def shown(path: str | Path) -> str:
    """Return a path as messages show it: no control characters, and never a whole text."""
    name = os.fsencode(path).decode("utf-8", "replace")
    if len(name) > LONGEST_SHOWN_PATH or "\n" in name:
        return f"an argument of {len(name)} characters"
    return name if name.isprintable() else ascii(name)


# --- one argument ----------------------------------------------------------------------------


def _read_argument(argument: str, how: _Reading) -> list[_Found | Notice]:
    source_id, path = _split_id(argument)
    if path != STDIN and _is_folder(path):
        return _read_folder(Path(path), how, named=bool(source_id))
    place = "standard input" if path == STDIN else shown(path)
    if reason := how.own.get(_identity(path)):
        msg = f"{place} is no source: {reason}"
        raise SourceError(msg, hint="Name what the answer was written from")
    data = _read(path, place)
    found = _convert(data, path, source_id or _name(path), how, named=bool(source_id))
    if isinstance(found, Notice):
        msg = f"{found.path} {found.reason}"
        raise DocumentError(msg, hint=SHAPES)
    return [found]


def _split_id(argument: str) -> tuple[str, str]:
    """Split `[ID=]PATH`; a path that exists and holds a "=" is a path."""
    if not argument:
        msg = "a source has no path"
        raise SourceError(msg, hint="Write PATH or ID=PATH; '.' is the folder you are in")
    source_id, equals, path = argument.partition("=")
    if not equals or _exists(argument):
        return "", argument
    if not source_id.strip() or not path:
        msg = f"{shown(argument)} is not a source"
        raise SourceError(msg, hint="Write PATH or ID=PATH")
    return source_id, path


def _own(checked: str, written: Iterable[Path]) -> Mapping[tuple[int, int] | None, str]:
    """Return the files that are no evidence, each with the reason."""
    reasons = {str(path): "the report is written there" for path in written}
    reasons |= {checked: "it is what is checked"} if checked else {}
    found = {_identity(path): reason for path, reason in reasons.items()}
    return {identity: reason for identity, reason in found.items() if identity is not None}


def _identity(path: str) -> tuple[int, int] | None:
    """Return the identity of a file, whatever names lead to it; None if it is no file."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == STDIN else Path(path).stat()
    except (OSError, ValueError, AttributeError):  # standard input may be closed, or None
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _name(path: str) -> str:
    if path == STDIN:
        return "stdin"
    return os.fsencode(Path(path).name).decode("utf-8", "replace") or path


def _read_folder(folder: Path, how: _Reading, *, named: bool) -> list[_Found | Notice]:
    if named:
        msg = f"{shown(folder)} is a folder, and an id names one document"
        raise SourceError(msg, hint="Leave the id out: files get their path in the folder")
    items = [_read_folder_file(path, folder, how) for path in _files(folder)]
    if not any(isinstance(item, _Found) for item in items):
        msg = f"{shown(folder)} holds no document that can be read ({len(items)} files skipped)"
        raise DocumentError(msg, hint="Put text, Markdown, HTML, PDF, DOCX or JSON files there")
    return items


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, sorted; hidden ones are left out."""

    def give_up(error: OSError) -> None:
        msg = f"cannot read the folder {shown(error.filename)}: {error.strerror}"
        raise DocumentError(msg, hint="Check its permissions") from None

    for parent, folders, names in os.walk(folder, onerror=give_up):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _read_folder_file(path: Path, folder: Path, how: _Reading) -> _Found | Notice:
    place = shown(path)
    if not path.is_file():
        return Notice(place, "skipped, not a regular file")
    if reason := how.own.get(_identity(str(path))):
        return Notice(place, f"skipped, {reason}")
    data = _read(str(path), place)
    if reason := _unsupported(str(path), data):
        return Notice(place, f"skipped, {reason}")
    relative = os.fsencode(path.relative_to(folder)).decode("utf-8", "replace")
    found = _convert(data, str(path), relative.replace(os.sep, "/"), how)
    return Notice(place, f"skipped, {found.reason}") if isinstance(found, Notice) else found


def _unsupported(path: str, data: bytes) -> str:
    """Return the reason why a file found in a folder, not named, has no usable text."""
    if not data.strip():
        return "empty"
    kind = format_of(path, data)
    try:
        if kind not in {DocumentFormat.PDF, DocumentFormat.DOCX}:
            decode(data, path, html=kind is DocumentFormat.HTML)
    except DocumentError:
        return "not UTF-8 text"
    return ""


# --- one document ----------------------------------------------------------------------------


def _convert(  # noqa: PLR0913 -- what is read, how, and the names that it has
    data: bytes,
    path: str,
    source_id: str,
    how: _Reading,
    *,
    named: bool = False,
    place: str = "",
) -> _Found | Notice:
    place = place or ("standard input" if path == STDIN else shown(path))
    kind = format_of("" if path == STDIN else path, data)
    if kind not in {DocumentFormat.JSON, DocumentFormat.JSONL} or not data.strip():
        plain = to_text(data, kind, place, main_text=how.main_text)
        return _Found((Record(source_id, plain.text, place),), place, plain.remark)
    text = decode(data, place)
    records = (
        json_records(text, place) if kind is DocumentFormat.JSON else jsonl_records(text, place)
    )
    if isinstance(records, NotRecords):
        return Notice(place, records.reason)
    if named:
        msg = f"{place} holds records with ids of their own"
        raise SourceError(msg, hint="Leave the id before the '=' out")
    return _Found(tuple(records), place)


def _read(path: str, place: str) -> bytes:
    """Return the bytes of a file or of standard input; every failure is a `DocumentError`."""
    try:
        if path == STDIN:
            return _read_stdin(place)
        status = Path(path).stat()
        if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
            raise _too_large(place)
        with Path(path).open("rb") as stream:
            return _read_limited(stream, place)
    except FileNotFoundError:
        msg = f"there is no file {place}"
        raise DocumentError(msg, hint=_instead_of(path)) from None
    except IsADirectoryError:
        msg = f"{place} is a folder"
        raise DocumentError(msg, hint="Name one file; only --source takes folders") from None
    except OSError as error:
        msg = f"cannot read {place}: {error.strerror or type(error).__name__}"
        raise DocumentError(msg, hint="Check that it is a file you may read") from None


def _instead_of(path: str) -> str:
    """Return a hint for an argument that names no file."""
    if path.startswith(("http://", "https://")):
        return "Nothing is fetched: save the page, and name that file"
    return "Check the path; '-' reads a text from standard input"


def _read_stdin(place: str) -> bytes:
    if sys.stdin is None:
        msg = f"cannot read {place}: standard input is closed"
        raise DocumentError(msg, hint="Pipe the text in, or name a file")
    return _read_limited(sys.stdin.buffer, place)


def _read_limited(stream: BinaryIO, place: str) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _too_large(place)
    return data


def _too_large(place: str) -> DocumentError:
    msg = f"{place} is larger than {MAX_BYTES // 1024**2} MB"
    return DocumentError(msg, hint="Split it, and keep what the answer is about")


def _refuse_duplicates(records: Iterable[Record]) -> None:
    places: dict[str, list[str]] = {}
    for record in records:
        places.setdefault(record.id, []).append(record.place)
    twice = [
        f"{shown(source_id)} ({' and '.join(where)})"
        for source_id, where in places.items()
        if len(where) > 1
    ]
    if twice:
        msg = f"source ids must be unique; given more than once: {', '.join(twice)}"
        raise SourceError(msg, hint="Tell them apart with --source ID=PATH")
