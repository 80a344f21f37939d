"""Exports a trained verifier: ONNX, vocabulary trimmed, quantised to int8, and checked for parity.

    python training/export.py --base BASE --run RUN --name verifier-v3 --out DIR --pairs PAIRS

Writes `DIR/NAME.fp32.onnx`, `DIR/NAME.int8.onnx`, `DIR/NAME.tokenizer.json` and
`DIR/NAME.export.json` with sizes, checksums and the largest difference in probability between fp32
and int8 on `--pairs`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch
from model import LABELS, load_model, logits
from onnxruntime import InferenceSession
from onnxruntime.quantization import QuantType, quantize_dynamic
from prepare import read
from smooth import smooth
from tokenizers import Tokenizer

SMOOTHING_PAIRS = 300
PARITY_PAIRS = 200


CHECK_PAIR = (
    "The bridge was opened in 1998 and carries nine thousand vehicles a day.",
    "The bridge was opened in 1998.",
)


def main() -> None:
    """Read the options and export."""
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    model = load_model(options.base, layers=options.layers, frozen=0)
    model.load_state_dict(torch.load(options.run / "last.pt", weights_only=True)["model"])
    tokenizer = trim(model, options)
    full, small = (
        options.out / f"{options.name}.fp32.onnx",
        options.out / f"{options.name}.int8.onnx",
    )
    to_onnx(model.eval(), full)
    smooth(model, encoded(tokenizer, options.pairs, SMOOTHING_PAIRS))
    quantise(model, small)
    tokens = options.out / f"{options.name}.tokenizer.json"
    tokens.write_text(tokenizer.to_str(), encoding="utf-8")
    summary = {
        "labels": LABELS,
        "pad_id": tokenizer.token_to_id("<pad>"),
        "megabytes": {path.name: round(path.stat().st_size / 1e6, 1) for path in (full, small)},
        "sha256": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (small, tokens)},
        "parity": parity(full, small, tokenizer, options.pairs),
        "check": self_check(small, tokenizer),
    }
    print(json.dumps(summary, indent=1))
    (options.out / f"{options.name}.export.json").write_text(json.dumps(summary, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, help="word pieces to keep; all by default")
    parser.add_argument("--pairs", type=Path, required=True, help="pairs for counting and parity")
    return parser.parse_args()


def trim(model: torch.nn.Module, options: argparse.Namespace) -> Tokenizer:
    """Keep the word pieces that the data uses most, and every single character."""
    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if not options.vocabulary:
        return tokenizer
    kept = most_used(tokenizer, options.pairs, options.vocabulary)
    raw = json.loads(tokenizer.to_str())
    old = raw["model"]["vocab"]
    new = {piece: i for i, piece in enumerate(sorted(kept, key=old.__getitem__))}
    raw["model"]["vocab"] = new
    renumber(raw, new)
    weights = model.mpnet.embeddings.word_embeddings.weight.data
    rows = torch.tensor([old[piece] for piece in new])
    model.mpnet.embeddings.word_embeddings = torch.nn.Embedding.from_pretrained(
        weights[rows], padding_idx=new["<pad>"]
    )
    return Tokenizer.from_str(json.dumps(raw))


def most_used(tokenizer: Tokenizer, pairs: Path, size: int) -> set[str]:
    """Return the special and one-character pieces, the most frequent, and the first of the rest.

    `size` in all, none of them a placeholder that stands for nothing.
    """
    counts: Counter[str] = Counter()
    for row in read(pairs):
        counts.update(tokenizer.encode(row["evidence"], row["claim"]).tokens)
    vocabulary = tokenizer.get_vocab()
    pieces = [piece for piece in vocabulary if not piece.startswith("[unused")]
    kept = {piece for piece in pieces if len(piece.removeprefix("##")) == 1}
    kept |= {piece for piece in pieces if piece.startswith(("<", "["))}
    often = [piece for piece, _ in counts.most_common()]
    for piece in (*often, *sorted(pieces, key=vocabulary.__getitem__)):
        if len(kept) >= size:
            break
        kept.add(piece)
    return kept


def renumber(raw: dict, new: dict[str, int]) -> None:
    """Give the special tokens of a tokenizer their new numbers."""
    for token in raw["added_tokens"]:
        token["id"] = new[token["content"]]
    for token in raw["post_processor"].get("special_tokens", {}).values():
        token["ids"] = [new[piece] for piece in token["tokens"]]
    for side in ("sep", "cls"):
        if isinstance(raw["post_processor"].get(side), list):
            raw["post_processor"][side][1] = new[raw["post_processor"][side][0]]


def to_onnx(model: torch.nn.Module, path: Path) -> None:
    """Write the model as ONNX: input_ids and attention_mask [batch, seq] -> logits [batch, 3]."""
    ids = torch.ones((2, 8), dtype=torch.long) * 5
    axes = {0: "batch", 1: "seq"}
    torch.onnx.export(
        Logits(model),
        (ids, torch.ones_like(ids)),
        path,
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


class Logits(torch.nn.Module):
    """The model with a tensor for its output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [batch, 3]."""
        return logits(self.model, ids, mask)


def quantise(model: torch.nn.Module, small: Path) -> None:
    """Write a smoothed model with 8-bit matrices and embeddings, activations quantised per run.

    Weights use 7 of their 8 bits: on processors without VNNI the sum of two products of full 8-bit
    numbers overflows 16 bits without any error (docs/decisions/0008-quantisation.md).
    """
    full = small.with_suffix(".smoothed.onnx")
    to_onnx(model.eval(), full)
    graph = onnx.load(full)
    del graph.graph.value_info[:]  # shapes left by the exporter confuse the quantiser
    onnx.save(graph, full)
    quantize_dynamic(
        full,
        small,
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gather"],
    )
    full.unlink()


def encoded(tokenizer: Tokenizer, pairs: Path, count: int, skip: int = 0) -> list[list[int]]:
    """Return the token ids of `count` pairs after the first `skip`."""
    rows = read(pairs, limit=skip + count)[skip:]
    return [tokenizer.encode(row["evidence"], row["claim"]).ids[:512] for row in rows]


def parity(full: Path, small: Path, tokenizer: Tokenizer, pairs: Path) -> dict[str, float]:
    """Return how far probabilities of int8 lie from those of fp32, one pair at a time.

    The pairs are others than those that the smoothing saw.
    """
    sessions = [InferenceSession(p, providers=["CPUExecutionProvider"]) for p in (full, small)]
    differences = []
    for pair in encoded(tokenizer, pairs, PARITY_PAIRS, skip=SMOOTHING_PAIRS):
        ids = np.asarray([pair])
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        first, second = (softmax(s.run(["logits"], feed)[0][0]) for s in sessions)
        differences.append(float(np.abs(first - second).max()))
    return {"mean": round(float(np.mean(differences)), 4), "max": round(max(differences), 4)}


def self_check(small: Path, tokenizer: Tokenizer) -> dict[str, list]:
    """Return a pair's token ids and its logits, to see whether another processor computes right."""
    ids = np.asarray([tokenizer.encode(*CHECK_PAIR).ids])
    session = InferenceSession(small, providers=["CPUExecutionProvider"])
    found = session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
    return {"input_ids": ids[0].tolist(), "logits": [round(float(x), 4) for x in found]}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits."""
    values = np.exp(logits - logits.max())
    return values / values.sum()


if __name__ == "__main__":
    main()
