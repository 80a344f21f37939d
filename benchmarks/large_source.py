"""A source of 10 MB: cutting it into windows, indexing them, binding claims, and the whole check.

The baseline is what no check can do without: splitting the same text into sentences. The check has
the default number of windows, so that the model's part is the same as with a small source. No
limit is set for this; the page is here to show what a large source costs, in time and memory.
"""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from _common import Page, Timing, options, publish, table, timed
from _texts import case, long_source

from veridical import SyncVerifier
from veridical.core.sources import as_sources
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Binder, Corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SIZE = 10_000_000
CLAIMS = 10


@dataclass(frozen=True)
class Stage:
    """A part of the work, how long it took, and the peak memory of the process after it."""

    name: str
    timing: Timing
    peak: float


def main() -> None:
    """Measure each stage, print the page."""
    chosen = options(__doc__, rounds=1)
    text = long_source(SIZE)
    corpus, stages = prepare(text)
    stages += [bind(corpus), check(text)]
    publish(Page("A large source", lines(stages, text, corpus), []), __doc__, chosen)


def prepare(text: str) -> tuple[Corpus, list[Stage]]:
    """Split the text, then build what a check builds of it."""
    start = Stage("text in memory", Timing(0, 0), _peak())
    _, splitting = stage("split into sentences", lambda: split_sentences(text))
    build = lambda: Corpus(as_sources({"S1": text}), split_sentences)  # noqa: E731 -- one line
    corpus, building = stage("windows and index (splits as well)", build)
    return corpus, [start, splitting, building]


def bind(corpus: Corpus) -> Stage:
    """Bind claims to the windows."""
    binder, claims = Binder(corpus, windows=3), case(CLAIMS).answer.split(". ")
    _, binding = stage(
        f"bind {len(claims)} claims", lambda: [binder.bind(claim, ()) for claim in claims]
    )
    return binding


def check(text: str) -> Stage:
    """Check an answer whose first claims cite the source."""
    answer = case(CLAIMS).answer.replace("[S2]", "[S1]").replace("[S3]", "[S1]")
    with SyncVerifier.from_settings() as verifier:
        verifier.check("It is long.", {"S1": "The river is long."})
        _, checking = stage("check, warm", lambda: verifier.check(answer, {"S1": text}))
    return checking


def stage(name: str, run: Callable[[], Any]) -> tuple[Any, Stage]:
    """Run it once; return what it returns, and what it took."""
    results: list[Any] = []
    timing = timed(lambda: results.append(run()))
    return results[0], Stage(name, timing, _peak())


def lines(stages: list[Stage], text: str, corpus: Corpus) -> list[str]:
    """Return the sizes and the table of stages."""
    megabytes = len(text.encode()) / 1e6
    baseline = stages[1].timing.wall
    rows = [
        (
            one.name,
            f"{one.timing.wall:.2f}",
            f"{one.timing.cpu:.2f}",
            f"{megabytes / one.timing.wall:.1f}" if one.timing.wall else "",
            f"{one.timing.wall / baseline:.2f}" if one.timing.wall else "",
            f"{one.peak:.0f}",
        )
        for one in stages
    ]
    head = ("", "s", "processor s", "MB/s", "times the splitting", "peak MB so far")
    count = f"{len(corpus.sentences):,} sentences, {len(corpus.windows):,} windows"
    return [f"{megabytes:.1f} MB, {count}.", "", *table(head, rows)]


def _peak() -> float:
    """Return the peak resident memory of this process in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
