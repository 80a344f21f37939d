"""Ledger of row outcomes in a JSONL file, so that an interrupted run can be resumed.

A line holds ids, fingerprints and figures, never text. It counts only for the same content of the
data file, the same backend and the same policy.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Any, Self

from veridical.core.information import ensure_probability
from veridical.core.verdicts import Status
from veridical.errors import ConfigurationError
from veridical.evaluation.outcomes import RowOutcome

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from veridical.core.measurements import BackendInfo
    from veridical.core.policy import Policy

SCHEMA = "veridical.eval-row/1"
START = f'{{"schema": "{SCHEMA}"'


class Ledger:
    """Outcomes so far; a context manager, which opens the file to append to it."""

    def __init__(self, path: Path, backend: BackendInfo, policy: Policy) -> None:
        self._path = path
        self._run = run_fingerprint(backend, policy)
        self._known: dict[tuple[str, str], RowOutcome] = {}

    def __enter__(self) -> Self:
        try:
            self._load()
            self._file = self._path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._wrong(error.strerror or "it cannot be opened") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def get(self, file: str, row: str) -> RowOutcome | None:
        """Return the outcome of a row of the file with this fingerprint, if it is known."""
        return self._known.get((file, row))

    def add(self, file: str, row: str, outcome: RowOutcome) -> None:
        """Write one outcome, flushed so that it survives the end of the process."""
        line = {"schema": SCHEMA, "file": file, "id": row, "run": self._run, **asdict(outcome)}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def _load(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole, newline, rest = data.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if newline else [], start=1):
            self._remember(number, line)
        if rest:
            self._drop(rest, keep=len(whole) + len(newline))

    def _drop(self, rest: bytes, *, keep: int) -> None:
        """Cut off a last line that was written in part only, if it is one of ours."""
        start = START.encode()
        if not rest.startswith(start[: len(rest)]):
            why = "its last line is not a result"
            raise self._wrong(why)
        with self._path.open("r+b") as file:
            file.truncate(keep)

    def _remember(self, number: int, line: bytes) -> None:
        try:
            row = json.loads(line)
            key, outcome = (str(row["file"]), str(row["id"])), _outcome(row)
        except (ValueError, KeyError, TypeError):
            why = f"line {number} is not a result"
            raise self._wrong(why) from None
        # Undetermined rows are tried again: it may have been a timeout.
        if row.get("run") == self._run and outcome.status is not Status.UNDETERMINED:
            self._known[key] = outcome

    def _wrong(self, why: str) -> ConfigurationError:
        msg = f"cannot resume from {self._path.name}: {why}"
        return ConfigurationError(msg, hint="Name a file of an earlier --resume, or a new one")


def _outcome(row: dict[str, Any]) -> RowOutcome:
    if row["schema"] != SCHEMA:
        raise ValueError
    if row["supported"] is not None:
        ensure_probability(row["supported"], "supported")
    if not 0 <= row["ms"] < inf:
        raise ValueError
    return RowOutcome(Status(row["status"]), row["supported"], row["ms"])


def run_fingerprint(backend: BackendInfo, policy: Policy) -> str:
    """Return a digest of the outcome's inputs besides the row: the backend and the policy."""
    rules = asdict(policy.resolved(backend))
    who = [backend.name, backend.model, backend.estimator, backend.fingerprint]
    return sha256(json.dumps([who, rules], sort_keys=True).encode()).hexdigest()
