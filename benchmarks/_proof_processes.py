"""Processes of the checkers on the page of proof: an environment for each, its kept scores."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _proof_checkers import Checker
    from veridical.evaluation.rows import Row

HERE = Path(__file__).parent
LIMIT_S = 600
INSTALL_S = 900


def environment(checker: Checker, envs: Path) -> Path:
    """Return the interpreter of the checker's environment, which is made where it is missing."""
    folder = envs / version_of(checker).split()[0].replace("==", "-")
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet", *checker.package.split()]
        subprocess.run(command, check=True, timeout=INSTALL_S)
        done.touch()
    return python


def version_of(checker: Checker) -> str:
    """Return what is installed: pinned versions, or the checkout by the hash of its sources."""
    if "==" in checker.package:
        return checker.package
    command = ["git", "-C", HERE.parent, "rev-parse", "HEAD:src"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    extras = checker.package.rpartition("[")[2].rstrip("]").replace("quotes", "")
    return f"veridical{extras and f'-{extras}'}=={found.stdout[:12]}"


def asked(row: Row) -> str:
    """Return a row as a process reads it."""
    return json.dumps({"claim": row.claim, "sources": [(s.id, s.text) for s in row.evidence]})


def adapter_code(checker: Checker) -> str:
    """Return the code that runs in the checker's environment."""
    paths = (HERE / "peers" / f"{checker.adapter}.py", HERE / "_peer.py")
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def command_of(checker: Checker, python: Path) -> list[str | Path]:
    """Return the command that starts the checker's process."""
    return [python, "-P", HERE / "_peer.py", checker.adapter]


def apart(envs: Path) -> dict[str, str]:
    """Return the process's environment variables: a home of its own, and no hub.

    Nothing is read that the installation did not bring.
    """
    return os.environ | {"HOME": str(envs), "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}


def judged(
    checker: Checker, python: Path, rows: Sequence[Row], envs: Path
) -> tuple[list[dict[str, object]], dict[str, float]]:
    """Return a judgement for each row, and the cost of all of them."""
    lines = "\n".join(map(asked, rows))
    key = sha256("\n".join((version_of(checker), adapter_code(checker), lines)).encode())
    kept = envs / f"{key.hexdigest()[:16]}.jsonl"
    if not kept.exists():
        result = subprocess.run(
            command_of(checker, python),
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT_S,
            env=apart(envs),
            cwd=envs,
        )
        kept.write_text(result.stdout, encoding="utf-8")
    *judgements, cost = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    return judgements, cost | {"timed": len(rows)}


def megabytes(folder: Path) -> float:
    """Return the size of an environment without pip and setuptools."""
    packages = next(folder.glob("lib/python*/site-packages"))
    left_out = ("pip", "setuptools")
    files = (path for path in packages.rglob("*") if path.is_file())
    sizes = (
        path.stat().st_size
        for path in files
        if not path.relative_to(packages).parts[0].startswith(left_out)
    )
    return sum(sizes) / 1e6
