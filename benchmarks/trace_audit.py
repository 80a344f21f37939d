"""Detection of the first bad step by a trace audit, on labelled traces of reasoning.

A fixed sample of each set, drawn by the digest of the ids. In `traces_bbmistake` (BIG-Bench
Mistake: Tyen et al. 2024) and `traces_prmbench` (PRMBench: Song et al. 2025) the problem is the
source and every line of the solution a step; the first wrong step is known, and what comes after it
counts for nothing. Rows of the other sets are traces of one step over their evidence; those of
`logicbench` are questions, and a step that asks asserts nothing (UNVERIFIABLE). Every trace goes
through `veridical.audit.auditing.audit` at the backend's own thresholds; nothing is tuned on
these sets.

- first bad step: the share of traces where the first step that is CONTRADICTED or NOT_IN_CONTEXT is
  the labelled one, or neither has one; with a Wilson interval. A trace with a step that could not
  be measured up to there counts as missed.
- always first, never: the result of calling the first step bad, or none.
- weakest step: of the traces with a labelled step, the share where the step of the lowest
  P(supported) is that one; beside it `chance`, the mean of 1 / steps.
- AUROC: P(supported) of the steps that are right above that of the wrong one; steps after the first
  wrong one, and steps without a probability (they assert nothing), are left out.

Results are kept by trace in `--cache`, so that a stopped run goes on; ids and figures only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import numpy as np

import _prompted
from _common import Page, publish, table
from veridical import Verifier
from veridical.audit.auditing import audit
from veridical.errors import VeridicalError
from veridical.evaluation.metrics import auroc
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.sampling import wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from veridical.core.ports import Backend

DEV = Path(__file__).parents[2] / "shared" / "data" / "dev"
HOME = Path.home() / ".cache" / "veridical"
SETS = (
    "folio_val",
    "proofwriter_dev",
    "entailmentbank_devtest",
    "logicbench",
    "traces_bbmistake",
    "traces_prmbench",
)
MODEL = "qwen-0.5b"
CONTEXT_TOKENS = 4096
TIMEOUT_S = 600.0
MOST_STEPS = 20
"""Longer traces are left out of the sample, so that it can be read in reasonable time."""


@dataclass(frozen=True)
class Case:
    """A labelled trace: `bad` is the place of the first wrong step, None if there is none."""

    file: str
    id: str
    sources: dict[str, str]
    steps: tuple[str, ...]
    bad: int | None


@dataclass(frozen=True)
class Found:
    """Result of an audit of a trace: labels and P(supported), None where there is none."""

    labels: list[str | None]
    p: list[float | None]

    @property
    def first_bad(self) -> int | None:
        """The place of the first step that does not hold; -1 if it is not known."""
        for place, label in enumerate(self.labels):
            if label is None:
                return -1
            if label in {"CONTRADICTED", "NOT_IN_CONTEXT"}:
                return place
        return None


@dataclass(frozen=True)
class Way:
    """Backend of a run: its name, fingerprint and factory, and the number of traces per set."""

    name: str
    fingerprint: str
    traces: int
    open: Callable[[], AbstractContextManager[Backend]]


# --- the sample ------------------------------------------------------------------------------


def sample(name: str, size: int) -> list[Case]:
    """Return the traces of a set whose ids have the lowest digests."""
    with gzip.open(DEV / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    cases = [case for n, row in enumerate(rows) if (case := _case(name, n, row)) is not None]
    cases.sort(key=lambda case: sha256(case.id.encode()).hexdigest())
    return cases[:size]


def _case(name: str, number: int, row: dict[str, object]) -> Case | None:
    if name.startswith("traces_"):
        steps = tuple(str(step) for step in row["steps"])  # type: ignore[attr-defined]
        first = int(row["first_error"])  # type: ignore[call-overload]
        if len(steps) > MOST_STEPS or not all(step.strip() for step in steps):
            return None
        bad = None if first < 0 else first
        # One id has several traces in a set: faults of several kinds in one solution.
        return Case(name, f"{row['id']}#{number}", {"problem": str(row["problem"])}, steps, bad)
    evidence = row["evidence"]
    if isinstance(evidence, str):
        sources = {"S0": evidence}
    else:
        sources = {one["id"]: one["text"] for one in evidence}  # type: ignore[attr-defined]
    bad = None if row["label"] == "supported" else 0
    return Case(name, str(row["id"]), sources, (str(row["claim"]),), bad)


# --- the ways --------------------------------------------------------------------------------


@contextmanager
def _embedded() -> Iterator[Backend]:
    yield EmbeddedVerifier(threads=1)


def _gguf(path: Path, threads: int) -> Callable[[], AbstractContextManager[Backend]]:
    @contextmanager
    def opened() -> Iterator[Backend]:
        from veridical.pipeline.inference.gguf import create

        backend = create(
            str(path), threads=threads, context_tokens=CONTEXT_TOKENS, timeout_s=TIMEOUT_S
        )
        try:
            yield backend
        finally:
            backend.close()

    return opened


def ways(chosen: argparse.Namespace) -> list[Way]:
    """Return the ways that were asked for."""
    embedded = EmbeddedVerifier(threads=1).info.fingerprint
    found = [Way("embedded", embedded, chosen.traces, _embedded)]
    if chosen.models:
        path = _prompted.MODELS[MODEL].path(chosen.models)
        opened = _gguf(path, chosen.threads)
        found.append(Way("Qwen2.5-Coder-0.5B", path.name, chosen.llm_traces, opened))
    return found


# --- running ---------------------------------------------------------------------------------


def results(way: Way, cases: Sequence[Case], cache: Path) -> dict[str, Found]:
    """Return what a way finds in each trace, by `file/id`; what is kept is not read again."""
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{way.name}-{sha256(way.fingerprint.encode()).hexdigest()[:12]}.jsonl"
    known = _kept(path)
    missing = [case for case in cases if f"{case.file}/{case.id}" not in known]
    if missing:
        with way.open() as backend, path.open("a", encoding="utf-8") as file:
            verifier = Verifier(backend)
            for number, case in enumerate(missing, start=1):
                key = f"{case.file}/{case.id}"
                known[key] = _audited(case, verifier)
                file.write(json.dumps({"key": key, **asdict(known[key])}) + "\n")
                file.flush()
                print(f"{way.name}: {number} of {len(missing)}", end="\r", file=sys.stderr)
        print(file=sys.stderr)
    return known


def _kept(path: Path) -> dict[str, Found]:
    known = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # cut off
        known[entry["key"]] = Found(entry["labels"], entry["p"])
    return known


def _audited(case: Case, verifier: Verifier) -> Found:
    try:
        found = anyio.run(lambda: audit(case.steps, verifier, sources=case.sources))
    except VeridicalError as error:
        print(f"{case.file}/{case.id}: {error}", file=sys.stderr)
        return Found([None] * len(case.steps), [None] * len(case.steps))
    return Found(
        [step.label for step in found.steps], [step.verification.p1 for step in found.steps]
    )


# --- figures ---------------------------------------------------------------------------------


def row(cases: Sequence[Case], found: dict[str, Found]) -> list[str]:
    """Return the figures of one set."""
    pairs = [(case, found[f"{case.file}/{case.id}"]) for case in cases]
    hits = sum(audited.first_bad == case.bad for case, audited in pairs)
    faulty = [(case, audited) for case, audited in pairs if case.bad is not None]
    weakest = sum(_weakest(audited.p) == case.bad for case, audited in faulty)
    long = any(len(case.steps) > 1 for case in cases)
    chance = sum(1 / len(case.steps) for case, _ in faulty)
    low, high = wilson(hits, len(pairs))
    undetermined = sum(None in audited.labels for _, audited in pairs)
    return [
        f"{cases[0].file}",
        f"{len(pairs)}",
        f"{sum(len(case.steps) for case in cases)}",
        f"{hits / len(pairs):.2f} [{low:.2f}, {high:.2f}]",
        f"{sum(case.bad == 0 for case in cases) / len(cases):.2f}",
        f"{sum(case.bad is None for case in cases) / len(cases):.2f}",
        f"{weakest / len(faulty):.2f}" if long and faulty else "–",
        f"{chance / len(faulty):.2f}" if long and faulty else "–",
        *_auroc(pairs),
        f"{undetermined}",
    ]


def _weakest(p: Sequence[float | None]) -> int | None:
    known = [(value, place) for place, value in enumerate(p) if value is not None]
    return min(known)[1] if known else None


def _auroc(pairs: Sequence[tuple[Case, Found]]) -> tuple[str, str]:
    scores: dict[bool, list[float]] = defaultdict(list)
    for case, audited in pairs:
        last = len(case.steps) - 1 if case.bad is None else case.bad
        for place, value in enumerate(audited.p[: last + 1]):
            if value is not None:
                scores[place != case.bad].append(value)
    right, wrong = scores[True], scores[False]
    values = np.array([*right, *wrong], dtype=float)
    value = auroc(values, np.array([True] * len(right) + [False] * len(wrong)))
    return ("–" if value is None else f"{value:.3f}"), f"{len(right)} / {len(wrong)}"


HEAD = (
    "set",
    "traces",
    "steps",
    "first bad step",
    "always first",
    "never",
    "weakest step",
    "chance",
    "AUROC",
    "right / wrong",
    "undetermined",
)


def main() -> None:
    """Audit the samples and print the page."""
    chosen = _options()
    lines: list[str] = []
    for way in ways(chosen):
        samples = [sample(name, way.traces) for name in SETS]
        found = results(way, [case for cases in samples for case in cases], chosen.cache)
        lines += [f"## {way.name}", "", *table(HEAD, [row(cases, found) for cases in samples])]
    publish(Page("Trace audit: the first bad step", lines, []), __doc__ or "", chosen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=int, default=40, help="of each set (default 40)")
    parser.add_argument("--llm-traces", type=int, default=6, help="for the model (default 6)")
    parser.add_argument("--models", type=Path, help=f"ask {MODEL}, too; keeps the download")
    parser.add_argument("--threads", type=int, default=1, help="of the model (default 1)")
    parser.add_argument("--cache", type=Path, default=HOME / "trace_audit", help="keeps results")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
