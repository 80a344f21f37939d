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
    model = MPNetForSequenceClassification.from_pretrained(
        base,
        num_labels=len(LABELS),
        dtype=torch.float32,
        # Each pair is seen once: dropout would only cost time.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model.mpnet.encoder.layer = model.mpnet.encoder.layer[:layers]
    model.config.num_hidden_layers = layers
    encoder = model.mpnet.encoder
    fixed = [model.mpnet.embeddings, encoder.relative_attention_bias, *encoder.layer[:frozen]]
    for module in fixed:
        for parameter in module.parameters():
            parameter.requires_grad = False
    return model


def logits(
    model: MPNetForSequenceClassification, ids: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return the logits [rows, 3] of pairs [rows, tokens].

    The head reads the first token alone, so the last layer is computed for that token only: the
    same numbers for a seventh less work with six layers.
    """
    encoder = model.mpnet.encoder
    hidden = model.mpnet.embeddings(input_ids=ids)
    bias = encoder.compute_position_bias(hidden[:1])
    bias = bias.masked_fill(mask[:, None, None, :] == 0, torch.finfo(bias.dtype).min)
    for layer in encoder.layer[:-1]:
        hidden = layer_output(layer, hidden, hidden, bias)
    first = layer_output(encoder.layer[-1], hidden[:, :1], hidden, bias[:, :, :1])
    return model.classifier(first)


def layer_output(
    layer: torch.nn.Module, queries: torch.Tensor, hidden: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Return a layer's output for the tokens `queries` [rows, n, width], which attend to all."""
    attention = layer.attention.attn
    q, k, v = (
        part(tokens).unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)
        for part, tokens in (
            (attention.q, queries),
            (attention.k, hidden),
            (attention.v, hidden),
        )
    )
    # Written out: on processors the backward pass of the fused form takes twice as long.
    shares = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias, dim=-1)
    context = shares.to(v.dtype) @ v
    mixed = attention.o(context.transpose(1, 2).flatten(2))
    middle = layer.attention.LayerNorm(mixed + queries)
    return layer.output(layer.intermediate(middle), middle)


def load_tokenizer(base: Path, *, max_tokens: int) -> Tokenizer:
    """Return the base's tokenizer; of what is too long, the longer text loses its end."""
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "</s>" in a text is text, as for the product
    return tokenizer


@dataclass(frozen=True)
class Batch:
    """Padded pairs: ids and mask [rows, tokens]; targets [rows, 3], `taught` [rows].

    A target is 1 for each admissible label, or, where it is taught, a teacher's probability.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    targets: torch.Tensor
    taught: torch.Tensor


def collate(encoded: list[list[int]], labels: list[str | list[float]], pad_id: int) -> Batch:
    """Pad pairs to the longest of them; a label is a name or a teacher's probabilities."""
    width = max(map(len, encoded))
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
    taught = [not isinstance(label, str) for label in labels]
    targets = [target(label) if isinstance(label, str) else label for label in labels]
    return Batch(ids, mask, torch.tensor(targets), torch.tensor(taught))


def target(label: str) -> list[float]:
    """Return 1 for each logit that the label admits, else 0."""
    if label == NEGATIVE:
        return [0.0, 1.0, 1.0]
    return [float(label == known) for known in LABELS]


def losses(
    logits: torch.Tensor, targets: torch.Tensor, taught: torch.Tensor | None = None
) -> torch.Tensor:
    """Return for each row the negative log-likelihood of its admissible labels, summed.

    Where a row is `taught` it is the cross-entropy with the teacher's probabilities instead.
    """
    logs = torch.log_softmax(logits, dim=-1)
    labelled = -torch.logsumexp(logs.masked_fill(targets == 0, float("-inf")), dim=-1)
    if taught is None:
        return labelled
    return torch.where(taught, -(targets * logs).sum(dim=-1), labelled)


def loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the mean loss of the rows."""
    return losses(logits, batch.targets, batch.taught).mean()
