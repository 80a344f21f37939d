"""Which passages decide a claim, and how: windows, the stitched passage, aggregation, thresholds.

Scores every passage of a fixed sample of the development sets once, then compares ways of putting
the passages of a claim together, and thresholds. Nothing here is fitted. "Closest" is the sentence
nearest to the claim, with the neighbour that has most of what it lacks; it is read, as the stitched
passage is, where the evidence is longer than a window. "Then" is the stitched passage only where
the closest has neither probability at a half, as the product reads. The same for 160 claims on a
text whose entries are alike (`_gazetteer.py`).

    .venv/bin/python benchmarks/aggregation.py [--rows 60] [--model NAME] [--write]

Needs the labelled data in `../shared/data/dev`; says so and stops where it is missing. Scores are
kept in `--cache` (numbers only) and not computed again for the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import anyio
import numpy as np

import _gazetteer
from _common import RESULTS, table
from veridical.core.measurements import Estimate, Query
from veridical.core.sources import as_sources
from veridical.core.types import CitationRef, Span
from veridical.evaluation.dataset import read_datasets
from veridical.evaluation.metrics import auroc, balanced_accuracy, macro_f1, share
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve
from veridical.pipeline.inference.embedded import DEFAULT_MODEL, EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from veridical.evaluation.rows import Row

ROOT = Path(__file__).parents[1]
DEV = ROOT.parent / "shared" / "data" / "dev"
NOT_PAIRS = ("p0__", "quote_", "traces_")
MOST_WINDOWS = 4
CLOSEST, STITCHED = "closest", "stitched"
THRESHOLD = 0.5
"""The shipped one, of support and of contradiction."""


@dataclass(frozen=True)
class Passage:
    """What the model makes of one passage; `rank` counts windows from 0, others have a name."""

    rank: int | str
    supported: float
    contradicted: float


@dataclass(frozen=True)
class Scored:
    """A labelled claim and its passages."""

    file: str
    supported: bool
    label3: str | None
    passages: tuple[Passage, ...]


def main() -> None:
    """Score what is not scored yet, compare, print."""
    options = parse()
    if not DEV.is_dir():
        sys.exit(f"the labelled data is not here: {DEV}")
    page = report(*anyio.run(score_all, options), options)
    print(page)
    if options.write:
        (RESULTS / "aggregation.md").write_text(page + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60, help="claims per file")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--cache", type=Path, default=ROOT / ".aggregation")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


async def score_all(options: argparse.Namespace) -> tuple[list[Scored], list[Scored]]:
    """Return the sample with the scores of its passages, and the entries that are alike."""
    backend = EmbeddedVerifier(options.model)
    options.cache.mkdir(exist_ok=True)
    kept = options.cache / f"{backend.info.fingerprint}.jsonl"
    known = {}
    if kept.exists():
        lines = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
        known = {(entry["file"], entry["id"]): entry["passages"] for entry in lines}
    found = []
    paths = [path for path in sorted(DEV.glob("*.jsonl.gz")) if not path.name.startswith(NOT_PAIRS)]
    with kept.open("a", encoding="utf-8") as file:
        for dataset in read_datasets(paths):
            for row in dataset.sample(options.rows, seed=0).rows:
                passages = known.get((dataset.name, row.id))
                if passages is None:
                    passages = await score(backend, row)
                    entry = {"file": dataset.name, "id": row.id, "passages": passages}
                    file.write(json.dumps(entry) + "\n")
                if passages:
                    found.append(labelled(dataset.name, row, passages))
            print(dataset.name, len(found), file=sys.stderr)
    return found, [labelled("", row, await score(backend, row)) for row in _gazetteer.rows()]


def labelled(file: str, row: Row, passages: Iterable[Sequence]) -> Scored:
    """Return a row with what the model makes of its passages."""
    return Scored(file, row.supported, row.label3, tuple(Passage(*read) for read in passages))


async def score(backend: EmbeddedVerifier, row: Row) -> list[tuple[int | str, float, float]]:
    """Return rank, P(supported) and P(contradicted) of each passage of a claim."""
    passages = dict(passages_of(row))
    answers = await backend.estimate([Query(row.claim, text) for text in passages.values()])
    return [
        (rank, answer.supported, answer.contradicted or 0.0)
        for rank, answer in zip(passages, answers, strict=True)
        if isinstance(answer, Estimate)
    ]


def passages_of(row: Row) -> Iterator[tuple[int | str, str]]:
    """Yield the windows, the stitched passage and the closest sentences, as far as there are."""
    sources = as_sources(row.sources)
    corpus = Corpus(sources, split_sentences)
    cited = resolve([CitationRef(cited, Span(0, 0)) for cited in row.cites], sources)
    read = Binder(corpus, windows=MOST_WINDOWS).bind(row.claim, cited).with_evidence
    yield from enumerate(passage.text for passage in read if not passage.stitched)
    short = Binder(corpus, windows=0).bind(row.claim, cited).with_evidence
    if len(short) > 1:
        yield from zip((CLOSEST, STITCHED), (passage.text for passage in short), strict=True)


# --- ways of putting passages together --------------------------------------------------------


def decisive(passages: Iterable[Passage]) -> Passage:
    """Return the passage that supports or opposes the claim most: what the product does."""
    return max(passages, key=lambda p: max(p.supported, p.contradicted))


def most_support(passages: Iterable[Passage]) -> Passage:
    """Return the passage that supports the claim most."""
    return max(passages, key=lambda p: p.supported)


def mean(passages: Iterable[Passage]) -> Passage:
    """Return the mean of the passages."""
    read = list(passages)
    supported, contradicted = (p.supported for p in read), (p.contradicted for p in read)
    return Passage("mean", fmean(supported), fmean(contradicted))


def stitched_first(passages: Iterable[Passage]) -> Passage:
    """Return the stitched passage where there is one, else the best window."""
    return min(passages, key=lambda p: -1 if isinstance(p.rank, str) else p.rank)


WAYS: dict[str, Callable[[Iterable[Passage]], Passage]] = {
    "most decisive": decisive,
    "most support": most_support,
    "mean": mean,
    "stitched, else best window": stitched_first,
}


def chosen(scored: Scored, windows: int, *, stitched: bool) -> list[Passage]:
    """Return the passages that would have been read."""
    read = [p for p in scored.passages if isinstance(p.rank, int) and p.rank < windows]
    return read + [p for p in scored.passages if p.rank == STITCHED and stitched]


def short(scored: Scored, *others: str) -> list[Passage]:
    """Return the passages of these names, or the best window where it holds all of them."""
    return [p for p in scored.passages if p.rank in others] or chosen(scored, 1, stitched=False)


@dataclass(frozen=True)
class Figures:
    """Means over files."""

    auroc: float
    balanced_accuracy: float
    false_positive_rate: float
    macro_f1: float


def figures(
    scored: list[Scored],
    read: Callable[[Scored], Passage],
    *,
    support: float = THRESHOLD,
    contradiction: float = THRESHOLD,
) -> Figures:
    """Return the means over the files that have both classes."""
    found = []
    for name in sorted({s.file for s in scored}):
        rows = [s for s in scored if s.file == name]
        truly = np.asarray([s.supported for s in rows])
        passages = [read(s) for s in rows]
        p = np.asarray([passage.supported for passage in passages])
        area = auroc(p, truly)
        if area is None:
            continue
        said = [status(passage, support, contradiction) for passage in passages]
        called = np.asarray([name == "supported" for name in said])
        both = [(s, row.label3) for s, row in zip(said, rows, strict=True) if row.label3]
        found.append(
            (
                area,
                balanced_accuracy(called, truly) or 0.0,
                share(~called[truly]) or 0.0,
                macro_f1([a for a, _ in both], [b for _, b in both]) if both else None,
            )
        )
    return Figures(
        fmean(f[0] for f in found),
        fmean(f[1] for f in found),
        fmean(f[2] for f in found),
        fmean(f[3] for f in found if f[3] is not None),
    )


def decides(passage: Passage, support: float = THRESHOLD, contradiction: float = THRESHOLD) -> bool:
    """Say whether a passage reaches a threshold."""
    return status(passage, support, contradiction) != "not_in_context"


def status(passage: Passage, support: float, contradiction: float) -> str:
    """Return the three-way label that the product would give."""
    if passage.contradicted >= contradiction:
        return "contradicted"
    return "supported" if passage.supported >= support else "not_in_context"


# --- the page ---------------------------------------------------------------------------------

HEAD = ("", "AUROC", "balanced accuracy", "supported flagged", "macro-F1, three-way")


def report(scored: list[Scored], alike: list[Scored], options: argparse.Namespace) -> str:
    """Return the Markdown page."""
    files = len({s.file for s in scored})
    long = [s for s in scored if len(s.passages) > 1]
    lines = ["# Passages, aggregation and thresholds", "", __doc__.split("\n\n")[1], ""]
    lines += [
        f"`{options.model}`, {len(scored)} claims of {files} development files, means over files;",
        f"{len(long)} claims have more than one passage.",
        "",
    ]
    for title, rows in (
        ("All claims", scored),
        ("Claims with more than one passage", long),
        ("A text whose entries are alike", alike),
    ):
        lines += [f"## {title}", "", *ways(rows), ""]
    lines += ["## Thresholds", "", *thresholds(scored)]
    return "\n".join(lines)


def ways(scored: list[Scored]) -> list[str]:
    """Return the table of windows, stitching and aggregation."""
    rows = []
    for windows in (1, 2, 3, 4):
        for stitched in (False, True):
            for name, way in WAYS.items():
                if not stitched and way is stitched_first:
                    continue
                found = figures(
                    scored, lambda s, w=way, k=windows, t=stitched: w(chosen(s, k, stitched=t))
                )
                label = f"{windows} window{'s' * (windows > 1)}{' + stitched' * stitched}, {name}"
                rows.append((label, *shown(found)))
    several = [name for name, way in WAYS.items() if way is not stitched_first]
    for others, names in (
        ((STITCHED,), several[:1]),  # of one passage all ways make the same
        ((CLOSEST,), several[:1]),
        ((CLOSEST, STITCHED), several),
    ):
        for name in names:
            found = figures(scored, lambda s, w=WAYS[name], o=others: w(short(s, *o)))
            rows.append((f"{' + '.join(others)}, {name}", *shown(found)))
    found = figures(scored, shipped)
    rows.append((f"{CLOSEST}, then {STITCHED} ({spared(scored)} of these not read)", *shown(found)))
    return table(HEAD, rows)


def spared(scored: list[Scored]) -> str:
    """Return of how many of the claims with two passages the first one decides."""
    firsts = [read[0] for s in scored if len(read := short(s, CLOSEST, STITCHED)) > 1]
    return f"{sum(map(decides, firsts))} of {len(firsts)}"


def thresholds(scored: list[Scored]) -> list[str]:
    """Return the tables of support and contradiction thresholds, as shipped otherwise."""
    rows = []
    for support in (0.3, 0.4, 0.5, 0.6, 0.7):
        read = partial(shipped, support=support, contradiction=1.1)
        found = figures(scored, read, support=support, contradiction=1.1)
        rows.append((f"support {support}, contradiction off", *shown(found)))
    for contradiction in (0.4, 0.5, 0.6, 0.7, 0.8):
        read = partial(shipped, contradiction=contradiction)
        found = figures(scored, read, contradiction=contradiction)
        rows.append((f"support 0.5, contradiction {contradiction}", *shown(found)))
    return table(HEAD, rows)


def shipped(
    scored: Scored, support: float = THRESHOLD, contradiction: float = THRESHOLD
) -> Passage:
    """Return what the product goes by: the first passage that decides, else the most decisive."""
    read = short(scored, CLOSEST, STITCHED)
    deciding = (p for p in read if decides(p, support, contradiction))
    return next(deciding, decisive(read))


def shown(found: Figures) -> tuple[str, ...]:
    """Return figures as cells."""
    return (
        f"{found.auroc:.3f}",
        f"{found.balanced_accuracy:.3f}",
        f"{found.false_positive_rate:.3f}",
        f"{found.macro_f1:.3f}",
    )


if __name__ == "__main__":
    main()
