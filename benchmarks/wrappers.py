"""Overhead of the wrappers around a backend per claim, and savings of a warm cache.

The queries are those that the verifier sends for a 10-claim answer and three sources of 2,000
words, in the batches in which it sends them: several queries a claim. First they are put to a
backend that answers at once, bare and with each wrapper, so that only the wrapper is measured.
`all` is cache, deadline, retries, limits, budget and circuit breaker together, with a cache that
knows nothing yet; a request carries one query, or (`batch`) 64. Then they are put to the embedded
model, and to a cache in front of it that has seen them. All are warm and measured in turns, in one
event loop.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from _common import (
    Page,
    Requirement,
    Timing,
    cpu,
    in_turns,
    options,
    publish,
    recorded,
    speed_ratio,
    table,
    timed,
    wall,
)
from _texts import case
from veridical.core.measurements import Estimate, Query
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.wrappers import wrap
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyio.from_thread import BlockingPortal

    from veridical.core.measurements import Measurement
    from veridical.core.ports import Backend

CLAIMS = 10
MOST_MS = 1.0
LEAST_TIMES = 100
BARE, ALL, BATCH = "bare, answers at once", "all", "all, batch 64"
MODEL, FILE, MEMORY = "embedded model", "its warm cache, SQLite", "its warm cache, memory"

_EACH: dict[str, dict[str, Any]] = {
    "deadline": {"deadline_s": 60},
    "retries": {"attempts": 3},
    "limits": {"concurrency": 8, "requests_per_minute": 10**7, "tokens_per_minute": 10**10},
    "budget": {"max_cost_usd": 1e9, "price": lambda usage: usage.input_tokens * 1e-9},
    "breaker": {"breaker_failures": 5},
}
_TOGETHER = {name: value for options_ in _EACH.values() for name, value in options_.items()}


def main() -> None:
    """Measure in turns, print the page."""
    chosen = options(__doc__, rounds=15)
    text = case(CLAIMS)
    batches = recorded(text.answer, text.sources)
    with TemporaryDirectory() as folder, start_blocking_portal() as portal:
        small = in_turns(instant(batches, Path(folder), portal), chosen.rounds)
        cached, same = warm(batches, Path(folder), portal)
        large = in_turns(cached, chosen.rounds)
    lines_ = [*overhead(small), *savings(large, sum(map(len, batches)))]
    publish(Page("Wrappers", lines_, requirements(small, large, same=same)), __doc__, chosen)


# --- what is measured ------------------------------------------------------------------------


def instant(
    batches: Sequence[Sequence[Query]], folder: Path, portal: BlockingPortal
) -> dict[str, Callable[[], Timing]]:
    """Return the runs against a backend that answers at once."""
    answer = replace(fake_estimate(0.9), tokens=300, cost_usd=1e-7)
    fake = FakeBackend(lambda _: answer)
    runs = {BARE: _run(fake, batches, portal)}
    for name, chosen in _EACH.items():
        runs[name] = _run(wrap(fake, **chosen), batches, portal)
    for name, size in ((ALL, 1), (BATCH, 64)):
        backend = wrap(fake, cache=folder / f"{size}.db", batch=size, **_TOGETHER)
        runs[name] = _fresh(backend, batches, portal)
    return runs


def _run(
    backend: Backend, batches: Sequence[Sequence[Query]], portal: BlockingPortal
) -> Callable[[], Timing]:
    return lambda: timed(lambda: ask(backend, batches, portal))


def _fresh(
    backend: Backend, batches: Sequence[Sequence[Query]], portal: BlockingPortal
) -> Callable[[], Timing]:
    """Ask each time what was not asked before, so that the cache looks up, asks and stores."""
    numbers: Iterator[int] = count()

    def run() -> Timing:
        number = next(numbers)
        new = [[replace(q, claim=f"{q.claim} {number}") for q in batch] for batch in batches]
        return timed(lambda: ask(backend, new, portal))

    return run


def warm(
    batches: Sequence[Sequence[Query]], folder: Path, portal: BlockingPortal
) -> tuple[dict[str, Callable[[], Timing]], bool]:
    """Return the runs against the model and its caches, and whether their numbers are the same."""
    model = EmbeddedVerifier()
    caches = {FILE: wrap(model, cache=folder / "model.db"), MEMORY: wrap(model, cache=":memory:")}
    same = True
    for cache in caches.values():
        measured, again = ask(cache, batches, portal), ask(cache, batches, portal)
        same = same and list(map(as_cached, measured)) == again
    runs = {MODEL: model, **caches}
    return {name: _run(backend, batches, portal) for name, backend in runs.items()}, same


def as_cached(measurement: Measurement) -> Measurement:
    """Return an estimate as the cache is to give it back: all the same but for one mark."""
    if isinstance(measurement, Estimate):
        return replace(measurement, cached=True)
    return measurement


def ask(
    backend: Backend, batches: Sequence[Sequence[Query]], portal: BlockingPortal
) -> list[Measurement]:
    """Put all batches to a backend, one after the other."""

    async def run() -> list[Measurement]:
        return [m for batch in batches for m in await backend.estimate(batch)]

    return portal.call(run)


# --- the page --------------------------------------------------------------------------------


def per_claim(found: dict[str, list[Timing]], name: str) -> float:
    """Return the milliseconds that a wrapper adds to a claim, the median over the rounds."""
    return (wall(found[name]) - wall(found[BARE])) * 1000 / CLAIMS


def overhead(found: dict[str, list[Timing]]) -> list[str]:
    """Return the table of what each wrapper costs."""
    rows = [
        (name, f"{wall(timings) * 1000:.2f}", f"{cpu(timings) * 1000:.2f}", added)
        for name, timings in found.items()
        for added in [f"{per_claim(found, name):.3f}"]
    ]
    return table(("wrapper", f"ms for {CLAIMS} claims", "processor ms", "ms added a claim"), rows)


def savings(found: dict[str, list[Timing]], queries: int) -> list[str]:
    """Return the table of what a warm cache saves."""
    rows = [
        (
            name,
            f"{wall(timings) * 1000:.2f}",
            f"{wall(timings) * 1000 / queries:.3f}",
            f"{speed_ratio(timings, found[MODEL]):.0f}",
        )
        for name, timings in found.items()
    ]
    return table(("backend", f"ms for {queries} queries", "ms a query", "times as fast"), rows)


def requirements(
    small: dict[str, list[Timing]], large: dict[str, list[Timing]], *, same: bool
) -> list[Requirement]:
    """Hold overhead and speed against what is demanded."""
    most = max(per_claim(small, name) for name in (ALL, BATCH))
    times = speed_ratio(large[FILE], large[MODEL])
    return [
        Requirement(
            f"all wrappers add less than {MOST_MS:g} ms a claim", f"{most:.3f} ms", most < MOST_MS
        ),
        Requirement(
            f"a warm cache is {LEAST_TIMES} times as fast as the model",
            f"{times:.0f} times",
            times >= LEAST_TIMES,
        ),
        Requirement("the same numbers come out of it", "equal" if same else "not equal", same),
    ]


if __name__ == "__main__":
    main()
