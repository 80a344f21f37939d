"""Latency of verification: sample mode, single claims, many claims, and switched off.

The budgets: an answer of ten claims in sample mode 500 ms (SPEC-16.SC02), one claim 50 ms, N claims
50 ms + N x 20 ms, and nothing that can be noticed if verification is disabled (SC05). One warm
verifier with the embedded backend serves all; measured is `check` from the call to the report, in
turns.

- short: three sources of two paragraphs each, 120 to 200 words, as a retriever's chunks have.
- 2,000 words: the three sources of `latency.py`, 2,000 words each.
- full: each check has sources that the verifier did not have last.
- again: it has the same sources as the check before it, as an agent's claims do.
- thorough: `Policy(windows=2)`: two windows in place of the closest sentences, else as full.
- sample: `Policy(mode="sample", sample_rate=.3)`. Which claims are drawn depends on their texts,
  so ten answers of ten claims each are measured, in turns; the number drawn is below.
- disabled: an `Orchestrator` with `VerificationConfig(enabled=False)` against the bare call of the
  same function that generates the answer, in microseconds; the function returns at once.
"""

from __future__ import annotations

from functools import partial
from itertools import cycle
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import anyio

from _common import (
    Page,
    Requirement,
    Timing,
    cpu,
    in_turns,
    options,
    p95,
    publish,
    table,
    timed,
    timed_anew,
    wall,
)
from _texts import case
from veridical import Policy, SyncVerifier, Verifier
from veridical.orchestrator import Orchestrator, VerificationConfig
from veridical.pipeline.inference.embedded import EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from _texts import Case

EVIDENCE = {"short": 120, "2,000 words": 2000}
SIZES = (1, 5, 10, 20)
SAMPLED = 10
"""Claims of an answer that is verified in sample mode."""

FULL, AGAIN, THOROUGH, DRAWN = "full", "again", "thorough", "sample"
RUNS = (
    *((size, mode) for mode in (FULL, THOROUGH) for size in SIZES),
    (1, AGAIN),
    (SAMPLED, DRAWN),
)
ANSWERS = 10
SAMPLE = Policy(mode="sample", sample_rate=0.3)
POLICIES = {DRAWN: SAMPLE, THOROUGH: Policy(windows=2)}
SC02_S = 0.5
CALLS = 2000
NOISE_S = 0.001
"""What disabled verification may add to an answer: a model takes a thousand times as long."""


def main() -> None:
    """Measure everything in turns, print the page."""
    chosen = options(__doc__, rounds=20)
    with SyncVerifier(Verifier(EmbeddedVerifier())) as verifier:
        found = in_turns(dict(_runs(verifier)), chosen.rounds)
        counts = {evidence: _drawn(verifier, evidence) for evidence in EVIDENCE}
    plain, disabled = anyio.run(_disabled)
    required = [*_required(found), _off(disabled - plain)]
    page = Page("Sample mode", lines(found, counts, plain, disabled), required)
    publish(page, __doc__, chosen)


# --- what is run -----------------------------------------------------------------------------


def _runs(verifier: SyncVerifier) -> Iterator[tuple[str, Callable[[], Timing]]]:
    for evidence, words in EVIDENCE.items():
        for size, mode in RUNS:
            texts = _answers(words) if mode == DRAWN else [case(size, words=words)]
            yield _name(evidence, size, mode), partial(_check, verifier, cycle(texts), mode)


def _name(evidence: str, size: int, mode: str) -> str:
    return f"{evidence}, {size} claims, {mode}"


def _answers(words: int) -> list[Case]:
    """Return answers of ten claims; a word more in the sources draws other claims."""
    return [case(SAMPLED, words=words + number) for number in range(ANSWERS)]


def _check(verifier: SyncVerifier, texts: Iterator[Case], mode: str) -> Timing:
    text = next(texts)
    policy = POLICIES.get(mode, Policy())
    run = partial(verifier.check, text.answer, text.sources, policy=policy)
    if mode != AGAIN:
        return timed_anew(verifier, run)
    run()
    return timed(run)


def _drawn(verifier: SyncVerifier, evidence: str) -> list[int]:
    """Return how many claims of each answer are verified in sample mode."""
    texts = _answers(EVIDENCE[evidence])
    checked = (verifier.check(text.answer, text.sources, policy=SAMPLE) for text in texts)
    return [report.summary.claims_checked for report in checked]


async def _disabled() -> tuple[float, float]:
    """Return the median seconds of the bare function, and of it behind a disabled orchestrator."""
    text = case(SAMPLED, words=EVIDENCE["short"])

    async def generate(prompt: str, context: Mapping[str, str]) -> str:
        return text.answer if context else prompt

    off = VerificationConfig(enabled=False)
    orchestrator = Orchestrator(generate, config=off)
    bare, behind = [], []
    for _ in range(CALLS):
        started = perf_counter()
        await generate("", context=text.sources)
        between = perf_counter()
        await orchestrator.process("What is said?", text.sources)
        behind.append(perf_counter() - between)
        bare.append(between - started)
    return median(bare), median(behind)


# --- the page --------------------------------------------------------------------------------


def lines(
    found: Mapping[str, list[Timing]],
    counts: Mapping[str, list[int]],
    plain: float,
    disabled: float,
) -> list[str]:
    """Return the tables."""
    head = ("evidence", "claims", "mode", "median ms", "p95 ms", "processor ms", "budget ms")
    rows = []
    for evidence in EVIDENCE:
        for size, mode in RUNS:
            timings = found[_name(evidence, size, mode)]
            limit = SC02_S if mode == DRAWN else budget(size)
            figures = (wall(timings), p95(timings), cpu(timings), limit)
            rows.append((evidence, size, mode, *(f"{value * 1000:.0f}" for value in figures)))
    drawn = "; ".join(f"{name}: {', '.join(map(str, each))}" for name, each in counts.items())
    return [
        *table(head, rows),
        f"Claims verified of {SAMPLED} in sample mode, answer by answer ({drawn}).",
        "",
        *table(
            ("disabled", "median µs"),
            [
                ("the function alone", f"{plain * 1e6:.1f}"),
                ("behind the orchestrator", f"{disabled * 1e6:.1f}"),
            ],
        ),
    ]


def budget(claims: int) -> float:
    """Return the seconds that verifying so many claims may take."""
    return 0.05 if claims == 1 else 0.05 + 0.02 * claims


def _required(found: Mapping[str, list[Timing]]) -> Iterator[Requirement]:
    for evidence in EVIDENCE:
        sampled = found[_name(evidence, SAMPLED, DRAWN)]
        name = f"SPEC-16.SC02, {SAMPLED} claims in sample mode, {evidence}"
        yield _within(name, sampled, SC02_S)
        for size in SIZES:
            name = f"{size} claim{'s' if size > 1 else ''}, full, {evidence}"
            yield _within(name, found[_name(evidence, size, FULL)], budget(size))
        name = f"1 claim in full, {evidence}, sources as before"
        yield _within(name, found[_name(evidence, 1, AGAIN)], budget(1))


def _within(name: str, timings: list[Timing], limit: float) -> Requirement:
    measured = p95(timings)
    text = f"{name}: p95 within {limit * 1000:.0f} ms"
    return Requirement(text, f"{measured * 1000:.0f} ms", measured <= limit)


def _off(added: float) -> Requirement:
    text = f"SPEC-16.SC05, disabled: adds less than {NOISE_S * 1000:.0f} ms"
    return Requirement(text, f"{added * 1e6:.0f} µs", added < NOISE_S)


if __name__ == "__main__":
    main()
