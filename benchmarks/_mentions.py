"""Pairs of sources and claims in which a text mentions a false claim without asserting it.

The false claims are those of the labelled answers and of the pairs of quantities. Claims and texts
are split in two halves: the develop half, on which a rule may be tuned, and the held half. The
claims of half A of each set are the develop half; the texts of each kind are split by a seed.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from _meaning_texts import TEXTS, Mention

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
HALVES = ("a", "b")
"""The develop half and the held half."""

SEED = 32
LONGEST = 220
_LABELS = {"supported": True, "equal": True}
_SENTENCE_END = re.compile(r"[.!?:;]\s")
_ARTICLES = frozenset({"the", "a", "an", "this", "that", "these", "those", "there", "it", "its"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim with its source, and whether the source supports it."""

    id: str
    source: str = field(repr=False)
    claim: str = field(repr=False)
    holds: bool

    @property
    def sentence(self) -> str:
        """The claim without its full stop."""
        return self.claim.rstrip(".")

    @property
    def clause(self) -> str:
        """The claim as a clause within a sentence."""
        first, _, rest = self.sentence.partition(" ")
        known = first.lower() in _ARTICLES or re.search(
            rf"\b{re.escape(first.lower())}\b", self.source
        )
        return f"{first.lower() if known else first} {rest}"


def labelled(half: str) -> list[Pair]:
    """Return all claims of a half."""
    return [*_answers(half), *_quantities(half)]


def pairs(half: str) -> Iterator[Pair]:
    """Yield the claims of one sentence of a half, in an order drawn by the seed."""
    found = labelled(half)
    random.Random(SEED).shuffle(found)  # noqa: S311 -- a sample, no secret
    return (pair for pair in found if _is_plain(pair.claim))


def _answers(half: str) -> Iterator[Pair]:
    for path in sorted((HERE / "answers" / half).glob("*.jsonl")):
        for row in _rows(path):
            source = "\n\n".join(each["text"] for each in row["sources"])
            for number, claim in enumerate(row["claims"]):
                yield Pair(
                    f"{row['id']}/{number}", source, claim["text"], claim["label"] in _LABELS
                )


def _quantities(half: str) -> Iterator[Pair]:
    for row in _rows(HERE / "quantity_pairs.jsonl"):
        if row["id"].startswith(half):
            yield Pair(f"{row['id']}/0", row["evidence"], row["claim"], row["label"] in _LABELS)


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _is_plain(claim: str) -> bool:
    return claim.endswith(".") and len(claim) <= LONGEST and not _SENTENCE_END.search(claim)


def texts(half: str) -> Iterator[tuple[Mention, str]]:
    """Yield the texts of a half: every other one of each kind, in an order drawn by the seed."""
    for kind, found in TEXTS.items():
        drawn = random.Random(f"{SEED} {kind}").sample(found, len(found))  # noqa: S311 -- no secret
        yield from ((kind, text) for text in drawn[HALVES.index(half) :: 2])


def mentioning(text: str, pair: Pair) -> str:
    """Return a text with a claim in it."""
    return text.format(clause=pair.clause, sentence=pair.sentence)


# --- places ----------------------------------------------------------------------------------


def as_sentence(source: str, text: str) -> str:
    """Return the source with the text as its last sentence."""
    return f"{source} {text}"


def as_paragraph(source: str, text: str) -> str:
    """Return the source with the text as its last paragraph."""
    return f"{source}\n\n{text}"


def as_item(source: str, text: str) -> str:
    """Return the source with the text as the item of a list."""
    return f"{source}\n\n- {text}"


PLACES = (as_sentence, as_paragraph, as_item)


def placed(half: str, found: Sequence[Pair]) -> Iterator[tuple[Mention, str, Pair, str]]:
    """Yield kind, text, pair and source with the text, for each text and pair; places in turn."""
    places = cycle(PLACES)
    for kind, text in texts(half):
        for pair, place in zip(found, places, strict=False):
            yield kind, text, pair, place(pair.source, mentioning(text, pair))
