"""Pairs of sources and claims in which a text mentions a false claim without asserting it.

The false claims are those of the labelled answers and of the pairs of quantities. The claims of
half A of each set are the develop half, on which a rule may be tuned; half B is the held half.

`mentions.jsonl` has the texts. Those of the develop half are of three authors, of whom one knew the
rule. Those of the held half are of a fourth, who knew neither the rule nor the other texts. The
authors are language models. Some texts of either half do assert the claim, in a longer sentence.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
NAMES = {"a": "develop", "b": "held"}
HALVES = tuple(NAMES)

TEXTS = HERE / "mentions.jsonl"
SEED = 32
LONGEST = 220
_LABELS = {"supported": True, "equal": True}
_SENTENCE_END = re.compile(r"[.!?:;]\s")
_ARTICLES = frozenset({"the", "a", "an", "this", "that", "these", "those", "there", "it", "its"})


class Mention(StrEnum):
    """Kind of text that mentions a claim without asserting it."""

    DENIAL = "denial"
    OPINION = "opinion of unnamed people"
    RUMOUR = "rumour"
    QUESTION = "question"
    HYPOTHETICAL = "hypothetical"
    CONDITIONAL = "conditional"
    MYTH = "list of myths"
    RETRACTION = "retraction"
    OPPONENT = "quotation of an opponent"
    DOUBT = "doubt of the author"


ASSERTED = "asserted"


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
    """Yield the texts of a half that do not assert the claim, with their kind."""
    return ((Mention(kind), text) for kind, text in _texts(half) if kind != ASSERTED)


def assertions(half: str) -> Iterator[str]:
    """Yield the texts of a half that assert the claim within a longer sentence."""
    return (text for kind, text in _texts(half) if kind == ASSERTED)


def _texts(half: str) -> Iterator[tuple[str, str]]:
    name = NAMES[half]
    return ((row["kind"], row["text"]) for row in _rows(TEXTS) if row["half"] == name)


def mentioning(text: str, pair: Pair) -> str:
    """Return a text with a claim in it: `{clause}` within a sentence, `{sentence}` as one."""
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


def placed(
    found: Sequence[tuple[str, str]], claims: Sequence[Pair]
) -> Iterator[tuple[str, str, Pair, str]]:
    """Yield kind, text, claim and source with the text, for each text and claim; places in turn.

    A text of several lines is a paragraph.
    """
    places = cycle(PLACES)
    for kind, text in found:
        for pair, place in zip(claims, places, strict=False):
            put = as_paragraph if "\n" in text else place
            yield kind, text, pair, put(pair.source, mentioning(text, pair))
