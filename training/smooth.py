"""Moves what is hard to quantise from activations into weights (SmoothQuant, Xiao et al. 2023).

In some channels a matrix's input is many times larger than in the others; 8 bits that must hold the
largest leave nothing for the rest. Each channel of the input is divided by a factor, and the
matrix's weights for it are multiplied by the same: the product stays what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from model import logits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch.nn import Linear, Module

MIGRATION = 0.75
"""How much of the range goes into the weights: alpha of the paper (experiment 17)."""


class Smoothed(torch.nn.Module):
    """A linear layer whose input is divided by `factors` first."""

    def __init__(self, linear: Linear, factors: torch.Tensor) -> None:
        super().__init__()
        self.linear = linear
        self.linear.weight.data *= factors
        self.inverse = torch.nn.Parameter(1 / factors, requires_grad=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, as it was."""
        return self.linear(hidden * self.inverse)


def smooth(model: Module, pairs: Iterable[list[int]], migration: float = MIGRATION) -> None:
    """Smooth the matrices of all layers, by the ranges that `pairs` of token ids show."""
    groups = list(shared_inputs(model))
    ranges = input_ranges(model, [members[0][2] for members in groups], pairs)
    for members, found in zip(groups, ranges, strict=True):
        weights = torch.cat([linear.weight.data for _, _, linear in members]).abs().amax(0)
        factors = found.pow(migration) / weights.clamp(min=1e-5).pow(1 - migration)
        factors = factors.clamp(min=1e-5)
        for parent, name, linear in members:
            setattr(parent, name, Smoothed(linear, factors))


def shared_inputs(model: Module) -> Iterator[list[tuple[Module, str, Linear]]]:
    """Yield the linear layers that have the same input, with their parents and names."""
    for layer in model.mpnet.encoder.layer:
        attention = layer.attention.attn
        yield [(attention, name, getattr(attention, name)) for name in ("q", "k", "v")]
        yield [(attention, "o", attention.o)]
        yield [(layer.intermediate, "dense", layer.intermediate.dense)]
        yield [(layer.output, "dense", layer.output.dense)]


def input_ranges(
    model: Module, linears: list[Linear], pairs: Iterable[list[int]]
) -> list[torch.Tensor]:
    """Return for each layer the largest magnitude of each channel of its input."""
    found = [torch.full((linear.in_features,), 1e-5) for linear in linears]

    def watch(largest: torch.Tensor) -> Callable[[Module, tuple[torch.Tensor, ...]], None]:
        def look(_: Module, inputs: tuple[torch.Tensor, ...]) -> None:
            largest.copy_(torch.maximum(largest, inputs[0].abs().flatten(0, -2).amax(0)))

        return look

    hooks = [
        linear.register_forward_pre_hook(watch(largest))
        for linear, largest in zip(linears, found, strict=True)
    ]
    with torch.no_grad():
        for ids in pairs:
            tokens = torch.tensor([ids])
            logits(model, tokens, torch.ones_like(tokens))
    for hook in hooks:
        hook.remove()
    return found
