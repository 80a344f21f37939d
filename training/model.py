"""The verifier in torch: a transformer's layers, and a head of three logits on its first token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from transformers import MPNetForSequenceClassification

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ("supported", "not_in_context", "contradicted")
"""The order of the logits; that of the shipped cards."""

NEGATIVE = "not_supported"
"""A two-way label: the two negative classes summed."""


def load_model(base: Path, *, layers: int, frozen: int) -> MPNetForSequenceClassification:
    """Return the base with its `layers` lowest layers, embeddings and `frozen` layers fixed."""
    # This base has no fused attention in transformers 5: "eager" is the one it supports.
    model = MPNetForSequenceClassification.from_pretrained(
        base, num_labels=len(LABELS), attn_implementation="eager", dtype=torch.float32
    )
    model.mpnet.encoder.layer = model.mpnet.encoder.layer[:layers]
    model.config.num_hidden_layers = layers
    fixed = [model.mpnet.embeddings, *model.mpnet.encoder.layer[:frozen]]
    for module in fixed:
        for parameter in module.parameters():
            parameter.requires_grad = False
    return model


def load_tokenizer(base: Path, *, max_tokens: int) -> Tokenizer:
    """Return the base's tokenizer; of what is too long, the longer text loses its end."""
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer


@dataclass(frozen=True)
class Batch:
    """Padded pairs: ids and mask [rows, tokens]; targets [rows, 3], 1 for each admissible label."""

    ids: torch.Tensor
    mask: torch.Tensor
    targets: torch.Tensor


def collate(encoded: list[list[int]], labels: list[str], pad_id: int) -> Batch:
    """Pad pairs to the longest of them."""
    width = max(map(len, encoded))
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
    return Batch(ids, mask, torch.tensor([target(label) for label in labels]))


def target(label: str) -> list[float]:
    """Return 1 for each logit that the label admits, else 0."""
    if label == NEGATIVE:
        return [0.0, 1.0, 1.0]
    return [float(label == known) for known in LABELS]


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean negative log-likelihood of the admissible labels, summed."""
    logs = torch.log_softmax(logits, dim=-1)
    admissible = logs.masked_fill(targets == 0, float("-inf"))
    return -torch.logsumexp(admissible, dim=-1).mean()
