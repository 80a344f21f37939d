"""Pairs as arrays of token ids: each text once, each pair as two numbers and a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LABELS = ("supported", "not_in_context", "contradicted", "not_supported")
"""The first three in the order of the logits; the fourth admits the second and the third."""

START, END, PAD = 0, 2, 1
"""The base's token ids around texts, and behind them."""

BESIDE = 4
"""Tokens of a pair that are of neither text."""


@dataclass(frozen=True)
class Pairs:
    """Texts [tokens] and where each begins [texts + 1]; evidence, claim and label of each pair."""

    tokens: np.ndarray
    starts: np.ndarray
    evidence: np.ndarray
    claim: np.ndarray
    label: np.ndarray
    source: np.ndarray

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.label)

    def lengths(self, most: int) -> np.ndarray:
        """Return the tokens of each pair when shortened to `most`."""
        sizes = np.diff(self.starts.astype(np.int64))
        return np.minimum(sizes[self.evidence] + sizes[self.claim] + BESIDE, most)

    def ids(self, row: int, most: int) -> np.ndarray:
        """Return a pair's token ids; of what is too long, the longer text loses its end."""
        first, second = self._text(self.evidence[row]), self._text(self.claim[row])
        a, b = shortened(len(first), len(second), most - BESIDE)
        return np.concatenate(([START], first[:a], [END, END], second[:b], [END])).astype(np.int64)

    def _text(self, number: int) -> np.ndarray:
        return self.tokens[self.starts[number] : self.starts[number + 1]]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, positions as distances, which shrink better."""
        return {
            "tokens": self.tokens.astype(np.uint16),
            "sizes": np.diff(self.starts.astype(np.int64)).astype(np.uint16),
            "evidence": self.evidence.astype(np.uint32),
            "claim": self.claim.astype(np.uint32),
            "label": self.label.astype(np.uint8),
            "source": self.source.astype(np.uint16),
        }

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Pairs:
        """Return pairs from such arrays."""
        starts = np.concatenate(([0], np.cumsum(arrays["sizes"].astype(np.int64))))
        names = ("evidence", "claim", "label", "source")
        return cls(arrays["tokens"], starts, *(arrays[name] for name in names))


def shortened(first: int, second: int, most: int) -> tuple[int, int]:
    """Return how many tokens of two texts are kept: the longer one gives way first."""
    if first + second <= most:
        return first, second
    small = min(first, second, most // 2)
    if first <= second:
        return min(first, small), most - min(first, small)
    return most - min(second, small), min(second, small)


def padded(pairs: Pairs, rows: Sequence[int], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and mask [rows, tokens] of some pairs, the width a multiple of eight."""
    found = [pairs.ids(row, most) for row in rows]
    width = -(-max(map(len, found)) // 8) * 8
    ids = np.full((len(rows), width), PAD, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for place, tokens in enumerate(found):
        ids[place, : len(tokens)] = tokens
        mask[place, : len(tokens)] = 1
    return ids, mask


def batches(
    rows: np.ndarray, lengths: np.ndarray, tokens: int, rng: np.random.Generator, pool: int = 16384
) -> Iterator[np.ndarray]:
    """Yield row numbers of like length, at most `tokens` when padded; each row once, shuffled."""
    order = rng.permutation(rows)
    for first in range(0, len(order), pool):
        part = order[first : first + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        plans, start = [], 0
        for end in range(1, len(part) + 1):
            full = end < len(part) and (end - start + 1) * _padded(lengths[part[end]]) > tokens
            if full or end == len(part):
                plans.append(part[start:end])
                start = end
        rng.shuffle(plans)
        yield from plans


def _padded(length: int) -> int:
    return -(-int(length) // 8) * 8
