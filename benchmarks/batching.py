"""Three batching schemes for the same pairs: their speed, and their effect on the probabilities.

- (a) naive: batches of 16 in the order given, padded to the longest pair of the batch;
- (a') the same, padded to the longest of all pairs;
- (b) length-bucketed: sorted by length, then batches of 16, padded to the longest of the batch;
- (c) the product: one pair to a run, unpadded, one run to a core.

(a) and (b) run one batch at a time on all cores. The pairs are those that the verifier sends for a
10-claim answer. All ways are measured in turns; the speed to (a) is the median over the rounds.
Deviation is the difference of P(supported) from the pair scored alone, (c): the int8 weights
quantise activations over the whole batch, so that neighbours and padding move the result.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from _common import (
    CORES,
    Page,
    Requirement,
    Timing,
    bare_session,
    cpu,
    encode,
    in_turns,
    options,
    publish,
    recorded,
    speed_ratio,
    table,
    timed,
    wall,
)
from _texts import case, chunks
from veridical.pipeline.inference.card import load_card
from veridical.pipeline.inference.embedded import DEFAULT_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxruntime import InferenceSession

    from _texts import Case

SIZE = 16
NAIVE = "(a) naive"
PADDED = "(a') naive, all to one length"
BUCKETED = "(b) length-bucketed"
ALONE = "(c) one pair to a run"
SETS = {
    "Three sources of 2,000 words": case,
    "The same sources as a retriever's chunks of 10 to 200 words": chunks,
}

Pairs = list[list[int]]


@dataclass(frozen=True)
class Found:
    """Of each way, the timings and P(supported) of every pair."""

    pairs: Pairs
    timings: dict[str, list[Timing]]
    supported: dict[str, np.ndarray]


class Ways:
    """The ways to score one list of pairs; each returns P(supported) in the order given."""

    def __init__(self, pairs: Pairs, pool: ThreadPoolExecutor) -> None:
        self._pairs = pairs
        self._pool = pool
        self._wide, self._narrow = bare_session(CORES), bare_session(1)
        self.all: dict[str, Callable[[], np.ndarray]] = {
            NAIVE: self.naive,
            PADDED: self.padded,
            BUCKETED: self.bucketed,
            ALONE: self.alone,
        }

    def naive(self) -> np.ndarray:
        """Score batches in the order given."""
        return self._batches(range(len(self._pairs)))

    def padded(self) -> np.ndarray:
        """Score batches in the order given, all of one length."""
        return self._batches(range(len(self._pairs)), max(map(len, self._pairs)))

    def bucketed(self) -> np.ndarray:
        """Score batches of pairs of about the same length."""
        return self._batches(sorted(range(len(self._pairs)), key=lambda i: -len(self._pairs[i])))

    def alone(self) -> np.ndarray:
        """Score each pair by itself, the longest first."""
        order = sorted(range(len(self._pairs)), key=lambda i: -len(self._pairs[i]))
        found = self._pool.map(lambda i: run(self._narrow, [self._pairs[i]]), order)
        return _ordered(order, [supported for batch in found for supported in batch])

    def _batches(self, order: Sequence[int], length: int = 0) -> np.ndarray:
        batches = [order[start : start + SIZE] for start in range(0, len(order), SIZE)]
        found = [run(self._wide, [self._pairs[i] for i in batch], length) for batch in batches]
        return _ordered(order, list(chain.from_iterable(found)))


def main() -> None:
    """Measure both sets of pairs, print the page."""
    chosen = options(__doc__, rounds=7)
    lines, required = [], []
    for title, texts in SETS.items():
        found = measure(texts(), chosen.rounds)
        ratio = speed_ratio(found.timings[BUCKETED], found.timings[NAIVE])
        wanted = f"length-bucketed beats naive padding: {title[0].lower()}{title[1:]}"
        required.append(Requirement(wanted, f"{ratio:.2f} times as fast", ratio > 1))
        lines += section(title, found)
    publish(Page("Batching", lines, required), __doc__, chosen)


def measure(texts: Case, rounds: int) -> Found:
    """Time every way on the pairs that the verifier sends for an answer, then compare results."""
    pairs = [ids for batch in recorded(texts.answer, texts.sources) for ids in encode(batch)]
    with ThreadPoolExecutor(CORES) as pool:
        ways = Ways(pairs, pool).all
        timings = in_turns({name: _timing(way) for name, way in ways.items()}, rounds)
        return Found(pairs, timings, {name: way() for name, way in ways.items()})


def run(session: InferenceSession, batch: Pairs, length: int = 0) -> list[float]:
    """Return P(supported) of pairs padded to the longest of them, or to `length`."""
    card = load_card(DEFAULT_MODEL)
    length = max(length, *map(len, batch))
    ids = np.array([pair + [card.pad_id] * (length - len(pair)) for pair in batch], np.int64)
    mask = np.array([[1] * len(pair) + [0] * (length - len(pair)) for pair in batch], np.int64)
    (logits,) = session.run(["logits"], {"input_ids": ids, "attention_mask": mask})
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities[:, card.labels.index("supported")].tolist()


def _timing(way: Callable[[], np.ndarray]) -> Callable[[], Timing]:
    return lambda: timed(way)


def _ordered(order: Sequence[int], values: Sequence[float]) -> np.ndarray:
    result = np.empty(len(order))
    result[list(order)] = values
    return result


def section(title: str, found: Found) -> list[str]:
    """Return heading, lengths and table of one set of pairs."""
    lengths = sorted(map(len, found.pairs))
    rows = [_row(name, found) for name in found.timings]
    head = ("", "pairs/s", "processor ms/pair", "speed to (a)", "largest deviation", "mean")
    return [
        f"## {title}",
        "",
        f"{len(lengths)} pairs of {lengths[0]} to {lengths[-1]} tokens, median {median(lengths)}.",
        "",
        *table(head, rows),
    ]


def _row(name: str, found: Found) -> tuple[str, ...]:
    timings, count = found.timings[name], len(found.pairs)
    deviation = np.abs(found.supported[name] - found.supported[ALONE])
    return (
        name,
        f"{count / wall(timings):.1f}",
        f"{cpu(timings) / count * 1000:.1f}",
        f"{speed_ratio(timings, found.timings[NAIVE]):.2f}",
        f"{deviation.max():.3f}",
        f"{deviation.mean():.4f}",
    )


if __name__ == "__main__":
    main()
