"""Selection and aggregation of passages: windows, the stitched passage, aggregation, thresholds.

Scores every passage of a fixed sample of the development sets once, then compares ways of putting
the passages of a claim together, and thresholds. Nothing here is fitted. "Closest" is the sentence
nearest to the claim, with the neighbour that has most of what it lacks; it is read, as the stitched
passage is, where the evidence is longer than a window. "Then" is the stitched passage only where
the closest has neither probability at its threshold, and "further" the rest of short evidence where
neither of the two has, which can support a claim and not oppose it: as the product reads
(docs/decisions/0018-meaning-and-reading.md). The same for 160 claims on a text whose entries are
alike (`_gazetteer.py`). Claims of several sentences are read in this last way whole, and sentence
by sentence.

    .venv/bin/python benchmarks/aggregation.py [--rows 60] [--model NAME] [--write]

Needs the labelled data in `../shared/data/dev`; stops with a message without it. Scores are
kept in `--cache` (numbers only) and not computed again for the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
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
from veridical.pipeline.claims import sentence_parts, split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve_citations
from veridical.pipeline.inference.card import load_card
from veridical.pipeline.inference.embedded import DEFAULT_MODEL, EmbeddedVerifier
from veridical.pipeline.inference.vectors import packaged_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from veridical.evaluation.rows import Row

ROOT = Path(__file__).parents[1]
DEV = ROOT.parent / "shared" / "data" / "dev"
NOT_PAIRS = ("p0__", "quote_", "traces_")
MOST_WINDOWS = 4
MANY = 20
"""So many claims of several sentences have the files in which these are looked at alone."""
CLOSEST, STITCHED, LATER = "closest", "stitched", "further"
TURNS = {0: CLOSEST, 1: STITCHED}
SHIPPED = load_card(DEFAULT_MODEL).calibration
SUPPORT, CONTRADICTION = SHIPPED.support_threshold, SHIPPED.contradiction_threshold


@dataclass(frozen=True)
class Passage:
    """Score of one passage; `rank` counts windows from 0, others have a name."""

    rank: int | str
    supported: float
    contradicted: float


@dataclass(frozen=True)
class Scored:
    """A labelled claim, its passages, and the same of its sentences if it has several."""

    file: str
    supported: bool
    label3: str | None
    passages: tuple[Passage, ...]
    sentences: tuple[Scored, ...] = ()


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
    kept = options.cache / f"{backend.info.fingerprint}-by-meaning.jsonl"
    known = {}
    if kept.exists():
        lines = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
        known = {(entry["file"], entry["id"]): entry for entry in lines}
    found = []
    paths = [path for path in sorted(DEV.glob("*.jsonl.gz")) if not path.name.startswith(NOT_PAIRS)]
    with kept.open("a", encoding="utf-8") as file:
        for dataset in read_datasets(paths):
            for row in dataset.sample(options.rows, seed=0).rows:
                entry = known.get((dataset.name, row.id))
                if entry is None:
                    entry = {"file": dataset.name, "id": row.id, **await score(backend, row)}
                    file.write(json.dumps(entry) + "\n")
                if entry["passages"]:
                    found.append(labelled(dataset.name, row, entry))
            print(dataset.name, len(found), file=sys.stderr)
    alike = [labelled("", row, await score(backend, row)) for row in _gazetteer.rows()]
    return found, alike


def labelled(file: str, row: Row, entry: Mapping) -> Scored:
    """Return a row with what the model makes of its passages, and of its sentences'."""

    def scored(passages: Iterable[Sequence], sentences: tuple[Scored, ...] = ()) -> Scored:
        read = tuple(Passage(*passage) for passage in passages)
        return Scored(file, row.supported, row.label3, read, sentences)

    return scored(entry["passages"], tuple(map(scored, entry["sentences"])))


async def score(backend: EmbeddedVerifier, row: Row) -> dict[str, list]:
    """Return what the model makes of a claim's passages, and of those of its sentences."""
    sentences = [part.text for part in sentence_parts(row.claim)]
    return {
        "passages": await read(backend, row, row.claim, MOST_WINDOWS),
        "sentences": [await read(backend, row, text, 1) for text in sentences],
    }


async def read(
    backend: EmbeddedVerifier, row: Row, claim: str, windows: int
) -> list[tuple[int | str, float, float]]:
    """Return rank, P(supported) and P(contradicted) of each passage of a claim."""
    passages = dict(passages_of(row, claim, windows))
    answers = await backend.estimate([Query(claim, text) for text in passages.values()])
    return [
        (rank, answer.supported, answer.contradicted or 0.0)
        for rank, answer in zip(passages, answers, strict=True)
        if isinstance(answer, Estimate)
    ]


def passages_of(row: Row, claim: str, windows: int) -> Iterator[tuple[int | str, str]]:
    """Yield the windows, the stitched passage and the closest sentences, as far as there are."""
    sources = as_sources(row.sources)
    corpus = Corpus(sources, split_sentences, vectors=packaged_vectors())
    cited = resolve_citations([CitationRef(cited, Span(0, 0)) for cited in row.cites], sources)
    read = Binder(corpus, windows=windows).bind(claim, cited).with_evidence
    yield from enumerate(passage.text for passage in read if not passage.stitched)
    short = Binder(corpus, windows=0).bind(claim, cited).with_evidence
    if len(short) > 1:
        for number, passage in enumerate(short):
            yield TURNS.get(passage.turn, f"{LATER} {number}"), passage.text


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
    macro_f1: float | None


def figures(
    scored: list[Scored],
    read: Callable[[Scored], Passage],
    *,
    support: float = SUPPORT,
    contradiction: float = CONTRADICTION,
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
    three_way = [f[3] for f in found if f[3] is not None]
    return Figures(
        fmean(f[0] for f in found),
        fmean(f[1] for f in found),
        fmean(f[2] for f in found),
        fmean(three_way) if three_way else None,
    )


def decides(
    passage: Passage, support: float = SUPPORT, contradiction: float = CONTRADICTION
) -> bool:
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
    several = [s for s in scored if s.sentences]
    lines = ["# Passages, aggregation and thresholds", "", __doc__.split("\n\n")[1], ""]
    lines += [
        f"`{options.model}`, {len(scored)} claims of {files} development files, means over files;",
        f"{len(long)} claims have more than one passage, {len(several)} several sentences.",
        "",
    ]
    for title, rows in (
        ("All claims", scored),
        ("Claims with more than one passage", long),
        ("A text whose entries are alike", alike),
    ):
        lines += [f"## {title}", "", *ways(rows), ""]
    lines += [
        "## Claims of several sentences",
        "",
        *by_sentence(scored, several),
        "",
    ]
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
    found = figures(scored, read_whole)
    rows.append((f"{CLOSEST}, then {STITCHED} ({spared(scored)} of these not read)", *shown(found)))
    return table(HEAD, rows)


def spared(scored: list[Scored]) -> str:
    """Return of how many of the claims with two passages the first one decides."""
    firsts = [read[0] for s in scored if len(read := short(s, CLOSEST, STITCHED)) > 1]
    return f"{sum(map(decides, firsts))} of {len(firsts)}"


def by_sentence(scored: list[Scored], several: list[Scored]) -> list[str]:
    """Return the table of ways to read claims of several sentences: among all claims, and alone."""
    rows = []
    many = {name for name, count in Counter(s.file for s in several).items() if count >= MANY}
    alone = [s for s in several if s.file in many]
    for title, among in (("all", scored), (f"{len(alone)} in {len(many)} files", alone)):
        for name, read in SENTENCE_WAYS.items():
            rows.append((f"{title}: {name}", *shown(figures(among, read))))
    return table(HEAD, rows)


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
        rows.append((f"support {SUPPORT}, contradiction {contradiction}", *shown(found)))
    return table(HEAD, rows)


def read_whole(
    scored: Scored, support: float = SUPPORT, contradiction: float = CONTRADICTION
) -> Passage:
    """Return the first passage that decides, else the most decisive."""
    read = short(scored, CLOSEST, STITCHED)
    further = [p for p in scored.passages if str(p.rank).startswith(LATER)]
    deciding = [p for p in read if decides(p, support, contradiction)]
    supporting = [p for p in further if status(p, support, contradiction) == "supported"]
    return next(iter(deciding), most_support(supporting) if supporting else decisive(read))


def shipped(
    scored: Scored, support: float = SUPPORT, contradiction: float = CONTRADICTION
) -> Passage:
    """Return what the product goes by: the better way, but for what a part opposes more surely."""
    better = better_way(scored, support, contradiction)
    parts = read_parts(scored, support, contradiction)
    opposed = max((part.contradicted for part in parts), default=0.0)
    if status(better, support, contradiction) != "supported" or opposed < contradiction:
        return better
    return weakest(parts) if opposed > better.supported else better


def better_way(
    scored: Scored, support: float = SUPPORT, contradiction: float = CONTRADICTION
) -> Passage:
    """Return the whole or, if it is more probable, the weakest part."""
    whole = read_whole(scored, support, contradiction)
    parts = read_parts(scored, support, contradiction)
    return max(whole, weakest(parts), key=lambda p: p.supported) if parts else whole


def read_parts(scored: Scored, support: float, contradiction: float) -> list[Passage]:
    """Return what each sentence of a claim goes by; nothing if it has but one."""
    return [read_whole(part, support, contradiction) for part in scored.sentences]


def weakest(passages: Iterable[Passage]) -> Passage:
    """Return the passage that supports the claim least."""
    return min(passages, key=lambda p: p.supported)


def of_sentences(way: Callable[[Iterable[Passage]], Passage]) -> Callable[[Scored], Passage]:
    """Return a way that reads only the sentences of a claim that has several."""
    return lambda scored: way(map(read_whole, scored.sentences or (scored,)))


SENTENCE_WAYS: dict[str, Callable[[Scored], Passage]] = {
    "whole": read_whole,
    "the weakest sentence": of_sentences(weakest),
    "mean of the sentences": of_sentences(mean),
    "whole or, if it is more probable, the weakest sentence": better_way,
    "the same, but the weakest one where a sentence is more surely contradicted": shipped,
}


def shown(found: Figures) -> tuple[str, ...]:
    """Return figures as cells."""
    return (
        f"{found.auroc:.3f}",
        f"{found.balanced_accuracy:.3f}",
        f"{found.false_positive_rate:.3f}",
        "" if found.macro_f1 is None else f"{found.macro_f1:.3f}",
    )


if __name__ == "__main__":
    main()
