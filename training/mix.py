"""Joins slices of prepared pairs for a run, without what is held back for calibration.

    python training/mix.py --held A/train.jsonl.gz:155000: --take A/train.jsonl.gz:70000:155000
        --take B/train.jsonl.gz::75000 --out RUN/train.jsonl.gz

A slice is a file, its first row and the row behind its last, as in Python. Pairs of one claim or
one evidence with a held row are left out, and repeated ones; the rest is shuffled, but rows of one
claim stay together, and of a share they are kept or left out together: a batch then has both sides
of a contrast. `--share 'order/*:not*=0.2'` keeps a fifth of the rows whose source and label begin
so; the first that fits counts. `--most` is how many rows of a source are kept at most. `--attacked`
is the share of rows that get a sentence which addresses the judge (hostile.py), `--distracted` of
those that get one of another source's evidence. `--shorter` and `--longer` than so many estimated
tokens keep the rows of such a length. What was mixed can be taken for another mix.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from hostile import attacked, distracted
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Read the options, mix, and print how many rows there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held", action="append", default=[], help="FILE:FIRST:END, not to be met")
    parser.add_argument("--take", action="append", required=True, help="FILE:FIRST:END")
    parser.add_argument("--share", action="append", default=[], help="SOURCE:LABEL=SHARE to keep")
    parser.add_argument("--shorter", type=int, help="keep rows of at most so many tokens")
    parser.add_argument("--longer", type=int, default=0, help="keep rows of more tokens")
    parser.add_argument("--most", type=int, help="rows of a source to keep at most")
    parser.add_argument("--attacked", type=float, default=0.0)
    parser.add_argument("--distracted", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    held = {row[text] for row in rows(options.held) for text in ("evidence", "claim")}
    found = {
        (row["evidence"], row["claim"]): row
        for row in rows(options.take)
        if row["evidence"] not in held and row["claim"] not in held
        if options.longer < tokens_of(row) <= (options.shorter or inf)
    }
    rng = Random(options.seed)
    shares = {name: float(kept) for name, kept in (text.split("=") for text in options.share)}
    drawn: dict[str, float] = {}
    mixed = [
        row
        for row in found.values()
        if drawn.setdefault(row["claim"], rng.random()) < share_of(row, shares)
    ]
    mixed = list(capped(shuffled(mixed, rng), options.most))
    texts = [(row["source"], row["evidence"]) for row in mixed]
    for row in mixed:
        chance = rng.random()
        if chance < options.attacked:
            row["evidence"], row["claim"] = attacked(row["evidence"], row["claim"], rng)
        elif chance < options.attacked + options.distracted:
            source, other = rng.choice(texts)
            if source != row["source"]:
                row["evidence"] = distracted(row["evidence"], other, rng)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in mixed)
    print(f"{len(mixed)} rows")


def tokens_of(row: dict) -> int:
    """Return the estimated tokens of a row."""
    return estimate_tokens(row["evidence"]) + estimate_tokens(row["claim"])


def shuffled(found: list[dict], rng: Random) -> list[dict]:
    """Return rows in a new order, those of one claim behind each other."""
    claims: dict[str, list[dict]] = defaultdict(list)
    for row in found:
        claims[row["claim"]].append(row)
    groups = list(claims.values())
    rng.shuffle(groups)
    return [row for group in groups for row in group]


def capped(found: list[dict], most: int | None) -> Iterator[dict]:
    """Yield at most `most` rows of a source; what is behind a plus is the same source."""
    met: Counter[str] = Counter()
    for row in found:
        source = row["source"].partition("+")[0]
        met[source] += 1
        if most is None or met[source] <= most:
            yield row


def share_of(row: dict, shares: dict[str, float]) -> float:
    """Return the share of such rows to keep: all, unless a share is named."""
    name = f"{row['source']}:{row['label']}"
    fitting = (kept for pattern, kept in shares.items() if fnmatchcase(name, f"{pattern}*"))
    return next(fitting, 1.0)


def rows(slices: list[str]) -> list[dict]:
    """Return the rows of slices `FILE:FIRST:END`."""
    found = []
    for text in slices:
        path, first, end = text.rsplit(":", 2)
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = file.readlines()[int(first or 0) : int(end) if end else None]
        found += map(json.loads, lines)
    return found


if __name__ == "__main__":
    main()
