"""Claims per second of `check`, against the bare model session fed the same pairs.

The pairs are those that the verifier sends for a 10-claim answer and three sources of 2,000 words,
in the batches in which it sends them. `check` reads, cuts and ranks the sources, extracts the
claims, scores the pairs and judges them. The bare session (a) only tokenises and runs the pairs,
(b) only runs them; both with one pair to a run and a run to each core, the longest first, as the
product does. All three are warm and measured in turns. The ratio is the median over the rounds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
    timed_anew,
    wall,
)
from _texts import case
from veridical import SyncVerifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxruntime import InferenceSession

CLAIMS = 10
LEAST = 0.85
CHECK, TOKENISED, BARE = "veridical.check", "bare (a): tokenise and run", "bare (b): run only"


def main() -> None:
    """Measure in turns, print the page."""
    chosen = options(__doc__, rounds=15)
    found, pairs = measure(chosen.rounds)
    ratio = speed_ratio(found[CHECK], found[BARE])
    required = Requirement(
        f"check reaches {LEAST:.0%} of the bare session (b)", f"{ratio:.1%}", ratio >= LEAST
    )
    publish(Page("Throughput", lines(found, pairs), [required]), __doc__, chosen)


def measure(rounds: int) -> tuple[dict[str, list[Timing]], int]:
    """Return the timings of the three, and how many pairs each of them scores."""
    text = case(CLAIMS)
    batches = recorded(text.answer, text.sources)
    tokens = [encode(batch) for batch in batches]
    session = bare_session(1)
    with SyncVerifier.from_settings() as verifier, ThreadPoolExecutor(CORES) as pool:
        runs = {
            CHECK: lambda: timed_anew(verifier, lambda: verifier.check(text.answer, text.sources)),
            TOKENISED: lambda: timed(lambda: score(map(encode, batches), session, pool)),
            BARE: lambda: timed(lambda: score(tokens, session, pool)),
        }
        return in_turns(runs, rounds), sum(map(len, batches))


def score(
    batches: Sequence[list[list[int]]], session: InferenceSession, pool: ThreadPoolExecutor
) -> None:
    """Run each pair of each batch by itself, as many at once as the pool has threads."""

    def run(ids: list[int]) -> None:
        inputs = np.asarray([ids], dtype=np.int64)
        session.run(["logits"], {"input_ids": inputs, "attention_mask": np.ones_like(inputs)})

    for batch in batches:
        list(pool.map(run, sorted(batch, key=len, reverse=True)))


def lines(found: dict[str, list[Timing]], pairs: int) -> list[str]:
    """Return the table of the three."""
    rows = [
        (
            name,
            f"{CLAIMS / wall(timings):.1f}",
            f"{pairs / wall(timings):.1f}",
            f"{wall(timings) * 1000:.0f}",
            f"{cpu(timings) * 1000:.0f}",
            f"{speed_ratio(timings, found[TOKENISED]):.1%}",
            f"{speed_ratio(timings, found[BARE]):.1%}",
        )
        for name, timings in found.items()
    ]
    head = ("", "claims/s", "pairs/s", "ms", "processor ms", "speed to (a)", "speed to (b)")
    return table(head, rows)


if __name__ == "__main__":
    main()
