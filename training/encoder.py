"""The verifier in plain torch, for a machine that has nothing else: MPNet's layers and a head.

Its weights have the names that `model.py` reads. Attention is torch's own fused form, and the head
reads the first token alone, so the last layer is computed for that token only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, MIDDLE, BUCKETS, FARTHEST, POSITIONS = 768, 12, 3072, 32, 128, 514


@dataclass(frozen=True)
class Shape:
    """The sizes of a model."""

    layers: int
    vocabulary: int
    width: int = WIDTH
    heads: int = HEADS
    middle: int = MIDDLE


class Verifier(nn.Module):
    """A cross-encoder of three logits."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape, self.dropout = shape, dropout
        self.mpnet = nn.ModuleDict(
            {
                "embeddings": nn.ModuleDict(
                    {
                        "word_embeddings": nn.Embedding(
                            shape.vocabulary, shape.width, padding_idx=1
                        ),
                        "position_embeddings": nn.Embedding(POSITIONS, shape.width, padding_idx=1),
                        "LayerNorm": nn.LayerNorm(shape.width, eps=1e-5),
                    }
                ),
                "encoder": nn.ModuleDict(
                    {
                        "layer": nn.ModuleList(Layer(shape) for _ in range(shape.layers)),
                        "relative_attention_bias": nn.Embedding(BUCKETS, shape.heads),
                    }
                ),
            }
        )
        self.classifier = nn.ModuleDict(
            {"dense": nn.Linear(shape.width, shape.width), "out_proj": nn.Linear(shape.width, 3)}
        )

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [rows, 3] of pairs [rows, tokens]."""
        hidden = self.drop(self.embedded(ids, mask))
        seen = (
            self.bias(ids.shape[1], hidden) + (1.0 - mask[:, None, None, :].to(hidden.dtype)) * -1e4
        )
        kind = hidden.device.type
        if torch.is_autocast_enabled(kind):
            seen = seen.to(torch.get_autocast_dtype(kind))  # once, not in every layer
        *layers, last = self.mpnet["encoder"]["layer"]
        for layer in layers:
            hidden = layer(hidden, hidden, seen, self.drop)
        first = last(hidden[:, :1], hidden, seen[:, :, :1], self.drop)[:, 0]
        middle = torch.tanh(self.classifier["dense"](self.drop(first)))
        return self.classifier["out_proj"](self.drop(middle)).float()

    def drop(self, values: torch.Tensor) -> torch.Tensor:
        """Return values, a share of them dropped while training."""
        return functional.dropout(values, self.dropout, self.training)

    def embedded(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return words and places; places count from two, those of padding are one."""
        parts = self.mpnet["embeddings"]
        places = torch.cumsum(mask, dim=1) * mask + 1
        return parts["LayerNorm"](
            parts["word_embeddings"](ids) + parts["position_embeddings"](places)
        )

    def bias(self, tokens: int, hidden: torch.Tensor) -> torch.Tensor:
        """Return what attention adds by distance [1, heads, tokens, tokens]."""
        table = self.mpnet["encoder"]["relative_attention_bias"]
        places = torch.arange(tokens, device=hidden.device)
        values = table(buckets(places[None, :] - places[:, None]))
        return values.permute(2, 0, 1)[None].to(hidden.dtype)


class Layer(nn.Module):
    """Attention and two matrices, each with its sum and norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.attention = nn.ModuleDict(
            {
                "attn": nn.ModuleDict(
                    {name: nn.Linear(shape.width, shape.width) for name in ("q", "k", "v", "o")}
                ),
                "LayerNorm": nn.LayerNorm(shape.width, eps=1e-5),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(shape.width, shape.middle)})
        self.output = nn.ModuleDict(
            {
                "dense": nn.Linear(shape.middle, shape.width),
                "LayerNorm": nn.LayerNorm(shape.width, eps=1e-5),
            }
        )

    def forward(
        self, queries: torch.Tensor, hidden: torch.Tensor, seen: torch.Tensor, drop: object
    ) -> torch.Tensor:
        """Return the layer's output for `queries`, which attend to all of `hidden`."""
        parts = self.attention["attn"]
        q, k, v = (
            parts[name](tokens).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for name, tokens in (("q", queries), ("k", hidden), ("v", hidden))
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen.to(q.dtype))
        mixed = drop(parts["o"](mixed.transpose(1, 2).flatten(2)))
        middle = self.attention["LayerNorm"](mixed + queries)
        wide = functional.gelu(self.intermediate["dense"](middle))
        return self.output["LayerNorm"](drop(self.output["dense"](wide)) + middle)


def buckets(distance: torch.Tensor) -> torch.Tensor:
    """Return the bucket of each distance: near ones have their own, far ones share by logarithm."""
    half = BUCKETS // 2
    side = (distance > 0).long() * half
    far = distance.abs()
    near = half // 2
    scaled = (
        near
        + (
            torch.log(far.clamp(min=1).float() / near) / math.log(FARTHEST / near) * (half - near)
        ).long()
    )
    return side + torch.where(far < near, far, scaled.clamp(max=half - 1))


def learns(name: str) -> bool:
    """Tell whether a weight is trained: all but the embeddings and what attention adds by distance.

    The latter is left alone as in `train.py`; the fused attention is then sure to be taken.
    """
    return not name.startswith(("mpnet.embeddings.", "mpnet.encoder.relative_attention_bias."))


def named(name: str) -> str:
    """Return a weight's name of the base as the verifier's."""
    return name if name.startswith(("mpnet.", "classifier.")) else f"mpnet.{name}"
