"""The engine on Ray: the bytes of the local one, and no row lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.recipes

ROWS = 40
PATIENCE_S = 120
ENGINE = """
import sys, json
import ray
from veridical.batch.output import encoded
from veridical.batch.ray_engine import RayEngine
from veridical.batch.rows import parse_row
from veridical.settings import Settings

def show(results):
    sys.stdout.buffer.write(b"".join(encoded(one.lines) for one in results))

rows = [parse_row(json.loads(line)) for line in open("rows.jsonl")]
"""
KILLS_AN_ACTOR = """
engine = RayEngine(Settings(), actors=2, per_claim=False)
tasks = [engine.submit(row) for row in rows]
first = engine.result(tasks[0])
assert [task[0].ref is None for task in tasks].count(True) == 8, "the last group is not full"
ray.kill(engine._actors[1], no_restart=False)
show([first, *map(engine.result, tasks[1:])])
"""
CHECKS_ALONE = """
engine = RayEngine(Settings(), actors=None, per_claim=False)
for task in [engine.submit(rows[0]) for _ in engine._actors]:
    engine.result(task)
show(engine._one_by_one(rows[:2]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder with a file of claims."""
    monkeypatch.chdir(tmp_path)
    lines = [
        json.dumps(
            {
                "id": n,
                "claim": f"The bridge number {n} has {2 + n % 3} lanes.",
                "evidence": f"The bridge number {n} carries {2 + n % 2} lanes.",
            }
        )
        for n in range(ROWS)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))


def start(output: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "veridical", "batch", "rows.jsonl", output, "--quiet", *more]
    return subprocess.Popen(command)


@pytest.fixture
def whole() -> bytes:
    """Return the results of the local engine."""
    with start("whole", "--processes", "1") as run:
        assert run.wait() == 0
    return Path("whole/rows.jsonl").read_bytes()


def test_a_killed_command_goes_on_to_the_bytes_of_the_local_engine(whole: bytes) -> None:
    ray = ("--engine", "ray", "--processes", "2")
    rows = Path("out/rows.jsonl")
    until = time.monotonic() + PATIENCE_S
    with start("out", *ray) as run:
        while not (rows.exists() and rows.read_bytes()):
            assert time.monotonic() < until
            time.sleep(0.01)
        run.kill()
    assert whole.startswith(rows.read_bytes())
    with start("out", *ray) as run:
        assert run.wait() == 0
    assert rows.read_bytes() == whole


@pytest.mark.parametrize(
    ("script", "rows"),
    [
        pytest.param(KILLS_AN_ACTOR, ROWS, id="after an actor was killed"),
        pytest.param(CHECKS_ALONE, 2, id="while the actors have all processors"),
    ],
)
def test_a_row_of_a_killed_actor_is_checked_again(script: str, rows: int, whole: bytes) -> None:
    command = [sys.executable, "-c", ENGINE + script]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)
    assert run.stdout == b"".join(whole.splitlines(keepends=True)[:rows])
