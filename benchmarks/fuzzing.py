"""Fuzzing of all text stages, and growth of their time and of every regular expression's.

**Fuzzing.** Hypothesis makes texts for each target, in rounds with new seeds, until its share of
the minutes has passed. A text fails if something else than a `VeridicalError` is raised, or if the
result is wrong: offsets outside of the text, lost text, a report that its schema refuses. It goes
into `tests/corpus`, which the tests replay.

**Growth.** Processor time of a stage for adversarial texts of `--size` characters and of twice as
many; the worst text counts. At most 2.3 times as long is required.

**Regular expressions.** Each expression of the package is matched with what it repeats, repeated.
"""

from __future__ import annotations

import argparse
import sys
from time import monotonic
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from _common import Page, Requirement, publish, table
from _fuzz_targets import TARGETS
from _growth import MOST_GROWTH, STAGES, TEXTS, growth
from _patterns import BOUNDED, patterns, steep

if TYPE_CHECKING:
    from collections.abc import Callable

    from _fuzz_targets import FuzzTarget


def fuzzed(target: FuzzTarget, until: float) -> tuple[int, int]:
    """Try texts until a time; return how many, and how many failed, which the corpus keeps."""
    tried, failed, round_ = 0, 0, 0
    while monotonic() < until:
        found: list[str] = []
        run = _round(target, found)
        try:
            seed(round_)(run)()
        except Exception as error:  # noqa: BLE001 -- whatever it is, the target failed
            failed += 1
            target.keep(found[-1])
            print(f"{target.name}: {type(error).__name__}", file=sys.stderr)
        tried, round_ = tried + len(found), round_ + 1
    return tried, failed


def _round(target: FuzzTarget, tried: list[str]) -> Callable[[], None]:
    """Return a run of some texts; the last one tried is the smallest that fails, if one does."""

    @settings(
        max_examples=200,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def run(text: str) -> None:
        tried.append(text)
        target.check(text)

    return run


def stage_growth(size: int) -> dict[str, tuple[float, str]]:
    """Return for each stage the largest growth, and the text that it is for."""
    found = {}
    for name, stage in STAGES.items():
        each = ((growth(stage, text, size), kind) for kind, text in TEXTS.items())
        found[name] = max(each)
        print(f"{name}: {found[name][0]:.2f}", file=sys.stderr)
    return found


def main() -> None:
    """Fuzz, measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of fuzzing; default 60")
    parser.add_argument("--size", type=int, default=250_000, help="a quarter of the longest text")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    share = chosen.minutes * 60 / len(TARGETS)
    counts = {target.name: fuzzed(target, monotonic() + share) for target in TARGETS}
    grown = stage_growth(chosen.size)
    compiled = patterns()
    found = [name for name, each in compiled.items() if name not in BOUNDED and steep(name, each)]
    lines = [
        "## Fuzzing",
        "",
        *table(["target", "tried", "failed"], [(n, f"{a:,}", b) for n, (a, b) in counts.items()]),
        f"## Growth, {chosen.size:,} to {4 * chosen.size:,} characters",
        "",
        "Times as long for twice the text, the worst of the texts; `<` 1: too short to tell.",
        "",
        *table(["stage", "growth"], [(name, f"{most:.2f}") for name, (most, _) in grown.items()]),
        "## Regular expressions",
        "",
        f"{len(compiled)} expressions, {len(BOUNDED)} of them only on short texts.",
        f"Steeper than linear among the others: {', '.join(found) or 'none'}.",
        "",
    ]
    worst = max(most for most, _ in grown.values())
    required = [
        Requirement(
            "no input fails",
            str(sum(b for _, b in counts.values())),
            met=not any(b for _, b in counts.values()),
        ),
        Requirement(f"growth at most {MOST_GROWTH}", f"{worst:.2f}", met=worst <= MOST_GROWTH),
        Requirement("no expression is steep", str(len(found)), met=not found),
    ]
    publish(Page("Fuzzing and growth", lines, required), __doc__, chosen)


if __name__ == "__main__":
    main()
