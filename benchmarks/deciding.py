"""Share of verdicts that show the sentence that decides them: on whole answers, half A.

Each claim of the labelled answers names its deciding sentences. Every claim is verified against all
the sources of its answer; counted is whether one of the sentences that the verdict shows is a
deciding one, or reaches into it, and how many sentences it shows. Beside it, without any model: the
sentences nearest to the claim, ranked by words alone and by words and meaning.

Half A was tuned on: which sentences are shown was chosen on it. Written by
`.venv/bin/python benchmarks/deciding.py [--answers 20] [--write]`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

from _common import Page, Requirement, publish, table
from veridical import SyncVerifier
from veridical.core.sources import as_sources
from veridical.core.types import SourceSpan, Span
from veridical.pipeline.claims import split_sentences
from veridical.pipeline.evidence import Corpus
from veridical.pipeline.inference.vectors import packaged_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

HALF = Path(__file__).parent / "answers" / "a"
MOST_SHOWN = 5
ASKED = 0.95
Count = tuple[bool, int]


def main() -> None:
    """Verify, count, print the page."""
    chosen = options()
    rows = answers(chosen.answers)
    shown = list(verdicts(rows))
    page = Page("The deciding sentence", lines(rows, shown), requirements(shown))
    publish(page, __doc__, chosen)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=20, help="how many answers, drawn by seed")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def answers(limit: int) -> list[dict]:
    """Return labelled answers of half A in an order that depends on nothing else."""
    found = [
        json.loads(line)
        for path in sorted(HALF.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    random.Random(1).shuffle(found)  # noqa: S311 -- a sample, no secret
    return found[:limit]


def deciding(claim: Mapping, sources: Mapping[str, str]) -> list[SourceSpan]:
    """Return where the deciding sentences of a claim stand."""
    places = ((each, sources[each["source"]].find(each["text"])) for each in claim["deciding"])
    return [
        SourceSpan(each["source"], Span(start, start + len(each["text"])))
        for each, start in places
        if start >= 0
    ]


def counted(shown: Iterable[SourceSpan], wanted: Sequence[SourceSpan]) -> Count:
    """Return whether one that is wanted is among what is shown, and how many are shown."""
    pieces = list(shown)
    return any(piece.overlaps(want) for piece in pieces for want in wanted), len(pieces)


def verdicts(rows: Iterable[dict]) -> Iterator[tuple[str, Count]]:
    """Yield the status of each claim, and what its verdict shows."""
    with SyncVerifier.from_settings() as verifier:
        for sources, claim, wanted in claims(rows):
            verdict = verifier.verify(claim, sources)
            pieces = (SourceSpan(span.source, span.span) for span in verdict.evidence)
            yield verdict.status.value, counted(pieces, wanted)


def claims(rows: Iterable[dict]) -> Iterator[tuple[dict[str, str], str, list[SourceSpan]]]:
    """Yield sources, claim and deciding places of each claim that has any."""
    for row in rows:
        sources = {source["id"]: source["text"] for source in row["sources"]}
        for claim in row["claims"]:
            if wanted := deciding(claim, sources):
                yield sources, claim["text"], wanted


def ranked(rows: Iterable[dict], *, by_meaning: bool) -> dict[int, list[Count]]:
    """Return what the nearest sentences hold, by how many are shown."""
    vectors = packaged_vectors() if by_meaning else None
    found: dict[int, list[Count]] = {most: [] for most in range(1, MOST_SHOWN + 1)}
    for sources, claim, wanted in claims(rows):
        corpus = Corpus(as_sources(sources), split_sentences, vectors=vectors)
        scores = corpus.rank(claim).sentences
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        for most, counts in found.items():
            counts.append(counted((corpus.sentences[i].piece for i in order[:most]), wanted))
    return found


def lines(rows: Sequence[dict], shown: Sequence[tuple[str, Count]]) -> list[str]:
    """Return the tables."""
    names = sorted({status for status, _ in shown})
    groups = [("all verdicts", [count for _, count in shown])]
    groups += [(name, [count for status, count in shown if status == name]) for name in names]
    head = ("verdict", "claims", "shows a deciding sentence", "sentences shown")
    everything = answers(len(rows) * 1000)
    total = sum(1 for _ in claims(everything))
    words, meaning = (ranked(everything, by_meaning=each) for each in (False, True))
    ranks = [
        (most, f"{hits(words[most]):.3f}", f"{hits(meaning[most]):.3f}")
        for most in range(1, MOST_SHOWN + 1)
    ]
    return [
        f"{len(rows)} answers.",
        "",
        *table(head, [(name, len(found), *cells(found)) for name, found in groups]),
        "",
        f"The nearest sentences hold a deciding one, all {total} claims of half A:",
        "",
        *table(("nearest sentences", "by words", "by words and meaning"), ranks),
    ]


def hits(found: Sequence[Count]) -> float:
    """Return the share that has a deciding sentence."""
    return sum(hit for hit, _ in found) / len(found)


def cells(found: Sequence[Count]) -> tuple[str, str]:
    """Return the share that shows a deciding sentence, and how many sentences are shown."""
    return f"{hits(found):.3f}", f"{sum(number for _, number in found) / len(found):.2f}"


def requirements(shown: Sequence[tuple[str, Count]]) -> list[Requirement]:
    """Hold the share of all verdicts against what is asked."""
    found = hits([count for _, count in shown])
    return [Requirement(f"{ASKED:.0%} show a deciding sentence", f"{found:.1%}", found >= ASKED)]


if __name__ == "__main__":
    main()
