"""Many pairs of a few generators: both sides of a contrast, next to each other."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "training"


def focus(out: Path, *options: str) -> list[dict[str, str]]:
    command = [sys.executable, "focus.py", *options, "--out", str(out)]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
    with gzip.open(out, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


TAKEN = ("--take", "order/log=600", "--take", "roles=300")


def test_the_named_kinds_are_written_and_no_other(tmp_path: Path) -> None:
    found = focus(tmp_path / "a.gz", *TAKEN)
    assert {row["source"] for row in found} == {"order/log", "roles"}
    labels = Counter(row["label"] for row in found)
    assert abs(labels["supported"] - labels["contradicted"]) < 10
    assert labels["not_in_context"] < labels["supported"] / 4


def test_pairs_of_one_claim_stand_together_and_none_twice(tmp_path: Path) -> None:
    found = focus(tmp_path / "a.gz", *TAKEN)
    claims = [claim for claim, _ in groupby(row["claim"] for row in found)]
    assert len(claims) == len(set(claims))
    assert len({(row["evidence"], row["claim"]) for row in found}) == len(found)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gz", tmp_path / "b.gz"
    focus(first, *TAKEN, "--seed", "3")
    focus(second, *TAKEN, "--seed", "3")
    assert first.read_bytes() == second.read_bytes()


def test_what_is_lacking_is_kept_by_its_share(tmp_path: Path) -> None:
    without = focus(tmp_path / "a.gz", *TAKEN, "--lacking", "0")
    whole = focus(tmp_path / "b.gz", *TAKEN, "--lacking", "1")
    assert Counter(row["label"] for row in without)["not_in_context"] == 0
    assert Counter(row["label"] for row in whole)["not_in_context"] > 250
