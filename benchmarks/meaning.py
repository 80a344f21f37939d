"""Verdicts turned by texts that mention a claim without asserting it, on the embedded verifier.

`mentions.jsonl` has the texts, in ten kinds: denials, rumours, questions, lists of myths and so on.
Each is put at the end of the source of a false claim that is not supported without it: as a
sentence, a paragraph or an item of a list, in turn. A claim that is then supported is turned.

- The develop half has the claims of half A of the labelled answers and of the pairs of quantities.
  The rule was written with its texts at hand.
- The held half has the claims of half B. Its texts are of another author, who knew neither the rule
  nor the other texts. They were read by this benchmark alone, once the rule stood. All authors are
  language models, so that no text is a person's.
- Stated: the same claims, put plainly into the source. All should turn. Within a sentence: texts
  that do assert the claim ("The minutes confirm that ..."), of the same authors. All that turn a
  verdict without the rule should do so with it.
- True claims: supported claims, with a text on a false claim of the same source. All should stay.
- Without the rule: a verdict of the rule `only_mentioned` counts as supported.
- The suites: the verdicts on the labelled answers and pairs that the rule changes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING

from _common import Page, Requirement, publish, table
from _mentions import (
    HALVES,
    NAMES,
    PLACES,
    Mention,
    assertions,
    labelled,
    mentioning,
    pairs,
    placed,
    texts,
)
from veridical import SyncVerifier, Verifier
from veridical.core.verdicts import Status
from veridical.pipeline.inference.embedded import EmbeddedVerifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from _mentions import Pair
    from veridical.core.verdicts import Verdict

    Judge = Callable[[str, str], Verdict]

FALSE, TRUE = 13, 4
"""Claims of a half. Three do not divide the first, so that a claim meets all of the places."""

STATED, TRUE_CLAIM = "stated plainly", "true claims, of other texts"
WITHIN = "stated within a sentence"
RULE = "only_mentioned"
MOST_STAY = 0.9


@dataclass
class Counts:
    """Number of verdicts of a group, and those that are supported without the rule and with it."""

    tried: int = 0
    without: int = 0
    with_rule: int = 0

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        self.tried += 1
        self.without += verdict.rule == RULE or verdict.status is Status.SUPPORTED
        self.with_rule += verdict.status is Status.SUPPORTED


@dataclass
class Found:
    """Counts of a half, by kind, and by kind and text."""

    kinds: dict[str, Counts] = field(default_factory=dict)
    texts: dict[tuple[str, str], Counts] = field(default_factory=dict)

    def total(self) -> Counts:
        """Return the counts of all mentions."""
        found = [self.kinds[kind] for kind in Mention]
        return Counts(
            *(sum(getattr(each, name) for each in found) for name in Counts.__annotations__)
        )


def main() -> None:
    """Try every text on the claims of each half, print the page."""
    chosen = options()
    halves = HALVES[:1] if chosen.develop else HALVES
    with SyncVerifier(Verifier(EmbeddedVerifier())) as verifier:

        def judge(claim: str, source: str) -> Verdict:
            return verifier.verify(claim, {"S1": source})

        found = {NAMES[half]: tried(judge, half) for half in halves}
        suites = {NAMES[half]: suite(judge, half) for half in halves}
    publish(Page("Mentioned claims", lines(found, suites), required(found)), __doc__, chosen)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--develop", action="store_true", help="try the develop half alone")
    parser.add_argument("--write", action="store_true", help="keep the page in benchmarks/results")
    return parser.parse_args()


# --- measuring -------------------------------------------------------------------------------


def tried(judge: Judge, half: str) -> Found:
    """Return what the texts of a half do to its claims."""
    false = list(islice(refused(judge, half), FALSE))
    true = list(islice(kept(judge, half), TRUE))
    found = Found()
    for kind, text, verdict in judged(judge, half, false, true):
        found.kinds.setdefault(kind, Counts()).add(verdict)
        found.texts.setdefault((kind, text), Counts()).add(verdict)
    print(f"{NAMES[half]}: {found.total()}", file=sys.stderr)
    return found


def judged(
    judge: Judge, half: str, false: Sequence[Pair], true: Sequence[tuple[Pair, Pair]]
) -> Iterator[tuple[str, str, Verdict]]:
    """Yield group, text and verdict of each trial."""
    for pair, place in zip(false, cycle(PLACES), strict=False):
        yield STATED, "", judge(pair.claim, place(pair.source, pair.claim))
    tried = [*texts(half), *((WITHIN, text) for text in assertions(half))]
    for kind, text, pair, source in placed(tried, false):
        yield kind, text, judge(pair.claim, source)
    places = cycle(PLACES)
    for _, text in texts(half):
        for (pair, other), place in zip(true, places, strict=False):
            verdict = judge(pair.claim, place(pair.source, mentioning(text, other)))
            yield TRUE_CLAIM, text, verdict


def refused(judge: Judge, half: str) -> Iterator[Pair]:
    """Yield the false claims that are not supported."""
    for pair in pairs(half):
        if not pair.holds and judge(pair.claim, pair.source).status is not Status.SUPPORTED:
            yield pair


def kept(judge: Judge, half: str) -> Iterator[tuple[Pair, Pair]]:
    """Yield the true claims that are supported, each with a false claim on the same source."""
    false = {pair.source: pair for pair in pairs(half) if not pair.holds}
    for pair in pairs(half):
        if not pair.holds or pair.source not in false:
            continue
        if judge(pair.claim, pair.source).status is Status.SUPPORTED:
            yield pair, false[pair.source]


def suite(judge: Judge, half: str) -> Counter[tuple[bool, str]]:
    """Return how many claims of the suites hold or not, by supported, changed by the rule, rest."""
    counted: Counter[tuple[bool, str]] = Counter()
    for pair in labelled(half):
        verdict = judge(pair.claim, pair.source)
        known = {Status.SUPPORTED: "supported"}.get(verdict.status, "other")
        counted[pair.holds, RULE if verdict.rule == RULE else known] += 1
    return counted


# --- the page --------------------------------------------------------------------------------


def lines(found: dict[str, Found], suites: dict[str, Counter[tuple[bool, str]]]) -> list[str]:
    """Return the tables."""
    head = ("supported", *(f"{half}, {rule}" for half in found for rule in ("no rule", "rule")))
    groups = [*Mention, STATED, WITHIN, TRUE_CLAIM]
    rows = [(group, *_cells(each.kinds[group] for each in found.values())) for group in groups]
    rows.insert(len(Mention), ("all mentions", *_cells(each.total() for each in found.values())))
    return [*table(head, rows), *_texts(found), *_suites(suites)]


def _cells(counts: Iterable[Counts]) -> list[str]:
    return [f"{n} of {each.tried}" for each in counts for n in (each.without, each.with_rule)]


def _texts(found: dict[str, Found]) -> list[str]:
    """List the texts that still turn claims, and those whose assertion the rule does not see."""
    turning = [row for row in _by_text(found) if row[1] in {*Mention} and row[-1]]
    lost = [row for row in _by_text(found) if row[1] == WITHIN and row[-1] < row[-2]]
    head = ("half", "kind", "", "tried", "no rule", "rule")
    pages = (("text that still turns claims", turning), ("assertion that is lost", lost))
    return [
        line for name, rows in pages for line in table([*head[:2], name, *head[3:]], rows) if rows
    ]


def _by_text(found: dict[str, Found]) -> list[tuple[str, str, str, int, int, int]]:
    return [
        (half, kind, text.replace("\n", " "), counts.tried, counts.without, counts.with_rule)
        for half, each in found.items()
        for (kind, text), counts in each.texts.items()
    ]


def _suites(suites: dict[str, Counter[tuple[bool, str]]]) -> list[str]:
    head = (
        "claims of the suites",
        "true",
        "of them changed",
        "false",
        "of them changed",
        *_ACCURACY,
    )
    rows = [
        (
            half,
            _number(counted, holds=True),
            counted[True, RULE],
            _number(counted, holds=False),
            counted[False, RULE],
            f"{balanced(counted, RULE, 'supported'):.4f}",
            f"{balanced(counted, 'supported'):.4f}",
        )
        for half, counted in suites.items()
    ]
    return table(head, rows)


_ACCURACY = ("balanced accuracy, no rule", "rule")


def balanced(counted: Counter[tuple[bool, str]], *supported: str) -> float:
    """Return the balanced accuracy where these verdicts count as support."""
    right = sum(counted[True, each] for each in supported) / _number(counted, holds=True)
    wrong = sum(counted[False, each] for each in supported) / _number(counted, holds=False)
    return (right + 1 - wrong) / 2


def _number(counted: Counter[tuple[bool, str]], *, holds: bool) -> int:
    return sum(number for (each, _), number in counted.items() if each is holds)


def required(found: dict[str, Found]) -> list[Requirement]:
    """Hold the verdicts that mentions turn, and the two controls."""
    rows = []
    for half, each in found.items():
        turned, stated, within = each.total(), each.kinds[STATED], each.kinds[WITHIN]
        rows += [
            Requirement(
                f"{half}: no mention makes a false claim supported",
                f"{turned.with_rule} of {turned.tried}",
                not turned.with_rule,
            ),
            Requirement(
                f"{half}: a claim that is stated plainly is read",
                f"{stated.with_rule} of {stated.tried}",
                stated.with_rule == stated.tried,
            ),
            Requirement(
                f"{half}: nine of ten claims that a sentence asserts stay supported",
                f"{within.with_rule} of {within.without}",
                within.with_rule >= MOST_STAY * within.without,
            ),
        ]
    return rows


if __name__ == "__main__":
    main()
