"""Calibrates an exported verifier on pairs it has not seen, and writes its card.

    python training/calibrate.py --export DIR --name verifier-v1 --pairs DATA/train.jsonl.gz \
        --skip 160000 --rows 4000 --notes notes.json

`--skip` passes over the rows it was trained on. Probabilities become softmax(logits / temperature +
bias), fitted by maximum likelihood (vector scaling, Guo et al. 2017). The support threshold is the
highest with at most `--missed` of the supported pairs below it, and at least .5: a claim that is
more likely not supported is never called so.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import islice
from math import sqrt
from pathlib import Path

import numpy as np
import torch
from model import LABELS, loss, target
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

BINS = 10
MAX_TOKENS = 512


def main() -> None:
    """Score, fit, write the card."""
    options = parse()
    pairs = read(options.pairs, options.skip, options.rows)
    logits = score(options.export, options.name, pairs)
    targets = torch.tensor([target(pair["label"]) for pair in pairs])
    temperature, bias = fit(logits, targets)
    supported = torch.softmax(logits / temperature + bias, -1)[:, 0].numpy()
    truly = np.asarray([pair["label"] == LABELS[0] for pair in pairs])
    calibration = {
        "temperature": round(temperature, 4),
        "bias": dict(zip(LABELS, (round(float(b), 4) for b in bias), strict=True)),
        "support_threshold": threshold(supported[truly], options.missed),
        "contradiction_threshold": 0.5,
        "reliability": reliability(supported, truly),
        "rows": len(pairs),
    }
    write_card(options, calibration)
    print(json.dumps(calibration, indent=1))


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--export", type=Path, required=True, help="folder that export.py wrote")
    parser.add_argument("--name", required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--skip", type=int, required=True)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--missed", type=float, default=0.05)
    parser.add_argument(
        "--notes", type=Path, help="JSON to merge into the card: data, figures, limits"
    )
    return parser.parse_args()


def read(path: Path, skip: int, rows: int) -> list[dict]:
    """Return `rows` pairs after the first `skip`."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, skip, skip + rows)]


def score(export: Path, name: str, pairs: list[dict]) -> torch.Tensor:
    """Return the logits [pairs, 3] of the int8 model, each pair in a run of its own."""
    options = SessionOptions()
    options.intra_op_num_threads = 2
    session = InferenceSession(export / f"{name}.int8.onnx", options)
    tokenizer = Tokenizer.from_file(str(export / f"{name}.tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    found = []
    for pair in pairs:
        ids = np.asarray([tokenizer.encode(pair["evidence"], pair["claim"]).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found.append(session.run(["logits"], feed)[0][0])
    return torch.from_numpy(np.stack(found))


def fit(logits: torch.Tensor, targets: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Return temperature and biases that make the targets most likely; the last bias is 0."""
    log_temperature = torch.zeros(1, requires_grad=True)
    free = torch.zeros(2, requires_grad=True)
    optimiser = torch.optim.LBFGS([log_temperature, free], max_iter=200)

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        bias = torch.cat([free, torch.zeros(1)])
        value = loss(logits / log_temperature.exp() + bias, targets)
        value.backward()
        return value

    optimiser.step(closure)
    bias = torch.cat([free.detach(), torch.zeros(1)])
    return float(log_temperature.exp()), bias


def threshold(supported: np.ndarray, missed: float) -> float:
    """Return the threshold that misses at most `missed` of the supported pairs, at least .5."""
    return round(max(0.5, float(np.quantile(supported, missed))), 2)


def reliability(supported: np.ndarray, truly: np.ndarray) -> list[list[float]]:
    """Return for each bin of P(supported) the 95 % Wilson interval of the share truly so."""
    bins = np.minimum((supported * BINS).astype(int), BINS - 1)
    return [wilson(int(truly[bins == i].sum()), int((bins == i).sum())) for i in range(BINS)]


def wilson(successes: int, trials: int, z: float = 1.96) -> list[float]:
    """Return the Wilson score interval of a proportion (Wilson 1927)."""
    if not trials:
        return [0.0, 1.0]
    p, shrink = successes / trials, 1 + z * z / trials
    centre = (p + z * z / (2 * trials)) / shrink
    half = z * sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials)) / shrink
    return [round(max(0.0, centre - half), 3), round(min(1.0, centre + half), 3)]


def write_card(options: argparse.Namespace, calibration: dict) -> None:
    """Write the card beside the weights, as the package reads it."""
    exported = json.loads((options.export / f"{options.name}.export.json").read_text())
    notes = json.loads(options.notes.read_text()) if options.notes else {}
    card = {
        "name": options.name,
        "weights": f"{options.name}.int8.onnx",
        "tokenizer": f"{options.name}.tokenizer.json",
        "labels": exported["labels"],
        "max_tokens": MAX_TOKENS,
        "pad_id": exported["pad_id"],
        "sha256": exported["sha256"],
        "parity_int8_fp32": exported["parity"],
        "calibration": calibration,
        **notes,
    }
    path = options.export / f"{options.name}.json"
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
