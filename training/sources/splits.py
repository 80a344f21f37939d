"""Sentences of Wikipedia, each beside two that say the same: WikiSplit.

github.com/google-research-datasets/wiki-split, CC BY-SA 4.0: a sentence of one revision of an
article and the two that took its place. A part whose words the whole sentence has is supported,
and the other way round; a part that names what the whole does not is not in context; so is a part
of a neighbour, which is about the like and says something else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutting import coverage
from programmatic.base import NOT_IN_CONTEXT, NOT_SUPPORTED, SUPPORTED, Pair

from sources.reading import first, tidy
from veridical.pipeline.evidence.corpus import Ranking
from veridical.pipeline.evidence.tokens import words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from sources.git_files import Repository

_PRONOUN = re.compile(
    r"^(?:it|he|she|they|this|that|these|those|we|you|i|his|her|its|their|there|which|who)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]{3,}\b|\b\d{2,}\b")
_FRAGMENT = re.compile(
    r"^(?:thus|but|and|or|nor|so|is|was|are|were|has|had|which|although|though|because|as|while|whereas|when|since|"
    r"for example|where|after|before|being|having|including|located|with|\w+ing)\b",
    re.IGNORECASE,
)
_SCOPE = frozenset(
    [
        "before",
        "after",
        "until",
        "since",
        "only",
        "if",
        "unless",
        "but",
        "near",
        "almost",
        "first",
        "last",
        "most",
        "least",
        "all",
        "some",
    ]
)
_PLAIN = re.compile(r"^[A-Z][\w ,.;:%'’()–-]+$")


def wiki_split(repository: Repository, rng: Random) -> Iterator[Pair]:
    """Yield the pairs of all three parts but the training one, which is not at hand."""
    for part in ("tune", "validation", "test"):
        rows = [parted(line) for line in repository.text(f"{part}.tsv").splitlines()]
        rows = [row for row in rows if row is not None]
        ranking = Ranking([words(whole) for whole, _ in rows])
        for place, (whole, halves) in enumerate(rows):
            yield from same(whole, halves, rng)
            if rng.random() < 0.5:
                yield from neighbour(place, rows, ranking, rng)


def parted(line: str) -> tuple[str, tuple[str, str]] | None:
    """Return a sentence and its two parts, if all three read as sentences."""
    whole, _, rest = line.partition("\t")
    texts = [first(tidy(text)) for text in (whole, *rest.split("<::::>"))]
    if len(texts) != 3 or not all(
        _PLAIN.match(t) and len(t.split()) >= 5 and t.endswith(".") for t in texts
    ):
        return None
    return texts[0], (texts[1], texts[2])


def same(whole: str, halves: tuple[str, str], rng: Random) -> Iterator[Pair]:
    """Yield what says the same, and parts that say more."""
    for half in halves:
        if coverage(half, whole) >= 0.999 and not lacking(half, whole) and not changed(half, whole):
            if not _PRONOUN.match(half) and not _FRAGMENT.match(half):
                yield Pair(whole, half, SUPPORTED, "wikisplit/part")
        elif lacking(half, whole) and rng.random() < 0.7:
            # Now and then what is more stands against the rest: the two negative labels together.
            yield Pair(whole, half, NOT_SUPPORTED, "wikisplit/more")
    both = " ".join(halves)
    if coverage(whole, both) >= 0.999 and not lacking(whole, both) and not changed(whole, both):
        yield Pair(both, whole, SUPPORTED, "wikisplit/whole")
        if not _PRONOUN.match(halves[0]) and rng.random() < 0.4:
            yield Pair(halves[1], halves[0], NOT_IN_CONTEXT, "wikisplit/other")


def lacking(claim: str, evidence: str) -> bool:
    """Tell whether the claim has a name or a number that the evidence lacks."""
    lowered = evidence.lower()
    return any(name.lower()[:5] not in lowered for name in _NAME.findall(claim))


def changed(claim: str, evidence: str) -> bool:
    """Tell whether one of both denies, or the claim limits what it says in another way."""
    scope = _SCOPE & set(claim.lower().split())
    if not scope <= set(re.findall(r"\w+", evidence.lower())):
        return True
    denial = re.compile(r"\b(?:not|no|never|none|neither|nor|without)\b|n't\b", re.IGNORECASE)
    return bool(denial.search(claim)) != bool(denial.search(evidence))


def neighbour(
    place: int, rows: list[tuple[str, tuple[str, str]]], ranking: Ranking, rng: Random
) -> Iterator[Pair]:
    """Yield a part with the sentence that is most like it and yet says something else."""
    claim = rng.choice(rows[place][1])
    if _PRONOUN.match(claim) or _FRAGMENT.match(claim):
        return
    scores = ranking.scores(words(claim))
    near = sorted(range(len(rows)), key=lambda i: -scores[i])[:12]
    for i in near:
        if i != place and coverage(claim, rows[i][0]) < 0.6 and lacking(claim, rows[i][0]):
            yield Pair(rows[i][0], claim, NOT_IN_CONTEXT, "wikisplit/near")
            return
