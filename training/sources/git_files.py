"""Files of bare git repositories, `FOLDER/owner+name/repo`, without a checkout."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Repository:
    """A repository's files as they are in its last commit."""

    def __init__(self, mirrors: Path, name: str) -> None:
        self._folder = mirrors / name.replace("/", "+") / "repo"

    def commit(self) -> str:
        """Return the commit's name."""
        return self._git("rev-parse", "HEAD").decode().strip()

    def text(self, path: str) -> str:
        """Return a file's text; what is not UTF-8 in it is replaced."""
        return self._git("cat-file", "blob", f"HEAD:{path}").decode("utf-8", "replace")

    def json(self, path: str) -> Any:  # noqa: ANN401
        """Return what a JSON file holds."""
        return json.loads(self.text(path))

    def table(self, path: str, **form: Any) -> list[dict[str, str]]:  # noqa: ANN401
        """Return the rows of a file with a header."""
        return list(csv.DictReader(io.StringIO(self.text(path)), **form))

    def texts(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """Yield each path with its text, in one run of git; a missing file is left out."""
        asked = "".join(f"HEAD:{path}\n" for path in paths).encode()
        found = io.BytesIO(self._git("cat-file", "--batch", given=asked))
        for path in paths:
            head = found.readline().split()
            if head[-1] != b"missing":
                yield path, found.read(int(head[-1])).decode("utf-8", "replace")
                found.read(1)

    def _git(self, *words: str, given: bytes | None = None) -> bytes:
        command = ["git", "--git-dir", str(self._folder), *words]
        return subprocess.run(command, check=True, capture_output=True, input=given).stdout
