"""Checkers with a language model: one small local model behind a server, scores kept row by row."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from _proof_processes import adapter_code, apart, asked, command_of, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from _proof_checkers import Checker
    from veridical.evaluation.rows import Row

COUNTED = ("tokens", "server_cpu_s")


class Server(Protocol):
    """Server of a language model, which counts its own cost."""

    address: str

    def start(self) -> None:
        """Start, unless it runs."""

    def tokens(self) -> int:
        """Return the tokens read and written so far."""

    def cpu_s(self) -> float:
        """Return the processor seconds so far."""


@dataclass
class Served:
    """Server, and the seconds in which it may be asked; then only kept scores are used."""

    server: Server
    left_s: float


def judged(
    checker: Checker, python: Path, rows: Sequence[Row], envs: Path, served: Served
) -> tuple[list[dict[str, object]], dict[str, float]]:
    """Return a judgement for each row, and the cost of all of them; ask for those not kept."""
    key = sha256("\n".join((version_of(checker), adapter_code(checker))).encode()).hexdigest()[:16]
    kept = envs / f"{key}.rows.jsonl"
    lines = {sha256(line.encode()).hexdigest()[:16]: line for line in map(asked, rows)}
    known, cost = read(kept)
    missing = {key: line for key, line in lines.items() if key not in known}
    if missing or not cost:
        with kept.open("a", encoding="utf-8") as out:
            for line in answers(checker, python, missing, envs, served):
                print(json.dumps(line), file=out, flush=True)
        known, cost = read(kept)
    found = [known[key] for key in lines]
    return found, cost | {name: sum(one[name] for one in found) for name in COUNTED}


def read(kept: Path) -> tuple[dict[str, dict], dict[str, float]]:
    """Return the judgements kept so far by their row, and the last cost; a torn line is dropped."""
    text = kept.read_text(encoding="utf-8") if kept.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        kept.write_text(whole, encoding="utf-8")
    found = [json.loads(line) for line in whole.splitlines()]
    costs = [one for one in found if "row" not in one]
    return {one["row"]: one for one in found if "row" in one}, costs[-1] if costs else {}


def answers(
    checker: Checker, python: Path, missing: dict[str, str], envs: Path, served: Served
) -> Iterator[dict[str, object]]:
    """Yield each judgement with its row, tokens and server time, then the cost of the process."""
    ensure_time(checker, served)
    served.server.start()
    told = {"PYTHONUNBUFFERED": "1", "MODEL_URL": f"{served.server.address}/v1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
        rows.write("\n".join(missing.values()))
        rows.seek(0)
        with subprocess.Popen(
            command_of(checker, python),
            stdin=rows,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=apart(envs) | told,
            cwd=envs,
        ) as process:
            try:
                yield from in_time(checker, counted(process, list(missing), served.server), served)
            finally:
                process.kill()  # does nothing to one that has ended
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, checker.adapter)


def in_time(
    checker: Checker, found: Iterator[dict[str, object]], served: Served
) -> Iterator[dict[str, object]]:
    """Yield what is found; `TimeoutExpired` after the row at which the time is over."""
    started = monotonic()
    for one in found:
        yield one
        now = monotonic()
        served.left_s, started = served.left_s - (now - started), now
        if "row" in one:
            ensure_time(checker, served)


def ensure_time(checker: Checker, served: Served) -> None:
    """Raise `TimeoutExpired` if no time is left."""
    if served.left_s <= 0:
        raise subprocess.TimeoutExpired(checker.adapter, 0)


def counted(
    process: subprocess.Popen[str], keys: Sequence[str], server: Server
) -> Iterator[dict[str, object]]:
    """Yield what the process prints; the first row bears the tokens of its warming up too."""
    assert process.stdout is not None  # noqa: S101 -- a pipe
    before = (server.tokens(), server.cpu_s())
    for number, line in enumerate(process.stdout):
        now = (server.tokens(), server.cpu_s())
        spent = {name: b - a for name, a, b in zip(COUNTED, before, now, strict=True)}
        before = now
        if number < len(keys):
            yield {"row": keys[number], **json.loads(line), **spent}
        else:
            yield json.loads(line) | {"timed": len(keys)}
