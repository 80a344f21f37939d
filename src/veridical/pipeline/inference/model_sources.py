"""Sources of models, and the one that is a folder of this machine."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from veridical.errors import ConfigurationError
from veridical.pipeline.inference.model_manifest import digest, read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "file:"
"""Start of a source that is a folder on this machine."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """File of a model at its source: SHA-256, or Git's own hash of it, as the source states it."""

    path: str
    size: int
    sha256: str | None = None
    git_sha1: str | None = None


class ModelSource(Protocol):
    """Origin of models: a listing at one revision, and copies of its files."""

    repository: str

    def listing(self, revision: str | None) -> tuple[str, list[RemoteFile]]:
        """Return the exact revision and its files."""
        ...

    def copy(self, file: RemoteFile, revision: str, folder: Path) -> None:
        """Write a file below a folder, under its own path."""
        ...


class FolderSource:
    """Folder on this machine, such as one of another store: its manifest, if any, is binding."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = read_manifest(folder)
        self.repository = self._known.repository if self._known else f"{FILE}{folder.name}"

    def listing(self, revision: str | None) -> tuple[str, list[RemoteFile]]:
        """Return the revision of the manifest, else a digest of the files, and the files.

        `ConfigurationError` if there is no such folder, or it is of another revision.
        """
        if not self._folder.is_dir():
            msg = f"there is no model folder {self._folder}"
            raise ConfigurationError(msg, hint="Name one: file:FOLDER")
        files = [self._file(path) for path in sorted(self._folder.rglob("*")) if path.is_file()]
        own = self._known.revision if self._known else None
        if own is not None and revision is not None and not own.startswith(revision):
            msg = f"{self._folder} holds the revision {own[:12]}, not {revision}"
            raise ConfigurationError(msg, hint="Leave the revision out, or copy the other one")
        return own or revision or _joint(files), files

    def copy(self, file: RemoteFile, revision: str, folder: Path) -> None:
        """Copy a file below a folder."""
        del revision  # the folder has one
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._folder / file.path, target)

    def _file(self, path: Path) -> RemoteFile:
        name = path.relative_to(self._folder).as_posix()
        stated = self._known.sha256.get(name) if self._known else None
        return RemoteFile(name, path.stat().st_size, stated or digest(path, "sha256"))


def _joint(files: Sequence[RemoteFile]) -> str:
    parts = "\n".join(f"{file.path} {file.sha256}" for file in files)
    return hashlib.sha256(parts.encode()).hexdigest()[:40]
