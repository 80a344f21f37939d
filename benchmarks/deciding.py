"""Share of verdicts that show the sentence that decides them: on whole answers, half A.

Each claim of the labelled answers names its deciding sentences. Every claim is verified against all
the sources of its answer; counted is whether one of the sentences that the verdict shows is a
deciding one, or reaches into it, and how many sentences it shows. Beside it, without any model: the
sentences nearest to the claim, ranked by words alone and by words and meaning.

Every other answer was tuned on: the choice of the shown sentences was made there. The rest is the
other half; the number of sentences (5, not 4) and two labels were chosen after a look at it. "As
read" are the sentences of the deciding passage and its fillers alone. A few labels name one of two
sentences that decide as well; `answers/also_deciding.jsonl` has the other one, with the reason.
Written by `.venv/bin/python benchmarks/deciding.py [--answers 84] [--write]`.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
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

    from veridical.core.verdicts import EvidenceSpan

ANSWERS = Path(__file__).parent / "answers"
MOST_SHOWN = 5
ASKED = 0.95
Count = tuple[bool, int]


@dataclass(frozen=True)
class Shown:
    """Counts of one verdict: as read, as shown, and as shown with the labels that were added."""

    tuned: bool
    status: str
    read: Count
    shown: Count
    also: Count


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
    parser.add_argument("--answers", type=int, default=84, help="how many answers, drawn by seed")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


def read(path: Path) -> list[dict]:
    """Return the objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers(limit: int) -> list[dict]:
    """Return labelled answers of half A in an order that depends on nothing else."""
    found = [row for path in sorted((ANSWERS / "a").glob("*.jsonl")) for row in read(path)]
    random.Random(1).shuffle(found)  # noqa: S311 -- a sample, no secret
    return found[:limit]


def deciding(texts: Iterable[Mapping], sources: Mapping[str, str]) -> list[SourceSpan]:
    """Return where deciding sentences stand."""
    places = ((each, sources[each["source"]].find(each["text"])) for each in texts)
    return [
        SourceSpan(each["source"], Span(start, start + len(each["text"])))
        for each, start in places
        if start >= 0
    ]


def counted(shown: Iterable[SourceSpan], wanted: Sequence[SourceSpan]) -> Count:
    """Return whether one that is wanted is among what is shown, and how many are shown."""
    pieces = list(shown)
    return any(piece.overlaps(want) for piece in pieces for want in wanted), len(pieces)


def verdicts(rows: Sequence[dict]) -> Iterator[Shown]:
    """Yield the counts of each claim."""
    added = read(ANSWERS / "also_deciding.jsonl")
    with SyncVerifier.from_settings() as verifier:
        for number, row in enumerate(rows):
            for sources, claim, wanted in claims([row]):
                verdict = verifier.verify(claim, sources)
                also = [
                    each for each in added if (each["answer"], each["claim"]) == (row["id"], claim)
                ]
                shown = places(verdict.shown)
                yield Shown(
                    number % 2 == 0,
                    verdict.status.value,
                    counted(places(verdict.evidence), wanted),
                    counted(shown, wanted),
                    counted(shown, [*wanted, *deciding(also, sources)]),
                )


def places(spans: Iterable[EvidenceSpan]) -> list[SourceSpan]:
    """Return where pieces of evidence stand."""
    return [SourceSpan(span.source, span.span) for span in spans]


def claims(rows: Iterable[dict]) -> Iterator[tuple[dict[str, str], str, list[SourceSpan]]]:
    """Yield sources, claim and deciding places of each claim that has any."""
    for row in rows:
        sources = {source["id"]: source["text"] for source in row["sources"]}
        for claim in row["claims"]:
            if wanted := deciding(claim["deciding"], sources):
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


def lines(rows: Sequence[dict], shown: Sequence[Shown]) -> list[str]:
    """Return the tables."""
    statuses = sorted({each.status for each in shown})
    groups = [
        ("all verdicts", shown),
        ("tuned half", [each for each in shown if each.tuned]),
        ("other half", [each for each in shown if not each.tuned]),
        *((name, [each for each in shown if each.status == name]) for name in statuses),
    ]
    head = ("verdicts", "claims", "as read", "sentences", "as shown", "sentences", "labels added")
    everything = answers(len(rows) * 1000)
    total = sum(1 for _ in claims(everything))
    words, meaning = (ranked(everything, by_meaning=each) for each in (False, True))
    ranks = [
        (most, f"{hits(words[most]):.3f}", f"{hits(meaning[most]):.3f}")
        for most in range(1, MOST_SHOWN + 1)
    ]
    return [
        f"{len(rows)} answers. A deciding sentence is among the sentences of a verdict:",
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


def cells(found: Sequence[Shown]) -> tuple[str, ...]:
    """Return the shares that show a deciding sentence, and how many sentences are shown."""
    as_read, shown, also = (
        [getattr(each, name) for each in found] for name in ("read", "shown", "also")
    )
    return (
        *(f"{value:.{digits}f}" for counts in (as_read, shown) for value, digits in both(counts)),
        f"{hits(also):.3f}",
    )


def both(counts: Sequence[Count]) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return share and mean number, each with its decimals."""
    return (hits(counts), 3), (sum(number for _, number in counts) / len(counts), 2)


def requirements(shown: Sequence[Shown]) -> list[Requirement]:
    """Hold the share of all verdicts against the required one."""
    found = hits([each.also for each in shown])
    return [Requirement(f"{ASKED:.0%} show a deciding sentence", f"{found:.1%}", found >= ASKED)]


if __name__ == "__main__":
    main()
