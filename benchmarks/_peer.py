"""Process of one checker: rows on standard input, its judgements and its cost on standard output.

It runs in the checker's own environment, so it imports nothing but the standard library and the
adapter, `peers/NAME.py`, whose `load` returns the function that judges a claim by its sources.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeAlias

Sources: TypeAlias = list[tuple[str, str]]
Judgement: TypeAlias = tuple[float | None, bool | None]
Judge: TypeAlias = Callable[[str, Sources], Judgement]

KILOBYTES_IN_MB = 1024
WARM = "It rained in the whole of the north until the early evening."


def main() -> None:
    """Judge every row; the last line is the cost."""
    adapter = runpy.run_path(str(Path(__file__).parent / "peers" / f"{sys.argv[1]}.py"))
    out, sys.stdout = sys.stdout, sys.stderr  # some checkers print
    started = perf_counter()
    judge = adapter["load"]()
    import_s = perf_counter() - started
    judge(WARM, [("S1", "It rained all day.")])  # what is loaded at the first call
    cpu = process_time()
    for line in sys.stdin:
        row = json.loads(line)
        try:
            score, flagged = judge(row["claim"], row["sources"])
        except Exception as error:  # noqa: BLE001 -- a checker's failure is a result
            print(type(error).__name__)
            score = flagged = None
        print(json.dumps({"score": score, "flagged": flagged}), file=out)
    cost = {"import_s": import_s, "cpu_s": process_time() - cpu, "peak_mb": peak_mb()}
    print(json.dumps(cost), file=out)


def peak_mb() -> float:
    """Return the peak memory of this program alone.

    `getrusage` would count what the parent held when it started this process.
    """
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) / KILOBYTES_IN_MB


if __name__ == "__main__":
    main()
