"""Writes pairs of natural inference from public data sets that the labelled files lack.

    python training/natural.py --mirrors MIRRORS --out NATURAL.jsonl.gz

`MIRRORS/owner+name/repo` is a bare clone of each repository (`git clone --bare`); `sources/` says
what each is, where it is from and under which licence. Pairs that share a claim or nine words on
end with a development file are left out. With `--show 20` it prints so many pairs of each source,
to be read.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from overlap import Known, pairs_of
from prepare import row, unambiguous, write
from sources import reading, splits, tables
from sources.git_files import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from programmatic.base import Pair

DEV = Path(__file__).resolve().parents[2] / "shared" / "data" / "dev"

READERS: dict[str, tuple[str, Callable[[Repository, Random], Iterator[Pair]]]] = {
    "infotabs": ("infotabs/infotabs", tables.infotabs),
    "tabfact": ("wenhuchen/Table-Fact-Checking", tables.tabfact),
    "wikitablequestions": ("ppasupat/WikiTableQuestions", tables.wiki_questions),
    "mctest": ("salesforce/DocNLI", reading.mctest),
    "protocols": ("nyu-mll/crowdsourcing-protocol-comparison", reading.protocols),
    "qed": ("google-research-datasets/QED", reading.qed),
    "pubmedqa": ("pubmedqa/pubmedqa", reading.pubmed),
    "wikisplit": ("google-research-datasets/wiki-split", splits.wiki_split),
}


def main() -> None:
    """Read the options, gather the pairs, and print how many each source has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirrors", type=Path, required=True, help="folder of the bare clones")
    parser.add_argument("--only", action="append", choices=READERS, help="a source; all by default")
    parser.add_argument("--known", type=Path, default=DEV, help="folder of files not to be met")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="pairs of each source to print")
    parser.add_argument("--out", type=Path, help="file to write")
    options = parser.parse_args()
    found = gathered(options.mirrors, options.only or list(READERS), options.seed)
    kept = found if options.show else fresh(found, Known(pairs_of(options.known)))
    if options.show:
        show(kept, options.show, Random(options.seed))
    if options.out:
        Random(options.seed).shuffle(kept)
        write(options.out, map(row, kept))
    report(found, kept)


def gathered(mirrors: Path, names: list[str], seed: int) -> list[Pair]:
    """Return the pairs of the sources, each once."""
    found: list[Pair] = []
    for name in names:
        repository, read = READERS[name]
        found += read(Repository(mirrors, repository), Random(f"{seed}/{name}"))
    return list(unambiguous(found))


def fresh(pairs: list[Pair], known: Known) -> list[Pair]:
    """Return the pairs that share nothing with known data."""
    return [pair for pair in pairs if not known.shares(pair.evidence, pair.claim)]


def show(pairs: list[Pair], count: int, rng: Random) -> None:
    """Print some pairs of each source."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.source].append(pair)
    for group in groups.values():
        for pair in rng.sample(group, min(count, len(group))):
            print(json.dumps(row(pair), ensure_ascii=False))


def report(found: list[Pair], kept: list[Pair]) -> None:
    """Print how many pairs of each source there are, by label, and how many were left out."""
    met = Counter(pair.source for pair in found)
    labels = Counter((pair.source, pair.label) for pair in kept)
    for source in sorted(met):
        counts = {label: n for (name, label), n in sorted(labels.items()) if name == source}
        print(f"{source:20} {sum(counts.values()):6} of {met[source]:6} {counts}")
    print(f"{len(kept)} pairs")


if __name__ == "__main__":
    main()
