"""Copies of labelled rows: distractors around the evidence, unrelated or scrubbed evidence."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from cutting import coverage
from programmatic.base import NOT_IN_CONTEXT, SUPPORTED, Pair

from veridical.core.types import Span
from veridical.pipeline.evidence.corpus import Ranking
from veridical.pipeline.evidence.scrubbing import MARKER, scrub
from veridical.pipeline.evidence.tokens import estimate_tokens, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

DISTRACT, NEGATIVE, RESHAPE = 0.3, 0.1, 0.06
CAPTIONS = frozenset({"snli_dev85", "cad_nli_train", "proofwriter_train", "folio_train"})
"""Files in which another row's evidence may well support the claim, or is a closed world."""

_PRONOUN = re.compile(r"^(?:it|he|she|they|this|that|these|those|we|you|i)\b", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"“])")


def augmented(rows: Sequence[Pair], rng: Random) -> list[Pair]:
    """Return the rows of one file, some of them changed, with copies that lost their evidence."""
    pool = [row.evidence for row in rows if estimate_tokens(row.evidence) <= 40]
    changed = [_vary(row, pool, rng) for row in rows]
    return [*changed, *_negatives(rows, rng)]


def _vary(row: Pair, pool: Sequence[str], rng: Random) -> Pair:
    evidence = row.evidence
    if pool and rng.random() < DISTRACT and _may_grow(row):
        evidence = _surround(evidence, row.claim, pool, rng)
    if rng.random() < RESHAPE:
        evidence = reshape(evidence, rng)
    return Pair(evidence, row.claim, row.label, row.source)


def _may_grow(row: Pair) -> bool:
    return row.source not in CAPTIONS and estimate_tokens(row.evidence) <= 90


def _surround(evidence: str, claim: str, pool: Sequence[str], rng: Random) -> str:
    chosen = rng.sample(pool, min(len(pool), rng.randint(1, 3)))
    others = [text for text in chosen if coverage(claim, text) < 0.5 and text != evidence]
    # A pronoun at the start would come to mean something else in a new surrounding.
    place = 0 if _PRONOUN.match(evidence) else rng.randint(0, len(others))
    parts = [*others[:place], evidence, *others[place:]]
    return rng.choice((" ", " ", "\n")).join(part.strip() for part in parts)


def reshape(evidence: str, rng: Random) -> str:
    """Return the evidence as bullets, numbered lines, JSON, a table or speech."""
    parts = _END.split(evidence.replace("\n", " "))
    speakers = rng.sample(("Agent", "Customer", "Dana", "Interviewer", "Speaker 1", "Host"), 2)
    forms = (
        "\n".join(f"- {part}" for part in parts),
        "\n".join(f"{i}. {part}" for i, part in enumerate(parts, 1)),
        "\n".join(f"{speakers[i % 2]}: {part}" for i, part in enumerate(parts)),
        "\n".join(f"> {part}" for part in parts),
        "| id | text |\n|---|---|\n" + "\n".join(f"| {i} | {p} |" for i, p in enumerate(parts, 1)),
        json.dumps({f"p{i}": part for i, part in enumerate(parts, 1)}, ensure_ascii=False),
        json.dumps({"text": evidence, "page": rng.randint(1, 90)}, ensure_ascii=False),
        f"# {rng.choice(('Notes', 'Summary', 'Excerpt', 'Background'))}\n\n{evidence}",
    )
    return rng.choice(forms)


def _negatives(rows: Sequence[Pair], rng: Random) -> Iterator[Pair]:
    chosen = [r for r in rows if r.label == SUPPORTED and rng.random() < NEGATIVE]
    if not chosen:
        return
    ranking = Ranking([words(row.evidence) for row in rows])
    for row in chosen:
        near = None if row.source in CAPTIONS or rng.random() < 0.3 else _near(row, rows, ranking)
        text = near or scrubbed(row.evidence, rng)
        yield Pair(
            text, row.claim, NOT_IN_CONTEXT, f"{row.source}+{'near' if near else 'scrubbed'}"
        )


def _near(row: Pair, rows: Sequence[Pair], ranking: Ranking) -> str | None:
    """Return the most similar evidence of the file that does not say what the claim says."""
    scores = ranking.scores(words(row.claim))
    order = sorted(range(len(rows)), key=lambda i: -scores[i])[:40]
    found = (rows[i].evidence for i in order if scores[i] > 0)
    return next((t for t in found if _unrelated(t, row)), None)


def _unrelated(text: str, row: Pair) -> bool:
    return coverage(row.claim, text) < 0.6 and coverage(row.evidence, text) < 0.5


def scrubbed(evidence: str, rng: Random) -> str:
    """Return the evidence with its content removed and its structure kept."""
    shaped = reshape(evidence, rng) if rng.random() < 0.4 else evidence
    form = rng.random()
    if form < 0.6:
        return scrub(shaped, [Span(0, len(shaped))])
    return " ".join([MARKER] * len(_END.split(evidence))) if form < 0.9 else "[REDACTED]"
