"""Manifest of an installed model: its origin, and the SHA-256 of each of its files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANIFEST = "manifest.json"
"""Name of the file."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """Model in the store: its name, origin and revision, its folder, and its checksums by file."""

    name: str
    repository: str
    revision: str
    folder: Path
    bytes: int
    sha256: Mapping[str, str]


def write_manifest(folder: Path, model: InstalledModel) -> None:
    """Write the manifest of a model into a folder."""
    document = {key: value for key, value in asdict(model).items() if key != "folder"}
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(folder: Path) -> InstalledModel | None:
    """Return the model of a folder by its manifest; None if that is damaged."""
    try:
        raw = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sha256 = {str(file): str(digest) for file, digest in raw["sha256"].items()}
        names = str(raw["name"]), str(raw["repository"]), str(raw["revision"])
        return InstalledModel(*names, folder, int(raw["bytes"]), sha256)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def digest(path: Path, algorithm: str, before: bytes = b"") -> str | None:
    """Return a hash of a file; None if it cannot be read."""
    made = hashlib.new(algorithm, before, usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                made.update(block)
    except OSError:
        return None
    return made.hexdigest()
