"""Shared parts of the benchmarks: timing in turns, the bare model session, the result page."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from veridical import SyncVerifier
    from veridical.core.measurements import BackendInfo, Measurement, Query, Reads
    from veridical.core.ports import Backend

RESULTS = Path(__file__).parent / "results"
FOREVER_S = 10 * 365 * 86_400.0
"""Lifetime of cached estimates, so that a stopped run finds them again."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Timing:
    """Seconds by the clock, and seconds of processor time of the whole process."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Requirement:
    """Requirement: its text, the measured value, and whether it is met."""

    text: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Page:
    """Result page: the script's docstring, tables, and the requirements."""

    title: str
    lines: Sequence[str]
    requirements: Sequence[Requirement]


# --- measuring -------------------------------------------------------------------------------


def timed(run: Callable[[], object]) -> Timing:
    """Call `run` once."""
    cpu, wall = process_time(), perf_counter()
    run()
    return Timing(perf_counter() - wall, process_time() - cpu)


def timed_anew(verifier: SyncVerifier, run: Callable[[], object]) -> Timing:
    """Call `run` once, on sources that have to be indexed first."""
    from veridical.verification.preparation import CORPORA

    verifier.verify("It rained.", {"other": "It rained."})
    CORPORA.clear()
    return timed(run)


def in_turns(
    runs: Mapping[str, Callable[[], Timing]], rounds: int, *, warm: bool = True
) -> dict[str, list[Timing]]:
    """Measure each of `runs` once a round, in changing order, after one round for warmth."""
    found: dict[str, list[Timing]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(-1 if warm else 0, rounds):
        for name in names if number % 2 else reversed(names):
            timing = runs[name]()
            if number >= 0:
                found[name].append(timing)
    return found


def wall(timings: Iterable[Timing]) -> float:
    """Return the median time by the clock."""
    return median(timing.wall for timing in timings)


def cpu(timings: Iterable[Timing]) -> float:
    """Return the median processor time."""
    return median(timing.cpu for timing in timings)


def p95(timings: Iterable[Timing]) -> float:
    """Return the 95th percentile of the time by the clock."""
    return quantiles((timing.wall for timing in timings), n=20, method="inclusive")[-1]


def speed_ratio(of: Sequence[Timing], baseline: Sequence[Timing]) -> float:
    """Return how many times as fast `of` is as `baseline`: the median over the rounds."""
    return median(b.wall / o.wall for o, b in zip(of, baseline, strict=True))


# --- the model -------------------------------------------------------------------------------


class Recorder:
    """Backend that records its queries, batch by batch, with an optional other format."""

    def __init__(self, backend: Backend, reads: Reads | None = None) -> None:
        self._backend = backend
        self._reads = reads or backend.info.reads
        self.batches: list[list[Query]] = []

    @property
    def info(self) -> BackendInfo:
        """Speak as the wrapped backend."""
        return replace(self._backend.info, reads=self._reads)

    async def estimate(self, queries: Sequence[Query]) -> Sequence[Measurement]:
        """Note the queries and pass them on."""
        self.batches.append(list(queries))
        return await self._backend.estimate(queries)


def recorded(answer: str, sources: Mapping[str, str]) -> list[list[Query]]:
    """Return the batches of queries that the verifier sends for an answer."""
    from veridical import SyncVerifier, Verifier
    from veridical.pipeline.inference.embedded import EmbeddedVerifier

    recorder = Recorder(EmbeddedVerifier())
    with SyncVerifier(Verifier(recorder)) as verifier:
        verifier.check(answer, sources)
    return recorder.batches


def bare_session(threads: int) -> InferenceSession:
    """Return a session on the embedded weights that uses `threads` threads for a run."""
    import onnxruntime

    from veridical.pipeline.inference.card import load_card
    from veridical.pipeline.inference.embedded import DEFAULT_MODEL

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    weights = str(load_card(DEFAULT_MODEL).weights)
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of the embedded weights; it neither pads nor cuts."""
    from tokenizers import Tokenizer

    from veridical.pipeline.inference.card import load_card
    from veridical.pipeline.inference.embedded import DEFAULT_MODEL

    found = Tokenizer.from_file(str(load_card(DEFAULT_MODEL).tokenizer))
    found.no_truncation()
    found.no_padding()
    return found


def encode(queries: Sequence[Query]) -> list[list[int]]:
    """Return the token ids of each pair."""
    pairs = [(query.context, query.claim) for query in queries]
    return [encoding.ids for encoding in tokenizer().encode_batch(pairs)]


# --- the page --------------------------------------------------------------------------------


def options(
    doc: str, *, rounds: int, files: Mapping[str, str] = MappingProxyType({})
) -> argparse.Namespace:
    """Read `--rounds`, `--write` and options for `files`; `doc` is the docstring of the script."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds, help=f"default {rounds}")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    for name, says in files.items():
        parser.add_argument(name, metavar="FILE", help=says)
    return parser.parse_args()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a Markdown table, the first column to the left, numbers to the right."""
    rule = [":--", *["--:"] * (len(head) - 1)]
    return [f"| {' | '.join(map(str, row))} |" for row in (head, rule, *rows)] + [""]


def missing(names: Iterable[str], found: Container[str]) -> list[str]:
    """Return a note on the `names` without a result on the page."""
    left = [name for name in names if name not in found]
    return [f"Not measured in this run: {', '.join(left)}.", ""] if left else []


def publish(page: Page, doc: str, chosen: argparse.Namespace, *, variant: str = "") -> None:
    """Print the page, keep it if wished; exit code 1 if a requirement is missed.

    A script with several pages tells them apart by `variant`, the end of the file's name.
    """
    text = "\n".join([f"# {page.title}", "", doc.strip(), "", *page.lines, *_end(page)])
    print(text)
    if chosen.write:
        name = Path(sys.argv[0]).stem + variant
        (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    sys.exit(0 if all(required.met for required in page.requirements) else 1)


def _end(page: Page) -> list[str]:
    rows = [(r.text, r.measured, "met" if r.met else "**missed**") for r in page.requirements]
    required = table(["Required", "Measured", ""], rows) if rows else []
    return [
        *required,
        f"`.venv/bin/python {_command()}`,",
        f"{datetime.now(UTC):%Y-%m-%d}, {processor()}, {CORES} cores,",
        f"Python {platform.python_version()}, onnxruntime {version('onnxruntime')}.",
        f"Load of the machine at the end: {os.getloadavg()[0]:.1f}.",
    ]


def _command() -> str:
    """Return what was typed: paths of this machine without their folders, and not `--write`."""
    given = (word for word in sys.argv[1:] if word != "--write")
    words = ("DIR" if Path(word).is_dir() else Path(word).name for word in given)
    return shlex.join([f"benchmarks/{Path(sys.argv[0]).name}", *words])


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
