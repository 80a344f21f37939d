"""Writes many pairs of a few generators.

    python training/focus.py --take order/log=16000 --take roles=9000 --out FOCUS.jsonl.gz

What hangs together (who did what to whom, which came first) is learnt only from many such pairs on
end: among others, a few thousand teach nothing (experiments 24 and 33). The pairs of one claim stay
together, as in `mix.py`.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from prepare import row, write
from programmatic.base import World, generate
from programmatic.registry import SHARES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from programmatic.base import Pair


def main() -> None:
    """Read the options, generate, and print what there is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--take", action="append", required=True, help="NAME=PAIRS")
    parser.add_argument("--lacking", type=float, default=0.1, help="share of 'not in context' kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    wanted = {name: int(pairs) for name, pairs in (text.split("=") for text in options.take)}
    found = list(pairs(wanted, options.lacking, options.seed))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.out, map(row, found))
    print(f"{len(found)} pairs {dict(Counter(pair.source for pair in found))}")


def pairs(wanted: Mapping[str, int], lacking: float, seed: int) -> Iterator[Pair]:
    """Yield each pair once, those of one claim behind each other."""
    rng = Random(seed)
    claims: dict[tuple[str, str], dict[str, Pair]] = defaultdict(dict)
    seen: set[tuple[str, str]] = set()
    for name, count in wanted.items():
        for pair in generate(name, SHARES[name][0], World(Random(f"focus{seed}/{name}")), count):
            if pair.label.startswith("not") and rng.random() > lacking:
                continue
            if (pair.evidence, pair.claim) not in seen:
                seen.add((pair.evidence, pair.claim))
                claims[name, pair.claim][pair.evidence] = pair
    groups = list(claims.values())
    rng.shuffle(groups)
    for group in groups:
        yield from group.values()


if __name__ == "__main__":
    main()
