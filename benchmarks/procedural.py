"""Detection of procedural hallucinations, and false positives on sound claims.

A hallucination is procedural if the right information is in the evidence and the claim gets it
wrong, or goes beyond it (SPEC-16.SC01, SC04). The suite, `procedural/suite.jsonl`, has eleven
kinds, half of the claims of each sound; its README describes its making. Half A may be used for
tuning, half B never; a hash of its name decides whether a case is in A or B. Requirements are held
against half B.

- embedded: the verifier in the package.
- cascade: the embedded verifier, and a local language model (Qwen2.5-Coder-Instruct, 4 bits, in
  this process) where it is in doubt, P(supported) from .15 to .85.
- alone: the language model without the embedded verifier before it.
- word overlap, length, claim only: the baselines of `veridical eval`.

Every claim goes through `Verifier.verify`, at the thresholds that ship. Flagged is any status but
supported; undetermined claims are counted and in no other figure. Detection is the share of the
hallucinated claims that are flagged, false positives the share of the sound ones. In brackets:
95 % percentile bootstrap over cases, 2,000 replicates, since claims of one case share their
evidence. Estimates are kept in `--cache`, a file: a stopped run goes on.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import _prompted
from _common import FOREVER_S, Page, Requirement, missing, publish, table
from _suite import SUITE, Labelled, suite
from veridical import SyncVerifier, Verifier
from veridical.core.measurements import Estimate
from veridical.core.verdicts import Status
from veridical.evaluation.baselines import BASELINES
from veridical.evaluation.bootstrap import interval
from veridical.evaluation.metrics import auroc
from veridical.evaluation.tables import ratio
from veridical.pipeline.inference import gguf
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.wrappers import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.ports import Backend
    from veridical.core.verdicts import Interval

HOME = Path.home() / ".cache" / "veridical"
LABELS = {"qwen-1.5b": "Qwen2.5-Coder-1.5B", "qwen-0.5b": "Qwen2.5-Coder-0.5B"}
EMBEDDED = "embedded"
WAYS = (EMBEDDED, *(f"{how} {name}" for how in ("cascade", "alone") for name in LABELS))
REQUIRED = (EMBEDDED, "cascade qwen-1.5b", "cascade qwen-0.5b")
READERS = ("word_overlap", "length", "claim_only")
REPLICATES = 2000
DETECTION, FALSE_POSITIVES = 0.8, 0.05
TIMEOUT_S = 600.0
"""What one question may take, as the machine may be busy."""


@dataclass(frozen=True)
class Found:
    """Result of a method on a claim; `score` is P(supported), and None if it is undetermined."""

    item: Labelled
    score: float | None
    flagged: bool


@dataclass(frozen=True)
class Way:
    """Results of a method on the suite; `spared` counts the claims without the language model."""

    found: tuple[Found, ...]
    spared: float | None = None

    def of(self, *, half: str | None = None, kind: str | None = None) -> tuple[Found, ...]:
        """Return what was found of one half, or kind, or both."""
        return tuple(
            one
            for one in self.found
            if half in {None, one.item.half} and kind in {None, one.item.kind}
        )


def main() -> None:
    """Verify the suite in each way, print the page."""
    chosen = options()
    items = suite()[: chosen.limit]
    ways = {f"baseline: {name.replace('_', ' ')}": baseline(name, items) for name in READERS}
    for name in chosen.only:
        with backend(name, chosen) as asked:
            ways[name] = verified(name, asked, items)
    page = Page("Procedural hallucinations", lines(ways), requirements(ways))
    publish(page, __doc__, chosen, variant="-embedded" if chosen.only == [EMBEDDED] else "")


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", type=lambda names: names.split(","), default=list(WAYS), help=",".join(WAYS)
    )
    parser.add_argument("--models", type=Path, default=HOME / "models", help="keeps the downloads")
    parser.add_argument("--cache", type=Path, default=HOME / "procedural.sqlite", help="estimates")
    parser.add_argument("--threads", type=int, default=1, help="of the language model; default 1")
    parser.add_argument("--limit", type=int, help="the first claims only")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    if unknown := set(chosen.only) - set(WAYS):
        parser.error(f"there is no way {', '.join(sorted(unknown))}")
    if chosen.write and chosen.limit:
        parser.error("--write keeps the page over the whole suite only")
    return chosen


# --- the ways --------------------------------------------------------------------------------


@contextmanager
def backend(name: str, chosen: argparse.Namespace) -> Iterator[Backend]:
    """Yield the backend of a way, and let go of its model afterwards."""
    how, _, model = name.partition(" ")
    chosen.cache.parent.mkdir(parents=True, exist_ok=True)
    keep = partial(wrap, cache=chosen.cache, cache_ttl_s=FOREVER_S)
    embedded = keep(EmbeddedVerifier(threads=chosen.threads))
    if not model:
        yield embedded
        return
    path = _prompted.MODELS[model].path(chosen.models)
    asked = gguf.create(str(path), threads=chosen.threads, timeout_s=TIMEOUT_S)
    try:
        yield Cascade(embedded, keep(asked)) if how == "cascade" else keep(asked)
    finally:
        asked.close()


def verified(name: str, asked: Backend, items: Sequence[Labelled]) -> Way:
    """Put every claim to the verifier."""
    found = []
    with SyncVerifier(Verifier(asked)) as verifier:
        for number, item in enumerate(items, start=1):
            found.append(_verified(verifier, item))
            print(f"{name}: {number} of {len(items)}", end="\r", file=sys.stderr)
    print(file=sys.stderr)
    spared = asked.savings.saved if isinstance(asked, Cascade) else None
    return Way(tuple(found), spared)


def _verified(verifier: SyncVerifier, item: Labelled) -> Found:
    verdict = verifier.verify(item.row.claim, item.row.sources, cites=item.row.cites)
    if verdict.status is Status.PHANTOM_CITATION:  # decided without the model
        return Found(item, 0.0, flagged=True)
    measured = None if verdict.status is Status.UNDETERMINED else verdict.p1
    score = measured.supported if isinstance(measured, Estimate) else None
    return Found(item, score, score is not None and verdict.status is not Status.SUPPORTED)


def baseline(name: str, items: Sequence[Labelled]) -> Way:
    """Return what a baseline says."""
    reader = BASELINES[name]
    scores = reader.score([item.row for item in items])
    pairs = zip(items, scores.tolist(), strict=True)
    return Way(tuple(Found(item, score, score < reader.threshold) for item, score in pairs))


# --- the figures -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """A share with its bootstrap interval; None if there is nothing to share."""

    value: float | None
    spread: Interval | None

    def __str__(self) -> str:
        if self.value is None:
            return ratio(None)
        ends = f" [{ratio(self.spread.low)}, {ratio(self.spread.high)}]" if self.spread else ""
        return ratio(self.value) + ends


def flagged_rate(found: Sequence[Found], *, supported: bool) -> Rate:
    """Return which share of the claims of one label is flagged; cases are drawn again."""
    counts: dict[str, list[int]] = {}
    for one in found:
        if one.score is not None and one.item.row.supported is supported:
            pair = counts.setdefault(one.item.case, [0, 0])
            pair[0] += one.flagged
            pair[1] += 1
    if not counts:
        return Rate(None, None)
    table_ = np.array(list(counts.values()), dtype=np.float64)
    value = float(table_[:, 0].sum() / table_[:, 1].sum())
    rng = np.random.default_rng(0)
    drawn = table_[rng.integers(0, len(table_), (REPLICATES, len(table_)))].sum(axis=1)
    return Rate(value, interval(drawn[:, 0] / drawn[:, 1]))


def auroc_of(found: Sequence[Found]) -> float | None:
    """Return how well scores tell sound claims from the others."""
    known = [(one.score, one.item.row.supported) for one in found if one.score is not None]
    scores = np.array([score for score, _ in known], dtype=np.float64)
    return auroc(scores, np.array([supported for _, supported in known], dtype=bool))


def detection_at(way: Way, most: float) -> tuple[Rate, Rate]:
    """Return detection and false positives on half B at a threshold chosen on half A.

    It is the highest at which at most the share `most` of the sound claims of half A is flagged.
    """
    sound = [
        one.score for one in way.of(half="A") if one.item.row.supported and one.score is not None
    ]
    if not sound:
        return Rate(None, None), Rate(None, None)
    threshold = sorted(sound)[int(most * len(sound))]
    moved = [
        Found(one.item, one.score, one.score is not None and one.score < threshold)
        for one in way.of(half="B")
    ]
    return flagged_rate(moved, supported=False), flagged_rate(moved, supported=True)


# --- the page --------------------------------------------------------------------------------


def lines(ways: Mapping[str, Way]) -> list[str]:
    """Return the tables."""
    items = [one.item for one in next(iter(ways.values())).found]
    cases = len({item.case for item in items})
    sound = sum(item.row.supported for item in items)
    digest = sha256(SUITE.read_bytes()).hexdigest()
    return [
        f"{len(items)} claims in {cases} cases, {sound} of the claims sound; SHA-256 of the suite",
        f"`{digest}`.",
        "",
        *_by_half(ways),
        *_by_kind(ways),
        *_trade(ways),
        *missing(WAYS, ways),
    ]


def _by_half(ways: Mapping[str, Way]) -> list[str]:
    head = (
        "way",
        "half",
        "claims",
        "undetermined",
        "detection",
        "false positives",
        "AUROC",
        "model spared",
    )
    rows = [
        (
            name,
            half or "both",
            len(found),
            sum(one.score is None for one in found),
            flagged_rate(found, supported=False),
            flagged_rate(found, supported=True),
            ratio(auroc_of(found)),
            "" if way.spared is None or half else f"{way.spared:.0%}",
        )
        for name, way in ways.items()
        for half in ("A", "B", None)
        if (found := way.of(half=half))
    ]
    return table(head, rows)


def _by_kind(ways: Mapping[str, Way]) -> list[str]:
    """Return detection and false positives of each kind, for each way that reads with a model."""
    models = {name: way for name, way in ways.items() if not name.startswith("baseline")}
    if not models:
        return []
    kinds = dict.fromkeys(one.item.kind for way in models.values() for one in way.found)
    rows = [(kind, *map(partial(_cell, kind=kind), models.values())) for kind in kinds]
    return ["Detection / false positives by kind, both halves:", "", *table(("", *models), rows)]


def _cell(way: Way, *, kind: str) -> str:
    found = way.of(kind=kind)
    hallucinated, sound = (flagged_rate(found, supported=which).value for which in (False, True))
    return f"{ratio(hallucinated)} / {ratio(sound)}"


def _trade(ways: Mapping[str, Way]) -> list[str]:
    rows = [(name, *detection_at(way, FALSE_POSITIVES)) for name, way in ways.items()]
    text = (
        f"At a threshold chosen on half A, so that {FALSE_POSITIVES:.0%} of its sound claims are"
        " flagged, half B has:"
    )
    return [text, "", *table(("way", "detection", "false positives"), rows)]


def requirements(ways: Mapping[str, Way]) -> list[Requirement]:
    """Hold half B against SC01 and SC04."""
    return [one for name in REQUIRED if name in ways for one in _required(name, ways[name])]


def _required(name: str, way: Way) -> Iterator[Requirement]:
    found = way.of(half="B")
    detection = flagged_rate(found, supported=False)
    alarms = flagged_rate(found, supported=True)
    yield Requirement(
        f"SPEC-16.SC01, {name}: detection above {DETECTION:.0%}",
        str(detection),
        detection.value is not None and detection.value > DETECTION,
    )
    yield Requirement(
        f"SPEC-16.SC04, {name}: false positives below {FALSE_POSITIVES:.0%}",
        str(alarms),
        alarms.value is not None and alarms.value < FALSE_POSITIVES,
    )


if __name__ == "__main__":
    main()
