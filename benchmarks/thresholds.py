"""Chooses the decision thresholds and the reliability table of the embedded verifier.

Reads a fixed sample of the development sets that may be used for it, runs each claim through the
pipeline's own windows and aggregation, and prints what belongs into the card of the weights:

    .venv/bin/python benchmarks/thresholds.py [--rows 60] [--write]

Needs the labelled data in `../shared/data/dev`; says so and stops where it is missing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean

import anyio

from veridical.core.policy import Policy
from veridical.core.sources import as_sources
from veridical.core.types import Estimate, Query
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.judgement import combine

ROOT = Path(__file__).parents[1]
DEV = ROOT.parent / "shared" / "data" / "dev"
RESULT = ROOT / "benchmarks" / "results" / "thresholds.md"
NOT_PAIRS = ("p0__", "quote_", "traces_")
NOT_FOR_SHIPPING = ("nolic__", "nc__")
BINS = 10
CANDIDATES = [round(0.05 * i, 2) for i in range(3, 19)]


@dataclass(frozen=True)
class Scored:
    """A labelled claim and what the verifier made of it."""

    file: str
    supported: bool
    label3: str | None
    estimate: Estimate


def main() -> None:
    """Score the sample, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60, help="claims per file")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    options = parser.parse_args()
    if not DEV.is_dir():
        sys.exit(f"the labelled data is not here: {DEV}")
    page = report(anyio.run(score, options.rows), options.rows)
    print(page)
    if options.write:
        RESULT.write_text(page, encoding="utf-8")


async def score(rows: int) -> list[Scored]:
    """Return the sample with the deciding estimate of each claim."""
    backend = EmbeddedVerifier()
    found = [await _score(backend, file, row) for file, row in sample(rows)]
    return [scored for scored in found if scored is not None]


def sample(rows: int) -> list[tuple[str, dict]]:
    """Return the same `rows` rows of each file on every run."""
    chosen = []
    for path in sorted(DEV.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if name.startswith(NOT_PAIRS + NOT_FOR_SHIPPING):
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        usable = [row for row in lines if not (row.get("extra") or {}).get("ambiguous")]
        random.Random(name).shuffle(usable)  # noqa: S311 -- a sample, not a secret
        chosen += [(name, row) for row in usable[:rows]]
    return chosen


async def _score(backend: EmbeddedVerifier, file: str, row: dict) -> Scored | None:
    cited = (row.get("extra") or {}).get("cites")
    sources = {key: text for key, text in _sources(row["evidence"]) if text.strip()}
    if cited is not None:
        sources = {key: text for key, text in sources.items() if key in cited}
    if not sources:
        return None
    policy = Policy().resolved(backend.info)
    binder = Binder(Corpus(as_sources(sources), split_sentences), windows=policy.windows)
    passages = binder.bind(row["claim"], ()).with_evidence
    answers = await backend.estimate([Query(row["claim"], p.text) for p in passages])
    measured = combine(passages, answers, policy).measurement
    if not isinstance(measured, Estimate):
        return None
    return Scored(file, row["label"] == "supported", row.get("label3"), measured)


def _sources(evidence: object) -> list[tuple[str, str]]:
    if isinstance(evidence, str):
        return [("E", evidence)]
    assert isinstance(evidence, list)  # noqa: S101 -- the data set's documented shape
    return [
        (item["id"], item["text"]) if isinstance(item, dict) else (f"E{i}", item)
        for i, item in enumerate(evidence)
    ]


def report(scored: list[Scored], rows: int) -> str:
    """Return the Markdown page: thresholds, contradiction, reliability."""
    files = sorted({s.file for s in scored})
    lines = [
        "# Thresholds of the embedded verifier",
        "",
        f"`.venv/bin/python benchmarks/thresholds.py --rows {rows} --write`:",
        f"{len(scored)} claims of {len(files)} development files that may be used for shipped",
        "weights; means over files.",
        "",
        "| support threshold | balanced accuracy | supported claims missed |",
        "|---|---|---|",
    ]
    for threshold in CANDIDATES:
        pairs = [_balanced(scored, file, threshold) for file in files]
        accuracy, missed = fmean(p[0] for p in pairs), fmean(p[1] for p in pairs)
        lines.append(f"| {threshold:.2f} | {accuracy:.3f} | {missed:.1%} |")
    lines += [
        "",
        "| contradiction threshold | contradicted found | supported called contradicted |",
    ]
    lines += ["|---|---|---|"]
    for threshold in CANDIDATES:
        found = _share(scored, threshold, lambda s: s.label3 == "contradicted")
        wrong = _share(scored, threshold, lambda s: s.supported)
        lines.append(f"| {threshold:.2f} | {found:.1%} | {wrong:.1%} |")
    lines += [
        "",
        "Reliability: claims per bin of P(supported), and the share that were supported",
        "",
    ]
    lines += ["| bin | claims | low | high |", "|---|---|---|---|"]
    for index, (count, low, high) in enumerate(reliability(scored)):
        lines.append(f"| {index / BINS:.1f} | {count} | {low:.3f} | {high:.3f} |")
    return "\n".join([*lines, ""])


def _balanced(scored: list[Scored], file: str, threshold: float) -> tuple[float, float]:
    good = [s.estimate.supported for s in scored if s.file == file and s.supported]
    bad = [s.estimate.supported for s in scored if s.file == file and not s.supported]
    missed = fmean(p < threshold for p in good)
    return (1 - missed + fmean(p < threshold for p in bad)) / 2, missed


def _share(scored: list[Scored], threshold: float, which) -> float:  # noqa: ANN001
    values = [s.estimate.contradicted or 0.0 for s in scored if which(s)]
    return fmean(value >= threshold for value in values)


def reliability(scored: list[Scored]) -> list[tuple[int, float, float]]:
    """Return count and 95 % Wilson interval of the supported share for each bin."""
    bins: list[list[bool]] = [[] for _ in range(BINS)]
    for one in scored:
        bins[min(int(one.estimate.supported * BINS), BINS - 1)].append(one.supported)
    return [(len(found), *wilson(sum(found), len(found))) for found in bins]


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion (Wilson 1927)."""
    if not trials:
        return 0.0, 1.0
    p, shrink = successes / trials, 1 + z * z / trials
    centre = (p + z * z / (2 * trials)) / shrink
    half = z * sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials)) / shrink
    return max(0.0, centre - half), min(1.0, centre + half)


if __name__ == "__main__":
    main()
