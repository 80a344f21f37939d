"""Builds the rows of each stage from everything that may train weights that ship, and the plan.

    python training/recipe.py --natural NATURAL.jsonl.gz --out ROWS [--scale 1.0]

`ROWS/natural.jsonl.gz`: natural inference alone, evidence whole up to 384 tokens. `mix.jsonl.gz`:
the same as the product cuts it, with written groups, changed sentences and generated pairs, some
of them attacked. `settle.jsonl.gz`: fewer, half of them attacked: what keeps the verifier steady.
`held-*.jsonl.gz` are to measure on; `calibration.jsonl.gz` is held back for `calibrate.py` and
lies beside the stages in `ROWS/apart`. No text of either is met in a stage. `plan.json` is what
`remote.py` works through.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import labelled
import prepare
import written
from augment import augmented
from mentioning import repetitions
from prepare import read
from programmatic.base import NOT_SUPPORTED, Pair, World, generate
from programmatic.registry import SHARES
from programmatic.sentences import sentence_pairs

from hostile import attacked, distracted
from veridical.pipeline.evidence.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

LONGEST = 300
"""Estimated tokens of evidence that is left whole: about 384 with the claim."""

GENERATED_IN_MIX = 0.9
"""Share of each generator's usual pairs; those of order, roles and numbers, twice."""

MORE_OF = ("order/", "roles", "numbers/", "tables", "plain")
NOT_NATURAL = ("proofwriter_train", "help_nli", "folio_train", "entailmentbank_train")
"""Puzzles, templates and steps of proofs: they wait for the mix."""

CALIBRATION_EVERY = 40
"""One text in so many is held back, with all pairs that have it."""

PLAN = {
    "seed": 0,
    "max_tokens": 384,
    "tokens": 16384,
    "dropout": 0.1,
    "steps": [
        {
            "name": "natural",
            "from": "base",
            "rows": ["natural"],
            "epochs": 2,
            "rate": 6e-5,
            "seconds": 300,
        },
        {
            "name": "mixed",
            "from": "natural",
            "rows": ["mix"],
            "epochs": 2,
            "rate": 5e-5,
            "seconds": 360,
        },
        {
            "name": "teacher",
            "from": "mixed",
            "rows": ["settle"],
            "epochs": 1,
            "rate": 2e-5,
            "seconds": 90,
        },
        {
            "name": "six",
            "from": "teacher",
            "keep": [0, 2, 4, 7, 9, 11],
            "taught_by": "teacher",
            "taught": 0.7,
            "rows": ["natural", "mix", "settle"],
            "epochs": 3,
            "rate": 8e-5,
            "dropout": 0.0,
            "seconds": 270,
        },
        {
            "name": "ten",
            "from": "teacher",
            "keep": [0, 1, 2, 3, 4, 6, 7, 8, 10, 11],
            "taught_by": "teacher",
            "taught": 0.7,
            "rows": ["natural", "mix", "settle"],
            "epochs": 1,
            "rate": 5e-5,
            "dropout": 0.0,
            "seconds": 180,
        },
    ],
}


def main() -> None:
    """Read the options, build the rows, and print how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--natural", type=Path, required=True, help="file of natural.py")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--data", type=Path, default=SHARED / "train")
    parser.add_argument("--dev", type=Path, default=SHARED / "dev")
    parser.add_argument("--scale", type=float, default=1.0, help="share of all rows to keep")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    (options.out / "apart").mkdir(parents=True, exist_ok=True)
    stages = built(options)
    for name, pairs in stages.items():
        folder = options.out / "apart" if name == "calibration" else options.out
        prepare.write(folder / f"{name}.jsonl.gz", map(prepare.row, pairs))
        print(f"{name}: {len(pairs)} {dict(Counter(pair.label for pair in pairs))}")
        for source, count in sorted(Counter(pair.source for pair in pairs).items()):
            print(f"    {source:34} {count}")
    (options.out / "plan.json").write_text(json.dumps(PLAN, indent=1) + "\n", encoding="utf-8")


def built(options: argparse.Namespace) -> dict[str, list[Pair]]:
    """Return the pairs of each stage, of the held sets, and those for calibration."""
    rng = Random(options.seed)
    held = {
        "held-mnli": [pair for pair in of_file(options.dev / "mnli_dev15.jsonl.gz") if fits(pair)],
        "held-snli": [pair for pair in of_file(options.dev / "snli_dev15.jsonl.gz") if fits(pair)],
        "held-written": [pair_of(row) for row in written.rows(probe=True)],
    }
    known = {
        text for pairs in held.values() for pair in pairs for text in (pair.evidence, pair.claim)
    }
    natural = [*whole_pairs(options.data, rng), *map(pair_of, read(options.natural))]
    cut = prepare.labelled_pairs(options.data, options.seed)
    shown = [
        p for name, pairs in cut.items() for p in augmented(pairs, Random(f"{options.seed}+{name}"))
    ]
    groups = [pair_of(row) for row in written.rows(probe=False)]
    flat = [pair for pairs in cut.values() for pair in pairs]
    made = [
        *generated(options.seed, options.scale),
        *sentence_pairs(flat, int(24_000 * options.scale), rng),
    ]
    parts = [
        [pair for pair in prepare.unambiguous(part) if not {pair.evidence, pair.claim} & known]
        for part in (natural, [*shown, *map(pair_of, read(options.natural))], groups, made)
    ]
    apart = [pair for part in parts[1:] for pair in part if held_back(pair)]
    parts = [[pair for pair in part if not held_back(pair)] for part in parts]
    parts = [thinned(part, options.scale, rng) for part in parts]
    natural, shown, groups, made = parts
    mix = [
        *disturbed(shown, 0.15, 0.06, rng),
        *disturbed(groups, 0.15, 0.04, rng),
        *disturbed(made, 0.06, 0.0, rng),
        *repetitions([*shown, *groups], 0.06, rng),
    ]
    settle = [
        *disturbed(thinned(shown, 0.16, rng), 0.6, 0.06, rng),
        *disturbed(thinned(groups, 0.22, rng), 0.5, 0.04, rng),
        *disturbed(thinned(made, 0.12, rng), 0.12, 0.0, rng),
        *repetitions([*shown, *groups], 0.02, rng),
    ]
    calibration = thinned(apart, min(1.0, 6000 * options.scale / max(len(apart), 1)), rng)
    held["held-written"] = thinned(held["held-written"], 0.25, Random(0))
    return {"natural": natural, "mix": mix, "settle": settle, "calibration": calibration, **held}


def whole_pairs(folder: Path, rng: Random) -> Iterator[Pair]:
    """Yield the labelled pairs of natural files, those with evidence short enough to stay whole."""
    for path in labelled.files(folder):
        if labelled.name_of(path) not in NOT_NATURAL:
            yield from (pair for pair in of_file(path, rng) if fits(pair))


def of_file(path: Path, rng: Random | None = None) -> Iterator[Pair]:
    """Yield the rows of a file as they are, with the usual spacing."""
    rng = rng or Random(0)
    for row in labelled.read(path):
        text = labelled.spaced(labelled.brackets(labelled.evidence_of(row, rng)))
        claim = labelled.spaced(labelled.claim_of(row))
        if text.strip() and claim.strip():
            yield Pair(text, claim, labelled.label_of(row), labelled.name_of(path))


def fits(pair: Pair) -> bool:
    """Tell whether the evidence is short enough to be read whole."""
    return estimate_tokens(pair.evidence) <= LONGEST


def pair_of(row: dict[str, str]) -> Pair:
    """Return a written row as a pair."""
    return Pair(row["evidence"], row["claim"], row["label"], row["source"])


def generated(seed: int, scale: float) -> Iterator[Pair]:
    """Yield generated pairs, more of the kinds that need many, few that are not in context."""
    rng = Random(f"{seed}/kept")
    for name, (generator, count) in SHARES.items():
        wanted = count * GENERATED_IN_MIX * (2 if name.startswith(MORE_OF) else 1)
        for pair in generate(
            name, generator, World(Random(f"recipe{seed}/{name}")), int(wanted * scale)
        ):
            if (
                not pair.label.startswith("not")
                or pair.label == NOT_SUPPORTED
                or rng.random() < 0.35
            ):
                yield pair


def held_back(pair: Pair) -> bool:
    """Tell whether a pair is kept for calibration: all pairs of an evidence, or none."""
    digest = hashlib.sha256(pair.evidence.encode()).digest()
    return int.from_bytes(digest[:4], "big") % CALIBRATION_EVERY == 0


def thinned(pairs: Iterable[Pair], share: float, rng: Random) -> list[Pair]:
    """Return a share of the pairs, those of one evidence together."""
    kept: dict[str, bool] = {}
    return [pair for pair in pairs if kept.setdefault(pair.evidence, rng.random() < share)]


def disturbed(pairs: list[Pair], hostile: float, distracting: float, rng: Random) -> Iterator[Pair]:
    """Yield pairs, some with a text that addresses the judge, some with a foreign sentence."""
    for pair in pairs:
        chance = rng.random()
        evidence, claim = pair.evidence, pair.claim
        if chance < hostile:
            evidence, claim = attacked(evidence, claim, rng)
        elif chance < hostile + distracting:
            other = rng.choice(pairs)
            if other.source != pair.source:
                evidence = distracted(evidence, other.evidence, rng)
        yield Pair(evidence, claim, pair.label, pair.source)


if __name__ == "__main__":
    main()
