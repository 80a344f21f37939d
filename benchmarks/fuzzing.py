"""Fuzzing of all text stages, and growth of their time and of every regular expression's.

**Fuzzing.** Hypothesis makes texts for each target, in rounds with new seeds, until its share of
the minutes has passed. A text fails if something else than a `VeridicalError` is raised, or if the
result is wrong: offsets outside of the text, lost text, a report that its schema refuses. It goes
into `tests/corpus`, which the tests replay.

**Growth.** Processor time of a stage for adversarial texts of `--size` characters and of four times
as many; a loop of known work corrects for what else the machine does. All texts are tried at a
sixteenth of the size, and the three worst for a stage at the size; the worst counts. For twice the
text at most 2.3 times as long is required.

**Regular expressions.** Each expression of the package is matched with what it repeats, repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from _common import Page, Requirement, publish, table
from _fuzz_targets import TARGETS
from _growth import MOST_GROWTH, STAGES, TEXTS, growth
from _patterns import BOUNDED, patterns, steep

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from _fuzz_targets import FuzzTarget

LONG_TEXTS = 3
"""Texts for each stage that are tried at the full size."""


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


def stage_growth(stage: Callable[[str], object], size: int) -> tuple[float, str]:
    """Return the largest growth, and the text that it is for.

    All texts are tried at a sixteenth of the size, and those at which it grows most at the size.
    """
    screened = sorted(TEXTS, key=lambda kind: growth(stage, TEXTS[kind], size // 16))
    return max((growth(stage, TEXTS[kind], size), kind) for kind in screened[-LONG_TEXTS:])


# --- the parts, each kept as soon as it is done ----------------------------------------------


class Kept:
    """Results of the parts by their names, in a file that a killed run goes on with."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        known = path is not None and path.exists()
        self.found: dict[str, Any] = json.loads(path.read_text()) if path and known else {}

    def part(self, name: str, run: Callable[[], Any]) -> Any:  # noqa: ANN401 -- a value of JSON
        """Return the result of a part, which runs unless the file has it."""
        if name not in self.found:
            started = process_time()
            self.found[name] = run()
            print(f"{name}: {self.found[name]} ({process_time() - started:.0f} s)", file=sys.stderr)
            if self._path is not None:
                self._path.write_text(json.dumps(self.found))
        return self.found[name]


def main() -> None:
    """Fuzz, measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of fuzzing; default 60")
    parser.add_argument("--size", type=int, default=250_000, help="a quarter of the longest text")
    parser.add_argument("--save", type=Path, help="keep finished parts in this file, and go on")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    chosen = parser.parse_args()
    kept = Kept(chosen.save)
    share = chosen.minutes * 60 / len(TARGETS)
    counts = {
        each.name: kept.part(f"fuzzing of {each.name}", lambda: fuzzed(each, monotonic() + share))  # noqa: B023 -- called at once
        for each in TARGETS
    }
    grown = {
        name: kept.part(f"growth of {name}", lambda: stage_growth(stage, chosen.size))  # noqa: B023 -- called at once
        for name, stage in STAGES.items()
    }
    compiled = patterns()
    steep_ones = kept.part(
        "expressions", lambda: [n for n, e in compiled.items() if is_steep(n, e)]
    )
    publish(page(chosen.size, counts, grown, len(compiled), steep_ones), __doc__, chosen)


def is_steep(name: str, expression: re.Pattern[Any]) -> bool:
    """Return whether an expression that is matched with long texts is steep."""
    return name not in BOUNDED and bool(steep(name, expression))


def page(
    size: int,
    counts: dict[str, tuple[int, int]],
    grown: dict[str, tuple[float, str]],
    expressions: int,
    steep_ones: list[str],
) -> Page:
    """Return the tables and what is required."""
    lines = [
        "## Fuzzing",
        "",
        *table(["target", "tried", "failed"], [(n, f"{a:,}", b) for n, (a, b) in counts.items()]),
        f"## Growth, {size:,} to {4 * size:,} characters",
        "",
        f"Times as long for twice the text, the worst of {len(TEXTS)} texts; 0: too short to tell.",
        "",
        *table(["stage", "growth"], [(name, f"{most:.2f}") for name, (most, _) in grown.items()]),
        "## Regular expressions",
        "",
        f"{expressions} expressions, {len(BOUNDED)} of them only on short texts.",
        f"Steeper than linear among the others: {', '.join(steep_ones) or 'none'}.",
        "",
    ]
    failed = sum(failed for _, failed in counts.values())
    tried = sum(tried for tried, _ in counts.values())
    worst = max(most for most, _ in grown.values())
    return Page(
        "Fuzzing and growth",
        lines,
        [
            Requirement(f"none of {tried:,} inputs fails", str(failed), met=not failed),
            Requirement(f"growth at most {MOST_GROWTH}", f"{worst:.2f}", met=worst <= MOST_GROWTH),
            Requirement("no expression is steep", str(len(steep_ones)), met=not steep_ones),
        ],
    )


if __name__ == "__main__":
    main()
