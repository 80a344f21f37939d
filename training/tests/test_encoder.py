"""The encoder in plain torch: it says what the form that export.py reads says."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import encoder
import model as exported

SHAPE = encoder.Shape(layers=3, vocabulary=60, width=48, heads=12, middle=64)


def test_its_weights_and_its_numbers_are_those_that_export_reads() -> None:
    torch.manual_seed(0)
    config = transformers.MPNetConfig(
        vocab_size=SHAPE.vocabulary,
        hidden_size=SHAPE.width,
        num_hidden_layers=SHAPE.layers,
        num_attention_heads=SHAPE.heads,
        intermediate_size=SHAPE.middle,
        max_position_embeddings=514,
        num_labels=3,
        layer_norm_eps=1e-5,
    )
    theirs = transformers.MPNetForSequenceClassification(config).eval()
    ours = encoder.Verifier(SHAPE).eval()
    ours.load_state_dict(theirs.state_dict())
    ids = torch.randint(5, 60, (2, 170))
    mask = torch.ones_like(ids)
    ids[1, 90:], mask[1, 90:] = 1, 0
    with torch.no_grad():
        assert torch.allclose(ours(ids, mask), exported.logits(theirs, ids, mask), atol=1e-5)


def test_only_the_embeddings_and_the_bias_by_distance_are_not_trained() -> None:
    names = [name for name, _ in encoder.Verifier(SHAPE).named_parameters()]
    fixed = {name for name in names if not encoder.learns(name)}
    assert fixed == {name for name in names if ".embeddings." in name or "relative" in name}
    assert fixed
