"""Probabilities of the embedded model on processors with and without VNNI.

VNNI sums products of 8-bit numbers in 32 bits. Older instruction sets do it in 16, where the sum of
two products can saturate: then nothing fails, and the probabilities are wrong. The same pairs are
scored here and on older processors emulated by QEMU, each pair in a run of its own. They are among
those that the verifier sends for a 10-claim answer, from the shortest to the longest. Rounding
differs between instruction sets and moves a probability a little; saturation moves it by tenths.

Processors with AVX-512 but no VNNI (Skylake-X) are not covered: QEMU does not emulate AVX-512.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from _common import Page, Requirement, bare_session, encode, publish, recorded, table
from _texts import case
from veridical.pipeline.inference.card import load_card
from veridical.pipeline.inference.embedded import DEFAULT_MODEL

EMULATOR = "qemu-x86_64"
PROCESSORS = {"Haswell": "AVX2", "Nehalem": "SSE4.2, no AVX"}
LIMIT = 0.05
"""The largest difference of a probability that rounding may cause."""

AVX512 = "X86_V4", "AVX512F"
"""NumPy's names for AVX-512, of today and before 2.4."""


@dataclass(frozen=True)
class Scores:
    """Result of a process: the instruction sets that NumPy sees, and the probabilities."""

    features: list[str]
    probabilities: np.ndarray


def main() -> None:
    """Score the pairs here and on each emulated processor, print the page."""
    chosen = parse()
    if chosen.child:
        child()
        return
    demand()
    ids = pairs(chosen.pairs)
    here = scores([], ids)
    there = {name: scores([EMULATOR, "-cpu", name], ids) for name in PROCESSORS}
    required = [requirement(name, here, found) for name, found in there.items()]
    publish(Page("Portability", lines(ids, here, there), required), __doc__, chosen)


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=6, help="default 6; a minute each or so")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def demand() -> None:
    """Exit unless there is an emulator, and VNNI here to compare with."""
    if not shutil.which(EMULATOR):
        sys.exit(f"{EMULATOR} is missing: install QEMU's user mode emulation (Debian: qemu-user)")
    information = Path("/proc/cpuinfo")
    if not information.exists() or "vnni" not in information.read_text(encoding="utf-8"):
        sys.exit("this processor has no VNNI: there is nothing to compare with")


def pairs(count: int) -> list[list[int]]:
    """Return token ids of `count` pairs, spread evenly from the shortest to the longest."""
    text = case()
    found = encode(list(chain.from_iterable(recorded(text.answer, text.sources))))
    ordered = sorted({tuple(ids) for ids in found}, key=lambda ids: (len(ids), ids))
    places = np.linspace(0, len(ordered) - 1, count).round().astype(int)
    return [list(ordered[place]) for place in places]


def scores(prefix: list[str], ids: list[list[int]]) -> Scores:
    """Score pairs in a process of its own, started through the emulator `prefix` or directly."""
    command = [*prefix, sys.executable, __file__, "--child"]
    process = subprocess.run(
        command, input=json.dumps(ids), capture_output=True, text=True, check=False
    )
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{process.stderr}")
    found = json.loads(process.stdout)
    if prefix and set(AVX512) & set(found["features"]):
        sys.exit(f"{' '.join(prefix)} shows AVX-512: it does not emulate an older processor")
    return Scores(found["features"], probabilities(np.array(found["logits"])))


def child() -> None:
    """Print the instruction sets and the logits of the pairs on the standard input."""
    session = bare_session(1)
    logits = []
    for pair in json.load(sys.stdin):
        ids = np.array([pair], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        logits.append(session.run(["logits"], feed)[0][0].tolist())
    features = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    print(json.dumps({"features": features, "logits": logits}))


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return calibrated probabilities [pairs, 3]."""
    calibration = load_card(DEFAULT_MODEL).calibration
    scaled = logits / calibration.temperature + np.array(calibration.bias)
    exponentials = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def difference(here: Scores, there: Scores) -> np.ndarray:
    """Return each pair's largest difference of a probability."""
    return np.abs(here.probabilities - there.probabilities).max(axis=1)


def requirement(name: str, here: Scores, there: Scores) -> Requirement:
    """Hold the largest difference against what rounding may cause."""
    measured = float(difference(here, there).max())
    text = f"{name} ({PROCESSORS[name]}): probabilities within {LIMIT} of those with VNNI"
    return Requirement(text, f"{measured:.3f}", measured <= LIMIT)


def lines(ids: list[list[int]], here: Scores, there: dict[str, Scores]) -> list[str]:
    """Return the table, one row for each processor."""
    card = load_card(DEFAULT_MODEL)
    column, limit = card.labels.index("supported"), card.calibration.support_threshold
    side = here.probabilities[:, column] >= limit
    rows = []
    for name, found in {"this processor": here, **there}.items():
        moved = difference(here, found)
        crossed = int(((found.probabilities[:, column] >= limit) != side).sum())
        newest = found.features[-1] if found.features else "the least NumPy needs"
        rows.append((name, newest, f"{moved.max():.4f}", f"{moved.mean():.4f}", crossed))
    head = (
        "",
        "newest set NumPy sees",
        "largest difference",
        "mean",
        "across the support threshold",
    )
    lengths = f"{len(ids)} pairs of {len(ids[0])} to {len(ids[-1])} tokens, {card.name}."
    return [lengths, "", *table(head, rows)]


if __name__ == "__main__":
    main()
