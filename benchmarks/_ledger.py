"""Ledger of the scores of one method in a JSONL file, ids and figures only; runs can be resumed."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    Decide = Callable[[Any], "tuple[float | None, bool]"]


class Example(Protocol):
    """Labelled text: the file it is from, its id there, and a digest of all that is read."""

    file: str
    id: str
    key: str


@dataclass(frozen=True)
class Method:
    """A way to score an item; `open` loads what it needs, and only when a score is missing."""

    name: str
    fingerprint: str
    megabytes: float
    threshold: float
    open: Callable[[], AbstractContextManager[Decide]]


@dataclass(frozen=True)
class Score:
    """Result of a method on an item: None is undetermined; `load` is the machine's."""

    score: float | None
    supported: bool
    ms: float
    load: float


class Ledger:
    """Results so far, by item; `fill` adds to them line by line."""

    def __init__(self, folder: Path, method: Method) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{method.name.replace(' ', '-')}.jsonl"
        self._run = sha256(method.fingerprint.encode()).hexdigest()[:12]
        self.known: dict[str, Score] = {}
        if self._path.exists():
            self._load()

    def _load(self) -> None:
        whole, newline, rest = self._path.read_bytes().rpartition(b"\n")
        if rest:  # a line that was cut off
            os.truncate(self._path, len(whole) + len(newline))
        for line in filter(None, whole.split(b"\n")):
            entry = json.loads(line)
            if entry["run"] == self._run:
                figures = (entry[name] for name in ("score", "supported", "ms", "load"))
                self.known[entry["key"]] = Score(*figures)

    def fill(self, method: Method, items: Sequence[Example]) -> None:
        """Score the items that are missing."""
        missing = [item for item in items if item.key not in self.known]
        if not missing:
            return
        with method.open() as decide, self._path.open("a", encoding="utf-8") as file:
            for number, item in enumerate(missing, start=1):
                score = _timed(decide, item)
                self.known[item.key] = score
                names = {"run": self._run, "key": item.key, "file": item.file, "id": item.id}
                file.write(json.dumps(names | asdict(score)) + "\n")
                file.flush()
                print(f"{method.name}: {number} of {len(missing)}", end="\r", file=sys.stderr)
        print(file=sys.stderr)


def _timed(decide: Decide, item: Example) -> Score:
    started = perf_counter()
    score, supported = decide(item)
    ms = (perf_counter() - started) * 1000
    return Score(score, supported, round(ms, 3), round(os.getloadavg()[0], 2))
