"""Fixed, balanced sample of the labelled development pool, with the passages of each claim."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.sources import as_sources
from veridical.core.types import CitationRef, Span
from veridical.evaluation.dataset import read_datasets
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve_citations
from veridical.pipeline.evidence.scrubbing import merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from veridical.core.types import Passage, Source
    from veridical.evaluation.dataset import Dataset
    from veridical.evaluation.rows import Row

DEV = Path(__file__).parents[2] / "shared" / "data" / "dev"
NOT_PAIRS = ("p0__", "quote_", "traces_")
ROUNDS = 7
WINDOWS = 2
"""What a language model gets, and so all ways but the embedded verifier, which chooses itself."""
SEED = 0


@dataclass(frozen=True)
class Item:
    """A labelled claim, the passages that are chosen for it, and their union."""

    file: str
    row: Row
    passages: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        """Id of the row in its file."""
        return self.row.id

    @cached_property
    def key(self) -> str:
        """Identify the claim, its label and what is read, without a word of them."""
        read = [self.file, self.row.id, self.row.claim, self.row.supported, *self.passages]
        return sha256(json.dumps(read).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Sample:
    """The items, and the whole files that they are from."""

    datasets: tuple[Dataset, ...]
    items: tuple[Item, ...]

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the files' names and the rows' ids, in order."""
        ids = [[item.file, item.row.id] for item in self.items]
        return sha256(json.dumps(ids).encode()).hexdigest()


def draw(limit: int) -> Sample:
    """Return the first `limit` rows: rounds of one supported and one other row of each file."""
    paths = [p for p in sorted(DEV.glob("*.jsonl.gz")) if not p.name.startswith(NOT_PAIRS)]
    if not paths:
        sys.exit("the labelled data is not here: ../shared/data/dev, seen from the checkout")
    datasets = tuple(_without_phantoms(dataset) for dataset in read_datasets(paths))
    return Sample(datasets, tuple(_item(*one) for one in islice(_rounds(datasets), limit)))


def _without_phantoms(dataset: Dataset) -> Dataset:
    """Leave out rows that cite an id that does not exist: reading has no part in them."""
    rows = [row for row in dataset.rows if {s.id for s in row.sources}.issuperset(row.cites)]
    return replace(dataset, rows=tuple(rows))


def _rounds(datasets: Sequence[Dataset]) -> Iterator[tuple[str, Row]]:
    drawn = [(d.name, _drawn(d, supported=True), _drawn(d, supported=False)) for d in datasets]
    for number in range(ROUNDS):
        for name, *classes in drawn:
            for rows in classes:
                yield from ((name, row) for row in rows[number : number + 1])


def _drawn(dataset: Dataset, *, supported: bool) -> tuple[Row, ...]:
    rows = tuple(row for row in dataset.rows if row.supported == supported)
    return replace(dataset, rows=rows).sample(ROUNDS, SEED).rows


def _item(file: str, row: Row) -> Item:
    sources = as_sources(row.sources)
    whole = Span(0, len(row.claim))
    citations = resolve_citations([CitationRef(cited, whole) for cited in row.cites], sources)
    binder = Binder(Corpus(sources, split_sentences), windows=WINDOWS)
    passages = binder.bind(row.claim, citations).with_evidence
    return Item(file, row, tuple(p.text for p in passages), _union(passages, sources))


def _union(passages: Sequence[Passage], sources: Mapping[str, Source]) -> str:
    """Return what the passages hold, in the order of the sources, nothing twice."""
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for piece in (piece for passage in passages for piece in passage.pieces):
        spans[piece.source].append(piece.span)
    found = [span.of(sources[key].text) for key in sources for span in merge(spans[key])]
    return "\n".join(text.strip() for text in found)
