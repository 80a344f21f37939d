"""Latency of a warm verifier for an answer of N claims, against three sources of 2,000 words.

The budget is that of SPEC-08.36 (one claim: 500 ms) and SPEC-08.37 (N claims: 500 ms + N x 100 ms).
Answers of different length are measured in turns, with one verifier kept open. The model answers
several queries a claim: windows with the evidence, and windows with it scrubbed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from _common import (
    Page,
    Requirement,
    Timing,
    cpu,
    in_turns,
    options,
    p95,
    publish,
    recorded,
    table,
    timed_anew,
    wall,
)
from _texts import case
from veridical import SyncVerifier

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1, 5, 10, 20)
ONE_CLAIM = 0.5


def main() -> None:
    """Measure each size in turns, print the page."""
    chosen = options(__doc__, rounds=20)
    found = measure(chosen.rounds)
    required = [requirement(size, timings) for size, timings in found.items()]
    publish(Page("Latency", lines(found), required), __doc__, chosen)


def measure(rounds: int) -> dict[int, list[Timing]]:
    """Return the timings for each number of claims."""
    with SyncVerifier.from_settings() as verifier:
        runs = {str(size): _check(verifier, size) for size in SIZES}
        return {int(size): timings for size, timings in in_turns(runs, rounds).items()}


def _check(verifier: SyncVerifier, claims: int) -> Callable[[], Timing]:
    text = case(claims)
    found = verifier.check(text.answer, text.sources).summary.claims_checked
    if found != claims:
        msg = f"the answer was to have {claims} claims, not {found}"
        raise RuntimeError(msg)
    return partial(timed_anew, verifier, partial(verifier.check, text.answer, text.sources))


def budget(claims: int) -> float:
    """Return the seconds that a check of so many claims may take."""
    return ONE_CLAIM if claims == 1 else 0.5 + 0.1 * claims


def requirement(claims: int, timings: list[Timing]) -> Requirement:
    """Hold the 95th percentile against the budget."""
    limit, measured = budget(claims), p95(timings)
    name = "SPEC-08.36, one claim" if claims == 1 else f"SPEC-08.37, {claims} claims"
    text = f"{name}: p95 within {limit * 1000:.0f} ms"
    return Requirement(text, f"{measured * 1000:.0f} ms", measured <= limit)


def lines(found: dict[int, list[Timing]]) -> list[str]:
    """Return the table, one row for each number of claims."""
    rows = []
    for claims, timings in found.items():
        text, median = case(claims), wall(timings)
        queries = sum(map(len, recorded(text.answer, text.sources)))
        rows.append(
            (
                claims,
                queries,
                f"{median * 1000:.0f}",
                f"{p95(timings) * 1000:.0f}",
                f"{cpu(timings) * 1000:.0f}",
                f"{budget(claims) * 1000:.0f}",
                f"{median / budget(claims):.0%}",
                f"{median / queries * 1000:.1f}",
            )
        )
    head = ("claims", "queries", "median ms", "p95 ms", "processor ms", "budget ms")
    return table((*head, "median to budget", "ms a query"), rows)


if __name__ == "__main__":
    main()
