"""Rows per second of a batch on one machine, and the memory of its bookkeeping.

Speed: `veridical batch` with one process and with two, one thread each, on the same rows: an answer
of ten claims and three sources of 2,000 words. Bare: as many processes with a model session that
runs the pairs of the same answers, already cut into tokens. All are warm and measured in turns.

Again: the labelled answers, all different, with two processes and a cache of estimates; then the
same command once more; and then into another folder, where every estimate comes from the cache.

Memory: a job whose rows have no sources, so that no model runs. The peak of the process is that of
reading, ids, results and resumption.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from _common import (
    Page,
    Requirement,
    Timing,
    bare_session,
    encode,
    in_turns,
    options,
    publish,
    recorded,
    speed_ratio,
    table,
    timed,
    wall,
)
from _texts import case
from veridical.batch.engines import ProcessEngine
from veridical.batch.rows import BatchRow, parse_row
from veridical.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CLAIMS = 10
ROWS = 8
MEMORY_ROWS = (10_000, 100_000, 1_000_000)
LEAST_SPEED_UP, LEAST_OF_BARE, LEAST_AGAIN, MOST_GROWTH = 1.8, 0.9, 100, 1.5
ONE, TWO = "batch, 1 process", "batch, 2 processes"
BARE_ONE, BARE_TWO = "bare, 1 process", "bare, 2 processes"


def main() -> None:
    """Measure in turns, print the page."""
    chosen = options(__doc__, rounds=7)
    found = speeds(chosen.rounds)
    memory = [(rows, *measured(rows)) for rows in MEMORY_ROWS]
    speed_up = speed_ratio(found[TWO], found[ONE])
    of_bare = speed_ratio(found[TWO], found[BARE_TWO])
    first, same_folder, other_folder = again()
    growth = memory[-1][1] / memory[0][1]
    required = [
        Requirement(
            f"two processes are {LEAST_SPEED_UP} times as fast as one",
            f"{speed_up:.2f}",
            speed_up >= LEAST_SPEED_UP,
        ),
        Requirement(
            f"two processes reach {LEAST_OF_BARE:.0%} of two bare ones",
            f"{of_bare:.1%}",
            of_bare >= LEAST_OF_BARE,
        ),
        Requirement(
            f"the same command again is {LEAST_AGAIN} times as fast",
            f"{first / same_folder:,.0f}",
            first >= LEAST_AGAIN * same_folder,
        ),
        Requirement(
            f"memory of {MEMORY_ROWS[-1]:,} rows is at most {MOST_GROWTH} times that of "
            f"{MEMORY_ROWS[0]:,}",
            f"{growth:.2f}",
            growth <= MOST_GROWTH,
        ),
    ]
    lines = [
        *speed_lines(found),
        *again_lines(first, same_folder, other_folder),
        *memory_lines(memory),
    ]
    publish(Page("Batch", lines, required), __doc__, chosen)


# --- speed -----------------------------------------------------------------------------------


def speeds(rounds: int) -> dict[str, list[Timing]]:
    """Return the timings of `ROWS` rows by each of the four."""
    rows = answers()
    pairs = [[pair for batch in one for pair in batch] for one in map(pairs_of, rows)]
    settings = Settings()
    engines = [ProcessEngine(settings, processes=n, per_claim=False) for n in (1, 2)]
    context = get_context("spawn")
    bare = [ProcessPoolExecutor(n, mp_context=context) for n in (1, 2)]
    try:
        runs: dict[str, Callable[[], Timing]] = {
            ONE: partial(timed, partial(checked, engines[0], rows)),
            TWO: partial(timed, partial(checked, engines[1], rows)),
            BARE_ONE: partial(timed, partial(scored, bare[0], pairs)),
            BARE_TWO: partial(timed, partial(scored, bare[1], pairs)),
        }
        return in_turns(runs, rounds)
    finally:
        for engine in engines:
            engine.close()
        for pool in bare:
            pool.shutdown()


def answers() -> list[BatchRow]:
    """Return rows of `documents`."""
    rows = map(parse_row, documents(ROWS))
    return [row for row in rows if isinstance(row, BatchRow)]


def documents(number: int) -> Iterator[dict[str, object]]:
    """Yield rows whose sources differ, as those of a data set do."""
    text = case(CLAIMS)
    for n in range(number):
        sources = {name: f"Row {n}. {source}" for name, source in text.sources.items()}
        yield {"id": n, "answer": text.answer, "sources": sources}


def pairs_of(row: BatchRow) -> list[list[list[int]]]:
    """Return the pairs of an answer as tokens, batch by batch."""
    batches = recorded(row.text, {source.id: source.text for source in row.sources})
    return [encode(batch) for batch in batches]


def checked(engine: ProcessEngine, rows: Sequence[BatchRow]) -> None:
    """Check all rows."""
    for task in [engine.submit(row) for row in rows]:
        engine.result(task)


def scored(pool: ProcessPoolExecutor, rows: Sequence[list[list[int]]]) -> None:
    """Run the pairs of all rows."""
    list(pool.map(run_pairs, rows))


_session: list[Any] = []


def run_pairs(pairs: list[list[int]]) -> None:
    """Run the pairs of a row, one after the other, on one thread."""
    import numpy as np

    if not _session:
        _session.append(bare_session(1))
    for ids in pairs:
        inputs = np.asarray([ids], dtype=np.int64)
        feed = {"input_ids": inputs, "attention_mask": np.ones_like(inputs)}
        _session[0].run(["logits"], feed)


def speed_lines(found: dict[str, list[Timing]]) -> list[str]:
    """Return the table of the four."""
    rows = [
        (name, f"{ROWS / wall(timings):.2f}", f"{ROWS * CLAIMS / wall(timings):.1f}")
        for name, timings in found.items()
    ]
    return table(("", "rows/s", "claims/s"), rows)


# --- the same again --------------------------------------------------------------------------


def again() -> tuple[float, float, float]:
    """Return the seconds of a job, of the same command again, and into another folder."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        rows.write_text("".join(f"{json.dumps(row)}\n" for row in labelled()), encoding="utf-8")
        cache = {"VERIDICAL_CACHE__PATH": str(Path(folder, "cache.db"))}
        folders = ("one", "one", "other")
        first, same, other = (batch_seconds(rows, Path(folder, name), cache) for name in folders)
    return first, same, other


def labelled() -> Iterator[dict[str, object]]:
    """Yield the labelled answers as rows: no two are alike."""
    for path in sorted(Path(__file__).parent.glob("answers/[ab]/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield {name: row[name] for name in ("id", "answer", "sources", "question")}


def batch_seconds(rows: Path, output: Path, environment: dict[str, str]) -> float:
    """Return the seconds that a run of the command states."""
    command = [sys.executable, "-m", "veridical", "batch", str(rows), str(output), "--json"]
    done = subprocess.run(
        [*command, "--processes", "2"],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    return float(json.loads(done.stdout)["run"]["seconds"])


def again_lines(first: float, same_folder: float, other_folder: float) -> list[str]:
    """Return the table of the same job again."""
    rows = [
        ("the first run", f"{first:.2f}", "1"),
        ("the same command again", f"{same_folder:.4f}", f"{first / same_folder:,.0f}"),
        (
            "into another folder, from the cache",
            f"{other_folder:.2f}",
            f"{first / other_folder:.1f}",
        ),
    ]
    return table(("labelled answers, two processes", "seconds", "times as fast"), rows)


# --- memory ----------------------------------------------------------------------------------


def measured(rows: int) -> tuple[float, float, float]:
    """Return the peak in MB, and the seconds of a first and of a second run."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "rows.jsonl")
        with data.open("w", encoding="utf-8") as file:
            for number in range(rows):
                file.write(
                    json.dumps({"id": f"row-{number}", "answer": "It is so.", "n": 1}) + "\n"
                )
        runs = [
            subprocess.run(
                [sys.executable, __file__, "--memory-of", folder],
                check=True,
                capture_output=True,
                encoding="utf-8",
            )
            for _ in range(2)
        ]
    (peak, first), (_, second) = (map(float, run.stdout.split()) for run in runs)
    return peak, first, second


def run_bookkeeping(folder: str) -> None:
    """Run a job that needs no model, and print its peak in MB and its seconds."""
    from veridical.batch.output import OutputFolder
    from veridical.batch.running import BatchJob, run_batch
    from veridical.batch.survey import Selection

    selection = Selection((Path(folder, "rows.jsonl"),))
    job = BatchJob(selection, OutputFolder(Path(folder, "out")), {})
    started = perf_counter()
    run_batch(job, lambda: sys.exit("no row needs an engine"))
    print(peak_mb(), perf_counter() - started)


def peak_mb() -> float:
    """Return the peak of this process; that of `getrusage` begins with the parent's memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory_lines(memory: Sequence[tuple[int, float, float, float]]) -> list[str]:
    """Return the table of the memory."""
    rows = [
        (f"{rows:,}", f"{peak:.0f}", f"{rows / first:,.0f}", f"{rows / second:,.0f}")
        for rows, peak, first, second in memory
    ]
    head = ("rows", "peak MB", "rows/s", "rows/s, second run")
    return table(head, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory-of"]:
        run_bookkeeping(sys.argv[2])
    else:
        main()
