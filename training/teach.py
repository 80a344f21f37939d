"""Writes down what trained weights say of pairs, for a run that is not to forget it.

    python training/teach.py --base BASE --run RUN --data MIX/train.jsonl.gz --out TAUGHT.jsonl.gz
    python training/teach.py --export DIR --name verifier-v4 --data MIX/train.jsonl.gz --out ...

The second asks exported int8 weights, which is faster where products in bf16 are emulated.
Each row gets `teacher`, the probabilities in the order of `LABELS`; `train.py` then learns these in
place of the row's label (learning without forgetting, Li & Hoiem 2016). `--labelled` moves them
part of the way to what they are if the label holds.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from calibrate import score
from model import collate, load_model, load_tokenizer, logits, target
from prepare import read
from train import bucket

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_TOKENS = 4000
DIGITS = 4


def main() -> None:
    """Read the options and write the rows, in their order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="folder of the base model")
    parser.add_argument("--run", type=Path, help="folder of the checkpoint that teaches")
    parser.add_argument("--export", type=Path, help="folder of the exported weights that teach")
    parser.add_argument("--name", help="their name")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--max-tokens", type=int, default=176, help="tokens of a pair")
    parser.add_argument("--labelled", type=float, default=0.0, help="weight of the row's own label")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = read(options.data)
    for i, probabilities in exported(options, rows) if options.export else taught(options, rows):
        rows[i]["teacher"] = blended(probabilities, rows[i]["label"], options.labelled)
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} rows")


def taught(options: argparse.Namespace, rows: list[dict]) -> Iterator[tuple[int, list[float]]]:
    """Yield the number of each row and what the weights say of it."""
    model = load_model(options.base, layers=options.layers, frozen=options.layers).eval()
    model.load_state_dict(torch.load(options.run / "last.pt", weights_only=True)["model"])
    tokenizer = load_tokenizer(options.base, max_tokens=options.max_tokens)
    encoded = [e.ids for e in tokenizer.encode_batch([(r["evidence"], r["claim"]) for r in rows])]
    pad_id = tokenizer.token_to_id("<pad>")
    for plan in bucket([len(ids) for ids in encoded], BATCH_TOKENS):
        batch = collate([encoded[i] for i in plan], [rows[i]["label"] for i in plan], pad_id)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            found = logits(model, batch.ids, batch.mask).float().softmax(-1)
        yield from zip(plan, found.tolist(), strict=True)


def exported(options: argparse.Namespace, rows: list[dict]) -> Iterator[tuple[int, list[float]]]:
    """Yield the number of each row and what the exported weights say of it, uncalibrated."""
    found = score(options.export, options.name, rows)[0].float().softmax(-1)
    yield from enumerate(found.tolist())


def blended(taught: list[float], label: str, weight: float) -> list[float]:
    """Return the teacher's probabilities, moved towards what they are if the label holds."""
    fitting = [max(p, 1e-6) * ok for p, ok in zip(taught, target(label), strict=True)]
    given = [p / sum(fitting) for p in fitting]
    return [round(p + weight * (g - p), DIGITS) for p, g in zip(taught, given, strict=True)]


if __name__ == "__main__":
    main()
