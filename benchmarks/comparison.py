"""Discrimination of claims: the embedded verifier against other cheap methods, on the same rows.

The sample: from each of the 44 development files with evidence, seven supported and seven other
rows are drawn by a hash of their ids (rows that cite an id that does not exist are left out); they
are taken in rounds of one supported and one other row a file, and the first 600 count. Every way
gets the passages that a language model gets (two windows and the stitched passage): joined,
in source order, nothing twice, or, for the cosine, one by one and the best of them.

- embedded: `Verifier.verify`, score P(supported), decision its status. Its time holds choosing
  the passages and the second question, the claim without evidence.
- overlap, length, claim-only: the baselines of `veridical eval`. Claim-only learns out of fold
  from the labels of 500 rows of the file, which no other way sees.
- minilm: cosine of all-MiniLM-L6-v2 embeddings, in numpy.
- qwen-0.5b, qwen-1.5b: Qwen2.5-Coder-Instruct (4 bits) asked for YES or NO, score
  P(YES) / (P(YES) + P(NO)) of the first token; without either it is undetermined.
- cascade: `Verifier.verify` with the embedded verifier and, where it is in doubt, the same model as
  the backend `gguf` asks it.

The gain by a prompted model where the embedded verifier is in doubt (P(supported) lies in a band)
is reckoned from the same scores: its own in place of the embedded verifier's, or both pooled, by
the mean of their log-odds.

Thresholds were fixed before any measurement; nothing is tuned on the rows, the prompt included, but
the weights of the pool (docs/decisions/0012-a-cascade-pools.md); which passages and sentences the
embedded verifier reads was chosen on the development sets, these rows among them (0014, 0015).
Undetermined rows are counted and in no other figure. In brackets: 95 % percentile bootstrap over
rows (within files for the mean over files), 2,000 replicates. Times are those of one claim after
the other, with the median load of the machine while they were taken: compare them at equal load.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

import _cosine
import _prompted
from _common import CORES, FOREVER_S, Page, publish, table
from _ledger import Ledger, Method
from _sample import SEED, Item, Sample, draw
from veridical import SyncVerifier, Verifier
from veridical.core.measurements import Estimate
from veridical.core.types import Source
from veridical.core.verdicts import Interval, Status
from veridical.evaluation.baselines import BASELINES, claim_only
from veridical.evaluation.bootstrap import Resampling, interval, mean_replicates, replicates
from veridical.evaluation.metrics import auroc, balanced_accuracy
from veridical.evaluation.tables import ratio
from veridical.pipeline.inference import gguf
from veridical.pipeline.inference.card import load_card
from veridical.pipeline.inference.cascade import Cascade
from veridical.pipeline.inference.embedded import DEFAULT_MODEL, EmbeddedVerifier
from veridical.pipeline.inference.pooling import WEIGHT, pooled_probability
from veridical.pipeline.inference.prompts import fingerprint
from veridical.pipeline.inference.wrappers import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _ledger import Decide, Score
    from veridical.evaluation.baselines import Baseline
    from veridical.evaluation.metrics import Flags, Floats

HOME = Path.home() / ".cache" / "veridical"
ROWS = 600
CASCADES = {f"cascade-{name}": name for name in _prompted.MODELS}
NAMES = ("embedded", "overlap", "length", "claim-only", "minilm", *_prompted.MODELS, *CASCADES)
READING = {"overlap": BASELINES["word_overlap"], "length": BASELINES["length"]}
COSINE_THRESHOLD = 0.6
PROMPTED_THRESHOLD = 0.5
UNCALIBRATED = 0.7
"""The support threshold of the backend `gguf`."""

TIMEOUT_S = 600.0
BANDS = ((0.3, 0.7), (0.15, 0.85), (0.05, 0.95), (0.0, 1.0))
LEARNT = 500
"""Rows of a file that claim-only learns from; by the same seed they hold those of the sample."""

FEWEST = 3
"""Rows of either class that a file must have to count in the mean over files."""

HOW = Resampling(replicates=2000, seed=0)


@dataclass(frozen=True)
class Scored:
    """The items that a method could determine, as arrays."""

    files: Sequence[str]
    scores: Floats
    flagged: Flags
    positive: Flags

    def only(self, which: Flags) -> Scored:
        """Return some of the items."""
        files = [file for file, wanted in zip(self.files, which, strict=True) if wanted]
        return Scored(files, self.scores[which], self.flagged[which], self.positive[which])

    def drawn(self, key: str) -> dict[str, Floats]:
        """Return the metrics in each replicate; the same key draws the same rows."""
        return replicates(self.scores, self.flagged, self.positive, key, HOW)


def main() -> None:
    """Score what is missing, print the page over everything that is complete."""
    chosen = options()
    sample = draw(chosen.limit)
    print(f"{len(sample.items)} rows, {sample.fingerprint}", file=sys.stderr)
    found = {}
    for kind, method in methods(chosen, sample):
        ledger = Ledger(chosen.cache, method)
        if kind in chosen.only:
            ledger.fill(method, sample.items)
        found[method] = [ledger.known.get(item.key) for item in sample.items]
    page = Page("Comparison", lines(sample, found), ())
    asked = {method.name for method, scores in found.items() if None not in scores}
    # Without the language models, which take an hour, it is a page of its own.
    publish(page, __doc__, chosen, variant="" if asked & set(_prompted.MODELS) else "-embedded")


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = partial(str.split, sep=",")
    parser.add_argument("--only", type=names, default=list(NAMES), help=f"of {','.join(NAMES)}")
    parser.add_argument("--model", type=names, default=[DEFAULT_MODEL], help="embedded weights")
    parser.add_argument("--cache", type=Path, default=HOME / "comparison", help="keeps the scores")
    parser.add_argument("--models", type=Path, default=HOME / "models", help="keeps the downloads")
    parser.add_argument("--threads", type=int, default=CORES, help="of the prompted models")
    parser.add_argument("--limit", type=int, default=ROWS, help=f"rows, default {ROWS}")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    if unknown := set(chosen.only) - set(NAMES):
        parser.error(f"there is no method {', '.join(sorted(unknown))}")
    if chosen.write and chosen.limit != ROWS:
        parser.error("--write keeps the whole sample only")
    return chosen


# --- the methods -----------------------------------------------------------------------------


def methods(chosen: argparse.Namespace, sample: Sample) -> Iterator[tuple[str, Method]]:
    """Yield every method under the name that `--only` knows it by."""
    for model in chosen.model:
        yield "embedded", _embedded_method(model)
    for name, baseline in READING.items():
        yield name, Method(name, "1", 0, baseline.threshold, partial(_baseline, baseline))
    threshold = BASELINES["claim_only"].threshold
    yield "claim-only", Method("claim-only", "1", 0, threshold, partial(_claim_only, sample))
    weights = _cosine.WEIGHTS
    opened = partial(_minilm, chosen.models)
    yield "minilm", Method("minilm", weights.sha256, weights.megabytes, COSINE_THRESHOLD, opened)
    for name, file in _prompted.MODELS.items():
        opened = partial(_qwen, name, chosen)
        asked = f"{file.sha256} {_prompted.PROMPT}"
        yield name, Method(name, asked, file.megabytes, PROMPTED_THRESHOLD, opened)
    for kind, name in CASCADES.items():
        yield kind, _cascade_method(kind, name, chosen)


def _embedded_method(model: str) -> Method:
    card = load_card(model)
    megabytes = (card.weights.stat().st_size + card.tokenizer.stat().st_size) / 1e6
    threshold = card.calibration.support_threshold
    opened = partial(_embedded, model)
    return Method(f"embedded {model}", card.fingerprint, megabytes, threshold, opened)


def _cascade_method(kind: str, name: str, chosen: argparse.Namespace) -> Method:
    card, file = load_card(DEFAULT_MODEL), _prompted.MODELS[name]
    asked = f"{card.fingerprint} {file.sha256} {fingerprint()} {WEIGHT}, whole"
    megabytes = card.weights.stat().st_size / 1e6 + file.megabytes
    support = card.calibration.support_threshold, UNCALIBRATED
    opened = partial(_cascade, name, chosen)
    return Method(kind, asked, megabytes, round(pooled_probability(*support), 4), opened)


@contextmanager
def _embedded(model: str) -> Iterator[Decide]:
    with SyncVerifier(Verifier(EmbeddedVerifier(model))) as verifier:
        yield partial(_verified, verifier)


@contextmanager
def _cascade(name: str, chosen: argparse.Namespace) -> Iterator[Decide]:
    path = str(_prompted.MODELS[name].path(chosen.models))
    asked = gguf.create(path, threads=chosen.threads, timeout_s=TIMEOUT_S)
    kept = wrap(asked, cache=chosen.cache / "estimates.sqlite", cache_ttl_s=FOREVER_S)
    try:
        with SyncVerifier(Verifier(Cascade(EmbeddedVerifier(), kept))) as verifier:
            yield partial(_verified, verifier)
    finally:
        asked.close()


def _verified(verifier: SyncVerifier, item: Item) -> tuple[float | None, bool]:
    row = item.row
    verdict = verifier.verify(row.claim, row.sources, cites=row.cites)
    known = isinstance(verdict.p1, Estimate) and verdict.status is not Status.UNDETERMINED
    return verdict.p1.supported if known else None, verdict.status is Status.SUPPORTED


@contextmanager
def _baseline(baseline: Baseline) -> Iterator[Decide]:
    def decide(item: Item) -> tuple[float | None, bool]:
        read = replace(item.row, sources=(Source("1", item.text),), cites=())
        return _at(baseline.threshold, float(baseline.score([read])[0]))

    yield decide


@contextmanager
def _claim_only(sample: Sample) -> Iterator[Decide]:
    datasets = {dataset.name: dataset.sample(LEARNT, SEED) for dataset in sample.datasets}

    @cache
    def known(file: str) -> dict[str, float]:
        rows = datasets[file].rows
        return dict(zip((row.id for row in rows), claim_only(rows).tolist(), strict=True))

    threshold = BASELINES["claim_only"].threshold
    yield lambda item: _at(threshold, known(item.file)[item.row.id])


@contextmanager
def _minilm(folder: Path) -> Iterator[Decide]:
    model = _cosine.MiniLM(folder)
    yield lambda item: _at(COSINE_THRESHOLD, model.nearest(item.row.claim, item.passages))


@contextmanager
def _qwen(name: str, chosen: argparse.Namespace) -> Iterator[Decide]:
    model = _prompted.Prompted(name, chosen.models, chosen.threads)
    yield lambda item: _at(PROMPTED_THRESHOLD, model.supported(item.row.claim, item.text))


def _at(threshold: float, score: float | None) -> tuple[float | None, bool]:
    return score, score is not None and score >= threshold


# --- the page --------------------------------------------------------------------------------


def lines(sample: Sample, found: Mapping[Method, Sequence[Score | None]]) -> list[str]:
    """Return the tables, and which methods are not in them."""
    complete = {method: scores for method, scores in found.items() if None not in scores}
    positive = sum(item.row.supported for item in sample.items)
    left = [
        f"{method.name} ({len(scores) - scores.count(None)} rows)"
        for method, scores in found.items()
        if method not in complete
    ]
    return [
        f"{len(sample.items)} rows, {positive} of them supported; SHA-256 of the list of their ids",
        f"`{sample.fingerprint}`.",
        "",
        *_quality(sample, complete),
        *_differences(sample, complete),
        *_bands(sample, {method.name: scores for method, scores in complete.items()}),
        *([f"Not measured on all of the rows: {', '.join(left)}.", ""] if left else []),
    ]


def _quality(sample: Sample, found: Mapping[Method, Sequence[Score]]) -> list[str]:
    head = (
        "method",
        "AUROC, mean over files",
        "AUROC, pooled",
        "balanced accuracy",
        "supported from",
        "undetermined",
        "MB",
        "median ms a claim",
        "load",
    )
    return table(head, (_row(sample, *one) for one in found.items()))


def _row(sample: Sample, method: Method, scores: Sequence[Score]) -> tuple[object, ...]:
    scored = _scored(sample, scores)
    drawn = scored.drawn("pooled")
    accuracy = balanced_accuracy(~scored.flagged, scored.positive)
    return (
        method.name,
        _mean_over_files(scored),
        _cell(auroc(scored.scores, scored.positive), interval(drawn["auroc"])),
        _cell(accuracy, interval(drawn["balanced_accuracy"])),
        f"{method.threshold:g}",
        sum(one.score is None for one in scores),
        f"{method.megabytes:.0f}",
        f"{median(one.ms for one in scores):.1f}",
        f"{median(one.load for one in scores):.1f}",
    )


def _scored(sample: Sample, scores: Sequence[Score]) -> Scored:
    known = [(i, s) for i, s in zip(sample.items, scores, strict=True) if s.score is not None]
    return Scored(
        [item.file for item, _ in known],
        np.array([score.score for _, score in known], dtype=np.float64),
        np.array([not score.supported for _, score in known], dtype=bool),
        np.array([item.row.supported for item, _ in known], dtype=bool),
    )


def _mean_over_files(scored: Scored) -> str:
    parts = {
        name: scored.only(np.array([file == name for file in scored.files], dtype=bool))
        for name in dict.fromkeys(scored.files)
    }
    enough = {
        name: part
        for name, part in parts.items()
        if min(part.positive.sum(), (~part.positive).sum()) >= FEWEST
    }
    if not enough:
        return _cell(None, None)
    mean = np.mean([auroc(part.scores, part.positive) for part in enough.values()])
    drawn = mean_replicates([part.drawn(name) for name, part in enough.items()], "auroc")
    return _cell(float(mean), interval(drawn))


def _differences(sample: Sample, found: Mapping[Method, Sequence[Score]]) -> list[str]:
    """Return how far the first method is ahead of each other one, on rows that both determine."""
    if not found:
        return []
    (first, ours), *others = found.items()
    rows = [(method.name, _difference(sample, ours, theirs)) for method, theirs in others]
    return table((f"{first.name} minus", "pooled AUROC, paired"), rows) if rows else []


def _difference(sample: Sample, ours: Sequence[Score], theirs: Sequence[Score]) -> str:
    pairs = list(zip(ours, theirs, strict=True))
    both = [i for i, pair in enumerate(pairs) if None not in (pair[0].score, pair[1].score)]
    shared = replace(sample, items=tuple(sample.items[i] for i in both))
    a, b = (_scored(shared, [one[i] for i in both]) for one in (ours, theirs))
    ahead, behind = auroc(a.scores, a.positive), auroc(b.scores, b.positive)
    if ahead is None or behind is None:
        return _cell(None, None)
    spread = interval(a.drawn("pooled")["auroc"] - b.drawn("pooled")["auroc"])
    ends = f" ({spread.low:+.3f} to {spread.high:+.3f})" if spread else ""
    return f"{ahead - behind:+.3f}{ends}"


def _bands(sample: Sample, found: Mapping[str, Sequence[Score]]) -> list[str]:
    """Return what a prompted model adds to the embedded verifier where that is in doubt."""
    first = found.get(f"embedded {DEFAULT_MODEL}")
    rows = [
        (name, f"{low:g} to {high:g}", *_band(sample, first, found[name], low, high))
        for name in _prompted.MODELS
        if first is not None and name in found
        for low, high in BANDS
    ]
    head = (
        "",
        "in doubt",
        "asked",
        "the prompted alone counts: AUROC, mean",
        "pooled: AUROC, mean",
    )
    return table(head, rows) if rows else []


def _band(
    sample: Sample, first: Sequence[Score], second: Sequence[Score], low: float, high: float
) -> tuple[object, ...]:
    pairs = [(a.score, b.score) for a, b in zip(first, second, strict=True)]
    doubts = [
        (a, b) if a is not None and b is not None and low <= a <= high else None for a, b in pairs
    ]
    replaced, pooled = (
        [
            score if doubt is None else replace(score, score=count(*doubt))
            for score, doubt in zip(first, doubts, strict=True)
        ]
        for count in (lambda _, b: b, pooled_probability)
    )
    return (
        f"{1 - doubts.count(None) / len(doubts):.0%}",
        _mean_over_files(_scored(sample, replaced)),
        _mean_over_files(_scored(sample, pooled)),
    )


def _cell(value: float | None, spread: Interval | None) -> str:
    ends = f" ({ratio(spread.low)}–{ratio(spread.high)})" if spread else ""
    return f"{ratio(value)}{ends}"


if __name__ == "__main__":
    main()
