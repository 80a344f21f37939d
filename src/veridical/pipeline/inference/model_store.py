"""Store of downloaded models: one folder for each revision, with the SHA-256 of each file.

Only `get` uses the network. A download fills a folder of its own, which takes its place when every
file has its checksum, so that half a model is never found. A store can be copied to a machine
without internet.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.model_manifest import (
    MANIFEST,
    InstalledModel,
    digest,
    read_manifest,
    write_manifest,
)
from veridical.pipeline.inference.model_sources import FILE, FolderSource
from veridical.pipeline.inference.presets import presets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.pipeline.inference.model_sources import ModelSource, RemoteFile
    from veridical.pipeline.inference.presets import Preset

_INCOMING = ".incoming-"
_NAME = re.compile(r"(?!\.)[\w.-]+(/(?!\.)[\w.-]+)?", re.ASCII)
_REVISION = re.compile(r"(?!\.)[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SINGLE = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "veridical.json",
    "golden.json",
)
_GRAPH = re.compile(r"(onnx/)?[^/]+\.onnx([._]data)?")
_AGAIN = "Run `veridical models get` again: nothing of this attempt is used"


class DownloadProgress(Protocol):
    """Callback protocol for the progress of a download."""

    def __call__(self, file: str, done: int, total: int, /) -> None:
        """Receive the file that begins, and how many of all bytes are there."""
        ...


def default_folder() -> Path:
    """Return the folder for models: in `$XDG_CACHE_HOME` or `~/.cache`, `Library/Caches` on macOS.

    On Windows it is in `%LOCALAPPDATA%`.
    """
    if sys.platform == "win32":
        place = _named("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        place = Path.home() / "Library" / "Caches"
    else:
        place = _named("XDG_CACHE_HOME") or Path.home() / ".cache"
    return place / "veridical" / "models"


def _named(variable: str) -> Path | None:
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None


def get(
    name: str,
    revision: str | None = None,
    *,
    folder: Path | None = None,
    source: str | None = None,
    progress: DownloadProgress | None = None,
) -> Path:
    """Download a preset, or `owner/repository`, and return its folder.

    `source` is `file:FOLDER` for a copy of a local folder in place of the hub. A revision that is
    there already is checked and not downloaded. `ConfigurationError` for a wrong name, revision or
    key, `BackendError` where the network, the disk or a file fails.
    """
    _ensure_name(name, revision)
    known = presets().get(name)
    revision = revision or (known.revision if known else None)
    store = folder or default_folder()
    if revision and _COMMIT.fullmatch(revision) and (_place(store, name, revision)).is_dir():
        return _verified(_place(store, name, revision))
    origin = _source(name, source, known)
    with _disk(store):
        exact, files = origin.listing(revision)
        target = _place(store, name, exact)
        if not target.is_dir():
            chosen = _chosen(name, origin.repository, files, known)
            _download(origin, name, exact, chosen, target, progress=progress)
        return _verified(target)


def folder_of(name: str, revision: str | None = None, *, folder: Path | None = None) -> Path:
    """Return the folder of a downloaded model; a revision may be the start of a commit.

    `ConfigurationError` if it was not downloaded, or if several revisions fit. `verify` checks it.
    """
    _ensure_name(name, revision)
    known = presets().get(name)
    revision = revision or (known.revision if known else None) or ""
    everything = installed_models(folder=folder)
    found = [one for one in everything if one.name == name and one.revision.startswith(revision)]
    if len(found) == 1:
        return found[0].folder
    wanted = f"{name}@{revision}" if revision else name
    if found:
        msg = f"{len(found)} revisions of {wanted} are downloaded"
        hint = f"Name one: {', '.join(f'hub:{name}@{one.revision[:12]}' for one in found)}"
        raise ConfigurationError(msg, hint=hint)
    msg = f"the model {wanted} is not downloaded"
    raise ConfigurationError(msg, hint=f"Run `veridical models get {wanted}`")


def installed_models(*, folder: Path | None = None) -> list[InstalledModel]:
    """Return the models in the store, by name and revision; a damaged manifest is passed over."""
    found = []
    for manifest in sorted((folder or default_folder()).glob(f"*/*/{MANIFEST}")):
        model = read_manifest(manifest.parent)
        if model is not None and not manifest.parent.name.startswith(_INCOMING):
            found.append(model)
    return found


def verify(path: Path) -> None:
    """Raise `BackendError` unless each file of a downloaded model has its SHA-256.

    A folder without a manifest was not downloaded, and is as its owner has made it.
    """
    if not (path / MANIFEST).exists():
        return
    model = read_manifest(path)
    if model is None:
        msg = f"the manifest of {path} cannot be read"
        raise BackendError(msg, hint=_removal(path))
    for file, sha256 in model.sha256.items():
        if digest(path / file, "sha256") != sha256:
            msg = f"{file} of {model.name} does not have the SHA-256 it was downloaded with"
            raise BackendError(msg, hint=_removal(path))


def _removal(path: Path) -> str:
    return f"Delete {path} and run `veridical models get` again"


def _verified(path: Path) -> Path:
    verify(path)
    return path


def _ensure_name(name: str, revision: str | None) -> None:
    if not _NAME.fullmatch(name) or (revision and not _REVISION.fullmatch(revision)):
        msg = f"{name!r} with the revision {revision!r} is no name of a model"
        hint = f"Name owner/repository, or one of {', '.join(presets())}"
        raise ConfigurationError(msg, hint=hint)
    if "/" not in name and name not in presets():
        msg = f"there is no preset named {name!r}"
        hint = f"Name owner/repository, or one of {', '.join(presets())}"
        raise ConfigurationError(msg, hint=hint)


def _place(store: Path, name: str, revision: str) -> Path:
    return store / name.replace("/", "--") / revision


def _source(name: str, source: str | None, known: Preset | None) -> ModelSource:
    if source is not None:
        if not source.startswith(FILE):
            msg = "the source of a model is file:FOLDER"
            raise ConfigurationError(msg, hint="Leave it out to download from the hub")
        return FolderSource(Path(source.removeprefix(FILE)).expanduser())
    if known is not None and known.repository is None:
        msg = f"the preset {name!r} names no repository"
        raise ConfigurationError(msg, hint="Check with onnx:FOLDER")
    from veridical.pipeline.inference.model_hub import HubSource

    return HubSource(name if known is None else str(known.repository))


def _chosen(
    name: str, repository: str, files: Sequence[RemoteFile], known: Preset | None
) -> list[RemoteFile]:
    """Return the files that are needed; `ConfigurationError` if there is no graph among them."""
    graphs = {file.path: file for file in files if _GRAPH.fullmatch(file.path)}
    wanted = _graphs(graphs, () if known is None else known.files)
    if not wanted:
        msg = f"{repository} has no ONNX graph for {name}"
        hint = f"Export it once: optimum-cli export onnx --model {repository} FOLDER; then use onnx"
        raise ConfigurationError(msg, hint=f"{hint}:FOLDER")
    beside = [path for path in graphs if path.partition(".onnx")[0] + ".onnx" in wanted]
    single = [file for file in files if file.path in _SINGLE or _is_card(file.path)]
    return [*single, *(graphs[path] for path in sorted(beside))]


def _is_card(path: str) -> bool:
    return path.startswith("verifier-") and path.endswith(".json")


def _graphs(there: Mapping[str, RemoteFile], named: Sequence[str]) -> set[str]:
    """Return the graphs of a preset, else `model.onnx`, else all, in one folder."""
    for prefix in ("", "onnx/"):
        files = {f"{prefix}{file}" for file in named}
        if files and files <= set(there):
            return files
    for path in ("model.onnx", "onnx/model.onnx"):
        if path in there:
            return {path}
    return {path for path in there if path.endswith(".onnx")}


def _download(  # noqa: PLR0913 -- from where, which model and files, to where, told to whom
    origin: ModelSource,
    name: str,
    revision: str,
    files: Sequence[RemoteFile],
    target: Path,
    *,
    progress: DownloadProgress | None,
) -> None:
    """Copy files into a folder of their own, and rename it when all of them are right."""
    target.parent.mkdir(parents=True, exist_ok=True)
    total, done = sum(file.size for file in files), 0
    _ensure_space(target.parent, total)
    incoming = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=target.parent))
    try:
        sha256 = {}
        for file in files:
            if progress is not None:
                progress(file.path, done, total)
            origin.copy(file, revision, incoming)
            sha256[file.path] = _checked(incoming / file.path, file)
            done += file.size
        model = InstalledModel(name, origin.repository, revision, target, total, sha256)
        _keep_only(incoming, sha256)
        write_manifest(incoming, model)
        _rename(incoming, target)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _rename(incoming: Path, target: Path) -> None:
    try:
        incoming.rename(target)
    except OSError:
        if not target.is_dir():  # else another process was faster, and its files are checked next
            raise


def _keep_only(folder: Path, files: Mapping[str, str]) -> None:
    """Delete what a source has written beside the files themselves."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()


def _ensure_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        msg = f"the model needs {needed:,} bytes, and {folder} has {free:,} left"
        raise BackendError(msg, hint="Free space, or set models.folder to another disk")


@contextmanager
def _disk(store: Path) -> Iterator[None]:
    """Turn errors of the disk into a `BackendError` that says what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BackendError):
            raise
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        what = "is full" if full else f"cannot be written ({type(error).__name__})"
        msg = f"the folder for models {store} {what}"
        raise BackendError(msg, hint="Free space, or set models.folder to another folder") from None


def _checked(path: Path, file: RemoteFile) -> str:
    """Return the SHA-256 of a file; `BackendError` unless it is as its source states it."""
    size = path.stat().st_size if path.is_file() else 0
    if size != file.size:
        msg = f"{file.path} has {size:,} of {file.size:,} bytes"
        raise BackendError(msg, hint=_AGAIN)
    sha256 = digest(path, "sha256")
    right = sha256 is not None and file.sha256 in {None, sha256}
    if file.git_sha1 is not None and file.sha256 is None:
        right = digest(path, "sha1", b"blob %d\0" % size) == file.git_sha1
    if sha256 is None or not right:
        msg = f"{file.path} does not have the checksum its source states"
        raise BackendError(msg, hint=_AGAIN)
    return sha256
