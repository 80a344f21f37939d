"""Calibrates an exported verifier on pairs it has not seen, and writes its card.

    python training/calibrate.py --export DIR --name verifier-v3 --pairs DATA/train.jsonl.gz \
        --skip 160000 --rows 7000 --notes notes.json

`--skip` passes over the rows it was trained on. Only labelled pairs count, not generated ones, and
every data set weighs the same. Probabilities become softmax(logits / temperature + bias), fitted by
maximum likelihood (vector scaling, Guo et al. 2017). The support threshold is the highest with at
most `--missed` of the supported pairs below it, and at least .5: a claim that is more likely not
supported is never called so. The card shows what other thresholds would do.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from pathlib import Path

import numpy as np
import torch
from model import LABELS, losses, target
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

BINS = 10
MAX_TOKENS = 512
SHORT, LONG = 40, 90
"""Tokens of a pair: up to the first it is short, from the second on long."""

DOMAINS = {
    "captions": ("snli_dev85", "cad_nli_train"),
    "mixed genres": ("mnli_dev85", "help_nli"),
    "encyclopaedia": (
        "conjnli_train",
        "fever_nli_part",
        "fever_symmetric_dev",
        "fool_me_twice_dev",
        "vitaminc_sample",
        "wikisplit/part",
        "wikisplit/whole",
        "wikisplit/more",
        "wikisplit/near",
        "wikisplit/other",
    ),
    "news": ("cg2c", "defacto_train"),
    "science": ("citint_train", "entailmentbank_train", "evidence_inference_train", "pubmedqa"),
    "tables": ("infotabs", "tabfact", "wikitablequestions"),
    "questions on texts": ("mctest", "protocols", "qed"),
    "logic": ("folio_train", "proofwriter_train"),
}
"""The labelled data sets by the kind of their texts."""


@dataclass(frozen=True)
class Scored:
    """Pairs as arrays of one length: P(supported), whether truly so, weight, domain, tokens."""

    supported: np.ndarray
    truly: np.ndarray
    weights: np.ndarray
    domains: np.ndarray
    tokens: np.ndarray

    def where(self, chosen: np.ndarray) -> Scored:
        """Return the pairs for which `chosen` is true."""
        return Scored(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def main() -> None:
    """Score, fit, write the card."""
    options = parse()
    pairs = read(options.pairs, options.skip, options.rows)
    logits, tokens = score(options.export, options.name, pairs)
    weights = equal_weights([data_set(pair) for pair in pairs])
    targets = torch.tensor([target(pair["label"]) for pair in pairs])
    temperature, bias = fit(logits, targets, torch.from_numpy(weights))
    scored = Scored(
        torch.softmax(logits / temperature + bias, -1)[:, 0].numpy(),
        np.asarray([pair["label"] == LABELS[0] for pair in pairs]),
        weights,
        np.asarray([domain(pair) for pair in pairs]),
        tokens,
    )
    limit = threshold(scored, options.missed)
    calibration = {
        "temperature": round(temperature, 4),
        "bias": dict(zip(LABELS, (round(float(b), 4) for b in bias), strict=True)),
        "support_threshold": limit,
        "contradiction_threshold": 0.5,
        "reliability": reliability(scored),
        "pairs": len(pairs),
        "by_domain": groups(scored, {name: scored.domains == name for name in DOMAINS}, limit),
        "by_length": by_length(scored, limit),
        "trade_off": trade_off(scored),
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
    parser.add_argument("--rows", type=int, default=7000)
    parser.add_argument("--missed", type=float, default=0.05)
    parser.add_argument(
        "--notes", type=Path, help="JSON to merge into the card: data, figures, limits"
    )
    return parser.parse_args()


def read(path: Path, skip: int, rows: int) -> list[dict]:
    """Return the labelled pairs among the `rows` after the first `skip`."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in islice(file, skip, skip + rows)]
    return [pair for pair in found if domain(pair)]


def data_set(pair: dict) -> str:
    """Return the name of the labelled data set that a pair comes from."""
    return pair["source"].partition("+")[0]


def domain(pair: dict) -> str:
    """Return the kind of a pair's texts, "" for generated pairs."""
    return next((name for name, sets in DOMAINS.items() if data_set(pair) in sets), "")


def equal_weights(names: list[str]) -> np.ndarray:
    """Return weights with which every name weighs the same; their mean is 1."""
    counts = Counter(names)
    return np.asarray([len(names) / (len(counts) * counts[name]) for name in names])


def score(export: Path, name: str, pairs: list[dict]) -> tuple[torch.Tensor, np.ndarray]:
    """Return logits [pairs, 3] of the int8 model, each pair in a run of its own, and lengths."""
    options = SessionOptions()
    options.intra_op_num_threads = 2
    session = InferenceSession(export / f"{name}.int8.onnx", options)
    tokenizer = Tokenizer.from_file(str(export / f"{name}.tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    found, lengths = [], []
    for pair in pairs:
        ids = np.asarray([tokenizer.encode(pair["evidence"], pair["claim"]).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found.append(session.run(["logits"], feed)[0][0])
        lengths.append(ids.size)
    return torch.from_numpy(np.stack(found)), np.asarray(lengths)


def fit(
    logits: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """Return temperature and biases that make the targets most likely; the last bias is 0."""
    log_temperature = torch.zeros(1, requires_grad=True)
    free = torch.zeros(2, requires_grad=True)
    optimiser = torch.optim.LBFGS([log_temperature, free], max_iter=200)

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        bias = torch.cat([free, torch.zeros(1)])
        value = (weights * losses(logits / log_temperature.exp() + bias, targets)).mean()
        value.backward()
        return value

    optimiser.step(closure)
    bias = torch.cat([free.detach(), torch.zeros(1)])
    return float(log_temperature.exp()), bias


def threshold(scored: Scored, missed: float) -> float:
    """Return the threshold that misses at most `missed` of the supported pairs, at least .5."""
    clean = scored.where(scored.truly)
    order = np.argsort(clean.supported)
    below = np.cumsum(clean.weights[order]) / clean.weights.sum()
    found = clean.supported[order][min(int((below <= missed).sum()), len(order) - 1)]
    return round(max(0.5, float(found)), 2)


def rates(scored: Scored, limit: float) -> dict[str, float]:
    """Return the weighted shares of supported and of other pairs that are flagged."""
    flagged = scored.supported < limit
    return {
        name: round(float(np.average(flagged[rows], weights=scored.weights[rows])), 3)
        for name, rows in (("false_positive_rate", scored.truly), ("recall", ~scored.truly))
    }


def group(scored: Scored, limit: float) -> dict[str, float]:
    """Return how well probabilities hold for some of the pairs."""
    return {
        "pairs": len(scored.truly),
        "mean_probability": round(float(scored.supported.mean()), 3),
        "truly_supported": round(float(scored.truly.mean()), 3),
        "expected_calibration_error": round(calibration_error(scored), 3),
        **rates(scored, limit),
    }


def by_length(scored: Scored, limit: float) -> dict[str, dict[str, float]]:
    """Return the same for short, middling and long pairs."""
    parts = {
        f"up to {SHORT} tokens": scored.tokens <= SHORT,
        f"{SHORT + 1} to {LONG - 1}": (scored.tokens > SHORT) & (scored.tokens < LONG),
        f"from {LONG}": scored.tokens >= LONG,
    }
    return groups(scored, parts, limit)


def groups(
    scored: Scored, parts: dict[str, np.ndarray], limit: float
) -> dict[str, dict[str, float]]:
    """Return the same for parts of the pairs, without those that have one label alone."""
    return {
        name: group(scored.where(rows), limit)
        for name, rows in parts.items()
        if len(set(scored.truly[rows].tolist())) == 2
    }


def trade_off(scored: Scored) -> list[dict[str, float]]:
    """Return what each threshold would flag."""
    return [
        {"threshold": limit, **rates(scored, limit)}
        for limit in (round(step / 20, 2) for step in range(1, 20))
    ]


def bins_of(supported: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin."""
    return np.minimum((supported * BINS).astype(int), BINS - 1)


def calibration_error(scored: Scored) -> float:
    """Return the expected calibration error with equally wide bins (Guo et al. 2017)."""
    bins = bins_of(scored.supported)
    gaps = [
        abs(float((scored.supported[bins == i] - scored.truly[bins == i]).sum()))
        for i in range(BINS)
    ]
    return sum(gaps) / len(bins)


def reliability(scored: Scored) -> list[list[float]]:
    """Return for each bin of P(supported) the 95 % Wilson interval of the share truly so."""
    bins = bins_of(scored.supported)
    return [wilson(int(scored.truly[bins == i].sum()), int((bins == i).sum())) for i in range(BINS)]


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
        "check": exported["check"],
        "calibration": calibration,
        **notes,
    }
    path = options.export / f"{options.name}.json"
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
