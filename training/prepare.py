"""Write the training pairs and the probes: `python training/prepare.py --out DIR [--seed 0]`."""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import labelled
from augment import augmented
from programmatic.registry import probe_pairs, programmatic_pairs
from programmatic.sentences import sentence_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from programmatic.base import Pair

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "train"
FROM_TEXT = 24_000
PROBES_EACH = 168


def main() -> None:
    """Prepare the data and print what it is made of."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    train = prepare(options.data, options.seed, options.scale)
    probes = probe_pairs(options.seed, PROBES_EACH)
    seen = {text for pair in train for text in (pair.evidence, pair.claim)}
    kept = [(kind, pair) for kind, pair in probes if not {pair.evidence, pair.claim} & seen]
    write(options.out / "train.jsonl.gz", map(row, train))
    write(options.out / "probes.jsonl.gz", (row(pair) | {"kind": kind} for kind, pair in kept))
    report = statistics(train, [pair for _, pair in kept])
    (options.out / "stats.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _print(report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the labelled files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the generated pairs")
    return parser.parse_args()


def prepare(data: Path, seed: int, scale: float = 1.0) -> list[Pair]:
    """Return all training pairs, shuffled; each pair once."""
    rows = labelled_pairs(data, seed)
    flat = [pair for pairs in rows.values() for pair in pairs]
    made = programmatic_pairs(seed, scale=scale)
    if flat:
        made += sentence_pairs(flat, int(FROM_TEXT * scale), Random(f"{seed}/text"))
    varied = [p for name, pairs in rows.items() for p in augmented(pairs, Random(f"{seed}+{name}"))]
    found = list(unambiguous([*varied, *made]))
    Random(seed).shuffle(found)
    return found


def unambiguous(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield each pair once, and none that is met with two labels."""
    labels: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pair in pairs:
        labels[pair.evidence, pair.claim].add(pair.label)
    for pair in dict.fromkeys(pairs):
        if len(labels[pair.evidence, pair.claim]) == 1:
            yield pair


def labelled_pairs(data: Path, seed: int) -> dict[str, list[Pair]]:
    """Return the pairs of each licensed file, cut but otherwise as they are."""
    paths = labelled.files(data)
    return {labelled.name_of(p): list(labelled.pairs(p, Random(f"{seed}/{p.name}"))) for p in paths}


def row(pair: Pair) -> dict[str, str]:
    """Return a pair as it is written."""
    return {
        "evidence": pair.evidence,
        "claim": pair.claim,
        "label": pair.label,
        "source": pair.source,
    }


def read(path: Path, limit: int | None = None) -> list[dict]:
    """Return the rows of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for _, line in zip(range(limit or 10**9), file, strict=False)]


def write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write rows as gzipped JSON lines, byte for byte the same for the same rows."""
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def statistics(train: Sequence[Pair], probes: Sequence[Pair]) -> dict[str, Any]:
    """Return the counts by source and label, and how much the claim alone gives away."""
    return {
        "train": len(train),
        "probes": len(probes),
        "labels": dict(Counter(pair.label for pair in train)),
        "by_source": _by_source(train),
        "probes_by_source": _by_source(probes),
    }


def _by_source(pairs: Sequence[Pair]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.source].append(pair)
    return {name: _group(found) for name, found in sorted(groups.items())}


def _group(pairs: Sequence[Pair]) -> dict[str, Any]:
    labels = Counter(pair.label for pair in pairs)
    return {"n": len(pairs), **labels, "claims_with_several_labels": several_labels(pairs)}


def several_labels(pairs: Sequence[Pair]) -> float:
    """Return the share of claims that appear with more than one label."""
    labels: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        labels[pair.claim].add(pair.label)
    return round(sum(len(found) > 1 for found in labels.values()) / max(len(labels), 1), 3)


def _print(report: dict[str, Any]) -> None:
    print(f"{report['train']} training pairs {report['labels']}, {report['probes']} probes")
    for part in ("by_source", "probes_by_source"):
        for name, entry in report[part].items():
            print(f"{name:40} {entry}")


if __name__ == "__main__":
    main()
