"""A batch on Ray beside the local engine: the bytes, the time, and what a kill costs.

The same rows go through `veridical batch` twice, with two processes and with two actors on a Ray of
this machine. A claim and a sentence of evidence each; one row in ten is read by the model, the
others are in French, which the embedded verifier declines: rows that take little time show what
Ray adds. The time is that of the run, with the start of Ray and of the models.

Kills: while rows are checked, SIGKILL ends an actor, or the command with its Ray, which is started
again. The bytes have to be those of a run that nobody disturbed.

Needs Ray: run it with the environment of `make recipes`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _common import Page, Requirement, options, publish, table

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, KILL_ROWS = 100_000, 6_000
KILLS = {"actor": 10, "command": 10}
MOST_OVERHEAD = 0.15
ENGINES = ("local", "ray")


def main() -> None:
    """Measure, print the page."""
    chosen = options(__doc__, rounds=1, files={"--rows": f"number of rows; default {ROWS}"})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        times, required = measured(write_rows(int(chosen.rows or ROWS)), chosen.rounds)
        kills, lost = killed(write_rows(KILL_ROWS))
    publish(Page("Batch on Ray", [*times, *kills], [*required, lost]), __doc__, chosen)


def write_rows(number: int) -> Path:
    """Write rows of which one in ten is read by the model."""
    path = Path(f"{number}.jsonl")
    path.write_text("".join(json.dumps(row(n)) + "\n" for n in range(number)), encoding="utf-8")
    return path


def row(n: int) -> dict[str, object]:
    """Return a claim and its evidence."""
    if n % 10:
        claim, evidence = "Le pont numéro {} a été ouvert.", "Le pont numéro {} est fermé."
    else:
        claim = f"The bridge number {{}} has {2 + n % 3} lanes."
        evidence = f"The bridge number {{}} carries {2 + n % 2} lanes."
    return {"id": n, "claim": claim.format(n), "evidence": evidence.format(n)}


# --- time ------------------------------------------------------------------------------------


def measured(rows: Path, rounds: int) -> tuple[list[str], list[Requirement]]:
    """Check the rows by each engine in turns; return the table and the requirements."""
    seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    digests = set()
    for number in range(rounds):
        for engine in ENGINES if number % 2 else reversed(ENGINES):
            output = Path(f"{engine}-{number}")
            seconds[engine].append(run(rows, output, engine))
            digests.add(digest(output))
            print(f"{engine}: {seconds[engine][-1]:.0f} s", file=sys.stderr)
    best = {engine: min(each) for engine, each in seconds.items()}
    overhead = best["ray"] / best["local"] - 1
    number = int(rows.stem)
    found = [(e, f"{number:,}", f"{s:.0f}", f"{number / s:.0f}") for e, s in best.items()]
    return table(("engine", "rows", "seconds", "rows/s"), found), [
        Requirement("the bytes of the local engine", str(len(digests)), len(digests) == 1),
        Requirement(
            f"overhead at most {MOST_OVERHEAD:.0%}", f"{overhead:.1%}", overhead <= MOST_OVERHEAD
        ),
    ]


def command(rows: Path, output: Path, engine: str) -> list[str]:
    """Return the command of a run with two workers."""
    return [
        *(sys.executable, "-m", "veridical", "batch", str(rows), str(output), "--json"),
        *("--engine", engine, "--processes", "2"),
    ]


def run(rows: Path, output: Path, engine: str) -> float:
    """Check the rows; return the seconds of the run."""
    done = subprocess.run(command(rows, output, engine), check=True, stdout=subprocess.PIPE)
    summary: dict[str, Any] = json.loads(done.stdout)
    return float(summary["run"]["seconds"])


def digest(output: Path) -> str:
    """Return the hash of the results."""
    return sha256(Path(output, "rows.jsonl").read_bytes()).hexdigest()


# --- kills -----------------------------------------------------------------------------------


def killed(rows: Path) -> tuple[list[str], Requirement]:
    """Check the rows while actors, and while commands, are killed."""
    run(rows, Path("whole"), "local")
    expected = digest(Path("whole"))
    found = []
    for what, disturb in (("actor", kill_actors), ("command", kill_commands)):
        output = Path(f"killed-{what}")
        kills = disturb(rows, output, KILLS[what])
        found.append((what, kills, digest(output) == expected))
    lines = table(
        ("killed", "times", "the same bytes"),
        [(what, kills, "yes" if same else "no") for what, kills, same in found],
    )
    wrong = [what for what, kills, same in found if not same or kills < KILLS[what]]
    total = sum(kills for _, kills, _ in found)
    return lines, Requirement(f"{total} kills lose nothing", str(wrong or 0), not wrong)


def kill_actors(rows: Path, output: Path, kills: int) -> int:
    """Kill actors at random moments of one run; return how many."""
    chance, count = random.Random(0), 0  # noqa: S311 -- no secret
    with subprocess.Popen(command(rows, output, "ray"), stdout=subprocess.DEVNULL) as running:
        while running.poll() is None and count < kills:
            await_rows(running, output, size(output))
            time.sleep(chance.uniform(0, 0.3))
            found = list(actors())
            if running.poll() is None and found:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
                    count += 1
        if running.wait():
            sys.exit("the run with killed actors failed")
    return count


def actors() -> Iterator[int]:
    """Yield the processes of the actors that check rows, by the title which Ray gives them."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().startswith(b"ray::RayWorker"):
                yield int(path.parent.name)


def kill_commands(rows: Path, output: Path, kills: int) -> int:
    """Kill the command at random moments, each time after rows were written; go on to the end."""
    chance = random.Random(1)  # noqa: S311 -- no secret
    for _ in range(kills):
        written = size(output)
        with subprocess.Popen(command(rows, output, "ray"), stdout=subprocess.DEVNULL) as running:
            await_rows(running, output, written)
            time.sleep(chance.uniform(0, 0.5))
            if running.poll() is not None:
                sys.exit("the run ended before it was killed")
            running.kill()
    run(rows, output, "ray")
    return kills


def size(output: Path) -> int:
    """Return the bytes written."""
    with suppress(FileNotFoundError):
        return Path(output, "rows.jsonl").stat().st_size
    return 0


def await_rows(running: subprocess.Popen[bytes], output: Path, written: int) -> None:
    """Wait until more is written than before, or the command has ended."""
    while running.poll() is None and size(output) <= written:
        time.sleep(0.02)


if __name__ == "__main__":
    main()
