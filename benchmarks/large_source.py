"""A source of 10 MB: cutting it into windows, indexing them, binding claims, the whole check.

The baseline is the least work of any check: splitting the same text into sentences. The check has
10 claims and the default number of windows, so that the model's part is what it is with a small
source. Measured in turns, after one check of a small source. No limit is set for this: the page
shows what a large source costs, in time and memory.
"""

from __future__ import annotations

import resource
import sys
from functools import partial
from typing import TYPE_CHECKING

from _common import Page, Timing, cpu, in_turns, options, publish, speed_ratio, table, timed, wall
from _texts import case, long_source
from veridical import SyncVerifier
from veridical.core.sources import as_sources
from veridical.pipeline.claims import extract_claims, split_sentences
from veridical.pipeline.evidence import Binder, Corpus, resolve_citations

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 10_000_000
CLAIMS = 10
SPLIT, INDEX, BIND = "split into sentences", "windows and index (splits, too)", "bind 10 claims"
CHECK = "whole check (all of these, and the model)"


def main() -> None:
    """Measure memory, then the stages in turns; print the page."""
    chosen = options(__doc__, rounds=3)
    text = long_source(SIZE)
    # All claims are about the one source.
    answer = case(CLAIMS).answer.replace("[S2]", "[S1]").replace("[S3]", "[S1]")
    with SyncVerifier.from_settings() as verifier:
        check = partial(verifier.check, answer, {"S1": text})
        verifier.check("It is long.", {"S1": "The river is long."})
        before = peak()
        check()
        memory = f"Peak memory: {before:.0f} MB with a small source, {peak():.0f} MB with this one."
        corpus = Corpus(as_sources({"S1": text}), split_sentences)
        found = in_turns(stages(text, answer, corpus, check), chosen.rounds, warm=False)
    lines = [sizes(text, corpus), memory, "", *rows(found, len(text.encode()) / 1e6)]
    publish(Page("A large source", lines, []), __doc__, chosen)


def stages(
    text: str, answer: str, corpus: Corpus, check: Callable[[], object]
) -> dict[str, Callable[[], Timing]]:
    """Return what is measured."""
    sources = as_sources({"S1": text})
    return {
        SPLIT: lambda: timed(lambda: split_sentences(text)),
        INDEX: lambda: timed(lambda: Corpus(sources, split_sentences)),
        BIND: lambda: timed(lambda: bind(answer, corpus)),
        CHECK: lambda: timed(check),
    }


def bind(answer: str, corpus: Corpus) -> None:
    """Bind each claim to its windows."""
    binder = Binder(corpus, windows=3)
    for claim in extract_claims(answer, known_ids=corpus.sources).claims:
        binder.bind(claim.text, resolve_citations(claim.citations, corpus.sources))


def sizes(text: str, corpus: Corpus) -> str:
    """Say how much there is."""
    megabytes = len(text.encode()) / 1e6
    found = f"{len(corpus.sentences):,} sentences, {len(corpus.windows):,} windows"
    return f"{megabytes:.1f} MB, {len(text.split()):,} words, {found}."


def rows(found: dict[str, list[Timing]], megabytes: float) -> list[str]:
    """Return the table of stages."""
    head = ("", "s", "processor s", "MB/s", "times the splitting")
    return table(
        head,
        [
            (
                name,
                f"{wall(timings):.2f}",
                f"{cpu(timings):.2f}",
                f"{megabytes / wall(timings):.1f}",
                f"{1 / speed_ratio(timings, found[SPLIT]):.2f}",
            )
            for name, timings in found.items()
        ],
    )


def peak() -> float:
    """Return the peak resident memory of this process in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
