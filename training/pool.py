"""Measures a checkpoint on the development pool as the product would read it, without an export.

    python training/pool.py --base BASE --run RUN --layers 10 [--rows 24]

Prints mean AUROC and balanced accuracy at a half, with claims read whole and as the product reads
claims of several sentences, then the AUROC of each file. Uncalibrated, in fp32; nothing is tuned on
it. Two minutes for 24 rows of each of the 44 files.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch
from model import collate, load_model, load_tokenizer, logits

from veridical.core.homoglyphs import fold
from veridical.core.sources import as_sources
from veridical.core.types import FURTHER, CitationRef, Span
from veridical.evaluation.dataset import read_datasets
from veridical.evaluation.metrics import auroc, balanced_accuracy
from veridical.pipeline.claims import sentence_parts, split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve_citations
from veridical.pipeline.inference.vectors import packaged_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.evaluation.rows import Row

DEV = Path(__file__).resolve().parents[2] / "shared" / "data" / "dev"
NOT_PAIRS = ("p0__", "quote_", "traces_")
HALF = 0.5
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Claim:
    """A labelled claim: the pairs that are read for it, and for each of its sentences."""

    file: str
    supported: bool
    whole: Pairs
    sentences: tuple[Pairs, ...]

    @property
    def pairs(self) -> Pairs:
        """All that may be read."""
        return (*self.whole, *(pair for pairs in self.sentences for pair in pairs))


def main() -> None:
    """Read the options, score, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="folder with last.pt")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rows", type=int, default=24, help="claims per file")
    options = parser.parse_args()
    claims = list(claims_of(options.rows))
    read = score(options, sorted({pair for claim in claims for pair in claim.pairs}))
    whole = [reading(claim.whole, read)[0] for claim in claims]
    both = [shipped(claim, read) for claim in claims]
    for name, found in (("whole", whole), ("by sentence, too", both)):
        areas, accuracies = figures(claims, found)
        print(f"{name}: {fmean(areas.values()):.4f} {fmean(accuracies.values()):.4f}")
    for name, area in sorted(areas.items(), key=lambda pair: pair[1]):
        print(f"{name:30} {area:.3f}")


def claims_of(rows: int) -> Iterator[Claim]:
    """Yield the claims of the pool, but those that cite what does not exist."""
    paths = [path for path in sorted(DEV.glob("*.jsonl.gz")) if not path.name.startswith(NOT_PAIRS)]
    for dataset in read_datasets(paths):
        for row in dataset.sample(rows, seed=0).rows:
            yield from claim_of(dataset.name, row)


def claim_of(file: str, row: Row) -> Iterator[Claim]:
    """Yield a row with the passages that the embedded verifier reads for it."""
    sources = as_sources(row.sources)
    cited = resolve_citations([CitationRef(cited, Span(0, 0)) for cited in row.cites], sources)
    corpus = Corpus(sources, split_sentences, vectors=packaged_vectors())
    binder = Binder(corpus, windows=0)

    def pairs(text: str) -> Pairs:
        passages = binder.bind(text, cited).with_evidence
        near = (passage for passage in passages if passage.turn < FURTHER)
        return tuple((fold(passage.text), fold(text)) for passage in near)

    if all(citation.resolved for citation in cited):
        parts = tuple(pairs(part.text) for part in sentence_parts(row.claim))
        yield Claim(file, row.supported, pairs(row.claim), parts)


def score(
    options: argparse.Namespace, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return P(supported) and P(contradicted) of each pair."""
    model = load_model(options.base, layers=options.layers, frozen=0)
    model.load_state_dict(torch.load(options.run / "last.pt", weights_only=True)["model"])
    tokenizer = load_tokenizer(options.base, max_tokens=512)
    pad_id = tokenizer.token_to_id("<pad>")
    encoded = [item.ids for item in tokenizer.encode_batch(pairs)]
    order = sorted(range(len(pairs)), key=lambda i: len(encoded[i]))
    found = {}
    with torch.no_grad():
        for first in range(0, len(order), 32):
            chosen = order[first : first + 32]
            batch = collate([encoded[i] for i in chosen], ["supported"] * len(chosen), pad_id)
            probabilities = torch.softmax(logits(model.eval(), batch.ids, batch.mask), -1)
            for i, (supported, _, contradicted) in zip(chosen, probabilities.tolist(), strict=True):
                found[pairs[i]] = supported, contradicted
    return found


def reading(
    pairs: Pairs, read: Mapping[tuple[str, str], tuple[float, float]]
) -> tuple[float, float]:
    """Return the first pair that decides, else the most decisive."""
    found = [read[pair] for pair in pairs]
    return next((one for one in found if max(one) >= HALF), max(found, key=max))


def shipped(claim: Claim, read: Mapping[tuple[str, str], tuple[float, float]]) -> float:
    """Return P(supported) of the whole or, if it is more probable, of the weakest sentence.

    The weakest one counts, too, where one is contradicted more surely than the whole is supported.
    """
    whole, _ = reading(claim.whole, read)
    sentences = [reading(pairs, read) for pairs in claim.sentences]
    weakest = min((supported for supported, _ in sentences), default=0.0)
    if whole < HALF:
        return max(whole, weakest)
    opposed = max((contradicted for _, contradicted in sentences), default=0.0)
    return weakest if opposed >= HALF and opposed > whole else whole


def figures(
    claims: Sequence[Claim], found: Sequence[float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return AUROC and balanced accuracy of each file that has both classes."""
    files: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for claim, p in zip(claims, found, strict=True):
        files[claim.file].append((p, claim.supported))
    areas, accuracies = {}, {}
    for name, rows in files.items():
        scores, truly = np.asarray([p for p, _ in rows]), np.asarray([label for _, label in rows])
        area, accuracy = auroc(scores, truly), balanced_accuracy(scores >= HALF, truly)
        if area is not None and accuracy is not None:
            areas[name], accuracies[name] = area, accuracy
    return areas, accuracies


if __name__ == "__main__":
    main()
