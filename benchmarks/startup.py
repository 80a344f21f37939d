"""Cost of importing veridical, of its help text, and of checking one answer from cold.

Each number is of fresh processes, run in turns; the baseline is `python -c pass`, the interpreter
alone. The import is timed inside its process. The answer has 10 claims and three sources of 2,000
words; its process includes reading the weights and verifying their checksum.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from _common import Page, Requirement, Timing, cpu, in_turns, options, publish, table, wall
from _texts import case

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAVY = ("numpy", "onnxruntime", "tokenizers", "pydantic", "rich", "typer", "jinja2")
IMPORT = """
from time import perf_counter
started = perf_counter()
import veridical
print(perf_counter() - started)
"""
LOADED = f"import sys, veridical; print(*[name for name in {HEAVY} if name in sys.modules])"
NOTHING, HELP, CHECK = "`python -c pass`", "`veridical --help`", "`veridical check`, 10 claims"
COMMAND = str(Path(sys.executable).parent / "veridical")
FLAGGED = 1
"""Exit code of `veridical check` where a claim is flagged, as some are here."""


@dataclass(frozen=True)
class Limits:
    """The demands of the issue, in seconds and megabytes."""

    loading: float = 0.1
    help: float = 0.4
    check: float = 5.0
    memory: float = 600.0


def main() -> None:
    """Measure all, print the page."""
    chosen = options(__doc__, rounds=15)
    loading = [float(_output(IMPORT)) for _ in range(chosen.rounds)]
    peaks: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            NOTHING: lambda: child([sys.executable, "-c", "pass"]),
            HELP: lambda: child([COMMAND, "--help"]),
            CHECK: lambda: child(arguments, peaks),
        }
        arguments = prepare(Path(folder))
        found = in_turns(runs, chosen.rounds)
    required = requirements(found, median(loading), max(peaks))
    publish(Page("Start-up", lines(found, loading, peaks), required), __doc__, chosen)


def prepare(folder: Path) -> list[str]:
    """Write the answer and its sources, return the command that checks them."""
    text = case()
    (folder / "answer.txt").write_text(text.answer, encoding="utf-8")
    arguments = [COMMAND, "check", str(folder / "answer.txt")]
    for name, source in text.sources.items():
        (folder / f"{name}.txt").write_text(source, encoding="utf-8")
        arguments += ["--source", f"{name}={folder / name}.txt"]
    return arguments


def child(arguments: Sequence[str], peaks: list[float] | None = None) -> Timing:
    """Run a process to its end; note its peak resident memory in megabytes."""
    from time import perf_counter

    started = perf_counter()
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, FLAGGED}:
        sys.exit(f"{' '.join(arguments)} ended with exit code {process.returncode}")
    if peaks is not None:
        peaks.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)
    return Timing(elapsed, usage.ru_utime + usage.ru_stime)


def requirements(found: dict[str, list[Timing]], loading: float, peak: float) -> list[Requirement]:
    """Hold the measurements against the limits."""
    limits, heavy = Limits(), _output(LOADED).split()
    helping, checking = wall(found[HELP]), wall(found[CHECK])
    return [
        Requirement(
            f"`import veridical` within {limits.loading * 1000:.0f} ms",
            f"{loading * 1000:.1f} ms",
            loading < limits.loading,
        ),
        Requirement(f"it loads none of {', '.join(HEAVY)}", ", ".join(heavy) or "none", not heavy),
        Requirement(
            f"`veridical --help` within {limits.help} s", f"{helping:.2f} s", helping < limits.help
        ),
        Requirement(
            f"`veridical check` within {limits.check} s",
            f"{checking:.2f} s",
            checking < limits.check,
        ),
        Requirement(
            f"its memory within {limits.memory:.0f} MB", f"{peak:.0f} MB", peak < limits.memory
        ),
    ]


def lines(
    found: dict[str, list[Timing]], loading: Sequence[float], peaks: Sequence[float]
) -> list[str]:
    """Return the table of the processes."""
    inside = median(loading)
    rows = [("`import veridical`, within its process", f"{inside * 1000:.1f}", "", "", "")]
    for name, timings in found.items():
        ratio = f"{wall(timings) / wall(found[NOTHING]):.1f}"
        memory = f"{max(peaks):.0f}" if name == CHECK else ""
        rows.append(
            (name, f"{wall(timings) * 1000:.0f}", f"{cpu(timings) * 1000:.0f}", ratio, memory)
        )
    return table(("", "ms", "processor ms", "times the baseline", "peak MB"), rows)


def _output(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
